//! What every recovery and every congestion control must do, one line per kind.

use std::sync::Arc;

use stratasim_core::random::{Draws, Streams, key};
use stratasim_core::{Bandwidth, Duration, Time};
use stratasim_transport::congestion::{Acked, CongestionControl, Control};
use stratasim_transport::harness::channel::{Impairment, Loss};
use stratasim_transport::harness::{Outcome, Setting, Violation, run};
use stratasim_transport::{
    CongestionSpec, EntropySpec, HopRecord, PacketSizes, Profile, RecoverySpec, Telemetry, TransportSpec,
};

const SIZES: PacketSizes = PacketSizes {
    payload_bytes: 1000,
    header_bytes: 64,
    control_bytes: 64,
    full_packets: false,
    count_headers: true,
};

fn profile(congestion: &str, recovery: Option<&str>, setting: &Setting) -> Arc<Profile> {
    let spec = TransportSpec {
        congestion: serde_json::from_str(congestion).unwrap(),
        recovery: recovery.map(|text| serde_json::from_str(text).unwrap()),
        packets: SIZES,
        ..TransportSpec::default()
    };
    Profile::new(&spec, setting.path(SIZES.wire_bytes(), 64)).unwrap()
}

/// A fixed window of two round trips, so that only the recovery is under test.
const WINDOW: &str = r#"{"kind": "fixed-window", "factor": 2.0}"#;

/// Impairments of a seed: some of each, up to heavy.
fn impaired(seed: u64, lossy: bool) -> Setting {
    let mut draws = Draws::new(key(Streams::new(7).key("impairments"), seed));
    let mut some = |most: f64| if draws.below(2) == 0 { 0.0 } else { draws.unit() * most };
    let mut impairment = |bursty: bool| {
        let rate = some(0.2);
        let loss = match (lossy, bursty) {
            (false, _) => Loss::None,
            (true, false) => Loss::Bernoulli(rate),
            (true, true) => {
                Loss::GilbertElliott { to_bad: rate / 5.0, to_good: 0.3, loss_good: 0.0, loss_bad: 0.9 }
            }
        };
        let corruption = if lossy { some(0.05) } else { 0.0 };
        Impairment {
            loss,
            corruption,
            duplication: some(0.1),
            reordering: some(0.3),
            late: Duration::from_ns(20_000),
        }
    };
    let (forward, back) = (impairment(seed.is_multiple_of(3)), impairment(seed.is_multiple_of(5)));
    Setting { forward, back, seed, ..Setting::default() }
}

fn deliver(recovery: &str, lossy: bool, seeds: u64) {
    let profile = profile(WINDOW, Some(recovery), &Setting::default());
    for seed in 0..seeds {
        let messages = [1 + seed * 37 % 30_000, 0, seed * 101 % 20_000];
        if let Err(violation) = run(&profile, &impaired(seed, lossy), &messages) {
            panic!("seed {seed}: {violation:?}");
        }
    }
}

fn nothing_lost_nothing_sent_again(recovery: &str) {
    let setting = Setting::default();
    let outcome = run(&profile(WINDOW, Some(recovery), &setting), &setting, &[500_000]).unwrap();
    assert_eq!((outcome.sender.packets, outcome.sender.timeouts), (500, 0));
    // at the rate of the link, and a round trip: 1064 B take 851.2 ns, 64 B 51.2 ns
    assert_eq!(outcome.acknowledged_at.as_ps(), 500 * 851_200 + 10_000_000 + 51_200);
}

fn runs_are_repeated_exactly(recovery: &str, lossy: bool) {
    let profile = profile(WINDOW, Some(recovery), &Setting::default());
    let once = || run(&profile, &impaired(11, lossy), &[100_000]);
    assert_eq!(once(), once());
}

