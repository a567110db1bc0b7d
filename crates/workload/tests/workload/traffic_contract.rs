//! What every pattern and every process of injection must do, one line per kind.

use std::collections::BTreeSet;

use stratasim_core::random::{Draws, Streams, key};
use stratasim_workload::injection::{Clock, InjectionSpec, Lane};
use stratasim_workload::pattern::{Along, Destinations, Layout, PatternSpec, Shape};

const RANKS: u32 = 64;

/// A machine that every pattern fits.
fn layout() -> Layout {
    let dimensions = vec![(4, Along::Ring), (4, Along::Line), (4, Along::Ring)];
    Layout { ranks: RANKS, shape: Shape::Grid { per_vertex: 1, dimensions } }
}

fn destinations(spec: &str) -> Box<dyn Destinations> {
    let pattern: PatternSpec = serde_json::from_str(spec).unwrap();
    pattern.plugin().destinations(&layout(), &mut Streams::new(1).stream("pattern")).unwrap()
}

/// Draws of a packet that depend on nothing but its source and its number.
fn draws(source: u32, number: u64) -> Draws {
    Draws::new(key(key(Streams::new(3).key("contract"), source.into()), number))
}

/// Packets of each source that are looked at.
const PACKETS: u64 = 2000;

fn stays_among_the_ranks(spec: &str) {
    let destinations = destinations(spec);
    for source in 0..RANKS {
        for number in 0..PACKETS {
            for to_self in [false, true] {
                let once = || destinations.destination(source, to_self, &mut draws(source, number));
                let to = once();
                assert!(to.is_none_or(|to| to < RANKS && (to_self || to != source)), "{source} to {to:?}");
                assert_eq!(to, once(), "the same draws of {source}");
            }
        }
    }
}

fn sends_as_often_as_it_says(spec: &str) {
    let destinations = destinations(spec);
    for source in 0..RANKS {
        for to_self in [false, true] {
            let share = destinations.share(source, to_self);
            assert!((0.0..=1.0).contains(&share), "{share}");
            let to = |number| destinations.destination(source, to_self, &mut draws(source, number));
            let sent = (0..PACKETS).filter(|&number| to(number).is_some()).count() as f64;
            // six standard deviations, and nothing where the share is 0 or 1
            let off = 6.0 * (PACKETS as f64 * share * (1.0 - share)).sqrt();
            assert!(
                (sent - PACKETS as f64 * share).abs() <= off,
                "{source}: {sent} of {PACKETS}, not {share}"
            );
            if destinations.is_fixed() {
                assert!((1..PACKETS).all(|number| to(number) == to(0)), "{source} has one destination");
            }
        }
    }
}

/// A number of ranks that a pattern cannot do with is refused.
fn fits_or_is_refused(spec: &str) {
    let pattern: PatternSpec = serde_json::from_str(spec).unwrap();
    for ranks in 0..=65 {
        let mut random = Streams::new(1).stream("pattern");
        let Ok(destinations) = pattern.plugin().destinations(&Layout::flat(ranks), &mut random) else {
            continue;
        };
        for source in 0..ranks {
            for number in 0..20 {
                let to = destinations.destination(source, true, &mut draws(source, number));
                assert!(to.is_none_or(|to| to < ranks), "{source} of {ranks} to {to:?}");
            }
        }
    }
}

fn its_pairs_are_those_of_its_destinations(spec: &str) {
    let pattern: PatternSpec = serde_json::from_str(spec).unwrap();
    let mut random = Streams::new(1).stream("pattern");
    let pairs = pattern.plugin().over(&layout(), &mut random).unwrap();
    let destinations = destinations(spec);
    let turns = pairs.turns();
    assert!(turns > 0);
    let mut senders = BTreeSet::new();
    for turn in 0..100 * u64::from(RANKS) * turns {
        let (from, to) = pairs.pair(turn % turns, &mut random);
        assert!(from < RANKS && to < RANKS && from != to, "{from} to {to}");
        senders.insert(from);
        if destinations.is_fixed() {
            assert_eq!(destinations.destination(from, false, &mut draws(from, turn)), Some(to));
        }
    }
    assert_eq!(senders.len() as u32, pairs.senders());
    let share = |&source: &u32| destinations.share(source, false) > 0.0;
    assert!(senders.iter().copied().eq((0..RANKS).filter(share)), "those who send are the same ones");
}

fn lanes(spec: &str, rate: f64) -> Vec<Lane> {
    let injection: InjectionSpec = serde_json::from_str(spec).unwrap();
    injection.plugin().lanes(rate, RANKS, &mut Streams::new(1).stream("injection")).unwrap()
}

