//! Networks that forget routes all the time: everything is as with those that keep them.

use std::sync::Arc;

use stratasim_core::model::{Network, NetworkDone, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::random::Draws;
use stratasim_core::{Cx, Duration, Model, Time, Token};
use stratasim_testkit::network_contract;
use stratasim_topo::{BuildContext, RoutingSpec, Topology, TopologySpec};

use super::FlowShortcuts;
use super::network::FlowNetwork;
use super::rule::{Rule, RuleOptions};

/// A network that forgets what nobody takes from `limit` routes on.
pub(super) fn build(topology: Arc<Topology>, routing: &str, rule: Rule, limit: usize) -> FlowNetwork {
    let routing: RoutingSpec = serde_json::from_str(routing).unwrap();
    let routing = routing.plugin().build(&topology).unwrap();
    let numbers = RuleOptions::default().resolve(rule).unwrap();
    let mut network =
        FlowNetwork::new(topology, routing, numbers, FlowShortcuts::default(), Duration::ZERO, false);
    network.routes.limit = limit;
    network
}

network_contract!(forgetful, |topology| Box::new(build(topology, r#"{"kind": "auto"}"#, Rule::MaxMin, 1)));

/// Messages of hosts that send to one after the other, each when the one before has arrived.
pub(super) fn run(mut network: FlowNetwork, topology: &Topology) -> (Vec<Time>, NetworkReport, usize) {
    let hosts = topology.compute_nodes();
    let mut draws = Draws::new(7);
    let mut submit = |network: &mut FlowNetwork, now: Time, token: u64| {
        let from = token as usize % hosts.len();
        let to = (from + 1 + draws.below(hosts.len() as u32 - 1) as usize) % hosts.len();
        let bytes = u64::from(draws.below(1_000_000));
        let transfer = Transfer::new(Token(token), hosts[from], hosts[to], bytes);
        network.submit(now, NetworkRequest::Transfer(transfer));
    };
    (0..hosts.len() as u64).for_each(|token| submit(&mut network, Time::ZERO, token));
    let (mut ends, mut most, mut now) = (Vec::new(), 0, Time::ZERO);
    while network.next_event().is_some() {
        let mut done = Vec::new();
        now = network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut Blind });
        most = most.max(network.routes.routes.len());
        for ended in done {
            let NetworkDone::Delivered(token) = ended else { panic!("{ended:?}") };
            ends.push(now);
            if ends.len() < 2000 {
                // a message of its own, which chooses ways anew
                submit(&mut network, now, token.0 + hosts.len() as u64);
            }
        }
    }
    let report = network.report(now);
    assert_eq!(report.violations(), Vec::<&str>::new());
    (ends, report, most)
}

#[test]
fn what_is_forgotten_was_carried_all_the_same() {
    let json = r#"{"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts-per-leaf": 4, "bandwidth": "1 GB/s",
                   "oversubscription": 4, "latency": "1 us"}"#;
    let spec: TopologySpec = serde_json::from_str(json).unwrap();
    let topology = Arc::new(spec.plugin().build(&BuildContext::default()).unwrap());
    let (auto, ecmp) = (r#"{"kind": "auto"}"#, r#"{"kind": "ecmp"}"#);
    // acknowledgements of flows that go one way may come back by several
    for (routing, rule) in
        [(auto, Rule::MaxMin), (ecmp, Rule::MaxMin), (auto, Rule::Lv08), (ecmp, Rule::Lv08)]
    {
        let [kept, forgotten] = [usize::MAX, 20].map(|limit| {
            let network = build(topology.clone(), routing, rule, limit);
            run(network, &topology)
        });
        assert_eq!(kept.0, forgotten.0, "{routing}");
        assert_eq!(kept.1.link_bytes, forgotten.1.link_bytes, "{routing}");
        // 16 messages are under way; twice as many routes are kept
        assert!(kept.2 > 200 && forgotten.2 <= 33, "{routing}: {} and {}", kept.2, forgotten.2);
    }
}