/// Mean of sent / needed over long flows at one loss rate of data packets.
fn sent_per_needed(recovery: &str, rate: f64) -> f64 {
    let mut sum = 0.0;
    for seed in 0..20 {
        let forward = Impairment { loss: Loss::Bernoulli(rate), ..Impairment::default() };
        let setting = Setting { forward, seed, ..Setting::default() };
        sum += run(&profile(WINDOW, Some(recovery), &setting), &setting, &[2_000_000])
            .unwrap()
            .sent_per_needed();
    }
    sum / 20.0
}

macro_rules! recovery_contract {
    ($($name:ident: $spec:literal, lossy $lossy:literal, seeds $seeds:literal;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn delivers_everything_once_and_in_order() {
                deliver($spec, $lossy, $seeds);
            }

            #[test]
            fn sends_nothing_again_where_nothing_is_lost() {
                nothing_lost_nothing_sent_again($spec);
            }

            #[test]
            fn repeats_a_run_exactly() {
                runs_are_repeated_exactly($spec, $lossy);
            }
        })+

        stratasim_testkit::every_kind_has_a_line!(every_recovery_has_a_contract, RecoverySpec, "recovery_contract!", [$($spec),+]);
    };
}

recovery_contract! {
    go_back_n: r#"{"kind": "go-back-n", "timeout": "200 us"}"#, lossy true, seeds 10000;
    go_back_n_always: r#"{"kind": "go-back-n", "timeout": "200 us", "nak": "always"}"#, lossy true, seeds 10000;
    go_back_n_silent: r#"{"kind": "go-back-n", "timeout": "100 us", "nak": "never"}"#, lossy true, seeds 10000;
    irn: r#"{"kind": "irn"}"#, lossy true, seeds 10000;
    sack: r#"{"kind": "sack"}"#, lossy true, seeds 10000;
    rltp: r#"{"kind": "rltp", "max-probes": 64}"#, lossy true, seeds 10000;
    rltp_lazy: r#"{"kind": "rltp", "acknowledge-every": 4, "window-packets": 70, "max-probes": 64}"#, lossy true, seeds 10000;
    trimming: r#"{"kind": "trimming", "timeout": "100 us"}"#, lossy true, seeds 10000;
    trimming_lazy: r#"{"kind": "trimming", "timeout": "100 us", "acknowledge-every": "4 kB"}"#, lossy true, seeds 10000;
    sleek: r#"{"kind": "trimming", "timeout": "100 us", "sleek": true}"#, lossy true, seeds 10000;
    none: r#"{"kind": "none"}"#, lossy false, seeds 10000;
}

#[test]
fn selective_repeat_sends_little_more_than_is_lost() {
    for recovery in [r#"{"kind": "rltp"}"#, r#"{"kind": "irn"}"#, r#"{"kind": "sack"}"#] {
        for rate in [0.001, 0.01, 0.1] {
            let sent = sent_per_needed(recovery, rate);
            assert!(sent <= 1.02 / (1.0 - rate), "{recovery} at {rate}: {sent}");
            assert!(
                sent >= 0.995 / (1.0 - rate),
                "{recovery} at {rate}: {sent}: the channel loses too little"
            );
        }
    }
}

