//! The proof of a plan finds every kind of fault that is put into a correct one.

use stratasim_workload::collective::chain::Chain;
use stratasim_workload::collective::direct::Direct;
use stratasim_workload::collective::proof::{Flaw, prove};
use stratasim_workload::collective::ring::Ring;
use stratasim_workload::collective::{
    Action, CollectiveAlgorithm, CollectiveKind, Combine, Guarantee, PipelineShape, Plan,
};

use CollectiveKind::{AllGather, AllReduce, ExclusiveScan, Gather, ReduceScatter, Scan, Scatter};

/// A ring over four members with 40 bytes each in which something is wrong.
#[derive(Debug)]
struct Faulty {
    ring: Box<dyn Plan>,
    fault: fn(u32, u32, &mut Vec<Action>),
    pipeline: Option<PipelineShape>,
    total_bytes: Option<u64>,
    owner: Option<u32>,
}

impl Plan for Faulty {
    fn rounds(&self, member: u32) -> u32 {
        self.ring.rounds(member)
    }
    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        self.ring.round(member, round, out);
        (self.fault)(member, round, out);
    }
    fn chunks(&self) -> u32 {
        self.ring.chunks()
    }
    fn owner(&self, chunk: u32) -> u32 {
        self.owner.unwrap_or(self.ring.owner(chunk))
    }
    fn pipeline(&self) -> Option<PipelineShape> {
        self.pipeline
    }
    fn total_bytes(&self) -> u64 {
        self.total_bytes.unwrap_or(self.ring.total_bytes())
    }
}

fn faulty(kind: CollectiveKind, fault: fn(u32, u32, &mut Vec<Action>)) -> Faulty {
    let ring = Ring::default().plan(kind, 4, 40).unwrap();
    Faulty { ring, fault, pipeline: None, total_bytes: None, owner: None }
}

/// The flaw that the proof finds in an all-reduce with `fault`.
fn flaw(fault: fn(u32, u32, &mut Vec<Action>)) -> Flaw {
    prove(&faulty(AllReduce, fault), AllReduce, 4, 40).unwrap_err()
}

#[test]
fn the_unbroken_plan_is_proved() {
    let account = prove(&faulty(AllReduce, |_, _, _| {}), AllReduce, 4, 40).unwrap();
    assert_eq!((account.messages, account.bytes, account.rounds), (24, 240, 6));
}

#[test]
fn a_missing_send_is_a_deadlock_of_its_receiver() {
    let flaw = flaw(|member, round, out| {
        if (member, round) == (1, 0) {
            out.remove(0);
        }
    });
    // member 2 goes without one message in its first round and would take each later one too early
    assert!(matches!(flaw, Flaw::Mismatch { from: 1, to: 2, .. }), "{flaw}");
    let last = self::flaw(|member, round, out| {
        if (member, round) == (1, 5) {
            out.remove(0);
        }
    });
    assert_eq!(last, Flaw::Deadlock { member: 2, round: 5, from: 1 });
}

#[test]
fn a_missing_receive_leaves_a_message_over() {
    let flaw = flaw(|member, round, out| {
        if (member, round) == (2, 5) {
            out.pop();
        }
    });
    assert_eq!(flaw, Flaw::Unreceived { from: 1, to: 2, count: 1 });
}

#[test]
fn members_that_wait_for_each_other_are_a_deadlock() {
    // nobody sends before it has received
    let flaw =
        flaw(|_, round, out| out.retain(|action| (round == 0) == matches!(action, Action::Receive { .. })));
    assert!(matches!(flaw, Flaw::Deadlock { round: 0, .. }), "{flaw}");
}

#[test]
fn wrong_bytes_are_named() {
    let flaw = flaw(|member, _, out| {
        if let (3, Action::Send { bytes, .. }) = (member, &mut out[0]) {
            *bytes += 1;
        }
    });
    assert_eq!(
        flaw.to_string(),
        "member 3 sends 11 bytes in round 0, chunks 3..4 have 10",
        "a message carries the bytes of its chunks"
    );
}

