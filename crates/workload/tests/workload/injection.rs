//! Processes of injection: rate, variance and independence are those of the definition.

use stratasim_core::random::{Draws, Streams, key};
use stratasim_workload::injection::{Clock, InjectionSpec, Lane};

fn lanes(spec: &str, rate: f64, sources: u32) -> Result<Vec<Lane>, String> {
    let spec: InjectionSpec = serde_json::from_str(spec).map_err(|error| error.to_string())?;
    let mut random = Streams::new(1).stream("injection");
    spec.plugin().lanes(rate, sources, &mut random).map_err(|error| error.to_string())
}

/// Cycles of the packets of one lane below `until`.
fn packets(lane: &Lane, source: u64, until: u64) -> Vec<u64> {
    let base = key(Streams::new(5).key("test"), source);
    let draws = |number: u64| Draws::new(key(base, number));
    let mut clock = lane.process.start(&mut draws(0));
    let mut cycles = Vec::new();
    while clock.cycle < until {
        cycles.push(clock.cycle);
        lane.process.next(&mut clock, &mut draws(cycles.len() as u64));
    }
    cycles
}

/// Mean and variance of the packets in windows of `window` cycles, over many sources.
fn counts(lane: &Lane, window: u64) -> (f64, f64) {
    let (mut sum, mut squares, mut number) = (0.0, 0.0, 0.0);
    for source in 0..200 {
        let mut bins = vec![0.0_f64; 100];
        for cycle in packets(lane, source, 100 * window) {
            bins[(cycle / window) as usize] += 1.0;
        }
        sum += bins.iter().sum::<f64>();
        squares += bins.iter().map(|count| count * count).sum::<f64>();
        number += 100.0;
    }
    let mean = sum / number;
    (mean, squares / number - mean * mean)
}

