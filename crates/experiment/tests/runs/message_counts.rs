//! Those who watch a run learn what the transport counted for each message, and it adds up.

use std::path::Path;

use crate::common::watch_in;
use stratasim_core::observe::{Event, Interests, MessageCounts, Observer};

#[derive(Default)]
struct Watch {
    counts: Vec<Option<MessageCounts>>,
}

impl Observer for Watch {
    fn interests(&self) -> Interests {
        Interests { messages: true, ..Interests::default() }
    }

    fn on_event(&mut self, event: &Event) {
        if let Event::Message(message) = event {
            self.counts.push(message.flow.as_ref().map(|flow| flow.counts));
        }
    }
}

const WORKLOADS: [&str; 3] = [
    "kind = \"traffic\"\nflows = 40\nsize = { kind = \"fixed\", bytes = \"200 kB\" }\npattern = { kind = \"incast\" }",
    "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"4 MB\"\nalgorithm = { kind = \"ring\" }",
    "kind = \"goal\"\npattern = { kind = \"ring-allreduce\" }\nranks = 8\nbytes = \"4 MB\"",
];

fn watched(workload: &str, network: &str) -> (Vec<Option<MessageCounts>>, impl Fn(&str) -> u64 + use<>) {
    let text = format!(
        "[topology]\nkind = \"single-switch\"\nnodes = 8\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
         [workload]\n{workload}\n[network]\n{network}"
    );
    let mut watch = Watch::default();
    let result = watch_in(&text, Path::new(""), &mut watch);
    (watch.counts, move |name| result.counters[name])
}

#[test]
fn counts_of_messages_add_up_to_those_of_the_network() {
    for workload in WORKLOADS {
        for network in [
            "congestion = { kind = \"nscc\" }",
            "congestion = { kind = \"dctcp\" }",
            "loss = { probability = 0.01 }",
        ] {
            let (counts, counter) = watched(workload, &format!("kind = \"packet\"\n{network}\n"));
            assert_eq!(counts.len() as u64, counter("network.messages"), "{workload}, {network}");
            let sum = |of: fn(&MessageCounts) -> u32| {
                counts
                    .iter()
                    .map(|counts| u64::from(of(counts.as_ref().expect("a transport counts"))))
                    .sum::<u64>()
            };
            assert!(counts.iter().flatten().all(|counts| counts.packets > 0));
            let resent = sum(|counts| counts.retransmissions);
            // acknowledgements may be lost after a message is complete
            let all = counter("network.retransmissions");
            assert!(resent <= all && resent * 10 >= all * 9, "{resent} of {all}: {workload}, {network}");
            assert!(resent > 0 || !network.contains("loss"), "{workload}, {network}");
            assert!(sum(|counts| counts.packets) - resent > 1900, "{workload}, {network}");
        }
    }
}

#[test]
fn levels_without_transports_count_nothing() {
    for kind in ["message", "flow", "flit"] {
        let (counts, _) = watched(WORKLOADS[1], &format!("kind = \"{kind}\"\n"));
        assert!(!counts.is_empty() && counts.iter().all(Option::is_none), "{kind}");
    }
}
