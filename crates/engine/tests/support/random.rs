//! Random schedules, as properties draw and shrink them.

use proptest::prelude::*;
use stratasim_workload::goal::{ANY, Operation, OperationKind, Schedule, ScheduleBuilder};

/// A schedule in the making: operations of each rank with what they wait for.
#[derive(Debug, Clone)]
pub struct Draft {
    pub ranks: Vec<Vec<Planned>>,
}

#[derive(Debug, Clone)]
pub struct Planned {
    pub operation: Operation,
    /// (operation of the rank, whether its start is enough)
    pub after: Vec<(u32, bool)>,
}

impl Draft {
    pub fn schedule(&self) -> Schedule {
        let mut builder = ScheduleBuilder::new(self.ranks.len() as u32);
        for rank in &self.ranks {
            for planned in rank {
                let place = builder.push(planned.operation);
                for &(before, on_start) in &planned.after {
                    if on_start {
                        builder.requires_start(place, before);
                    } else {
                        builder.requires(place, before);
                    }
                }
            }
            builder.close_rank().expect("operations of the rank");
        }
        builder.build().expect("a schedule")
    }

    /// What rank `r` did is done by rank `names[r]`.
    pub fn renamed(&self, names: &[u32]) -> Self {
        let mut ranks = vec![Vec::new(); self.ranks.len()];
        for (rank, name) in self.ranks.iter().zip(names) {
            let mut operations = rank.clone();
            for Planned { operation, .. } in &mut operations {
                if operation.kind != OperationKind::Calc && operation.peer != ANY {
                    operation.peer = names[operation.peer as usize];
                }
            }
            ranks[*name as usize] = operations;
        }
        Self { ranks }
    }

    /// Every rank computes for a while of its own before anything else.
    pub fn staggered(&self, first_ns: &[u64]) -> Self {
        let rank = |(operations, first): (&Vec<Planned>, &u64)| {
            let mut staggered = vec![Planned { operation: Operation::calc(*first), after: Vec::new() }];
            for planned in operations {
                let mut after: Vec<_> =
                    planned.after.iter().map(|&(before, start)| (before + 1, start)).collect();
                if after.is_empty() {
                    after.push((0, false));
                }
                staggered.push(Planned { operation: planned.operation, after });
            }
            staggered
        };
        Self { ranks: self.ranks.iter().zip(first_ns).map(rank).collect() }
    }
}

/// What happens next: a computation, or a message with both of its ends.
#[derive(Debug, Clone)]
struct Step {
    message: bool,
    ranks: [u8; 2],
    size: u64,
    tag: u32,
    cpus: [u16; 2],
    nic: u16,
    /// What either end waits for: some earlier operation of its rank, and whether its start is enough.
    after: [Vec<(u8, bool)>; 2],
    chance: u8,
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![2 => 0..3_u64, 4 => 1..2000_u64, 1 => 10_000..200_000_u64];
    let after = || prop::collection::vec((any::<u8>(), any::<bool>()), 0..3);
    let parts = (0..4_u8, any::<[u8; 2]>(), size, 0..3_u32, prop::array::uniform2(0..3_u16), 0..2_u16);
    (parts, after(), after(), any::<u8>()).prop_map(|((kind, ranks, size, tag, cpus, nic), a, b, chance)| {
        Step { message: kind > 0, ranks, size, tag, cpus, nic, after: [a, b], chance }
    })
}

/// How a rank receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receives {
    Exact,
    AnySource,
    AnyTag,
    Anything,
}

/// Schedules that come to their end on every network, whatever is sent by rendezvous.
///
/// Both ends of a message wait for operations that were planned before it only. Among receives that may
/// take each other's messages the order of posting is fixed, and so is the order of sending where a
/// message waits for a certain receive; receives from any source wait for nothing else.
pub fn complete(steps: usize) -> impl Strategy<Value = Draft> {
    let way = prop::sample::select(vec![
        Receives::Exact,
        Receives::Exact,
        Receives::AnySource,
        Receives::AnyTag,
        Receives::Anything,
    ]);
    (prop::collection::vec(way, 1..6), prop::collection::vec(step(), 0..steps))
        .prop_map(|(ways, steps)| plan(&ways, &steps))
}

