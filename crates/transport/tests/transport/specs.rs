//! Specs as users write them: read back what was printed, refuse what makes no transport, and say why.

use stratasim_core::registry::Entry;
use stratasim_core::schemars::SchemaGenerator;
use stratasim_core::{Bandwidth, Duration};
use stratasim_transport::{CongestionSpec, EntropySpec, Path, Profile, RecoverySpec, TransportSpec, presets};

fn path() -> Path {
    let rtt = Duration::from_ns(14_000);
    Path::of_equal_links(rtt, Bandwidth(12.5e9), 6, 178_450)
}

fn build(text: &str) -> Result<(), String> {
    let spec: TransportSpec = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Profile::new(&spec, path()).map(drop).map_err(|error| error.to_string())
}

fn refused(text: &str) -> String {
    build(text).unwrap_err()
}

#[test]
fn every_kind_builds_with_its_defaults_and_reads_what_it_prints() {
    let texts = |field: &str, kinds: &[&str]| -> Vec<String> {
        kinds.iter().map(|kind| format!(r#"{{"{field}": {{"kind": "{kind}"}}}}"#)).collect()
    };
    let all = [
        texts("congestion", CongestionSpec::KINDS),
        texts("recovery", RecoverySpec::KINDS),
        texts("entropy", EntropySpec::KINDS),
    ];
    for text in all.concat() {
        build(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let spec: TransportSpec = serde_json::from_str(&text).unwrap();
        let printed = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<TransportSpec>(&printed).unwrap(), spec, "{printed}");
    }
}

#[test]
fn every_kind_explains_itself() {
    let lists: [&[Entry]; 3] = [CongestionSpec::ENTRIES, RecoverySpec::ENTRIES, EntropySpec::ENTRIES];
    let mut generator = SchemaGenerator::default();
    for entry in lists.into_iter().flatten() {
        let (kind, schema) = (entry.kind, (entry.schema)(&mut generator).to_value());
        let text = schema.to_string();
        assert!(text.contains("\"description\""), "{kind} has no help");
        let undescribed = schema["properties"].as_object().map_or(0, |properties| {
            properties.values().filter(|property| property.get("description").is_none()).count()
        });
        assert_eq!(undescribed, 0, "{kind}: {text}");
    }
}

#[test]
fn every_preset_builds_and_an_unknown_one_is_none() {
    for name in presets::HTSIM {
        let spec = presets::htsim(name, path().rate).unwrap();
        Profile::new(&spec, path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            presets::htsim(&format!("{name}_1MiB"), path().rate).map(|spec| spec.packets),
            Some(spec.packets)
        );
    }
    let longer = presets::htsim("uec_nscc_notrim_sleek", path().rate);
    assert_ne!(longer, presets::htsim("uec_nscc_notrim", path().rate), "the longest name that fits is meant");
    assert_eq!(presets::htsim("tcp", path().rate), None);
}

#[test]
fn what_makes_no_transport_is_refused_with_the_reason() {
    let cases = [
        (r#"{"congestion": {"kind": "swfit"}}"#, "did you mean `swift`?"),
        (r#"{"congestion": {"kind": "swift", "betta": 1}}"#, "unknown field `betta`"),
        (r#"{"congestion": {"kind": "swift", "beta": 2}}"#, "congestion.beta: 2; 0 to 1 are possible"),
        (
            r#"{"congestion": {"kind": "swift", "flow-scaling-windows": [9, 9]}}"#,
            "congestion.flow-scaling-windows: [9, 9]; the second window has to be larger",
        ),
        (
            r#"{"recovery": {"kind": "trimming", "acknowledge-every": "0 B"}}"#,
            "recovery.acknowledge-every: 0 B; more",
        ),
        (r#"{"congestion": {"kind": "swift", "base-target": 25}}"#, "as a string with a unit"),
        (r#"{"congestion": {"kind": "hpcc", "eta": 0}}"#, "congestion.eta: 0; 0.01 to 1 are possible"),
        (r#"{"congestion": {"kind": "timely", "low": "1 s"}}"#, "congestion.low: 1 s, above `high`, 500 us"),
        (r#"{"congestion": {"kind": "rccc", "sender": {"gamma": 9}}}"#, "congestion.sender.gamma: 9"),
        (
            r#"{"congestion": {"kind": "dcqcn", "timer": "7 ps"}}"#,
            "congestion.timer: 7 ps; 1 ns to 1000 s are possible",
        ),
        (
            r#"{"congestion": {"kind": "timely", "step": "0 bps"}}"#,
            "congestion.step: 0 bps; 1 B/s to 8000 Tbps are possible",
        ),
        (
            r#"{"congestion": {"kind": "nscc", "target-delay": "0 s"}}"#,
            "congestion.target-delay: 0 ps; 1 ps to 1000 s are possible",
        ),
        (
            r#"{"recovery": {"kind": "go-back-n", "timeout": "0 s"}}"#,
            "recovery.timeout: 0 s; a time-out must be positive",
        ),
        (
            r#"{"recovery": {"kind": "irn", "cap-packets": 0}}"#,
            "recovery.cap-packets: 0 packets; 1 to 1,048,576",
        ),
        (
            r#"{"recovery": {"kind": "rltp", "window-packets": 5000}}"#,
            "recovery.window-packets: 5000; 1 to 1024",
        ),
        (
            r#"{"entropy": {"kind": "mixed", "paths": 100}}"#,
            "entropy.paths: 100 paths; a power of two up to 65,536",
        ),
        (
            r#"{"recovery": {"kind": "go-back-n", "timeout": "1 ms", "without-timeout": true}}"#,
            "recovery.timeout: 1 ms, and `without-timeout` is true; give one of the two",
        ),
        (
            r#"{"recovery": {"kind": "irn", "low-timeout": "1 ms", "high-timeout": "10 us"}}"#,
            "recovery.low-timeout: 1 ms, above `high-timeout`, 10 us",
        ),
        (
            r#"{"congestion": {"kind": "fixed-window", "window": "10 kB", "factor": 2}}"#,
            "congestion.factor: given, though `window` says what the window is",
        ),
        (
            r#"{"congestion": {"kind": "nscc", "target-delay": "1 us", "target-factor": 20}}"#,
            "congestion.target-factor: given, though `target-delay` says",
        ),
        (
            r#"{"congestion": {"kind": "eqds", "htsim-pace": true, "credit-rate": 0.2}}"#,
            "congestion.credit-rate: given, though `htsim-pace` says",
        ),
        (
            r#"{"congestion": {"kind": "mprdma", "preset": "htsim", "max-factor": 0.3}}"#,
            "congestion.max-factor: given, though `preset` says",
        ),
        (
            r#"{"congestion": {"kind": "dctcp", "preset": "htsim", "gain": 0.9}}"#,
            "congestion.gain: given, though `preset` has its own rule",
        ),
        (r#"{"packets": {"payload-bytes": 70000}}"#, "packets.payload-bytes: 70000 bytes; 1 to 65535"),
    ];
    for (text, expected) in cases {
        let message = refused(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn a_way_that_cannot_be_is_refused() {
    let spec = TransportSpec::default();
    let refuse = |path: Path| Profile::new(&spec, path).unwrap_err().to_string();
    assert!(refuse(Path { rate: Bandwidth(0.0), ..path() }).contains("a link of 0 B/s"));
    let longer = Path { base_rtt: Duration::from_ns(20_000), ..path() };
    assert!(refuse(longer).contains("a round trip of 20 us on a network of 14 us"));
}

/// What nobody gave is not said to be what somebody gave.
#[test]
fn what_does_not_follow_from_a_way_is_asked_for() {
    let far = Path { network_rtt: Duration::from_ps(20_000_000_000_000), ..path() };
    for (text, expected) in [
        (
            r#"{"congestion": {"kind": "ndp"}}"#,
            "initial-packets: absent, and 60096154 packets fill the longest way; 1 to 1000000 are possible",
        ),
        (
            r#"{"congestion": {"kind": "nscc", "target-factor": 100}, "packets": {"payload-bytes": 9000}}"#,
            "target-delay: absent, and 2000 s is the round trip",
        ),
    ] {
        let spec: TransportSpec = serde_json::from_str(text).unwrap();
        let message = Profile::new(&spec, far).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
    let given: TransportSpec =
        serde_json::from_str(r#"{"congestion": {"kind": "ndp", "initial-packets": 1000}}"#).unwrap();
    Profile::new(&given, far).unwrap();
}
