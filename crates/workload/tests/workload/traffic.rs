//! Synthetic traffic: every pattern keeps its promise, sizes and times have their distributions.

use std::collections::BTreeMap;

use crate::common::Machine;
use stratasim_core::Rank;
use stratasim_workload::builders::traffic::TrafficWorkload;
use stratasim_workload::pattern::{Along, PatternSpec, Shape};
use stratasim_workload::program::{Op, Peer, Program, Scope};

/// Sender, receiver, bytes and start in picoseconds of every message.
fn flows(program: &Program) -> Vec<(u32, u32, u64, u64)> {
    let flow = |vertex: &stratasim_workload::Vertex| match (vertex.scope, &vertex.op) {
        (Scope::One(Rank(from)), &Op::Transfer { to: Peer::Rank(Rank(to)), bytes, .. }) => {
            (from, to, bytes, vertex.not_before.as_ps())
        }
        other => panic!("not a message: {other:?}"),
    };
    program.vertices().iter().map(flow).collect()
}

fn traffic(ranks: u32, flows: u32, pattern: &str, rest: &str) -> String {
    let _ = ranks;
    format!(
        r#"{{"kind": "traffic", "pattern": {pattern}, "flows": {flows},
            "size": {{"kind": "fixed", "bytes": "1 kB"}}{rest}}}"#
    )
}

fn pairs(ranks: u32, count: u32, pattern: &str) -> Vec<(u32, u32)> {
    let program = Machine::new(ranks).build(&traffic(ranks, count, pattern, "")).unwrap();
    flows(&program).into_iter().map(|(from, to, ..)| (from, to)).collect()
}

