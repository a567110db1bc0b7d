//! The peers' semantics once more, slow and literal: one queue of events, in which whatever finds its
//! resource busy is put back, under its old number, for the date on which that is free.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use stratasim_engine::compat::{Outcome, Parameters, Semantics};
use stratasim_workload::goal::{ANY, Operation, OperationKind, Schedule};

/// (rank, operation)
type Id = (usize, usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Starts(Id),
    /// The message of a send is at its receiver.
    Arrives(Id),
}

#[derive(Default)]
struct Rank {
    operations: Vec<Operation>,
    missing: Vec<u32>,
    /// What waits for the end, and for the start, of each operation.
    after_end: Vec<Vec<usize>>,
    after_start: Vec<Vec<usize>>,
    /// ATLAHS: latest end among what an operation waited for.
    latest: Vec<u64>,
    /// ATLAHS: from when on an enabled operation may start.
    from: Vec<u64>,
    enabled: Vec<usize>,
    cpu: Vec<u64>,
    send_nic: Vec<u64>,
    receive_nic: Vec<u64>,
    /// LogGOPSim: receives and messages in order; (source, tag, operation or send).
    posted: Vec<(u32, u32, Id)>,
    unexpected: Vec<(u32, u32, Id)>,
    /// ATLAHS: by (source, tag).
    posted_exact: BTreeMap<(u32, u32), VecDeque<usize>>,
    unexpected_exact: BTreeMap<(u32, u32), VecDeque<(Id, u64)>>,
}

struct Peer {
    ranks: Vec<Rank>,
    queue: BinaryHeap<Reverse<(u64, u64, What)>>,
    events: u64,
    parameters: Parameters,
    touched: Vec<usize>,
}

/// What a run came to, as [`stratasim_engine::compat::run`] tells it; `None` where the peer aborts.
pub fn run(schedule: &Schedule, semantics: Semantics, parameters: Parameters) -> Option<Outcome> {
    let mut ranks = Vec::new();
    for number in 0..schedule.ranks() {
        let range = schedule.of_rank(number);
        let count = range.len();
        let mut rank = Rank {
            operations: range.clone().map(|at| schedule.operation(number, at)).collect(),
            missing: vec![0; count],
            after_end: vec![Vec::new(); count],
            after_start: vec![Vec::new(); count],
            latest: vec![0; count],
            from: vec![0; count],
            cpu: vec![0; schedule.cpus() as usize],
            send_nic: vec![0; schedule.nics() as usize],
            receive_nic: vec![0; schedule.nics() as usize],
            ..Rank::default()
        };
        for (place, at) in range.enumerate() {
            for edge in schedule.edges(at) {
                let list = if edge.on_start() { &mut rank.after_start } else { &mut rank.after_end };
                list[place].push(edge.after() as usize);
                rank.missing[edge.after() as usize] += 1;
            }
        }
        ranks.push(rank);
    }
    let mut peer = Peer { ranks, queue: BinaryHeap::new(), events: 0, parameters, touched: Vec::new() };
    let atlahs = semantics == Semantics::AtlahsLgs;
    for rank in 0..peer.ranks.len() {
        let state = &peer.ranks[rank];
        let mut roots: Vec<usize> = (0..state.missing.len()).filter(|&at| state.missing[at] == 0).collect();
        if !atlahs {
            roots.sort_by_key(|&at| state.operations[at].kind);
        }
        for operation in roots {
            peer.push(0, What::Starts((rank, operation)));
        }
    }
    while let Some(Reverse((time, number, what))) = peer.queue.pop() {
        let busy_until = match (what, atlahs) {
            (What::Starts(id), false) => peer.start_loggopsim(time, id),
            (What::Arrives(id), false) => peer.arrive_loggopsim(time, id),
            (What::Starts(id), true) => peer.start_atlahs(time, id)?,
            (What::Arrives(id), true) => peer.arrive_atlahs(time, id),
        };
        if let Some(later) = busy_until {
            peer.queue.push(Reverse((later, number, what)));
        }
        let mut touched = std::mem::take(&mut peer.touched);
        if atlahs {
            let mut seen = Vec::new();
            touched.retain(|rank| {
                !seen.contains(rank) && {
                    seen.push(*rank);
                    true
                }
            });
            touched.reverse();
        } else {
            touched.sort_unstable();
            touched.dedup();
        }
        for rank in touched {
            peer.free(rank, atlahs);
        }
    }
    let left = peer.ranks.iter().map(Rank::left).sum();
    let finish = |rank: &Rank| rank.cpu.iter().copied().max().unwrap_or(0);
    Some(Outcome {
        finish_ns: peer.ranks.iter().map(finish).collect(),
        events: peer.events,
        left,
        waiting: Vec::new(),
        stopped: false,
    })
}

impl Rank {
    fn left(&self) -> u64 {
        let exact = self.posted_exact.values().map(VecDeque::len).sum::<usize>()
            + self.unexpected_exact.values().map(VecDeque::len).sum::<usize>();
        let never = self.missing.iter().filter(|missing| **missing != 0).count();
        (self.posted.len() + self.unexpected.len() + exact + never) as u64
    }
}

