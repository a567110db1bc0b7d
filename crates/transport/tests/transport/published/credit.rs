//! Credit of receivers: how much of it, how often.

use stratasim_transport::{Header, Kind, Mark, Pacer, Profile, Receiver, TransportSpec};

use super::*;

/// What a turn gives, and picoseconds from one to the next where senders ask for more than they get.
fn turns(congestion: &str) -> (u32, f64) {
    let text = format!(r#"{{"congestion": {congestion}}}"#);
    let spec: TransportSpec = serde_json::from_str(&text).unwrap();
    let mut receiver = Receiver::new(&Profile::new(&spec, PATH).unwrap(), 0);
    let mut pacer = Pacer::new();
    for sequence in 0..40 {
        let header =
            Header { kind: Kind::Data, sequence, pull: 1 << 20, payload_bytes: 4096, ..Header::default() };
        receiver.on_packet(Time::from_ps(1), &header, Mark::default(), &mut pacer, &mut |_| {});
    }
    let mut given = Vec::new();
    while given.len() < 21 {
        let now = pacer.deadline().max(Time::from_ps(1));
        assert_eq!(pacer.next(now), Some(0), "{congestion}");
        receiver.on_turn(now, &mut pacer, &mut |pull| given.push((now.as_ps(), pull.pull)));
    }
    let ((first_at, first), (last_at, last)) = (given[0], given[20]);
    ((last - first) / 20, (last_at - first_at) as f64 / 20.0)
}

/// RCCC and EQDS give bytes in units, NDP a packet each, all at 0.99 of the link, 80 ps a byte; htsim's RCCC counts whole picoseconds
/// per unit of 256 bytes, and its EQDS gives a pull in 0.99 times what a full packet and 38 bytes of framing take.
#[test]
fn credit_comes_at_the_rate_of_the_link() {
    for (congestion, units, ps) in [
        (r#""rccc""#, 64, 4.0 * 4096.0 * 80.0 / 0.99),
        (r#"{"kind": "rccc", "packets-per-pull": 2, "credit-rate": 0.5}"#, 32, 2.0 * 4096.0 * 160.0),
        (r#"{"kind": "rccc", "htsim-leftovers": true}"#, 64, 64.0 * (256.0 * 80.0 / 0.99_f64).floor()),
        (r#""eqds""#, 8, 4096.0 * 80.0 / 0.99),
        (r#"{"kind": "eqds", "quantum-bytes": 256, "credit-rate": 0.5}"#, 8, 2048.0 * 160.0),
        (r#"{"kind": "eqds", "htsim-pace": true}"#, 8, 0.99 * (4160.0 + 38.0) * 80.0),
        (r#""ndp""#, 1, 4160.0 * 80.0 / 0.99),
        (r#"{"kind": "ndp", "pull-rate": 0.5}"#, 1, 4160.0 * 160.0),
    ] {
        let (given, apart) = turns(congestion);
        assert_eq!(given, units, "{congestion}");
        assert!((apart - ps).abs() <= 1.0, "{congestion}: {apart} ps, not {ps}");
    }
}
