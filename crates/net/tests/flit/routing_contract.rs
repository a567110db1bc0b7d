//! What every routing function of the flit level must do, one line per kind: a machine that it fits, and its spec.

use crate::support::{Dice, machine, prepare};
use stratasim_net::flit::Prepared;
use stratasim_net::flit::dependency::Verdict;
use stratasim_net::flit::fabric::End;
use stratasim_net::flit::routing::{Candidate, FlitRoutingSpec, Head, Place, Surroundings};

/// Dice that count how often they are asked.
struct Counted {
    dice: Dice,
    draws: u32,
    looks: std::cell::Cell<u32>,
}

impl Counted {
    fn new(seed: u64) -> Self {
        Self { dice: Dice(seed), draws: 0, looks: std::cell::Cell::default() }
    }
}

impl Surroundings for Counted {
    fn draw(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "a draw among nothing");
        self.draws += 1;
        self.dice.draw(bound)
    }

    fn used(&self, output: u16) -> u32 {
        self.looks.set(self.looks.get() + 1);
        self.dice.used(output)
    }
}

/// A function on a machine, with four virtual channels.
fn prepared(topology: &str, routing: &str) -> Prepared {
    let network = format!(r#"{{"routing": {routing}}}"#);
    prepare(&machine(topology), &network).unwrap_or_else(|error| panic!("{topology}, {routing}: {error}"))
}

/// Ways of packets between all pairs, some of each: `look` gets every decision before it is made. The channels of each way.
fn each_decision(prepared: &Prepared, look: &mut dyn FnMut(Place, Head, u64)) -> Vec<Vec<(u32, u16)>> {
    let (fabric, routing) = (&prepared.fabric, prepared.routing.as_ref());
    let terminals = fabric.terminals().len() as u32;
    let mut ways = Vec::new();
    let mut candidates: Vec<Candidate> = Vec::new();
    for number in 0..3 * terminals * terminals {
        let (from, to) = (number / 3 / terminals, number / 3 % terminals);
        let mut dice = Dice(u64::from(number) << 20);
        let mut head = Head { source: from, dest: to, range: (0, 3), memory: 0 };
        let (first, last) = routing.start(&mut head, &mut dice);
        assert!(first <= last && last <= 3, "{from} to {to} starts on {first} to {last} of 0 to 3");
        assert_eq!((head.source, head.dest, head.range), (from, to, (0, 3)), "only the memory is its own");
        let End::Router { router, port } = fabric.terminal(from).injection.end else { panic!() };
        let mut place = Place { router, input: port, vc: first };
        let mut way = Vec::new();
        loop {
            assert!(way.len() <= 4 * fabric.router_count(), "{from} to {to} does not arrive: {way:?}");
            look(place, head, dice.0);
            candidates.clear();
            routing.route(place, &mut head, &mut dice, &mut candidates);
            for one in &candidates {
                assert!(one.first_vc <= one.last_vc && one.last_vc <= 3, "{one:?} at {place:?}");
                assert!(one.output < fabric.output_count(place.router), "{one:?} at {place:?}");
            }
            assert!(!candidates.is_empty(), "no way on at {place:?}");
            let chosen = candidates[dice.draw(candidates.len() as u32) as usize];
            way.push((place.router, chosen.output));
            match fabric.channel(place.router, chosen.output).end {
                End::Router { router, port } => place = Place { router, input: port, vc: chosen.last_vc },
                End::Terminal(terminal) => {
                    assert_eq!(terminal, to, "a packet from {from} left at another terminal");
                    break;
                }
                End::Nothing => panic!("{chosen:?} at {place:?} leads nowhere"),
            }
        }
        ways.push(way);
    }
    ways
}

/// What is offered to a head, and its memory after that.
fn offered(
    prepared: &Prepared,
    place: Place,
    mut head: Head,
    dice: &mut dyn Surroundings,
) -> (Vec<Candidate>, u64) {
    let mut out = Vec::new();
    prepared.routing.route(place, &mut head, dice, &mut out);
    (out, head.memory)
}

fn keeps_what_it_says(topology: &str, routing: &str) {
    let prepared = prepared(topology, routing);
    let function = prepared.routing.as_ref();
    let mut decisions = 0;
    each_decision(&prepared, &mut |place, head, seed| {
        decisions += 1;
        let mut dice = Counted::new(seed);
        let (out, memory) = offered(&prepared, place, head, &mut dice);
        assert!(function.draws() || dice.draws == 0, "it draws at {place:?}");
        assert!(function.adaptive() || dice.looks.get() == 0, "it asks for loads at {place:?}");
        let most = function.memory_bits();
        assert!(most >= 64 || memory >> most == 0, "{memory:#x} takes more than {most} bits");
        if function.single() {
            assert_eq!(out.len(), 1, "one way only, at {place:?}");
            let mut head = head;
            let only = function.only(place, &mut head, &mut Counted::new(seed));
            assert_eq!((only, head.memory), (out[0], memory));
        }
        if function.has_escape() {
            assert!(out.iter().any(|candidate| candidate.priority <= 0), "no escape at {place:?}: {out:?}");
        }
        let same = |place: Place, head: Head, what: &str| {
            assert_eq!(
                offered(&prepared, place, head, &mut Counted::new(seed)),
                (out.clone(), memory),
                "{what}"
            );
        };
        same(place, head, "the same question has the same answer");
        if !function.knows_source() {
            same(place, Head { source: head.source + 1, ..head }, "it does not look at the source");
        }
        if !function.looks_at_input() {
            same(Place { input: place.input ^ 1, ..place }, head, "it does not look at the input");
        }
        if !function.looks_at_vc() {
            same(Place { vc: place.vc ^ 1, ..place }, head, "it does not look at the virtual channel");
        }
    });
    assert!(decisions > 100, "{decisions}");
}

macro_rules! routing_contract {
    ($($name:ident: $spec:literal on $topology:literal;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn every_packet_arrives_and_the_same_draws_lead_the_same_way() {
                let prepared = prepared($topology, $spec);
                let once = || each_decision(&prepared, &mut |_, _, _| {});
                assert_eq!(once(), once());
            }

            #[test]
            fn what_it_says_of_itself_is_so() {
                keeps_what_it_says($topology, $spec);
            }

            #[test]
            fn it_is_free_of_deadlock() {
                assert!(matches!(prepared($topology, $spec).deadlock, Verdict::Free { .. }));
            }
        })+

        stratasim_testkit::every_kind_has_a_line!(every_routing_function_has_a_contract, FlitRoutingSpec, "routing_contract!", [$($spec),+]);
    };
}

