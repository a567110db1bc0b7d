//! Any order of operations on a live connection: packets and feedback in any order, twice or never, timers early, messages
//! posted in between, and headers that nobody ever sent. Nothing panics, nothing is delivered twice, and once the way is
//! clean everything arrives.

use crate::live::{Live, WINDOW, operate, profile};
use proptest::prelude::*;
use stratasim_core::{Duration, Time};
use stratasim_transport::{Flags, Header, Kind, Mark};

fn header() -> impl Strategy<Value = Header> {
    let near = || prop_oneof![0_u64..100, any::<u64>()];
    (0_usize..7, any::<u8>(), (near(), near(), near()), any::<(u32, u32, u64, u64)>()).prop_map(
        |(kind, flags, (sequence, cumulative, serial), (pull, sack_offset, sack, sent_at))| Header {
            kind: [
                Kind::Data,
                Kind::Ack,
                Kind::Nack,
                Kind::Pull,
                Kind::CongestionNotification,
                Kind::RequestToSend,
                Kind::Probe,
            ][kind],
            flags: Flags(flags),
            payload_bytes: pull as u16,
            out_of_order: sack_offset as u16,
            sequence,
            cumulative,
            serial,
            pull,
            sack_offset,
            sack,
            sent_at: Time::from_ps(sent_at),
            received_bytes: sent_at,
            ..Header::default()
        },
    )
}

macro_rules! live {
    ($($name:ident: $congestion:expr, $recovery:literal;)+) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]
            $(#[test]
            fn $name(operations in prop::collection::vec((0_u8..16, any::<u16>()), 0..400)) {
                operate(&profile($congestion, $recovery), &operations);
            })+
        }
    };
}

live! {
    rltp_survives: WINDOW, r#"{"kind": "rltp", "max-probes": 64}"#;
    rltp_with_few_acknowledgements_survives: WINDOW, r#"{"kind": "rltp", "max-probes": 64, "acknowledge-every": 5, "window-packets": 9}"#;
    irn_survives: WINDOW, r#"{"kind": "irn"}"#;
    sack_survives: WINDOW, r#"{"kind": "sack"}"#;
    go_back_n_survives: WINDOW, r#"{"kind": "go-back-n", "timeout": "100 us"}"#;
    trimming_survives: r#"{"kind": "nscc"}"#, r#"{"kind": "trimming", "acknowledge-every": "400 B"}"#;
    sleek_survives: r#"{"kind": "nscc"}"#, r#"{"kind": "trimming", "sleek": true}"#;
    swift_survives: r#"{"kind": "swift"}"#, r#"{"kind": "irn"}"#;
    cubic_survives: r#"{"kind": "cubic"}"#, r#"{"kind": "sack"}"#;
    aimd_survives: r#"{"kind": "aimd"}"#, r#"{"kind": "go-back-n", "timeout": "100 us"}"#;
    hpcc_survives: r#"{"kind": "hpcc"}"#, r#"{"kind": "irn"}"#;
    power_tcp_survives: r#"{"kind": "power-tcp"}"#, r#"{"kind": "irn"}"#;
    committed_windows_survive: r#"{"kind": "mprdma", "preset": "htsim"}"#, r#"{"kind": "trimming"}"#;
    committed_windows_on_go_back_n_survive: r#"{"kind": "mprdma", "preset": "htsim-constant"}"#, r#"{"kind": "go-back-n", "timeout": "100 us"}"#;
    ndp_survives: r#"{"kind": "ndp", "initial-packets": 4}"#, r#"{"kind": "trimming"}"#;
    rccc_survives: r#"{"kind": "rccc"}"#, r#"{"kind": "trimming"}"#;
    eqds_survives: r#"{"kind": "eqds", "max-window": "1 kB"}"#, r#"{"kind": "trimming"}"#;
    rccc_of_htsim_survives: r#"{"kind": "rccc", "htsim-leftovers": true}"#, r#"{"kind": "trimming"}"#;
    eqds_of_htsim_survives: r#"{"kind": "eqds", "max-window": "1 kB", "htsim-leftovers": true}"#, r#"{"kind": "trimming"}"#;
}

proptest! {
    /// RLTP meets the world: headers of any content change nothing but what they say.
    #[test]
    fn headers_that_nobody_sent_do_no_harm(headers in prop::collection::vec((header(), any::<bool>()), 0..100)) {
        let mut live = Live::new(&profile(WINDOW, r#"{"kind": "rltp"}"#));
        live.post(3_000);
        for (header, forward) in headers {
            live.now += Duration::from_ns(777);
            live.send();
            if forward {
                live.deliver(&header, Mark::default(), false);
            } else {
                live.sender.on_feedback_with_words(live.now, &header, &[header.sack, !header.sack], None);
            }
            prop_assert!(live.sender.acknowledged_to() <= 30);
            prop_assert!(live.sender.in_flight_bytes() <= 30 * 110);
            live.timers();
        }
    }
}

/// Time-outs have taken the window to a thousandth of a packet, and the one acknowledgement that comes makes it whole: what was
/// planned at the old rate, four seconds away, is not waited for.
#[test]
fn a_window_that_has_grown_is_not_paced_by_what_it_was() {
    let mut live = Live::new(&profile(r#"{"kind": "swift"}"#, r#"{"kind": "irn"}"#));
    live.post(2_500);
    // the first answer takes 4 ms
    live.send();
    live.now += Duration::from_ns(4_000_000);
    live.exchange();
    while live.sender.window_bytes() > 1 {
        live.now += Duration::from_ns(20_000_000);
        live.timers();
        live.send();
    }
    live.finish_within(Duration::from_ns(50_000_000));
}