fn plan(ways: &[Receives], steps: &[Step]) -> Draft {
    let count = ways.len();
    let mut ranks: Vec<Vec<Planned>> = vec![Vec::new(); count];
    // last send and receive of messages that could be taken for each other: (from, to, tag)
    let mut last = std::collections::BTreeMap::new();
    for step in steps {
        let [from, to] = step.ranks.map(|rank| rank as usize % count);
        let earlier = |ranks: &[Vec<Planned>], rank: usize, side: usize| -> Vec<(u32, bool)> {
            let length = ranks[rank].len();
            let picked = step.after[side].iter().filter(|_| length > 0);
            picked.map(|&(pick, on_start)| ((pick as usize % length) as u32, on_start)).collect()
        };
        let mut send_after = earlier(&ranks, from, 0);
        if !step.message {
            let operation = Operation::calc(step.size).on_cpu(step.cpus[0]);
            ranks[from].push(Planned { operation, after: send_after });
            continue;
        }
        let mut receive_after = earlier(&ranks, to, 1);
        let mut send_cpu = step.cpus[0];
        let (source, tag, group) = match ways[to] {
            Receives::Exact => (from as u32, step.tag, (from, to, step.tag)),
            Receives::AnySource => (ANY, step.tag, (usize::MAX, to, step.tag)),
            Receives::AnyTag => (from as u32, ANY, (from, to, ANY)),
            Receives::Anything => (ANY, ANY, (usize::MAX, to, ANY)),
        };
        if source == ANY {
            receive_after.clear();
        }
        if let Some(&(send, receive)) = last.get(&group) {
            receive_after.push((receive, step.chance & 1 == 0 || source == ANY));
            if source != ANY {
                let on_start = step.chance & 2 == 0;
                if on_start {
                    let before: &Planned = &ranks[from][send as usize];
                    send_cpu = before.operation.cpu;
                }
                send_after.push((send, on_start));
            }
        }
        let send = Operation::send(step.size, to as u32, step.tag).on_cpu(send_cpu).on_nic(step.nic);
        let receive = Operation::receive(step.size, source, tag).on_cpu(step.cpus[1]).on_nic(step.nic);
        ranks[from].push(Planned { operation: send, after: send_after });
        let send = ranks[from].len() as u32 - 1;
        ranks[to].push(Planned { operation: receive, after: receive_after });
        last.insert(group, (send, ranks[to].len() as u32 - 1));
    }
    Draft { ranks }
}

/// Schedules that may come to their end or not: any order, wildcards anywhere, other sizes, ends that
/// are missing.
pub fn wild(steps: usize) -> impl Strategy<Value = Draft> {
    (1..6_usize, prop::collection::vec(step(), 0..steps), 0..100_u8).prop_map(|(count, steps, wildness)| {
        let mut ranks: Vec<Vec<Planned>> = vec![Vec::new(); count];
        for step in &steps {
            let [from, to] = step.ranks.map(|rank| rank as usize % count);
            let after = |operations: &[Planned], side: usize| -> Vec<(u32, bool)> {
                let length = operations.len();
                let picked = step.after[side].iter().filter(|_| length > 0);
                picked.map(|&(pick, on_start)| ((pick as usize % length) as u32, on_start)).collect()
            };
            let odd = step.chance < wildness;
            if !step.message {
                let after = after(&ranks[from], 0);
                ranks[from]
                    .push(Planned { operation: Operation::calc(step.size).on_cpu(step.cpus[0]), after });
                continue;
            }
            let send = Operation::send(step.size, to as u32, step.tag).on_cpu(step.cpus[0]).on_nic(step.nic);
            let mut receive =
                Operation::receive(step.size, from as u32, step.tag).on_cpu(step.cpus[1]).on_nic(step.nic);
            match step.chance % 8 {
                0 if odd => receive.peer = ANY,
                1 if odd => receive.tag = ANY,
                2 if odd => (receive.peer, receive.tag) = (ANY, ANY),
                3 if odd => receive.size = step.size / 2,
                4 if odd => receive.nic = 1 - step.nic,
                _ => {}
            }
            if !(odd && step.chance % 8 == 5) {
                let after = after(&ranks[from], 0);
                ranks[from].push(Planned { operation: send, after });
            }
            if !(odd && step.chance % 8 == 6) {
                let after = after(&ranks[to], 1);
                ranks[to].push(Planned { operation: receive, after });
            }
        }
        Draft { ranks }
    })
}