/// Cycles of the packets of a source below `until`, by all lanes that it takes part in.
fn packets(lanes: &[Lane], source: u32, until: u64) -> Vec<u64> {
    let mut cycles = Vec::new();
    for (index, lane) in lanes.iter().enumerate() {
        if lane.sources.as_ref().is_some_and(|sources| !sources[source as usize]) {
            continue;
        }
        let base = key(Streams::new(5).key("contract"), u64::from(source) << 8 | index as u64);
        let mut clock = lane.process.start(&mut Draws::new(base));
        let mut count = 0;
        while clock.cycle < until {
            cycles.push(clock.cycle);
            count += 1;
            let before = clock.cycle;
            lane.process.next(&mut clock, &mut Draws::new(key(base, count)));
            assert!(clock.cycle >= before, "time goes on");
        }
    }
    cycles
}

fn makes_as_many_packets_as_asked_for(spec: &str, rate: f64) {
    const CYCLES: u64 = 40_000;
    let lanes = lanes(spec, rate);
    let made: usize = (0..RANKS).map(|source| packets(&lanes, source, CYCLES).len()).sum();
    let mean = made as f64 / (CYCLES * u64::from(RANKS)) as f64;
    // the least regular of the lines makes its packets in bursts of some hundred
    assert!((mean / rate - 1.0).abs() < 0.03, "{mean} for {rate}");
    assert_eq!(packets(&lanes, 3, CYCLES), packets(&lanes, 3, CYCLES), "the same draws, the same packets");
}

fn is_silent_without_a_load(spec: &str) {
    for lane in lanes(spec, 0.0) {
        assert_eq!(lane.process.start(&mut Draws::new(1)).cycle, Clock::NEVER);
    }
}

macro_rules! pattern_contract {
    ($($name:ident: $spec:literal;)+) => {
        mod pattern {
            $(mod $name {
                use super::super::*;

                #[test]
                fn destinations_are_ranks_and_only_oneself_where_asked_for() {
                    stays_among_the_ranks($spec);
                }

                #[test]
                fn it_fits_any_number_of_ranks_or_refuses_it() {
                    fits_or_is_refused($spec);
                }

                #[test]
                fn every_source_sends_its_share() {
                    sends_as_often_as_it_says($spec);
                }

                #[test]
                fn pairs_and_destinations_say_the_same() {
                    its_pairs_are_those_of_its_destinations($spec);
                }
            })+
        }

        stratasim_testkit::every_kind_has_a_line!(every_pattern_has_a_contract, PatternSpec, "pattern_contract!", [$($spec),+]);
    };
}

macro_rules! injection_contract {
    ($($name:ident: $spec:literal;)+) => {
        mod injection {
            $(mod $name {
                use super::super::*;

                #[test]
                fn it_makes_as_many_packets_as_asked_for() {
                    makes_as_many_packets_as_asked_for($spec, 0.2);
                }

                #[test]
                fn it_is_silent_without_a_load() {
                    is_silent_without_a_load($spec);
                }
            })+
        }

        stratasim_testkit::every_kind_has_a_line!(every_process_of_injection_has_a_contract, InjectionSpec, "injection_contract!", [$($spec),+]);
    };
}

pattern_contract! {
    uniform_random: r#"{"kind": "uniform-random"}"#;
    permutation: r#"{"kind": "permutation"}"#;
    shift: r#"{"kind": "shift"}"#;
    neighbour: r#"{"kind": "neighbour"}"#;
    all_to_all: r#"{"kind": "all-to-all"}"#;
    incast: r#"{"kind": "incast"}"#;
    hot_spot: r#"{"kind": "hot-spot"}"#;
    bit_complement: r#"{"kind": "bit-complement"}"#;
    transpose: r#"{"kind": "transpose"}"#;
    bit_reversal: r#"{"kind": "bit-reversal"}"#;
    shuffle: r#"{"kind": "shuffle"}"#;
    tornado: r#"{"kind": "tornado"}"#;
    digit_neighbour: r#"{"kind": "digit-neighbour"}"#;
    diagonal: r#"{"kind": "diagonal"}"#;
    asymmetric: r#"{"kind": "asymmetric"}"#;
    taper: r#"{"kind": "taper"}"#;
    bad_dragonfly: r#"{"kind": "bad-dragonfly"}"#;
    bad_yarc: r#"{"kind": "bad-yarc"}"#;
    background: r#"{"kind": "background"}"#;
    hot_spots: r#"{"kind": "hot-spots"}"#;
    local: r#"{"kind": "local"}"#;
    fft: r#"{"kind": "fft"}"#;
    list: r#"{"kind": "list", "pairs": [[0, 1], [5, 7], [7, 5]]}"#;
}

injection_contract! {
    bernoulli: r#"{"kind": "bernoulli"}"#;
    poisson: r#"{"kind": "poisson"}"#;
    on_off: r#"{"kind": "on-off", "alpha": 0.05, "beta": 0.05}"#;
    periodic: r#"{"kind": "periodic"}"#;
    mixture: r#"{"kind": "mixture", "parts": [{"fraction": 0.5, "injection": {"kind": "bernoulli"}},
        {"fraction": 0.5, "injection": {"kind": "poisson"}}]}"#;
}
