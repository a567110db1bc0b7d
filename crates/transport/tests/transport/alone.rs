//! A flow alone against htsim's reference runs and the closed form: one flow over two, four and six links.

use std::path::PathBuf;

use stratasim_core::{Bandwidth, Duration};
use stratasim_transport::harness::{Setting, run};
use stratasim_transport::{Profile, presets};

fn reference(case: &str) -> Option<serde_json::Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/ref/packet")
        .join(format!("{case}.json"));
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(_) => {
            eprintln!("skipped: no {}", path.display());
            None
        }
    }
}

/// Microseconds of every run of a case beside ours, with bytes and links.
fn compare(protocol: &str) -> Vec<(u64, u32, f64, f64)> {
    let Some(case) = reference(&format!("p2p_{protocol}")) else { return Vec::new() };
    let atlahs = protocol.starts_with("atlahs");
    let (rate, delay) = if atlahs { (25e9, 500) } else { (12.5e9, 1000) };
    let spec = presets::htsim(protocol, Bandwidth(rate)).unwrap();
    let (full, control) = (spec.packets.wire_bytes(), u64::from(spec.packets.control_bytes));
    let longest = if atlahs { 4 } else { 6 };
    let setting = |hops| Setting {
        rate: Bandwidth(rate),
        bottleneck: Bandwidth(rate),
        hops,
        delay: Duration::from_ns(delay),
        ..Setting::default()
    };
    let mut rows = Vec::new();
    for flow in case["runs"].as_array().unwrap().iter().map(|run| &run["flows"][0]) {
        let [source, dest, bytes] = [1, 2, 3].map(|at| flow[at].as_u64().unwrap());
        let same = |group: u64| source / group == dest / group;
        let hops = match (atlahs, same(2), same(4)) {
            (true, _, true) | (false, true, _) => 2,
            (false, false, false) => 6,
            _ => 4,
        };
        let setting = setting(hops);
        let mut path = setting.path(full, control);
        path.network_rtt = path_of(longest, rate, delay, full, control);
        path.buffer_bytes = 43 * full;
        let profile = Profile::new(&spec, path).unwrap();
        let ours = run(&profile, &setting, &[bytes]).unwrap().acknowledged_at.as_ps() as f64 * 1e-6;
        rows.push((bytes, hops, ours, flow[5].as_f64().unwrap()));
    }
    rows
}

fn path_of(hops: u32, rate: f64, delay: u64, full: u64, control: u64) -> Duration {
    Setting {
        rate: Bandwidth(rate),
        bottleneck: Bandwidth(rate),
        hops,
        delay: Duration::from_ns(delay),
        ..Setting::default()
    }
    .path(full, control)
    .base_rtt
}

/// Compares runs of up to `bytes` within a share of their time and a nanosecond: what windows and credit do not limit
/// is a closed form, and the reference prints ten picoseconds.
fn agree(protocol: &str, most_bytes: u64, tolerance: f64) {
    for (bytes, hops, ours, theirs) in compare(protocol) {
        let error = (ours - theirs).abs();
        let close = bytes > most_bytes || error <= tolerance * theirs + 1e-3;
        assert!(close, "{bytes} B over {hops} links: {ours} us, reference {theirs} us");
    }
}

macro_rules! alone {
    ($($protocol:ident up to $bytes:expr, within $tolerance:literal;)+) => {
        $(#[test]
        fn $protocol() {
            agree(stringify!($protocol), $bytes, $tolerance);
        })+
    };
}

alone! {
    uec_nscc up to u64::MAX, within 0.0;
    uec_dctcp up to u64::MAX, within 0.0;
    // when the pacer ticks relative to the first request is not known to us
    uec_rccc up to u64::MAX, within 0.001;
    ndp up to u64::MAX, within 0.0;
    eqds up to u64::MAX, within 0.0;
    roce_pfc up to u64::MAX, within 0.0;
    uet_roce_pfc up to u64::MAX, within 0.0;
    dcqcn up to u64::MAX, within 0.0;
    // longer flows meet htsim's stale records of links, which are not the published rule
    hpcc up to 65_536, within 0.0;
    atlahs_const up to u64::MAX, within 0.0;
    atlahs_mprdma up to u64::MAX, within 0.0;
    atlahs_swift up to u64::MAX, within 0.0;
    atlahs_ndp up to u64::MAX, within 0.0;
}

#[test]
fn a_window_that_falls_below_what_is_under_way_costs_no_timeout() {
    // the longest way of the network is 50 times as long: the window begins with many packets, none of which asks for
    // an acknowledgement, and falls to two when the first one tells the round trip
    let (rate, full, control, bytes) = (12.5e9, 4160, 64, 1_u64 << 20);
    for (factor, delay_ns) in [(0.5, 500), (0.3, 500), (0.3, 800), (0.1, 1000), (1.5, 500), (1.5, 0)] {
        let congestion = format!(
            r#"{{"congestion": {{"kind": "nscc", "max-window-factor": {factor}}}, "packets": {{"payload-bytes": 4096, "header-bytes": 64, "control-bytes": 64}}}}"#
        );
        let spec: stratasim_transport::TransportSpec = serde_json::from_str(&congestion).unwrap();
        let setting = Setting {
            rate: Bandwidth(rate),
            bottleneck: Bandwidth(rate),
            delay: Duration::from_ns(delay_ns),
            ..Setting::default()
        };
        let mut path = setting.path(full, control);
        let own = path.base_rtt;
        path.network_rtt = own * 50;
        let profile = Profile::new(&spec, path).unwrap();
        for bytes in [bytes, 40_960, 28_672, 20_480, 12_288] {
            let outcome = run(&profile, &setting, &[bytes]).unwrap();
            assert_eq!(outcome.sender.timeouts, 0, "factor {factor}, {delay_ns} ns, {bytes} bytes");
            assert_eq!(outcome.sender.retransmissions, 0, "factor {factor}, {delay_ns} ns, {bytes} bytes");
            // at worst a packet at a time, each with a round trip
            let most = own * (bytes.div_ceil(4096) + 1);
            assert!(outcome.acknowledged_at.as_ps() <= most.as_ps(), "{factor} {delay_ns}: {outcome:?}");
        }
    }
}