#[test]
fn no_pattern_sends_to_its_sender_or_beyond_the_machine() {
    for kind in PatternSpec::KINDS {
        for ranks in [16, 64, 256] {
            for arrivals in ["", r#", "arrivals": {"kind": "poisson", "rate": "1 Gbps"}"#] {
                let spec = traffic(ranks, 1000, &format!(r#"{{"kind": "{kind}"}}"#), arrivals);
                let dimensions = vec![(4, Along::Ring), (ranks / 4, Along::Line)];
                let machine =
                    Machine { shape: Shape::Grid { per_vertex: 1, dimensions }, ..Machine::new(ranks) };
                for (from, to, ..) in flows(&machine.build(&spec).unwrap()) {
                    assert!(from < ranks && to < ranks && from != to, "{kind}: {from} to {to} of {ranks}");
                }
            }
        }
    }
}

#[test]
fn the_note_about_messages_has_numbers_of_four_digits() {
    let arrivals = r#", "arrivals": {"kind": "poisson", "rate": "1 Gbps"}"#;
    let program =
        Machine::new(8).build(&traffic(8, 12_345, r#"{"kind": "uniform-random"}"#, arrivals)).unwrap();
    let [note] = &program.summary().notes[..] else { panic!("{:?}", program.summary().notes) };
    let (messages, sent) = note.split_once(", the last one sent at ").unwrap();
    // 12,345 kB
    assert_eq!(messages, "12,345 messages, 12.35 MB");
    let digits = sent.chars().filter(char::is_ascii_digit).count();
    assert!(digits <= 4, "{note}");
}

#[test]
fn uniform_random_pairs_are_all_as_likely() {
    let ranks = 8;
    let mut count = BTreeMap::new();
    for pair in pairs(ranks, 56_000, r#"{"kind": "uniform-random"}"#) {
        *count.entry(pair).or_insert(0.0) += 1.0;
    }
    assert_eq!(count.len(), 56);
    // chi-square with 55 degrees of freedom: mean 55, standard deviation sqrt(110) = 10.5
    let chi_square: f64 = count.values().map(|seen: &f64| (seen - 1000.0).powi(2) / 1000.0).sum();
    assert!((15.0..110.0).contains(&chi_square), "{chi_square}");
}

#[test]
fn a_permutation_gives_every_rank_one_sender_and_another_seed_another_one() {
    for ranks in [2, 3, 7, 1024] {
        let mut seen = pairs(ranks, ranks, r#"{"kind": "permutation"}"#);
        assert!(seen.iter().map(|pair| pair.0).eq(0..ranks), "senders in order");
        seen.sort_by_key(|pair| pair.1);
        assert!(seen.iter().map(|pair| pair.1).eq(0..ranks), "every receiver once");
    }
    let of_seed = |seed| {
        let spec = traffic(64, 64, r#"{"kind": "permutation"}"#, "");
        flows(&Machine { seed, ..Machine::new(64) }.build(&spec).unwrap())
    };
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1), of_seed(2));
}

#[test]
fn every_derangement_of_four_is_as_likely() {
    // there are 9: !4 = 9
    let mut count: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    for seed in 0..1800 {
        let spec = traffic(4, 4, r#"{"kind": "permutation"}"#, "");
        let program = Machine { seed, ..Machine::new(4) }.build(&spec).unwrap();
        *count.entry(flows(&program).iter().map(|flow| flow.1).collect()).or_default() += 1;
    }
    assert_eq!(count.len(), 9);
    // 200 each, standard deviation 13
    assert!(count.values().all(|seen| (135..265).contains(seen)), "{count:?}");
}

#[test]
fn regular_patterns_are_what_they_are_called() {
    assert_eq!(pairs(4, 4, r#"{"kind": "shift"}"#), [(0, 1), (1, 2), (2, 3), (3, 0)]);
    assert_eq!(pairs(4, 2, r#"{"kind": "shift", "offset": -1}"#), [(0, 3), (1, 0)]);
    let halo = pairs(5, 10, r#"{"kind": "neighbour"}"#);
    assert_eq!(halo[..5], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]);
    assert_eq!(halo[5..], [(0, 4), (1, 0), (2, 1), (3, 2), (4, 3)]);
    assert_eq!(pairs(4, 3, r#"{"kind": "incast", "target": 2}"#), [(3, 2), (0, 2), (1, 2)]);
    assert_eq!(pairs(4, 2, r#"{"kind": "incast", "fan-in": 1}"#), [(1, 0), (1, 0)]);
    assert_eq!(pairs(4, 4, r#"{"kind": "bit-complement"}"#), [(0, 3), (1, 2), (2, 1), (3, 0)]);
    assert_eq!(pairs(9, 6, r#"{"kind": "transpose"}"#), [(1, 3), (2, 6), (3, 1), (5, 7), (6, 2), (7, 5)]);
    let mut all = pairs(5, 20, r#"{"kind": "all-to-all"}"#);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 20, "every ordered pair once");
}

#[test]
fn a_hot_spot_gets_its_fraction_and_its_share_of_the_rest() {
    let ranks = 16;
    let flows = pairs(ranks, 40_000, r#"{"kind": "hot-spot", "target": 3, "fraction": 0.25}"#);
    let share = flows.iter().filter(|pair| pair.1 == 3).count() as f64 / 40_000.0;
    // 15/16 of the senders: 0.25 + 0.75 / 15
    let expected = 15.0 / 16.0 * (0.25 + 0.75 / 15.0);
    assert!((share - expected).abs() < 5.0 * (expected * (1.0 - expected) / 40_000.0).sqrt(), "{share}");
}

#[test]
fn exponential_sizes_have_their_mean_and_shape() {
    let spec = r#"{"kind": "traffic", "flows": 40000, "size": {"kind": "exponential", "mean": "5 MB"}}"#;
    let sizes: Vec<f64> =
        flows(&Machine::new(1024).build(spec).unwrap()).iter().map(|flow| flow.2 as f64).collect();
    let mean = sizes.iter().sum::<f64>() / 40_000.0;
    // standard error of the mean: mean / sqrt(40000) = 0.5 %
    assert!((mean / 5e6 - 1.0).abs() < 0.025, "{mean}");
    for times in [0.5, 1.0, 3.0] {
        let above = sizes.iter().filter(|&&size| size > times * 5e6).count() as f64 / 40_000.0;
        let expected = (-times).exp();
        assert!(
            (above - expected).abs() < 5.0 * (expected / 40_000.0_f64).sqrt(),
            "P(size > {times} mean) = {above}"
        );
    }
}

#[test]
fn measured_sizes_come_from_points_or_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(folder.path().join("sizes.txt"), text).unwrap();
    let mut machine = Machine::new(8);
    machine.base = folder.path().to_owned();
    let build = |size: &str| {
        let spec =
            format!(r#"{{"kind": "traffic", "flows": 1000, "size": {{"kind": "empirical", {size}}}}}"#);
        machine.build(&spec).map(|program| flows(&program).iter().map(|flow| flow.2).collect::<Vec<_>>())
    };
    let points = build(r#""points": [["10 B", 0.25], ["30 B", 0.5], ["1 kB", 1]]"#).unwrap();
    let drawn = points.iter().filter(|&&bytes| bytes == 10).count();
    assert!((200..300).contains(&drawn), "{drawn}");
    assert!(points.iter().all(|bytes| (10..=1000).contains(bytes)));
    // a quarter of the messages is empty
    let empty = build(r#""points": [["0 B", 0.25], ["30 B", 1]]"#).unwrap();
    let drawn = empty.iter().filter(|&&bytes| bytes == 0).count();
    assert!((200..300).contains(&drawn), "{drawn}");
    let file = r#""path": "sizes.txt""#;
    for same in ["# bytes share\n10 0.25\n30\t0.5\n\n1000, 1\n", "\u{feff}10 25\r\n30 50 # half\r\n1000 100"]
    {
        write(same);
        assert_eq!(build(file).unwrap(), points, "{same}");
    }
    for (text, expected) in [
        ("10 0.5\n20", "size.path: sizes.txt, line 2: found `20`, expected bytes and a share"),
        (
            "10 0\n20 50\n\n30 90",
            "sizes.txt, line 4: the last share is 90; 1, or 100 where they are percentages",
        ),
        ("10 0.5\nx 1", "size.path: sizes.txt, line 2: found `x 1`"),
        ("10 0.5\n\n20 0.4\n30 1", "sizes.txt, line 3: a share of 0.4; from 0.5 to 1 is expected"),
        ("10 0.5\n20 90", "sizes.txt, line 2: a share of 90; from 0.5 to 1 is expected"),
        ("-1 0\n20 1", "sizes.txt, line 1: -1 bytes"),
        ("# nothing", "sizes.txt: no point is there"),
    ] {
        write(text);
        let found = build(file).unwrap_err().to_string();
        assert!(found.contains(expected), "{text}: {found}");
    }
    for (size, expected) in [
        (r#""path": "none.txt""#, "size.path: cannot read"),
        (r#""path": "sizes.txt", "points": [["1 B", 1]]"#, "size.path: `points` are given, too"),
        (r#""points": [["1 B", 0.5], ["2 B", 0.7]]"#, "size.points.1: the last share is 0.7"),
        (r#""points": []"#, "size.points: no point is there"),
    ] {
        let found = build(size).unwrap_err().to_string();
        assert!(found.contains(expected), "{size}: {found}");
    }
    let nothing = Machine::new(8).build(r#"{"kind": "traffic", "flows": 1, "size": {"kind": "empirical"}}"#);
    assert!(nothing.unwrap_err().to_string().contains("size: neither `points`"));
}

#[test]
fn searches_have_their_mean_and_median() {
    let spec = r#"{"kind": "traffic", "flows": 40000, "size": {"kind": "web-search"}}"#;
    let mut sizes: Vec<u64> =
        flows(&Machine::new(64).build(spec).unwrap()).iter().map(|flow| flow.2).collect();
    sizes.sort_unstable();
    let mean = sizes.iter().sum::<u64>() as f64 / 40_000.0;
    // the standard deviation is 4.0 MB: five standard errors are 0.1 MB
    assert!((mean - 1_711_250.0).abs() < 105_000.0, "{mean}");
    // a hundredth of the messages lies within 2.3 kB there; five standard errors are 1.25 hundredths
    assert!(sizes[20_000].abs_diff(73_077) < 2_900, "{}", sizes[20_000]);
    assert!(sizes[0] > 0 && sizes[39_999] <= 30_000_000);
}

#[test]
fn uniform_sizes_stay_in_their_range_and_reach_its_ends() {
    let spec =
        r#"{"kind": "traffic", "flows": 2000, "size": {"kind": "uniform", "min": "3 B", "max": "9 B"}}"#;
    let mut sizes: Vec<u64> =
        flows(&Machine::new(8).build(spec).unwrap()).iter().map(|flow| flow.2).collect();
    sizes.sort_unstable();
    sizes.dedup();
    assert_eq!(sizes, [3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn poisson_arrivals_offer_the_load_and_have_exponential_gaps() {
    let spec = r#"{"kind": "traffic", "flows": 20000, "size": {"kind": "exponential", "mean": "5 MB"},
        "arrivals": {"kind": "poisson", "load": 0.3, "rate": "100 Gbps"}}"#;
    let flows = flows(&Machine::new(1024).build(spec).unwrap());
    let times: Vec<f64> = flows.iter().map(|flow| flow.3 as f64 * 1e-12).collect();
    let offered = flows.iter().map(|flow| flow.2 as f64).sum::<f64>() / times.last().unwrap();
    // bytes per second and host over 12.5 GB/s
    let load = offered / 1024.0 / 12.5e9;
    // both sums have a relative standard error of 1/sqrt(20000)
    assert!((load / 0.3 - 1.0).abs() < 5.0 * (2.0 / 20_000.0_f64).sqrt(), "{load}");
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|&gap| gap >= 0.0));
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let long = gaps.iter().filter(|&&gap| gap > 2.0 * mean).count() as f64 / gaps.len() as f64;
    assert!((long - (-2.0_f64).exp()).abs() < 0.013, "{long}");
}

#[test]
fn sizes_pairs_and_times_are_drawn_independently() {
    let build = |size: &str, rate: &str| {
        flows(
            &Machine::new(64)
                .build(&format!(
                    r#"{{"kind": "traffic", "flows": 100, "size": {size},
                        "arrivals": {{"kind": "poisson", "rate": "{rate}"}}}}"#
                ))
                .unwrap(),
        )
    };
    let fixed = r#"{"kind": "fixed", "bytes": "5 MB"}"#;
    let drawn = r#"{"kind": "exponential", "mean": "5 MB"}"#;
    let (a, b, c) = (build(fixed, "1 Gbps"), build(drawn, "1 Gbps"), build(drawn, "2 Gbps"));
    assert!(a.iter().zip(&b).all(|(a, b)| (a.0, a.1, a.3) == (b.0, b.1, b.3)));
    assert!(b.iter().zip(&c).all(|(b, c)| (b.0, b.1, b.2) == (c.0, c.1, c.2)));
    assert_ne!(b[7].3, c[7].3);
    assert_eq!(build(r#""5 MB""#, "1 Gbps"), a, "a size alone is that of all");
}

#[test]
fn a_size_is_text_with_a_unit_or_a_distribution() {
    let read = |size: &str| {
        let text = format!(r#"{{"flows": 1, "size": {size}}}"#);
        serde_json::from_str::<TrafficWorkload>(&text).map_err(|error| error.to_string())
    };
    assert_eq!(read(r#"" 2 kB""#), read(r#"{"kind": "fixed", "bytes": "2 kB"}"#));
    assert!(read(r#""web-search""#).is_ok());
    let refused = [
        (r#""2 kBB""#, "the unit `kBB` is unknown here"),
        (r#""-2 kB""#, "unknown kind `-2 kB`"),
        (r#""web-serch""#, "did you mean `web-search`?"),
        ("2000", "expected a size such as \"1 MB\", or a distribution as a table with a `kind`"),
    ];
    for (size, reason) in refused {
        let error = read(size).expect_err(size);
        assert!(error.contains(reason), "{size}: {error}");
    }
}

#[test]
fn what_makes_no_traffic_is_refused_with_its_remedy() {
    let machine = Machine::new(8);
    let pattern = |pattern: &str| machine.error(&traffic(8, 10, pattern, ""));
    for (found, expected) in [
        (pattern(r#"{"kind": "shift", "offset": 16}"#), "pattern.offset: an offset of 16 among 8 ranks"),
        (pattern(r#"{"kind": "neighbour", "reach": 4}"#), "pattern.reach: 4 ranks on each side of 8"),
        (pattern(r#"{"kind": "incast", "target": 8}"#), "pattern.target: rank 8 does not exist"),
        (pattern(r#"{"kind": "incast", "fan-in": 8}"#), "pattern.fan-in: 8 senders to one of 8 ranks"),
        (pattern(r#"{"kind": "hot-spot", "fraction": 1.5}"#), "pattern.fraction: a fraction lies between"),
        (pattern(r#"{"kind": "transpose"}"#), "pattern: transpose needs a square"),
        (machine.error(&traffic(8, 0, r#"{"kind": "permutation"}"#, "")), "flows: 0 messages"),
        (
            machine.error(&traffic(8, 4_000_000_000, r#"{"kind": "permutation"}"#, "")),
            "flows: 4000000000 messages",
        ),
        (
            Machine::new(6).error(&traffic(6, 10, r#"{"kind": "bit-complement"}"#, "")),
            "pattern: bit-complement needs a power of two",
        ),
        (
            Machine::new(1).error(&traffic(1, 10, r#"{"kind": "permutation"}"#, "")),
            "pattern: traffic needs at least two ranks, got 1",
        ),
        (
            machine.error(&traffic(8, 10, r#"{"kind": "shift"}"#, r#", "rate-cap": "0 bps""#)),
            "rate-cap: a message with a limit of 0",
        ),
        (
            machine.error(
                r#"{"kind": "traffic", "flows": 9, "size": {"kind": "uniform", "min": "2 B", "max": "1 B"}}"#,
            ),
            "size.min: the smallest size, 2 B, is above the largest",
        ),
    ] {
        assert!(found.starts_with(expected), "{found}");
    }
    for (arrivals, expected) in [
        (r#"{"kind": "poisson", "rate": "1 Gbps", "load": 0}"#, "arrivals.load: a load is above 0"),
        (r#"{"kind": "poisson", "rate": "0 Gbps"}"#, "arrivals.rate: a rate of 0"),
        (r#"{"kind": "poisson", "rate": "1 bps", "load": 1e-9}"#, "arrivals: the last message arrives after"),
    ] {
        let rest = format!(r#", "arrivals": {arrivals}"#);
        let found = machine.error(&traffic(8, 10, r#"{"kind": "shift"}"#, &rest));
        assert!(found.starts_with(expected), "{found}");
    }
}