routing_contract! {
    auto: r#"{"kind": "auto"}"# on r#"{"kind": "torus", "dimensions": [4, 3]}"#;
    dimension_order: r#"{"kind": "dimension-order"}"# on r#"{"kind": "torus", "dimensions": [5, 4]}"#;
    dimension_order_balanced: r#"{"kind": "dimension-order", "balanced": true}"#
        on r#"{"kind": "torus", "dimensions": [4, 4]}"#;
    nearest_common_ancestor: r#"{"kind": "nearest-common-ancestor"}"# on r#"{"kind": "k-ary-n-tree", "k": 2, "n": 3}"#;
    nearest_common_ancestor_by_load: r#"{"kind": "nearest-common-ancestor", "adaptive": true}"#
        on r#"{"kind": "k-ary-n-tree", "k": 2, "n": 3}"#;
    xy_yx: r#"{"kind": "xy-yx"}"# on r#"{"kind": "mesh", "dimensions": [4, 3]}"#;
    valiant: r#"{"kind": "valiant"}"# on r#"{"kind": "torus", "dimensions": [4, 3]}"#;
    valiant_on_a_dragonfly: r#"{"kind": "valiant"}"# on r#"{"kind": "dragonfly", "p": 1, "a": 3, "h": 1}"#;
    romm: r#"{"kind": "romm"}"# on r#"{"kind": "mesh", "dimensions": [4, 3]}"#;
    minimal_adaptive: r#"{"kind": "minimal-adaptive"}"# on r#"{"kind": "torus", "dimensions": [4, 3]}"#;
    minimal: r#"{"kind": "minimal"}"# on r#"{"kind": "hyperx", "dimensions": [3, 3], "hosts-per-switch": 2}"#;
    minimal_on_a_dragonfly: r#"{"kind": "minimal"}"# on r#"{"kind": "dragonfly", "p": 1, "a": 2, "h": 1}"#;
    ugal: r#"{"kind": "ugal"}"# on r#"{"kind": "dragonfly", "p": 1, "a": 2, "h": 1}"#;
    ugal_on_a_hyperx: r#"{"kind": "ugal"}"# on r#"{"kind": "hyperx", "dimensions": [3, 3], "hosts-per-switch": 1}"#;
    destination_tag: r#"{"kind": "destination-tag"}"# on r#"{"kind": "k-ary-n-fly", "k": 2, "n": 3}"#;
    shortest_path: r#"{"kind": "shortest-path"}"# on r#"{"kind": "fat-tree", "k": 4}"#;
    table: r#"{"kind": "table"}"# on r#"{"kind": "mesh", "dimensions": [3, 3]}"#;
    up_down: r#"{"kind": "up-down"}"# on r#"{"kind": "fully-connected", "nodes": 5}"#;
}
