//! Networks all of whose solves wait until somebody can be asked: everything is as with those that solve at once.

use std::sync::Arc;

use stratasim_core::model::{NetworkRequest, Transfer};
use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_core::{Cx, Model, Time, Token};
use stratasim_testkit::network_contract;
use stratasim_topo::{BuildContext, Topology, TopologySpec};

use super::forgetting_tests::{build, run};
use super::network::FlowNetwork;
use super::rule::Rule;

const AUTO: &str = r#"{"kind": "auto"}"#;

fn waiting(topology: Arc<Topology>) -> FlowNetwork {
    let mut network = build(topology, AUTO, Rule::MaxMin, usize::MAX);
    network.many_uses = 0;
    network
}

network_contract!(waiting, |topology| Box::new(waiting(topology)));

fn topology(json: &str) -> Arc<Topology> {
    let spec: TopologySpec = serde_json::from_str(json).unwrap();
    Arc::new(spec.plugin().build(&BuildContext::default()).unwrap())
}

#[test]
fn solves_that_wait_give_what_solves_at_once_give() {
    let topology = topology(r#"{"kind": "fat-tree", "k": 4, "bandwidth": "1 GB/s", "latency": "1 us"}"#);
    let at_once = run(build(topology.clone(), AUTO, Rule::MaxMin, usize::MAX), &topology);
    let waited = run(waiting(topology.clone()), &topology);
    assert_eq!(at_once.0, waited.0);
    assert_eq!(at_once.1.link_bytes, waited.1.link_bytes);
    assert_eq!(at_once.1.counters, waited.1.counters);
}

/// Counts looks at the clock, and wants to stop from the so many-th on.
struct Watch {
    looks: u32,
    most: u32,
}

impl Observer for Watch {
    fn interests(&self) -> Interests {
        Interests::default()
    }

    fn on_event(&mut self, event: &Event) {
        assert!(matches!(event, Event::Clock { at: Time::ZERO }), "{event:?}");
        self.looks += 1;
    }

    fn wants_stop(&self) -> bool {
        self.looks >= self.most
    }
}

/// Messages of all to all others, which share the links of a mesh at many levels.
#[test]
fn a_long_solve_asks_whether_to_go_on_and_is_done_again_where_it_was_given_up() {
    let topology =
        topology(r#"{"kind": "mesh", "dimensions": [6, 6], "bandwidth": "1 GB/s", "latency": "0 ns"}"#);
    let first_ends = |most: u32| {
        let mut network = waiting(topology.clone());
        network.asked_every = 1000;
        let nodes = topology.compute_nodes();
        let pairs = nodes.iter().flat_map(|&from| nodes.iter().map(move |&to| (from, to)));
        for (token, (from, to)) in (0..).zip(pairs.filter(|(from, to)| from != to)) {
            let transfer = Transfer::new(Token(token), from, to, 1000 + token % 7);
            network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
        }
        let mut watch = Watch { looks: 0, most };
        let mut done = Vec::new();
        assert_eq!(network.next_event(), Some(Time::ZERO));
        let reached = network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut watch });
        if most == 1 {
            // nothing is solved, and nothing moves
            assert_eq!((reached, done.len(), watch.looks), (Time::ZERO, 0, 1));
            watch.most = u32::MAX;
            let again = network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut watch });
            return (again, done.len(), watch.looks);
        }
        (reached, done.len(), watch.looks)
    };
    let [undisturbed, given_up] = [u32::MAX, 1].map(first_ends);
    assert!(undisturbed.2 > 0, "{undisturbed:?}");
    assert_eq!((undisturbed.0, undisturbed.1), (given_up.0, given_up.1));
}
