//! Go-back-N on a way that loses packets: closed forms.

use std::sync::Arc;

use stratasim_core::{Duration, Time};
use stratasim_transport::harness::channel::{Impairment, Loss};
use stratasim_transport::harness::{Setting, run};
use stratasim_transport::{Header, Kind, Mark, Pacer, PacketSizes, Profile, Receiver, TransportSpec};

const SIZES: PacketSizes = PacketSizes {
    payload_bytes: 1000,
    header_bytes: 0,
    control_bytes: 125,
    full_packets: false,
    count_headers: true,
};

fn profile(recovery: &str, window: &str, setting: &Setting) -> Arc<Profile> {
    let text = format!(
        r#"{{"congestion": {{"kind": "fixed-window", "window": "{window}"}}, "recovery": {recovery}}}"#
    );
    let spec = TransportSpec { packets: SIZES, ..serde_json::from_str(&text).unwrap() };
    Profile::new(&spec, setting.path(1000, 125)).unwrap()
}

#[test]
fn a_flow_alone_takes_its_bytes_and_a_round_trip() {
    let setting = Setting::default();
    let profile = profile(r#"{"kind": "go-back-n"}"#, "20 kB", &setting);
    let outcome = run(&profile, &setting, &[100_000]).unwrap();
    // 1000 B take 800 ns at 10 Gb/s, 125 B 100 ns
    assert_eq!(outcome.acknowledged_at.as_ps(), 100 * 800_000 + 10_000_000 + 100_000);
    assert_eq!((outcome.packets, outcome.sender.packets), (100, 100));
}

#[test]
fn a_small_window_sends_a_window_per_round_trip() {
    let setting = Setting::default();
    let profile = profile(r#"{"kind": "go-back-n"}"#, "5 kB", &setting);
    let outcome = run(&profile, &setting, &[50_000]).unwrap();
    // ten windows of five packets: each ends when the acknowledgement of its first packet is back
    let round = 800_000 + 10_000_000 + 100_000;
    assert_eq!(outcome.acknowledged_at.as_ps(), 10 * round + 4 * 800_000);
}

#[test]
fn without_reports_a_loss_costs_a_time_out() {
    let setting = Setting {
        forward: Impairment { loss: Loss::Listed(&[10]), ..Impairment::default() },
        ..Setting::default()
    };
    let profile = profile(r#"{"kind": "go-back-n", "nak": "never", "timeout": "1 ms"}"#, "8 kB", &setting);
    let outcome = run(&profile, &setting, &[40_000]).unwrap();
    assert_eq!(outcome.sender.timeouts, 1);
    // a window goes again: the lost packet and seven behind it
    assert_eq!(outcome.sender.packets, 48);
    assert!(outcome.acknowledged_at.as_secs_f64() > 1e-3);
}

#[test]
fn with_reports_a_loss_costs_a_round_trip_of_packets() {
    let setting = Setting {
        forward: Impairment { loss: Loss::Listed(&[10]), ..Impairment::default() },
        ..Setting::default()
    };
    let profile = profile(r#"{"kind": "go-back-n"}"#, "100 kB", &setting);
    let outcome = run(&profile, &setting, &[100_000]).unwrap();
    assert_eq!(outcome.sender.timeouts, 0);
    // from the loss until the report is back: 1 + 10.9 us of packets, begun ones included
    let again = (800_000_u64 + 10_000_000 + 100_000 + 800_000).div_ceil(800_000);
    assert_eq!(outcome.sender.packets, 100 + again);
    assert_eq!(outcome.acknowledged_at.as_ps(), (100 + again) * 800_000 + 10_100_000);
}

/// A packet that had come before is no reason for another report of the same gap.
#[test]
fn a_gap_is_reported_once_whatever_comes_twice() {
    let profile = profile(r#"{"kind": "go-back-n", "nak": "once-per-gap"}"#, "100 kB", &Setting::default());
    let (mut receiver, mut pacer) = (Receiver::new(&profile, 0), Pacer::new());
    let mut reports = |sequence: u64| {
        let mut reports = 0;
        let header = Header { kind: Kind::Data, sequence, payload_bytes: 1000, ..Header::default() };
        receiver.on_packet(Time::ZERO, &header, Mark::default(), &mut pacer, &mut |answer| {
            reports += u32::from(answer.kind == Kind::Nack);
        });
        reports
    };
    // 2 is lost; when it comes, 3 has been thrown away, and is missed anew
    let came = [0, 1, 3, 1, 4, 0, 5, 2, 6, 2, 7, 3, 8];
    assert_eq!(came.map(&mut reports), [0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
}

#[test]
fn a_loss_at_the_end_without_a_time_out_is_named() {
    let mut setting = Setting { limit: Duration::from_ns(1_000_000), ..Setting::default() };
    setting.forward = Impairment { loss: Loss::Listed(&[39]), ..Impairment::default() };
    let profile = profile(r#"{"kind": "go-back-n", "without-timeout": true}"#, "8 kB", &setting);
    let error = run(&profile, &setting, &[40_000]).unwrap_err();
    assert!(format!("{error:?}").contains("delivered_to: 39"), "{error:?}");
}
