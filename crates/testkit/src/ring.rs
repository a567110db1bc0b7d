//! Rings of messages: as one request each, and message by message.

use std::sync::Arc;

use rand::RngExt as _;
use stratasim_core::model::{Member, NetworkDone, NetworkReport, NetworkRequest, Pipeline, Transfer};
use stratasim_core::random::Stream;
use stratasim_core::{Duration, Rank, Time, Token};
use stratasim_topo::Topology;

use crate::drive::drive;
use crate::network::Build;
use crate::traffic::{Timed, random, stream};

/// Tokens: small ones for the messages beside the rings, then this many for each ring.
const RING: u64 = 1 << 40;

/// A ring, and when each member joins.
struct Ring {
    pipeline: Arc<Pipeline>,
    joins: Vec<Time>,
}

impl Ring {
    fn random(topology: &Topology, stream: &mut Stream) -> Self {
        let mut nodes = topology.compute_nodes().to_vec();
        for at in (1..nodes.len()).rev() {
            nodes.swap(at, stream.random_range(0..=at));
        }
        nodes.truncate(stream.random_range(2..=nodes.len()));
        let members: Vec<Member> =
            (0..).zip(&nodes).map(|(rank, &node)| Member { rank: Rank(rank), node }).collect();
        let n = members.len() as u32;
        let pipeline = Pipeline {
            steps: stream.random_range(1..=2 * n),
            chunk_bytes: if stream.random_range(0..6) == 0 { 0 } else { stream.random_range(1..3_000_000) },
            longer_chunks: stream.random_range(0..n),
            members,
        };
        let together = stream.random_range(0..2) == 0;
        let joins = nodes
            .iter()
            .map(|_| Time::from_ps(if together { 0 } else { stream.random_range(0..50_000_000) }))
            .collect();
        Self { pipeline: Arc::new(pipeline), joins }
    }
}

/// How far a member is that sends message by message.
#[derive(Clone, Copy)]
struct Progress {
    started: u32,
    sent: u32,
    received: u32,
}

/// Random rings, and random messages beside them.
struct Case {
    rings: Vec<Ring>,
    others: Vec<Timed>,
}

/// What a case came to.
struct Outcome {
    /// Ends of the members, by ring.
    members: Vec<Vec<Time>>,
    /// Ends of the other messages.
    others: Vec<Time>,
    report: NetworkReport,
}

impl Case {
    fn new(topology: &Topology, number: u64) -> Self {
        let mut stream = stream(number);
        let rings = match stream.random_range(0..4) {
            0 => 2,
            1 => 3,
            _ => 1,
        };
        let rings = (0..rings).map(|_| Ring::random(topology, &mut stream)).collect();
        let others = match stream.random_range(0..3) {
            0 => Vec::new(),
            1 => random(topology, 6, &mut stream),
            _ => random(topology, 60, &mut stream),
        };
        Self { rings, others }
    }

    /// Runs the case: `begin` and the messages beside the rings are submitted, in order of time.
    fn run(
        &self,
        build: Build<'_>,
        topology: &Arc<Topology>,
        begin: Vec<(Time, NetworkRequest)>,
        react: &mut dyn FnMut(Time, &NetworkDone, &mut Outcome) -> Vec<NetworkRequest>,
    ) -> Outcome {
        let mut requests = begin;
        requests.extend(self.others.iter().map(|&(at, transfer)| (at, NetworkRequest::Transfer(transfer))));
        requests.sort_by_key(|(at, _)| *at);
        let mut network = build(topology.clone());
        let mut outcome = Outcome {
            members: self.rings.iter().map(|ring| vec![Time::MAX; ring.joins.len()]).collect(),
            others: vec![Time::MAX; self.others.len()],
            report: NetworkReport::default(),
        };
        let log = drive(network.as_mut(), &requests, None, &mut |now, done| match done {
            NetworkDone::Delivered(token) if token.0 < RING => {
                let slot = &mut outcome.others[token.0 as usize];
                assert_eq!(std::mem::replace(slot, now), Time::MAX, "message {} twice", token.0);
                Vec::new()
            }
            done => react(now, done, &mut outcome),
        });
        outcome.report = network.report(log.last().map_or(Time::ZERO, |(at, _)| *at));
        outcome
    }

