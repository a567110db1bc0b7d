//! What heads and flits ask for, and which of two goes first.

use stratasim_net::flit::fabric::{Channel, Fabric};
use stratasim_net::flit::router::{Precedence, RequestRules, RouterSpec, Speculation};
use stratasim_net::flit::routing::{Candidate, FlitRouting, Head, Place, Surroundings};

use super::bench::{GridRouting, List, grid, kernel, settle, traffic};

const WIDTH: u32 = 4;
const OUTPUTS: u8 = 5;

/// First along x, then along y, on virtual channels of which each output of the next router has its own.
struct OwnChannels;

impl OwnChannels {
    fn output(router: u32, dest: u32) -> u16 {
        let (x, y, goal_x, goal_y) = (router % WIDTH, router / WIDTH, dest % WIDTH, dest / WIDTH);
        match (x.cmp(&goal_x), y.cmp(&goal_y)) {
            (std::cmp::Ordering::Less, _) => 0,
            (std::cmp::Ordering::Greater, _) => 1,
            (_, std::cmp::Ordering::Less) => 2,
            (_, std::cmp::Ordering::Greater) => 3,
            _ => 4,
        }
    }

    fn channels_of((first, last): (u8, u8), output: u16) -> (u8, u8) {
        let each = (last - first + 1) / OUTPUTS;
        (first + each * output as u8, first + each * (output as u8 + 1) - 1)
    }
}

impl FlitRouting for OwnChannels {
    fn start(&self, head: &mut Head, _: &mut dyn Surroundings) -> (u8, u8) {
        Self::channels_of(head.range, Self::output(head.source, head.dest))
    }

    fn only(&self, place: Place, head: &mut Head, _: &mut dyn Surroundings) -> Candidate {
        let output = Self::output(place.router, head.dest);
        let next = match output {
            0 => place.router + 1,
            1 => place.router - 1,
            2 => place.router + WIDTH,
            3 => place.router - WIDTH,
            _ => place.router,
        };
        // a packet for its own router has found nothing about a next one
        let (first_vc, last_vc) = match (output, place.input) {
            (4, 4) => head.range,
            (4, _) => Self::channels_of(head.range, 4),
            _ => Self::channels_of(head.range, Self::output(next, head.dest)),
        };
        Candidate { output, first_vc, last_vc, priority: 0 }
    }
}

#[test]
fn queues_by_the_next_output_are_virtual_channels_that_routing_keeps_apart() {
    for (virtual_channels, wait_for_tail_credit) in [(5, false), (10, false), (13, true)] {
        for speculation in [Speculation::None, Speculation::Separate] {
            let plain = RouterSpec {
                virtual_channels,
                wait_for_tail_credit,
                speculation,
                routing_delay: 0,
                buffer_flits: 3,
                ..RouterSpec::default()
            };
            let requests = RequestRules { next_output_queues: true, ..RequestRules::default() };
            let aside = RouterSpec { requests, ..plain.clone() };
            let packets = traffic(1500, WIDTH * 3, 2, 6, 1200);
            let run = |spec: &RouterSpec, routing: Box<dyn Fn() -> Box<dyn FlitRouting>>| {
                let fabric = grid(WIDTH, 3, Channel::default(), Channel::default());
                let mut kernel = kernel(fabric, spec, Boxed(routing()));
                let mut list = List::new(&packets);
                settle(&mut kernel, &mut list, 50_000).unwrap();
                (list.arrivals, list.flit_latencies)
            };
            let xy = || GridRouting { width: WIDTH, adaptive: false };
            let found = run(&aside, Box::new(move || Box::new(xy())));
            let expected = run(&plain, Box::new(move || Box::new(OwnChannels)));
            let shared = run(&plain, Box::new(move || Box::new(xy())));
            assert_eq!(found.0.len(), packets.len());
            assert!(found == expected, "{virtual_channels} virtual channels");
            assert!(found != shared, "{virtual_channels} virtual channels");
        }
    }
}

/// A routing function behind a pointer.
struct Boxed(Box<dyn FlitRouting>);

impl FlitRouting for Boxed {
    fn start(&self, head: &mut Head, surroundings: &mut dyn Surroundings) -> (u8, u8) {
        self.0.start(head, surroundings)
    }

    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        self.0.only(place, head, surroundings)
    }
}

/// The packet that is next at an output that two others have kept busy: 2, of priority 1 with 3 of priority 9 behind it on
/// virtual channel `pair` (0 or 1), or the later 4, of priority 5 on the other. All come by one input.
fn next(requests: RequestRules, pair: u8) -> u32 {
    let mut fabric = Fabric::new(vec![(1, 1)]);
    let slow = Channel { spacing: 40 * 256, ..Channel::default() };
    fabric.attach(0, (0, 0), Channel::default(), slow, None);
    let spec = RouterSpec {
        virtual_channels: 3,
        ranges: vec![[0, 0], [1, 1], [2, 2]],
        output_buffer_flits: Some(1),
        requests,
        ..RouterSpec::default()
    };
    // (cycle, queue, priority)
    let packets = [(0, 2, 0), (1, 2, 0), (8, 0, 1), (9, 0, 9), (10, 1, 5)];
    let mut list = List::new(&packets.map(|(cycle, queue, _)| (cycle, 0, queue, 0, 1)));
    for offers in list.waiting.values_mut() {
        for offer in offers {
            let (_, queue, priority) = packets[offer.tag as usize];
            offer.range = if queue < 2 { queue ^ pair } else { queue };
            offer.priority = priority;
        }
    }
    let mut kernel = kernel(fabric, &spec, WayOut);
    settle(&mut kernel, &mut list, 5000).unwrap();
    let tags: Vec<u32> = list.arrivals.iter().map(|arrival| arrival.tag).collect();
    assert_eq!((tags.len(), &tags[..2]), (5, &[0, 1][..]));
    tags[2]
}

/// The way out of the only router.
struct WayOut;

impl FlitRouting for WayOut {
    fn only(&self, _: Place, head: &mut Head, _: &mut dyn Surroundings) -> Candidate {
        Candidate { output: 0, first_vc: head.range.0, last_vc: head.range.1, priority: 0 }
    }
}

#[test]
fn who_waits_behind_lends_its_priority() {
    let rules = |precedence, donation| RequestRules { precedence, donation, ..RequestRules::default() };
    for pair in [0, 1] {
        assert_eq!(next(rules(Precedence::Given, false), pair), 4);
        assert_eq!(next(rules(Precedence::Given, true), pair), 2);
    }
}

#[test]
fn the_oldest_and_the_longest_queue_go_first() {
    let all = [Precedence::Age, Precedence::NetworkAge, Precedence::LocalAge, Precedence::QueueLength];
    for precedence in all {
        for pair in [0, 1] {
            let rules = RequestRules { precedence, ..RequestRules::default() };
            assert_eq!(next(rules, pair), 2, "{precedence:?}");
        }
    }
    // both have come through no router: it is the turn of the first channel
    let rules = RequestRules { precedence: Precedence::Hops, ..RequestRules::default() };
    assert_eq!((next(rules.clone(), 0), next(rules, 1)), (2, 4));
}