#[test]
fn adding_what_is_already_in_the_sum_is_found() {
    // the all-gather half adds instead of replacing
    let flaw = flaw(|_, _, out| {
        if let Action::Receive { combine, .. } = &mut out[1] {
            *combine = Combine::Reduce;
        }
    });
    assert!(matches!(flaw, Flaw::Overlap { round: 3, .. }), "{flaw}");
}

#[test]
fn replacing_what_should_be_added_loses_contributions() {
    let flaw = flaw(|_, round, out| {
        if let (1, Action::Receive { combine, .. }) = (round, &mut out[1]) {
            *combine = Combine::Copy;
        }
    });
    // each chunk lacks the member that replaced it
    assert!(matches!(flaw, Flaw::Result { found: 3, expected: 4, .. }), "{flaw}");
}

#[test]
fn a_result_without_anyone_is_found() {
    // one phase only: every chunk is complete at its owner and nowhere else
    let scatter = Ring::default().plan(ReduceScatter, 4, 40).unwrap();
    assert!(matches!(prove(&*scatter, AllReduce, 4, 40), Err(Flaw::Result { .. })));
    prove(&*scatter, ReduceScatter, 4, 40).unwrap();
}

#[test]
fn sending_what_one_does_not_have_is_found() {
    let mut plan = faulty(AllGather, |_, _, _| {});
    prove(&plan, AllGather, 4, 40).unwrap();
    plan.fault = |_, _, out| {
        for action in out {
            match action {
                Action::Send { chunks, .. } | Action::Receive { chunks, .. } => {
                    *chunks = (chunks.start + 1) % 4..(chunks.start + 1) % 4 + 1;
                }
                Action::Kernel(_) => unreachable!("a ring of messages"),
            }
        }
    };
    assert!(matches!(prove(&plan, AllGather, 4, 40), Err(Flaw::NothingToSend { round: 0, .. })));
}

#[test]
fn one_owner_of_everything_is_not_a_fair_share() {
    let mut plan = faulty(ReduceScatter, |_, _, _| {});
    plan.owner = Some(2);
    let flaw = prove(&plan, ReduceScatter, 4, 40).unwrap_err();
    assert!(matches!(flaw, Flaw::Share { member: 0, found: 0, chunks: 4, members: 4 }), "{flaw}");
}

#[test]
fn strange_peers_chunks_and_rounds_are_found() {
    let to_itself = flaw(|member, _, out| {
        if let Action::Send { to, .. } = &mut out[0] {
            *to = member;
        }
    });
    assert!(matches!(to_itself, Flaw::Peer { member: 0, peer: 0, .. }));
    let beyond = flaw(|_, _, out| {
        if let Action::Send { chunks, .. } = &mut out[0] {
            chunks.end = 5;
        }
    });
    assert!(matches!(beyond, Flaw::Chunks { count: 4, .. }));
    assert!(matches!(
        flaw(|_, round, out| out.truncate(2 * usize::from(round != 2))),
        Flaw::EmptyRound { round: 2, .. }
    ));
}

#[test]
fn two_messages_for_one_chunk_in_one_round_race_when_one_of_them_replaces() {
    let flaw = flaw(|_, round, out| {
        if round == 4 {
            let again: Vec<_> = out.clone();
            out.extend(again);
        }
    });
    assert!(matches!(flaw, Flaw::Race { round: 4, .. }), "{flaw}");
}

#[test]
fn a_wrong_total_and_a_wrong_pipeline_are_found() {
    let mut plan = faulty(AllReduce, |_, _, _| {});
    plan.total_bytes = Some(241);
    assert_eq!(prove(&plan, AllReduce, 4, 40), Err(Flaw::Total { said: 241, found: 240 }));
    plan.total_bytes = None;
    let right = plan.ring.pipeline().unwrap();
    plan.pipeline = Some(right);
    prove(&plan, AllReduce, 4, 40).unwrap();
    for wrong in [
        PipelineShape { steps: right.steps - 1, ..right },
        PipelineShape { chunk_bytes: right.chunk_bytes + 1, ..right },
        PipelineShape { longer_chunks: 1, ..right },
    ] {
        plan.pipeline = Some(wrong);
        assert!(matches!(prove(&plan, AllReduce, 4, 40), Err(Flaw::Pipeline { .. })), "{wrong:?}");
    }
}