    /// With each ring as one request.
    fn as_rings(&self, build: Build<'_>, topology: &Arc<Topology>) -> Outcome {
        let mut begin = Vec::new();
        for (token, ring) in (1..).map(|ring| Token(RING * ring)).zip(&self.rings) {
            let pipeline = ring.pipeline.clone();
            begin.push((Time::ZERO, NetworkRequest::OpenPipeline { token, pipeline }));
            let join = |(member, &at)| (at, NetworkRequest::JoinPipeline { token, member });
            begin.extend((0..).zip(&ring.joins).map(join));
        }
        self.run(build, topology, begin, &mut |now, done, outcome| {
            let NetworkDone::MemberDone { token, member } = *done else { panic!("{done:?}") };
            let slot = &mut outcome.members[(token.0 / RING) as usize - 1][member as usize];
            assert_eq!(std::mem::replace(slot, now), Time::MAX, "{done:?} twice");
            Vec::new()
        })
    }

    /// With a request for each message.
    fn by_message(&self, build: Build<'_>, topology: &Arc<Topology>) -> Outcome {
        let message = |ring: usize, member: usize, step: u32| {
            let pipeline = &self.rings[ring].pipeline;
            let [from, to] = pipeline.ends(member as u32);
            let token = Token(RING * (ring as u64 + 1) + member as u64);
            let bytes = pipeline.bytes(member as u32, step);
            NetworkRequest::Transfer(Transfer::new(token, from.node, to.node, bytes))
        };
        let fresh = Progress { started: 1, sent: 0, received: 0 };
        let mut progress: Vec<_> = self.rings.iter().map(|ring| vec![fresh; ring.joins.len()]).collect();
        let mut begin = Vec::new();
        for (index, ring) in self.rings.iter().enumerate() {
            begin.extend((0..).zip(&ring.joins).map(|(member, &at)| (at, message(index, member, 0))));
        }
        self.run(build, topology, begin, &mut |now, done, outcome| {
            let NetworkDone::Delivered(token) = *done else { panic!("{done:?}") };
            let (ring, member) = ((token.0 / RING) as usize - 1, (token.0 % RING) as usize);
            let steps = self.rings[ring].pipeline.steps;
            let next = (member + 1) % progress[ring].len();
            progress[ring][member].sent += 1;
            progress[ring][next].received += 1;
            let mut released = Vec::new();
            // step s waits for own message s - 1 and for message s - 1 of the one before
            for who in [member, next] {
                let state = &mut progress[ring][who];
                let step = state.started;
                if state.sent == step && state.received >= step && step < steps {
                    state.started += 1;
                    released.push(message(ring, who, step));
                }
                if state.sent == steps && state.received == steps {
                    outcome.members[ring][who] = now;
                }
            }
            released
        })
    }
}

/// Compares both ways to run random case number `number` on `topology`.
///
/// # Panics
/// When an end differs by more than 1e-12 of the time and a picosecond of rounding per message in a
/// row, when a link carried other bytes, or when the network reports a violation.
pub fn compare(build: Build<'_>, topology: &Arc<Topology>, number: u64) {
    let case = Case::new(topology, number);
    let rings = case.as_rings(build, topology);
    let messages = case.by_message(build, topology);
    let steps: u32 = case.rings.iter().map(|ring| ring.pipeline.steps).sum();
    let rounding = Duration::from_ps(u64::from(steps) + 2).as_secs_f64();
    let ends = |outcome: &Outcome| -> Vec<Time> {
        outcome.members.iter().flatten().chain(&outcome.others).copied().collect()
    };
    for (index, (end, wanted)) in ends(&rings).into_iter().zip(ends(&messages)).enumerate() {
        let off = if end > wanted { end - wanted } else { wanted - end };
        assert!(
            off.as_secs_f64() <= 1e-12 * wanted.as_secs_f64() + rounding,
            "case {number}: end {index} is {end:?} with rings, {wanted:?} by messages"
        );
    }
    for (link, (carried, wanted)) in
        rings.report.link_bytes.iter().zip(&messages.report.link_bytes).enumerate()
    {
        assert!(
            (carried - wanted).abs() <= 1e-9 * wanted,
            "case {number}: link {link} carried {carried} bytes with rings, {wanted} by messages"
        );
    }
    for report in [&rings.report, &messages.report] {
        assert!(report.violations().is_empty(), "case {number}: {:?}", report.violations());
    }
}
