//! Hosts that take time for a packet: what waits in them is found by the sender, by way of the acknowledgements.

use std::collections::BTreeMap;

use stratasim_core::{Bandwidth, Duration, Time};
use stratasim_transport::{
    CongestionSpec, Header, Kind, Mark, Pacer, Path, Poll, Profile, Receiver, Sender, TransportSpec,
};

/// What is on its way to either end, by arrival; numbers tell packets of one instant apart.
type Ways = BTreeMap<(Time, u64), Header>;

/// The mean wait in a host that takes a microsecond for a packet, and packets per microsecond, in the second half of a long
/// message with Swift. `tells` is whether acknowledgements say how long packets waited.
fn wait_and_rate(endpoint_target_us: u32, tells: bool) -> (Duration, f64) {
    let spec = format!(r#"{{"kind": "swift", "endpoint-target": "{endpoint_target_us} us"}}"#);
    let congestion: CongestionSpec = serde_json::from_str(&spec).unwrap();
    let spec = TransportSpec { congestion, ..TransportSpec::default() };
    let [delay, per_packet] = [Duration::from_ns(5_000), Duration::from_ns(1_000)];
    let path = Path::of_equal_links(delay * 2, Bandwidth(12.5e9), 4, 10_000_000);
    let profile = Profile::new(&spec, path).unwrap();
    let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
    let mut pacer = Pacer::new();
    let packets = 8000_u64;
    sender.post(Time::ZERO, packets * 4096);
    let (mut at_receiver, mut at_sender) = (Ways::new(), Ways::new());
    let (mut now, mut number, mut link_free, mut host_free) = (Time::ZERO, 0, Time::ZERO, Time::ZERO);
    let (mut waits, mut half_at) = (Vec::new(), Time::ZERO);
    while receiver.delivered_to() < packets {
        let mut wake = sender.deadline().max(now);
        while link_free <= now {
            match sender.poll_send(now, 1) {
                Poll::Send(header) => {
                    number += 1;
                    link_free = now + Duration::from_ns(333);
                    at_receiver.insert((link_free + delay, number), header);
                }
                Poll::Wait(until) => {
                    wake = wake.min(until);
                    break;
                }
                Poll::Blocked => break,
            }
        }
        if link_free > now {
            wake = wake.min(link_free);
        }
        let next = |ways: &Ways| ways.keys().next().map_or(Time::MAX, |key| key.0);
        now = wake.min(next(&at_receiver)).min(next(&at_sender));
        if next(&at_receiver) <= now {
            let ((arrived, _), header) = at_receiver.pop_first().unwrap();
            host_free = host_free.max(arrived) + per_packet;
            let waited = host_free - arrived;
            let told = if tells { waited } else { Duration::ZERO };
            receiver.on_packet_after(host_free, told, &header, Mark::default(), &mut pacer, &mut |answer| {
                number += 1;
                at_sender.insert((host_free + delay, number), answer);
            });
            if header.kind == Kind::Data && header.sequence >= packets / 2 {
                half_at = if waits.is_empty() { host_free } else { half_at };
                waits.push(waited.as_ps() as f64);
            }
        } else if next(&at_sender) <= now {
            let (_, header) = at_sender.pop_first().unwrap();
            sender.on_feedback(now, &header, None);
        } else {
            sender.on_timer(now);
        }
    }
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    let rate = waits.len() as f64 / (host_free - half_at).as_ps() as f64 * 1e6;
    (Duration::from_ps(mean as u64), rate)
}

#[test]
fn swift_holds_the_wait_in_the_host_at_its_target() {
    for target_us in [10, 25, 40] {
        let (wait, rate) = wait_and_rate(target_us, true);
        let share = wait.as_ps() as f64 / (f64::from(target_us) * 1e6);
        assert!((0.8..1.05).contains(&share), "{share} of {target_us} us");
        assert!(rate > 0.99, "{rate} packets per microsecond");
    }
    // Who is not told takes the wait for one of the network, whose target at 29 packets under way is 29.4 us: 25 us, three switches, and
    // 1.4 us for the window. Ten of them are the way.
    let [one, other] = [10, 40].map(|target_us| wait_and_rate(target_us, false));
    assert_eq!(one, other);
    let share = one.0.as_ps() as f64 / 19.4e6;
    assert!((0.9..1.02).contains(&share), "{:?}", one.0);
}
