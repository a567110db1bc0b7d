//! PowerTCP in a network, against the balance that its paper derives: links that are full, equal shares, and the sum of the additive
//! increases in the queue.

use std::sync::Arc;

use crate::packets::{LIMIT, watched};
use crate::support::{network, topology};
use stratasim_core::model::{Cx, NetworkDone, NetworkRequest, Transfer};
use stratasim_core::observe::{Blind, Event, Interests, Observer};
use stratasim_core::{LinkId, Time, Token};
use stratasim_topo::Topology;

/// Bytes under way in a round trip of 4 delays of 5 us, a packet and an acknowledgement on two links each.
const UNDER_WAY: f64 = 12_500.0 * 20.0 + 2.0 * (4160.0 + 64.0);
const PACKET: f64 = 4160.0;

fn star(hosts: usize) -> Arc<Topology> {
    topology(&format!(
        r#"{{"kind": "single-switch", "nodes": {hosts}, "bandwidth": "100 Gbps", "latency": "5 us"}}"#
    ))
}

fn spec(options: &str) -> String {
    format!(r#"{{"kind": "packet", "congestion": {{"kind": "power-tcp"{options}}}}}"#)
}

/// Picoseconds of a payload and its headers on a link.
fn wire_ps(bytes: u64) -> f64 {
    (bytes + bytes.div_ceil(4096) * 64) as f64 * 80.0
}

/// How long which queue was how long, from 1 ms to 3 ms.
struct Queue {
    link: LinkId,
    last: (Time, u64),
    bytes_ps: f64,
}

impl Observer for Queue {
    fn interests(&self) -> Interests {
        Interests { queues: true, ..Interests::default() }
    }

    fn span(&self) -> (Time, Time) {
        (Time::ZERO, Time::MAX)
    }

    fn on_event(&mut self, event: &Event) {
        if let Event::QueueDepth { link, at, bytes } = *event
            && link == self.link
        {
            let inside = |time: Time| time.as_ps().clamp(1_000_000_000, 3_000_000_000);
            let (since, depth) = self.last;
            self.bytes_ps += depth as f64 * (inside(at) - inside(since)) as f64;
            self.last = (at, bytes);
        }
    }
}

/// Flows of 50 MB in all to one host, which begin together: when the first and the last one end, in the time of the link for all, and
/// the mean of the queue once they have met, in bytes.
fn incast(flows: usize, options: &str) -> (f64, f64, f64) {
    let machine = star(flows + 1);
    let hosts = machine.compute_nodes();
    let ends = |link| machine.link(link).ends.expect("a cable");
    let links = (0..machine.links().len() as u32).map(LinkId);
    let link = links.into_iter().find(|&link| ends(link)[1] == hosts[0]).expect("it has a cable");
    let mut queue = Queue { link, last: (Time::ZERO, 0), bytes_ps: 0.0 };
    let each = 50_000_000 / flows as u64;
    let messages: Vec<_> = (1..=flows).map(|from| (from, 0, each)).collect();
    let (ends, report) =
        watched(network(&spec(options), machine.clone()).as_mut(), hosts, &messages, &mut queue);
    assert_eq!(report.violations(), Vec::<&str>::new());
    let all_ps = flows as f64 * wire_ps(each);
    let share = |end: Option<&Time>| end.expect("flows").as_ps() as f64 / all_ps;
    (share(ends.iter().min()), share(ends.iter().max()), queue.bytes_ps / 2e9)
}

#[test]
fn flows_that_begin_together_share_the_link_and_fill_it() {
    for flows in [2, 3, 4, 8] {
        let (first, last, _) = incast(flows, "");
        assert!(first > 0.98 && last < 1.04, "{flows} flows: {first} to {last}");
    }
}

/// Theorem 1: windows add up to what is under way and the additive increases, which wait. A packet or two are on the link and on their way
/// to it besides.
#[test]
fn an_incast_leaves_the_additive_increases_in_the_queue() {
    for (flows, expected) in [(4, 100), (8, 100), (16, 100), (4, 30), (8, 30), (16, 30)] {
        let (_, last, queue) = incast(flows, &format!(r#", "expected-flows": {expected}"#));
        let balance = flows as f64 / f64::from(expected) * UNDER_WAY;
        let packets = (queue - balance) / PACKET;
        assert!((0.0..3.0).contains(&packets), "{flows} of {expected}: {queue} B, {balance} in balance");
        assert!(last < 1.04, "{flows} of {expected}: {last} of the ideal");
    }
}

/// A flow alone for 0.4 ms, and then another.
#[test]
fn a_flow_that_comes_gets_half_of_the_link_and_leaves_it_again() {
    let machine = star(3);
    let hosts = machine.compute_nodes();
    let mut network = network(&spec(""), machine.clone());
    let (mut done, mut now, start) = (Vec::new(), Time::ZERO, Time::from_ps(400_000_000));
    let transfer = |token, from: usize, bytes| {
        NetworkRequest::Transfer(Transfer::new(Token(token), hosts[from], hosts[2], bytes))
    };
    network.submit(Time::ZERO, transfer(0, 0, 30_000_000));
    while now < start {
        now = network.advance(start, &mut Cx { done: &mut done, observer: &mut Blind });
    }
    network.submit(start, transfer(1, 1, 10_000_000));
    let mut ends = [0.0; 2];
    while network.next_event().is_some() {
        now = network.advance(LIMIT, &mut Cx { done: &mut done, observer: &mut Blind });
        for ended in done.drain(..) {
            let NetworkDone::Delivered(token) = ended else { panic!("{ended:?}") };
            ends[token.0 as usize] = now.as_ps() as f64;
        }
    }
    let fair = start.as_ps() as f64 + 2.0 * wire_ps(10_000_000);
    let all = wire_ps(30_000_000) + wire_ps(10_000_000);
    assert!((ends[1] / fair - 1.0).abs() < 0.03, "{} of the fair end", ends[1] / fair);
    assert!((1.0..1.03).contains(&(ends[0] / all)), "{} of the ideal", ends[0] / all);
}
