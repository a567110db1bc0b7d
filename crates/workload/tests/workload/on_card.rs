//! Collectives between the core groups of a card: proved on contributions, and what the proof finds.

use stratasim_workload::collective::kernel::{Family, Held, Kernel};
use stratasim_workload::collective::proof::{Flaw, prove};
use stratasim_workload::collective::{Action, CollectiveKind, CollectiveSpec, Plan, Shared};

use CollectiveKind::{AllGather, AllReduce, Broadcast, ReduceScatter};

const KINDS: [CollectiveKind; 4] = [AllGather, ReduceScatter, AllReduce, Broadcast];

fn plan(json: &str, kind: CollectiveKind, members: u32, bytes: u64) -> Box<dyn Plan> {
    let spec: CollectiveSpec = serde_json::from_str(json).unwrap();
    spec.plugin().plan(kind, members, bytes).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// Launches of each member.
fn launches(plan: &dyn Plan) -> u32 {
    let mut actions = Vec::new();
    (0..plan.rounds(0)).for_each(|round| plan.round(0, round, &mut actions));
    let is_launch = |action: &&Action| matches!(action, Action::Kernel(Kernel::Fixed(fixed)) if format!("{fixed:?}") == "Launch");
    actions.iter().filter(is_launch).count() as u32
}

#[test]
fn every_member_ends_with_what_the_operation_promises() {
    for kind in KINDS {
        for n in (1..=9).chain([16, 64]) {
            for bytes in [0, 1, u64::from(n) - 1, u64::from(n), 1000, 4096 * u64::from(n) + 7] {
                for algorithm in ["ring", "csc", "direct"] {
                    let plan = plan(&format!(r#"{{"kind": "card-{algorithm}"}}"#), kind, n, bytes);
                    let account = prove(&*plan, kind, n, bytes).unwrap_or_else(|flaw| {
                        panic!("{algorithm} {kind:?}, {n} members, {bytes} bytes: {flaw}")
                    });
                    let others = u64::from(n) - 1;
                    // what is stored and loaded, in vectors: n - 1 loads, and what goes through shared memory
                    let expected = match (algorithm, kind) {
                        _ if n == 1 => Some(0),
                        ("csc", AllGather) => Some(bytes + others * bytes),
                        ("csc", ReduceScatter) => Some(2 * others * bytes),
                        ("csc", AllReduce) => Some((3 * others + 1) * bytes),
                        ("csc", Broadcast) => Some(u64::from(n) * bytes),
                        (_, AllGather | ReduceScatter) => Some(others * bytes),
                        (_, AllReduce) => Some(2 * others * bytes),
                        // the root's own chunk is not scattered
                        _ => None,
                    };
                    assert!(
                        expected.is_none_or(|expected| expected == account.bytes),
                        "{algorithm} {kind:?} {n}"
                    );
                    if n > 1 {
                        assert_eq!(plan.shared().map(|shared| shared.members), Some(n));
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_in_global_memory_already_is_only_fetched() {
    let json = r#"{"kind": "card-csc-equation"}"#;
    for kind in [AllGather, ReduceScatter, Broadcast] {
        for n in (1..=9).chain([64]) {
            for bytes in [0, 1, u64::from(n), 1000, 4096 * u64::from(n) + 7] {
                let plan = plan(json, kind, n, bytes);
                let account = prove(&*plan, kind, n, bytes)
                    .unwrap_or_else(|flaw| panic!("{kind:?}, {n} members, {bytes} bytes: {flaw}"));
                // all that others brought is got once, and nothing is put
                assert_eq!(account.bytes, (u64::from(n) - 1) * bytes, "{kind:?} {n}");
                assert_eq!(launches(&*plan), u32::from(n > 1));
            }
        }
    }
    // a plan whose inputs are elsewhere finds nothing
    let empty = |shared: &mut Shared| shared.holds_inputs = false;
    let plan = Elsewhere { plan: plan(json, AllGather, 4, 40), empty };
    assert!(matches!(prove(&plan, AllGather, 4, 40), Err(Flaw::NothingToSend { .. })));
    let spec: CollectiveSpec = serde_json::from_str(json).unwrap();
    let error = spec.plugin().plan(AllReduce, 4, 100).unwrap_err().to_string();
    assert!(error.contains("all-reduce"), "{error}");
    let json = r#"{"kind": "hierarchical", "dimensions": [4, 3], "algorithms": [{"kind": "card-csc-equation"}, {"kind": "ring"}]}"#;
    let spec: CollectiveSpec = serde_json::from_str(json).unwrap();
    for kind in [AllGather, ReduceScatter, AllReduce] {
        let error = spec.plugin().plan(kind, 12, 100).unwrap_err().to_string();
        assert!(error.contains("card-csc"), "{kind:?}: {error}");
    }
}

/// A plan that says something else of the shared memory.
#[derive(Debug)]
struct Elsewhere {
    plan: Box<dyn Plan>,
    empty: fn(&mut Shared),
}

impl Plan for Elsewhere {
    fn rounds(&self, member: u32) -> u32 {
        self.plan.rounds(member)
    }
    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        self.plan.round(member, round, out);
    }
    fn chunks(&self) -> u32 {
        self.plan.chunks()
    }
    fn owner(&self, chunk: u32) -> u32 {
        self.plan.owner(chunk)
    }
    fn total_bytes(&self) -> u64 {
        self.plan.total_bytes()
    }
    fn shared(&self) -> Option<Shared> {
        let mut shared = self.plan.shared()?;
        (self.empty)(&mut shared);
        Some(shared)
    }
}

#[test]
fn one_kernel_does_what_the_ring_launches_n_minus_1_for() {
    let of =
        |algorithm: &str, kind| launches(&*plan(&format!(r#"{{"kind": "card-{algorithm}"}}"#), kind, 4, 64));
    // 12 launches on four groups become 4 (section 2.2 of the paper)
    assert_eq!((of("ring", AllGather), of("csc", AllGather), of("direct", AllGather)), (3, 1, 1));
    assert_eq!((of("ring", AllReduce), of("csc", AllReduce)), (6, 2));
}

#[test]
fn global_memory_holds_the_vector_of_an_all_gather_and_those_of_all_groups_of_a_reduce_scatter() {
    let bytes = |kind| plan(r#"{"kind": "card-csc"}"#, kind, 4, 100).shared();
    assert_eq!(
        bytes(AllGather),
        Some(Shared { members: 4, bytes: 100, own_bytes: 100, holds_inputs: false })
    );
    assert_eq!(
        bytes(ReduceScatter),
        Some(Shared { members: 4, bytes: 400, own_bytes: 100, holds_inputs: false })
    );
}

#[test]
fn cards_are_joined_by_a_hierarchy_in_its_innermost_dimension() {
    let json = |first: &str, second: &str| {
        format!(
            r#"{{"kind": "hierarchical", "dimensions": [4, 3], "algorithms": [{{"kind": "{first}"}}, {{"kind": "{second}"}}]}}"#
        )
    };
    for kind in [AllReduce, ReduceScatter, AllGather] {
        for inner in ["card-ring", "card-csc", "card-direct"] {
            for bytes in [0, 11, 1000, 12 * 4096] {
                let plan = plan(&json(inner, "ring"), kind, 12, bytes);
                prove(&*plan, kind, 12, bytes)
                    .unwrap_or_else(|flaw| panic!("{inner} {kind:?} {bytes}: {flaw}"));
                assert_eq!(plan.shared().map(|shared| shared.members), Some(4));
            }
        }
    }
    let spec: CollectiveSpec = serde_json::from_str(&json("ring", "card-csc")).unwrap();
    let error = spec.plugin().plan(AllReduce, 12, 100).unwrap_err().to_string();
    assert!(error.contains("core groups of one card, which are the innermost"), "{error}");
}

/// A plan with some actions left out or changed.
#[derive(Debug)]
struct Faulty {
    plan: Box<dyn Plan>,
    fault: fn(&mut Action),
}

impl Plan for Faulty {
    fn rounds(&self, member: u32) -> u32 {
        self.plan.rounds(member)
    }
    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        self.plan.round(member, round, out);
        out.iter_mut().for_each(self.fault);
    }
    fn chunks(&self) -> u32 {
        self.plan.chunks()
    }
    fn owner(&self, chunk: u32) -> u32 {
        self.plan.owner(chunk)
    }
    fn total_bytes(&self) -> u64 {
        self.plan.total_bytes()
    }
    fn shared(&self) -> Option<Shared> {
        self.plan.shared()
    }
}

#[test]
fn what_would_be_read_too_early_is_found() {
    let flaw = |algorithm: &str, kind, fault| {
        let plan = plan(&format!(r#"{{"kind": "card-{algorithm}"}}"#), kind, 4, 40);
        prove(&Faulty { plan, fault }, kind, 4, 40).unwrap_err()
    };
    let no_meetings: fn(&mut Action) = |action| {
        if let Action::Kernel(Kernel::Meet { members, .. }) = action {
            *members = 1;
        }
    };
    // everybody goes on alone: epochs pass, and stores have not happened when they are read
    assert!(matches!(flaw("csc", AllGather, no_meetings), Flaw::NothingToSend { .. } | Flaw::Early { .. }));
    let only_three: fn(&mut Action) = |action| {
        if let Action::Kernel(Kernel::Meet { members, .. }) = action {
            *members = 5;
        }
    };
    assert!(matches!(flaw("csc", AllGather, only_three), Flaw::Alone { .. }));
    let wrong_memory: fn(&mut Action) = |action| {
        if let Action::Kernel(Kernel::Load { at, .. }) = action {
            *at = Held::InShared;
        }
    };
    assert!(matches!(flaw("direct", ReduceScatter, wrong_memory), Flaw::NothingToSend { .. }));
    let too_much: fn(&mut Action) = |action| {
        if let Action::Kernel(Kernel::Load { bytes, .. }) = action {
            *bytes += 1;
        }
    };
    assert!(matches!(flaw("ring", AllGather, too_much), Flaw::Bytes { .. }));
    let wrong_peer: fn(&mut Action) = |action| {
        if let Action::Kernel(Kernel::Load { from, family: Family::Ring, .. }) = action {
            *from = (*from + 3) % 4;
        }
    };
    let found = flaw("ring", AllGather, wrong_peer);
    assert!(matches!(found, Flaw::NothingToSend { .. } | Flaw::Peer { .. }), "{found}");
}