fn further(size: u64) -> u64 {
    size.wrapping_sub(1)
}

fn fits(a: (u32, u32), b: (u32, u32)) -> bool {
    (a.0 == b.0 || a.0 == ANY || b.0 == ANY) && (a.1 == b.1 || a.1 == ANY || b.1 == ANY)
}

fn take(list: &mut Vec<(u32, u32, Id)>, wanted: (u32, u32)) -> Option<Id> {
    let at = list.iter().position(|(source, tag, _)| fits((*source, *tag), wanted))?;
    Some(list.remove(at).2)
}

impl Peer {
    fn push(&mut self, time: u64, what: What) {
        self.queue.push(Reverse((time, self.events, what)));
        self.events += 1;
    }

    fn operation(&self, (rank, operation): Id) -> Operation {
        self.ranks[rank].operations[operation]
    }

    fn started(&mut self, (rank, operation): Id) {
        let rank = &mut self.ranks[rank];
        for after in rank.after_start[operation].clone() {
            rank.missing[after] = rank.missing[after].wrapping_sub(1);
            if rank.missing[after] == 0 {
                rank.from[after] = 0;
                rank.enabled.push(after);
            }
        }
    }

    fn done(&mut self, (rank, operation): Id, time: u64) {
        let rank = &mut self.ranks[rank];
        for after in rank.after_end[operation].clone() {
            rank.missing[after] = rank.missing[after].wrapping_sub(1);
            rank.latest[after] = rank.latest[after].max(time);
            if rank.missing[after] == 0 {
                rank.from[after] = rank.latest[after];
                rank.enabled.push(after);
            }
        }
    }

    fn free(&mut self, rank: usize, atlahs: bool) {
        let mut enabled = std::mem::take(&mut self.ranks[rank].enabled);
        if !atlahs {
            enabled.sort_by_key(|&at| self.ranks[rank].operations[at].kind);
        }
        for operation in enabled {
            let state = &self.ranks[rank];
            let Operation { kind, cpu, nic, .. } = state.operations[operation];
            let (cpu, nic) = (state.cpu[cpu as usize], state.send_nic[nic as usize]);
            let from = state.from[operation];
            let time = match (kind, atlahs) {
                (OperationKind::Send, false) => cpu.max(nic),
                (_, false) => cpu,
                (OperationKind::Calc, true) => from.max(cpu),
                (OperationKind::Send, true) => from.max(nic),
                (OperationKind::Receive, true) => from,
            };
            self.push(time, What::Starts((rank, operation)));
        }
    }

    fn calc(&mut self, time: u64, id: Id) -> Option<u64> {
        let Operation { size, cpu, .. } = self.operation(id);
        let clock = &mut self.ranks[id.0].cpu[cpu as usize];
        if *clock > time {
            return Some(*clock);
        }
        *clock = time.wrapping_add(size);
        let end = *clock;
        self.started(id);
        self.done(id, end);
        self.touched.push(id.0);
        None
    }

    /// The date on which its resource is free, where that is not now.
    fn start_loggopsim(&mut self, time: u64, id: Id) -> Option<u64> {
        let Operation { kind, size, peer, tag, cpu, nic } = self.operation(id);
        let Parameters { latency_ns, overhead_ns, gap_ns, overhead_per_byte_ns, eager_limit_bytes, .. } =
            self.parameters;
        let gap = self.parameters.gap_per_byte_ns as u64;
        let rank = &mut self.ranks[id.0];
        match kind {
            OperationKind::Calc => return self.calc(time, id),
            OperationKind::Send => {
                let free = rank.cpu[cpu as usize].max(rank.send_nic[nic as usize]);
                if free > time {
                    return Some(free);
                }
                let bytes = further(size);
                rank.cpu[cpu as usize] =
                    time.wrapping_add(overhead_ns).wrapping_add(bytes.wrapping_mul(overhead_per_byte_ns));
                rank.send_nic[nic as usize] = time.wrapping_add(gap_ns).wrapping_add(bytes.wrapping_mul(gap));
                self.started(id);
                self.touched.push(id.0);
                self.push(time.wrapping_add(overhead_ns).wrapping_add(latency_ns), What::Arrives(id));
                if size <= eager_limit_bytes {
                    self.done(id, 0);
                }
            }
            OperationKind::Receive => {
                let found = take(&mut rank.unexpected, (peer, tag));
                self.started(id);
                self.touched.push(id.0);
                match found {
                    Some(send) => {
                        if size > eager_limit_bytes {
                            self.free_sender(send, [time; 2], cpu, nic, 0);
                        }
                        self.done(id, 0);
                    }
                    None => self.ranks[id.0].posted.push((peer, tag, id)),
                }
            }
        }
        None
    }

