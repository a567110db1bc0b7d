//! What the sources take where they measure.

use super::*;

/// Defaults that the sources give, as far as what holds their rules here does not use them.
#[test]
fn defaults_are_those_of_the_sources() {
    for (kind, given) in [
        // Zhu et al., sections 3.1 and 5: 50 us, and 55 us, 10 MB, 40 Mb/s
        (
            "dcqcn",
            r#""timer": "55 us", "notification-interval": "50 us", "bytes": "10 MB", "additive": "40 Mb/s""#,
        ),
        // Mittal et al., section 4: segments of 16 KB, 50 us, 10 Mb/s
        ("timely", r#""low": "50 us", "step": "10 Mb/s", "segment": "16 kB""#),
        // RFC 8257, section 4.2; RFC 6928
        ("dctcp", r#""gain": 0.0625, "initial-packets": 10"#),
        // RFC 9438, sections 4.6 and 5; RFC 6928
        ("cubic", r#""c": 0.4, "beta": 0.7, "initial-packets": 10"#),
        // Li et al., section 5.1
        ("hpcc", r#""eta": 0.95, "max-stage": 5"#),
    ] {
        let read = |text: String| -> CongestionSpec { serde_json::from_str(&text).unwrap() };
        let [default, given] =
            [read(format!(r#"{{"kind": "{kind}"}}"#)), read(format!(r#"{{"kind": "{kind}", {given}}}"#))];
        assert_eq!(default, given, "{kind}");
    }
}