#[test]
fn a_cost_model_is_only_asked_for_its_messages() {
    #[derive(Debug)]
    struct Cost(Faulty);
    impl Plan for Cost {
        fn rounds(&self, member: u32) -> u32 {
            self.0.rounds(member)
        }
        fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
            self.0.round(member, round, out);
        }
        fn chunks(&self) -> u32 {
            4
        }
        fn owner(&self, chunk: u32) -> u32 {
            chunk
        }
        fn total_bytes(&self) -> u64 {
            self.0.total_bytes()
        }
        fn guarantee(&self) -> Guarantee {
            Guarantee::CostOnly
        }
    }
    let copies = faulty(AllReduce, |_, _, out| {
        if let Action::Receive { combine, .. } = &mut out[1] {
            *combine = Combine::Copy;
        }
    });
    prove(&Cost(copies), AllReduce, 4, 40).unwrap();
    let silent = faulty(AllReduce, |member, round, out| {
        if (member, round) == (1, 5) {
            out.remove(0);
        }
    });
    assert!(matches!(prove(&Cost(silent), AllReduce, 4, 40), Err(Flaw::Deadlock { .. })));
}

#[test]
fn a_scan_that_is_not_the_one_promised_is_found() {
    let chain = |kind| Chain::default().plan(kind, 4, 40).unwrap();
    prove(&*chain(Scan), Scan, 4, 40).unwrap();
    prove(&*chain(ExclusiveScan), ExclusiveScan, 4, 40).unwrap();
    let broken = |fault| {
        prove(
            &Faulty { ring: chain(Scan), fault, pipeline: None, total_bytes: None, owner: None },
            Scan,
            4,
            40,
        )
    };
    // what comes is passed on, but never gets into the result
    let forgotten = broken(|member, _, out: &mut Vec<Action>| {
        if let (2, Some(Action::Receive { combine, .. })) = (member, out.first_mut()) {
            *combine = Combine::Reduce;
        }
    });
    assert_eq!(forgotten, Err(Flaw::Result { member: 2, chunk: 0, found: 1, expected: 3 }));
    // a member that stands in front takes in who comes after it
    let ahead = broken(|member, round, out: &mut Vec<Action>| {
        if (member, round) == (1, 1) {
            out.push(Action::Receive { from: 2, chunks: 0..1, combine: Combine::Scan });
        }
        if (member, round) == (2, 0) {
            out.push(Action::Send { to: 1, chunks: 0..1, bytes: 40 });
        }
    });
    assert_eq!(ahead, Err(Flaw::Result { member: 1, chunk: 0, found: 3, expected: 2 }));
    // and nothing but a scan has a result of its own
    let reduce = faulty(AllReduce, |_, _, out| {
        if let Action::Receive { combine, .. } = &mut out[1] {
            *combine = Combine::Scan;
        }
    });
    assert!(matches!(prove(&reduce, AllReduce, 4, 40), Err(Flaw::Overlap { round: 0, .. })));
}

#[test]
fn parts_that_come_to_the_wrong_member_are_found() {
    let direct = |kind| Direct::default().plan(kind, 4, 40).unwrap();
    for kind in [Gather, Scatter] {
        prove(&*direct(kind), kind, 4, 40).unwrap();
        let mut plan = Faulty {
            ring: direct(kind),
            fault: |_, _, _| {},
            pipeline: None,
            total_bytes: None,
            owner: Some(2),
        };
        assert!(matches!(prove(&plan, kind, 4, 40), Err(Flaw::Share { .. })));
        plan.owner = None;
        plan.fault = |_, _, out| {
            for action in out {
                let chunks = action.chunks_mut().unwrap();
                *chunks = 4 - chunks.end..4 - chunks.start;
            }
        };
        assert!(prove(&plan, kind, 4, 40).is_err());
    }
    // a gather whose root takes one part for another
    let swapped = prove(&*direct(Scatter), Gather, 4, 40);
    assert!(matches!(swapped, Err(Flaw::NothingToSend { member: 0, .. })), "{swapped:?}");
}