#[test]
fn a_lossless_recovery_that_meets_loss_is_reported_as_stalled() {
    let forward = Impairment { loss: Loss::Listed(&[3]), ..Impairment::default() };
    let setting = Setting { forward, limit: Duration::from_ns(5_000_000), ..Setting::default() };
    let outcome = run(&profile(WINDOW, Some(r#"{"kind": "none"}"#), &setting), &setting, &[20_000]);
    assert!(matches!(outcome, Err(Violation::Unfinished { delivered_to: 3, .. })), "{outcome:?}");
}

#[test]
fn frames_of_rltp_deliver_every_byte_whatever_the_way_does() {
    let rltp = r#"{"kind": "rltp", "max-probes": 64, "window-packets": 200}"#;
    let profile = profile(r#"{"kind": "fixed-window", "factor": 12.0}"#, Some(rltp), &Setting::default());
    for seed in 0..1500 {
        let setting = Setting { frames: true, ..impaired(seed, true) };
        if let Err(violation) = run(&profile, &setting, &[1 + seed * 37 % 30_000, 0, 200_000 * (seed % 2)]) {
            panic!("seed {seed}: {violation:?}");
        }
    }
}

#[test]
fn rltp_gives_up_on_a_way_that_is_cut() {
    let forward = Impairment { loss: Loss::Bernoulli(1.0), ..Impairment::default() };
    let setting = Setting { forward, ..Setting::default() };
    let outcome =
        run(&profile(WINDOW, Some(r#"{"kind": "rltp", "max-probes": 3}"#), &setting), &setting, &[20_000]);
    assert!(matches!(outcome, Err(Violation::Unfinished { delivered_to: 0, .. })), "{outcome:?}");
}

/// A queue at half of the link's rate, which marks, and cuts or drops what is too much.
fn bottleneck(marks: bool, trims: bool) -> Setting {
    Setting {
        bottleneck: Bandwidth(0.625e9),
        buffer_bytes: 100_000,
        mark_above_bytes: if marks { 15_000 } else { u64::MAX },
        trims,
        ..Setting::default()
    }
}

/// Goodput in the rate of the bottleneck.
fn utilisation(outcome: &Outcome, bytes: u64) -> f64 {
    outcome.goodput_bps(bytes) / (0.625e9 * 8.0 * 1000.0 / 1064.0)
}

macro_rules! congestion_contract {
    ($($name:ident: $spec:literal, uses $least:literal of $bytes:literal;)+) => {
        $(mod $name {
            use super::*;

            /// Fills a bottleneck that marks and cuts, to a share of its rate, and the window never vanishes.
            #[test]
            fn uses_a_bottleneck() {
                let setting = bottleneck(true, true);
                let outcome = run(&profile($spec, None, &setting), &setting, &[$bytes]).unwrap();
                let used = utilisation(&outcome, $bytes);
                assert!(($least..=1.0 + 1e-9).contains(&used), "{used}");
                assert!(outcome.least_window_bytes > 0);
            }

            /// Neither window nor rate grow while everything says that there is too much.
            #[test]
            fn does_not_grow_under_marks() {
                under_marks($spec);
            }

            /// Delivers with its own recovery over ways that lose, double and reorder.
            #[test]
            fn comes_through_impairments() {
                for seed in 0..2000 {
                    let setting = Setting { bottleneck: Bandwidth(0.625e9), buffer_bytes: 60_000, trims: true, ..impaired(seed, outlasts_silence($spec)) };
                    if let Err(violation) = run(&profile($spec, None, &setting), &setting, &[60_000, 1, 40_000]) {
                        panic!("seed {seed}: {violation:?}");
                    }
                }
            }

            /// The same with every other recovery that repeats what is lost.
            #[test]
            fn comes_through_impairments_with_any_recovery() {
                for recovery in RECOVERIES {
                    let profile = profile($spec, Some(recovery), &bottleneck(true, true));
                    for seed in 0..1600 {
                        let setting = Setting { bottleneck: Bandwidth(0.625e9), buffer_bytes: 60_000, trims: seed % 2 == 0, ..impaired(seed, true) };
                        let messages: &[u64] = if seed % 4 < 2 { &[60_000, 1, 40_000] } else { &[500, 700] };
                        if let Err(violation) = run(&profile, &setting, messages) {
                            panic!("{recovery}, seed {seed}: {violation:?}");
                        }
                    }
                }
            }

            /// After a burst of losses in the middle it comes back: the whole ends at most thirty round trips of 10 us later.
            #[test]
            fn recovers() {
                let setting = bottleneck(true, true);
                let plain = run(&profile($spec, None, &setting), &setting, &[4_000_000]).unwrap();
                let losses: &'static [u64] = &[1000, 1001, 1002, 1003, 1010, 1020, 1030];
                let forward = Impairment { loss: Loss::Listed(losses), ..Impairment::default() };
                let setting = Setting { forward, ..setting };
                let recovery = (!outlasts_silence($spec)).then_some(TRIMMING);
                let hit = run(&profile($spec, recovery, &setting), &setting, &[4_000_000]).unwrap();
                assert!(hit.lost >= losses.len() as u64, "the channel loses what it is told to: {}", hit.lost);
                let more = hit.acknowledged_at.as_secs_f64() - plain.acknowledged_at.as_secs_f64();
                assert!(more < 300e-6, "{more} s longer");
            }
        })+

        stratasim_testkit::every_kind_has_a_line!(every_congestion_control_has_a_contract, CongestionSpec, "congestion_contract!", [$($spec),+]);
    };
}

/// A recovery of each kind that repeats what is lost.
const RECOVERIES: [&str; 5] = [
    r#"{"kind": "go-back-n", "timeout": "200 us"}"#,
    r#"{"kind": "irn"}"#,
    r#"{"kind": "sack"}"#,
    r#"{"kind": "rltp", "max-probes": 64}"#,
    TRIMMING,
];

const TRIMMING: &str = r#"{"kind": "trimming", "timeout": "100 us"}"#;

/// Whether the recovery that a control brings repeats what vanishes without a word. ATLAHS' senders learn of losses by headers alone.
fn outlasts_silence(congestion: &str) -> bool {
    let spec: CongestionSpec = serde_json::from_str(congestion).unwrap();
    match spec.plugin().recovery() {
        RecoverySpec::None(_) => false,
        RecoverySpec::Trimming(trimming) => !trimming.without_timeout,
        _ => true,
    }
}

/// What a control sees in the worst of times: every packet marked, a long queue, a full link.
fn under_marks(spec: &str) {
    let setting = Setting::default();
    let path = setting.path(SIZES.wire_bytes(), 64);
    let kind: CongestionSpec = serde_json::from_str(spec).unwrap();
    let mut control = kind.plugin().build(&path, &SIZES).unwrap();
    let limits = |control: &Control| (control.window_bytes(), std::cmp::Reverse(control.gap(1064)));
    let mut telemetry = Telemetry::default();
    let mut before = limits(&control);
    for packet in 1..2000_u64 {
        let now = Time::ZERO + Duration::from_ns(packet * 851);
        telemetry.clear();
        // 2.5 MB wait at a link that sends all the time
        telemetry.push(HopRecord {
            queue_bytes: 2_500_000,
            bytes_per_s: 1.25e9,
            at: now,
            sent_bytes: packet * 1064,
            port: 0,
        });
        // the round trip is far above any target, and grows
        let rtt = Some(Duration::from_ns(600_000 + packet * 1000));
        if packet % 60 == 0 {
            control.on_notification(now);
        }
        control.on_ack(&Acked {
            now,
            bytes: 1064,
            ecn: true,
            rtt,
            age: Duration::from_ns(600_000 + packet * 1000),
            endpoint_delay: Duration::ZERO,
            in_flight: control.window_bytes().min(100_000),
            sequence: packet,
            cumulative: packet,
            next: packet + 20,
            telemetry: Some(&telemetry),
        });
        assert!(control.window_bytes() > 0);
        // steps that a rule takes once per round trip, up or down, are over within a block
        if packet % 100 == 0 {
            let after = limits(&control);
            assert!(after <= before, "packet {packet}: {before:?} became {after:?}");
            before = after;
        }
    }
}

// A window keeps the queue filled: what it does not use is the first round trip, 0.16 % of the time. Receivers give credit for 0.99 of
// the link, and HPCC aims at 0.95. Seven packets fill the way, and PowerTCP's queue, a seventh of a packet in balance, is none or one, which
// to its power is 13 % too much. DCQCN and TIMELY fall by half or more at the first marks and rise by a fixed step: they are what
// they are in a run that is so short. ATLAHS' "Swift" falls at every acknowledgement.
congestion_contract! {
    fixed_window: r#"{"kind": "fixed-window"}"#, uses 0.998 of 4_000_000;
    constant_rate: r#"{"kind": "constant-rate", "factor": 0.5}"#, uses 0.998 of 4_000_000;
    dctcp: r#"{"kind": "dctcp"}"#, uses 0.998 of 4_000_000;
    dctcp_htsim: r#"{"kind": "dctcp", "preset": "htsim"}"#, uses 0.998 of 4_000_000;
    mprdma: r#"{"kind": "mprdma"}"#, uses 0.998 of 4_000_000;
    mprdma_htsim: r#"{"kind": "mprdma", "preset": "htsim"}"#, uses 0.997 of 4_000_000;
    mprdma_htsim_constant: r#"{"kind": "mprdma", "preset": "htsim-constant"}"#, uses 0.998 of 4_000_000;
    mprdma_htsim_swift_like: r#"{"kind": "mprdma", "preset": "htsim-swift-like"}"#, uses 0.91 of 4_000_000;
    swift: r#"{"kind": "swift"}"#, uses 0.998 of 4_000_000;
    swift_htsim: r#"{"kind": "swift", "preset": "htsim"}"#, uses 0.998 of 4_000_000;
    timely: r#"{"kind": "timely"}"#, uses 0.44 of 40_000_000;
    dcqcn: r#"{"kind": "dcqcn"}"#, uses 0.6 of 4_000_000;
    hpcc: r#"{"kind": "hpcc"}"#, uses 0.94 of 4_000_000;
    power_tcp: r#"{"kind": "power-tcp"}"#, uses 0.9 of 4_000_000;
    nscc: r#"{"kind": "nscc"}"#, uses 0.998 of 4_000_000;
    rccc: r#"{"kind": "rccc"}"#, uses 0.988 of 4_000_000;
    rccc_and_nscc: r#"{"kind": "rccc", "sender": {}}"#, uses 0.988 of 4_000_000;
    rccc_htsim: r#"{"kind": "rccc", "htsim-leftovers": true}"#, uses 0.988 of 4_000_000;
    ndp: r#"{"kind": "ndp"}"#, uses 0.988 of 4_000_000;
    eqds: r#"{"kind": "eqds"}"#, uses 0.988 of 4_000_000;
    eqds_htsim: r#"{"kind": "eqds", "htsim-pace": true, "htsim-leftovers": true}"#, uses 0.988 of 4_000_000;
    cubic: r#"{"kind": "cubic"}"#, uses 0.998 of 4_000_000;
    aimd: r#"{"kind": "aimd"}"#, uses 0.85 of 4_000_000;
}

/// Whatever is lost, doubled or late, everything arrives once.
#[test]
fn every_choice_of_paths_delivers_everything() {
    for kind in EntropySpec::KINDS {
        for recovery in ["irn", "rltp", "trimming"] {
            let text = format!(
                r#"{{"congestion": {WINDOW}, "recovery": {{"kind": "{recovery}"}}, "entropy": {{"kind": "{kind}"}}}}"#
            );
            let spec: TransportSpec = serde_json::from_str(&text).unwrap();
            let spec = TransportSpec { packets: SIZES, ..spec };
            let profile = Profile::new(&spec, Setting::default().path(SIZES.wire_bytes(), 64)).unwrap();
            for seed in 0..40 {
                let once = || run(&profile, &impaired(seed, true), &[1 + seed * 997, 20_000]);
                let outcome =
                    once().unwrap_or_else(|violation| panic!("{kind}, {recovery}, {seed}: {violation:?}"));
                assert_eq!(once(), Ok(outcome), "{kind}, {recovery}, {seed}: the same run again");
            }
        }
    }
}