#[test]
fn bernoulli_and_poisson_have_the_variance_of_their_distribution() {
    // 20,000 windows: the mean of a count is known to about 1 %, its variance to about 1.2 %
    for rate in [0.02, 0.3, 0.9] {
        let (mean, variance) = counts(&lanes(r#"{"kind": "bernoulli"}"#, rate, 1).unwrap()[0], 50);
        assert!((mean / (50.0 * rate) - 1.0).abs() < 0.05, "{rate}: {mean}");
        assert!((variance / (50.0 * rate * (1.0 - rate)) - 1.0).abs() < 0.08, "{rate}: {variance}");
        let (mean, variance) = counts(&lanes(r#"{"kind": "poisson"}"#, rate, 1).unwrap()[0], 50);
        assert!((mean / (50.0 * rate) - 1.0).abs() < 0.05, "{rate}: {mean}");
        assert!((variance / (50.0 * rate) - 1.0).abs() < 0.08, "{rate}: {variance}");
    }
}

#[test]
fn bernoulli_makes_one_packet_per_cycle_at_most_and_poisson_several() {
    let at_one = packets(&lanes(r#"{"kind": "bernoulli"}"#, 1.0, 1).unwrap()[0], 0, 1000);
    assert!(at_one.into_iter().eq(0..1000));
    let half = packets(&lanes(r#"{"kind": "bernoulli"}"#, 0.5, 1).unwrap()[0], 0, 10_000);
    assert!(half.windows(2).all(|pair| pair[0] < pair[1]));
    let poisson = packets(&lanes(r#"{"kind": "poisson"}"#, 0.5, 1).unwrap()[0], 0, 100_000);
    let mut per_cycle = vec![0; 100_000];
    poisson.iter().for_each(|&cycle| per_cycle[cycle as usize] += 1);
    // e^-r r^k / k!: 0.6065, 0.3033, 0.0758, 0.0126
    for (count, share) in [(0, 0.606_53), (1, 0.303_27), (2, 0.075_82), (3, 0.012_64)] {
        let seen = per_cycle.iter().filter(|&&here| here == count).count() as f64 / 1e5;
        assert!((seen - share).abs() < 6.0 * (share / 1e5_f64).sqrt(), "{count}: {seen}");
    }
}

/// The same process cycle by cycle, as its definition says.
fn literal_on_off(alpha: f64, beta: f64, r1: f64, source: u64, until: u64) -> Vec<u64> {
    let mut draws = Draws::new(key(99, source));
    let mut on = draws.happens(alpha / (alpha + beta));
    let mut cycles = Vec::new();
    for cycle in 0..until {
        if cycle > 0 {
            on = if on { !draws.happens(beta) } else { draws.happens(alpha) };
        }
        if on && draws.happens(r1) {
            cycles.push(cycle);
        }
    }
    cycles
}

#[test]
fn on_off_jumps_as_the_process_steps() {
    // rate 0.05, bursts of 20 cycles with a packet in every second one
    let (alpha, beta, r1) = (0.05 * 0.05 / 0.45, 0.05, 0.5);
    let lane = &lanes(r#"{"kind": "on-off", "beta": 0.05, "r1": 0.5}"#, 0.05, 1).unwrap()[0];
    let gaps = |runs: Vec<Vec<u64>>| {
        let mut histogram = [0.0_f64; 6];
        let mut total = 0.0_f64;
        for run in runs {
            for pair in run.windows(2) {
                let bin = [1, 2, 4, 16, 64].iter().filter(|&&limit| pair[1] - pair[0] > limit).count();
                histogram[bin] += 1.0;
                total += 1.0;
            }
        }
        (histogram.map(|count| count / total), total)
    };
    let (ours, total) = gaps((0..400).map(|source| packets(lane, source, 10_000)).collect());
    let (theirs, _) = gaps((0..400).map(|source| literal_on_off(alpha, beta, r1, source, 10_000)).collect());
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        // six standard deviations of a difference
        let sd = (2.0 * theirs * (1.0 - theirs) / total).sqrt();
        assert!((ours - theirs).abs() < 6.0 * sd, "{ours} {theirs}");
    }
    let (mean, _) = counts(lane, 500);
    assert!((mean / 25.0 - 1.0).abs() < 0.05, "{mean}");
    // the first window is like all others: sources start in the steady state
    let first: usize = (0..2000).map(|source| packets(lane, source, 100).len()).sum();
    assert!((first as f64 / 2000.0 - 5.0).abs() < 0.9, "{first}");
}

#[test]
fn on_off_derives_the_third_of_its_parameters_and_refuses_what_is_no_probability() {
    for spec in [
        r#"{"kind": "on-off", "alpha": 0.02, "r1": 0.4}"#,
        r#"{"kind": "on-off", "alpha": 0.02, "beta": 0.06}"#,
        r#"{"kind": "on-off", "beta": 0.06, "r1": 0.4}"#,
    ] {
        let (mean, _) = counts(&lanes(spec, 0.1, 1).unwrap()[0], 300);
        assert!((mean / 30.0 - 1.0).abs() < 0.05, "{spec}: {mean}");
        assert!(packets(&lanes(spec, 0.0, 1).unwrap()[0], 0, 1 << 40).is_empty());
    }
    // the third is 1 or 0, but for rounding
    for (spec, rate) in [
        (r#"{"kind": "on-off", "alpha": 0.02, "beta": 0.03}"#, 0.4),
        (r#"{"kind": "on-off", "alpha": 0.1, "r1": 0.3}"#, 0.1 + 0.2),
    ] {
        let (mean, _) = counts(&lanes(spec, rate, 1).unwrap()[0], 300);
        assert!((mean / (300.0 * rate) - 1.0).abs() < 0.05, "{spec}: {mean}");
    }
    for (spec, rate, word) in [
        // the case in which a well-known simulator silently gives 0.088 instead of 0.05
        (r#"{"kind": "on-off", "alpha": 0.1, "r1": 0.9}"#, 0.05, "ask for beta = 1.7"),
        (r#"{"kind": "on-off", "beta": 0.5, "r1": 0.2}"#, 0.3, "a larger r1"),
        (r#"{"kind": "on-off", "alpha": 0.01, "beta": 0.5}"#, 0.3, "ask for r1"),
        (r#"{"kind": "on-off", "alpha": 0.1}"#, 0.3, "two of"),
        (r#"{"kind": "on-off", "alpha": 0.1, "beta": 0.2, "r1": 0.5}"#, 0.3, "two of"),
        (r#"{"kind": "on-off", "alpha": 0.0, "beta": 0.2}"#, 0.3, "above 0"),
        (r#"{"kind": "bernoulli"}"#, 1.01, "0 to 1 packets"),
        (r#"{"kind": "poisson"}"#, f64::NAN, "0 to 1 packets"),
        (r#"{"kind": "mixture", "parts": []}"#, 0.1, "make 0"),
    ] {
        let reason = lanes(spec, rate, 4).expect_err("this is no process");
        assert!(reason.contains(word), "{reason}");
    }
}

#[test]
fn periodic_packets_keep_their_distance() {
    let lane = &lanes(r#"{"kind": "periodic", "aligned": true}"#, 0.3, 1).unwrap()[0];
    assert_eq!(packets(lane, 0, 20), [0, 3, 6, 10, 13, 16, 20][..6]);
    let phased = &lanes(r#"{"kind": "periodic"}"#, 0.01, 1).unwrap()[0];
    let firsts: Vec<u64> = (0..1000).map(|source| packets(phased, source, 1000)[0]).collect();
    assert!(firsts.iter().all(|&first| first < 100));
    let mean = firsts.iter().sum::<u64>() as f64 / 1000.0;
    assert!((mean - 49.5).abs() < 6.0, "{mean}");
    for source in 0..10 {
        let cycles = packets(phased, source, 1_000_000);
        assert_eq!(cycles.len(), 10_000);
        assert!(cycles.windows(2).all(|pair| (99..=101).contains(&(pair[1] - pair[0]))));
    }
}

#[test]
fn a_mixture_of_nodes_divides_the_sources_and_one_of_packets_the_load() {
    let parts = r#""parts": [{"fraction": 0.25, "injection": {"kind": "periodic"}},
        {"fraction": 0.75, "injection": {"kind": "poisson"}}]"#;
    let nodes = lanes(&format!(r#"{{"kind": "mixture", {parts}}}"#), 0.2, 64).unwrap();
    let member = |lane: usize| nodes[lane].sources.clone().unwrap();
    assert_eq!(member(0).iter().filter(|&&here| here).count(), 16);
    assert!(member(0).iter().zip(member(1)).all(|(&a, b)| a != b), "each source is in one part");
    let (mean, _) = counts(&nodes[1], 50);
    assert!((mean / 10.0 - 1.0).abs() < 0.05, "{mean}");
    let packets = lanes(&format!(r#"{{"kind": "mixture", "of": "packets", {parts}}}"#), 0.2, 64).unwrap();
    let means = [counts(&packets[0], 200).0, counts(&packets[1], 200).0];
    assert!((means[0] - 10.0).abs() < 0.1 && (means[1] / 30.0 - 1.0).abs() < 0.05, "{means:?}");
    assert!(packets.iter().all(|lane| lane.sources.is_none()));
}

#[test]
fn no_load_makes_no_packet() {
    for kind in ["bernoulli", "poisson", "periodic"] {
        let lane = &lanes(&format!(r#"{{"kind": "{kind}"}}"#), 0.0, 1).unwrap()[0];
        assert!(packets(lane, 3, Clock::NEVER).is_empty(), "{kind}");
    }
}