    fn arrive_loggopsim(&mut self, time: u64, send: Id) -> Option<u64> {
        let Operation { size, peer, tag, cpu, nic, .. } = self.operation(send);
        let Parameters { overhead_ns, gap_ns, overhead_per_byte_ns, eager_limit_bytes, .. } = self.parameters;
        let gap = self.parameters.gap_per_byte_ns as u64;
        let to = peer as usize;
        let rank = &mut self.ranks[to];
        let free = rank.cpu[cpu as usize].max(rank.receive_nic[nic as usize]);
        if free > time {
            return Some(free);
        }
        let bytes = further(size);
        let most = bytes.wrapping_mul(overhead_per_byte_ns).max(bytes.wrapping_mul(gap));
        rank.cpu[cpu as usize] = time.wrapping_add(overhead_ns).wrapping_add(most);
        rank.receive_nic[nic as usize] = time.wrapping_add(gap_ns).wrapping_add(bytes.wrapping_mul(gap));
        match take(&mut rank.posted, (send.0 as u32, tag)) {
            Some(receive) => {
                if size > eager_limit_bytes {
                    self.free_sender(send, [time; 2], cpu, nic, 0);
                }
                self.done(receive, 0);
                self.touched.push(to);
            }
            None => rank.unexpected.push((send.0 as u32, tag, send)),
        }
        None
    }

    fn free_sender(&mut self, send: Id, until: [u64; 2], cpu: u16, nic: u16, date: u64) {
        self.done(send, date);
        self.touched.push(send.0);
        let rank = &mut self.ranks[send.0];
        let clock = &mut rank.cpu[cpu as usize];
        *clock = until[0].max(*clock);
        let clock = &mut rank.send_nic[nic as usize];
        *clock = until[1].max(*clock);
    }

    /// `None` where it aborts.
    fn start_atlahs(&mut self, time: u64, id: Id) -> Option<Option<u64>> {
        let Operation { kind, size, peer, tag, cpu, nic } = self.operation(id);
        let Parameters {
            latency_ns,
            overhead_ns,
            gap_ns,
            gap_per_byte_ns,
            overhead_per_byte_ns,
            eager_limit_bytes,
        } = self.parameters;
        let bytes = size.max(1) - 1;
        let rank = &mut self.ranks[id.0];
        match kind {
            OperationKind::Calc => return Some(self.calc(time, id)),
            OperationKind::Send => {
                let free = rank.cpu[cpu as usize].max(rank.send_nic[nic as usize]);
                if free > time {
                    return Some(Some(free));
                }
                let end = time + overhead_ns + bytes * overhead_per_byte_ns;
                let flight = (bytes as f64 * gap_per_byte_ns) as u64;
                rank.cpu[cpu as usize] = end;
                rank.send_nic[nic as usize] = time + gap_ns + flight;
                self.started(id);
                self.touched.push(id.0);
                self.push(end + latency_ns + flight, What::Arrives(id));
                if size.max(1) <= eager_limit_bytes {
                    self.done(id, end);
                }
            }
            OperationKind::Receive => {
                let found = rank.unexpected_exact.get_mut(&(peer, tag)).and_then(VecDeque::pop_front);
                self.started(id);
                self.touched.push(id.0);
                let Some((send, arrived)) = found else {
                    self.ranks[id.0].posted_exact.entry((peer, tag)).or_default().push_back(id.1);
                    return Some(None);
                };
                if time < arrived {
                    return None;
                }
                let rank = &mut self.ranks[id.0];
                let gap_end = rank.send_nic[nic as usize].max(time) + gap_ns;
                let end = gap_end + overhead_ns + bytes * overhead_per_byte_ns;
                rank.cpu[cpu as usize] = end;
                rank.receive_nic[nic as usize] = gap_end;
                if size.max(1) > eager_limit_bytes {
                    self.free_sender(send, [end, gap_end], cpu, nic, end);
                }
                self.done(id, end);
                self.touched.push(id.0);
            }
        }
        Some(None)
    }

    fn arrive_atlahs(&mut self, time: u64, send: Id) -> Option<u64> {
        let Operation { size, peer, tag, cpu, nic, .. } = self.operation(send);
        let Parameters { overhead_ns, gap_ns, overhead_per_byte_ns, eager_limit_bytes, .. } = self.parameters;
        let to = peer as usize;
        let key = (send.0 as u32, tag);
        let rank = &mut self.ranks[to];
        let Some(&receive) = rank.posted_exact.get(&key).and_then(VecDeque::front) else {
            rank.unexpected_exact.entry(key).or_default().push_back((send, time));
            return None;
        };
        let receiving = rank.operations[receive].cpu as usize;
        let free = rank.cpu[receiving].max(rank.receive_nic[nic as usize]);
        if free > time {
            return Some(free);
        }
        rank.posted_exact.get_mut(&key).expect("a receive").pop_front();
        let gap_end = rank.receive_nic[nic as usize].max(time) + gap_ns;
        let end = gap_end + overhead_ns + (size.max(1) - 1) * overhead_per_byte_ns;
        rank.cpu[receiving] = end;
        rank.receive_nic[nic as usize] = gap_end;
        if size.max(1) > eager_limit_bytes {
            self.free_sender(send, [end, gap_end], cpu, nic, end);
        }
        self.done((to, receive), end);
        self.touched.push(to);
        None
    }
}
