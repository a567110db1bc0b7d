//! Whether anything gets any further, for as long as packets are sent.
//!
//! A network can be busy and go nowhere: headers fill a link before any data, or all that is sent vanishes. Such a run would never
//! end. Time alone does not tell it from a slow one, in which senders wait for time-outs or a link for its repair, nor does the
//! number of packets alone, of which a fast sender drops any number before a slow queue. So it is over only when *nothing new*
//! has come to any receiver, and no receiver's word to any sender, while
//!
//! 1. senders have sent [`FEWEST`] packets, data and requests, and [`TIMES_UNDER_WAY`] times as many as there are packets in the
//!    network: what was under way has met its fate, again and again;
//! 2. where links lose or change packets, [`TIMES_CHANCE`] times as many as it takes on average for one to get there and word of
//!    it back: that none does has a probability of e^-64; but [`MOST_CHANCES`] at most, as nobody waits for more;
//! 3. every port at which something waits has carried [`TIMES_WAITING`] times what waits there: no queue is merely slow;
//! 4. no link was down that is to be repaired;
//! 5. and after all that, the clock of everybody who waits by one has run out once, and two round trips on the longest way have
//!    passed.
//!
//! Where nothing is sent at all because everything waits for everything, no number of packets is ever reached. Then it is over when
//! time-outs alone have happened, [`STILL`] times, with nothing on a wire, and 5. holds; [`STILL_IN_A_CIRCLE`] times are enough where
//! links stop each other in a circle, and then receivers may have gone on to give credit that does not leave.
//!
//! Receivers alone can keep links busy with what they say, so that senders never get to send as many. Where for each packet of a
//! sender more than [`RECEIVERS_ALONE`] of any kind are sent, and links lose none, it is over when each port has carried
//! [`MOST_OF_A_PORT`] packets in the mean, or as many more as go over the fastest link while the slowest one carries some, and 4.
//! and 5. hold.
//!
//! Where links stop each other in a circle, what waits there is never carried, while others repeat what they have sent for ever.
//! What is stuck for good (see `deadlock`) does not count in 1. and 3., and where anything is, [`FEWEST`] does not either. Where
//! senders send nothing at all there, 100,000 packets of receivers are enough.
//!
//! It is looked at a number of packets apart, at instants that are multiples of a step: so the verdict and its instant are the same
//! on any number of threads, and a packet costs nothing.

use std::cmp::Reverse;

use super::deadlock::Stuck;
use super::engine::Engine;
use super::parts::Parts;
use super::ports::PortView;

/// Fewest packets that are sent in vain; small networks have few under way, and chance its say.
const FEWEST: u64 = 1_000_000;
/// Packets of any kind after which links that stop each other in a circle are looked for where senders send nothing.
const FEWEST_IN_A_CIRCLE: u64 = 100_000;
/// Packets of receivers that each port has carried in the mean, after which nothing is waited for.
const MOST_OF_A_PORT: u64 = 1 << 16;
/// Packets of any kind for one of a sender, above which receivers alone go on.
pub(super) const RECEIVERS_ALONE: u64 = 16;
/// Packets sent in vain, for each packet in the network.
const TIMES_UNDER_WAY: u64 = 16;
/// Packets sent in vain, for those of which one gets through on average.
const TIMES_CHANCE: f64 = 64.0;
/// But no more of them: about a minute of work, be one of billions to get through.
const MOST_CHANCES: u64 = 1 << 26;
/// Bytes that a port has carried, for those that wait there.
const TIMES_WAITING: u64 = 4;
/// Full packets that the fastest link carries in a step.
const STEP_PACKETS: u64 = 1024;
/// Packets of any kind between two looks, at least; and so many for each port and connection that is looked at.
const LOOK_PACKETS: u64 = 1 << 13;
const LOOK_TIMES: u64 = 16;
/// Steps in a row with events in which no packet went onto a link.
const STILL: u32 = 1000;
/// The same where links stop each other in a circle: nothing will ever go there.
const STILL_IN_A_CIRCLE: u32 = 32;

/// What has got further, by an instant; equal where nothing has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Reached {
    complete: u64,
    /// Bytes of open messages, each counted once, at their receivers.
    received_bytes: u64,
    /// Packets of open messages of which their senders know.
    acknowledged: u64,
}

/// Counts of a port.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PortSeen {
    pub(super) bytes: u64,
    pub(super) trims: u64,
    pub(super) drops: u64,
}

impl PortSeen {
    pub(super) fn of(port: PortView<'_>) -> Self {
        let counts = &port.rest.counts;
        Self { bytes: port.service.sent_bytes, trims: counts.trims, drops: counts.drops }
    }
}

/// Counts of the network when something had got further for the last time, as far as that was looked at.
#[derive(Debug, Default)]
pub(super) struct Since {
    pub(super) at: u64,
    /// Packets of any kind, and their hops.
    pub(super) sent: u64,
    hops: u64,
    pub(super) data_packets: u64,
    pub(super) requests: u64,
    /// Lost on links: by chance, changed, because they were down.
    pub(super) lost: u64,
    pub(super) corrupted: u64,
    pub(super) on_down_links: u64,
    pub(super) ports: Vec<PortSeen>,
    reached: Reached,
}

impl Since {
    fn now(parts: &Parts, reached: Reached) -> Self {
        let (faults, senders) = (parts.any().fault_counts, parts.senders());
        Self {
            at: parts.now(),
            sent: parts.totals().sent,
            hops: parts.totals().hops,
            data_packets: senders.packets,
            requests: senders.requests,
            lost: parts.ports().map(|port| port.rest.counts.vanished).sum(),
            corrupted: faults.discarded,
            on_down_links: faults.on_down_links,
            ports: parts.ports().map(PortSeen::of).collect(),
            reached,
        }
    }
}

/// Why a run is over before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Packets are sent, and nothing new arrives.
    InVain,
    /// No packet can be sent.
    Still,
}

/// What is known of how far the network has got.
#[derive(Debug)]
pub(super) struct Patience {
    step: u64,
    next: u64,
    /// Packets of any kind that had been sent at the last look.
    looked: u64,
    /// Hops at the last step, and how many steps have had as many.
    hops: u64,
    still: u32,
    since: Since,
    /// When clocks have run out that ran when all else spoke for a verdict: for each of the two.
    horizons: [Option<u64>; 2],
    /// Packets sent in vain before which it is not worked out again what is stuck: that takes a look at all that waits.
    sent_before_stuck: u64,
    /// Packets sent for one that gets through, on average, on the worst way; at most, where they vanish in bursts.
    per_success: [f64; 2],
    /// Hops without anything new after which it is over in any case.
    most: u64,
    /// Times at which links are down that are repaired; picoseconds.
    repaired: Vec<(u64, u64)>,
    round_trip: u64,
}

impl Patience {
    /// For a network in which nothing has happened; a round trip on its longest way of so many links takes so long.
    pub(super) fn new(engine: &Engine, round_trip: u64, links: u32) -> Self {
        let full = engine.rules.full_bytes;
        let fastest = engine.ports.iter().map(|port| port.time_of(full)).min().unwrap_or(1);
        let slowest = engine.ports.iter().map(|port| port.time_of(full)).max().unwrap_or(1);
        let least = engine.ports.iter().map(|port| port.time_of(1)).min().unwrap_or(1).max(1);
        let of_a_port = MOST_OF_A_PORT.max(slowest.saturating_mul(TIMES_WAITING) / least);
        Self {
            step: fastest.saturating_mul(STEP_PACKETS).max(1),
            next: 0,
            looked: 0,
            hops: 0,
            still: 0,
            horizons: [None; 2],
            sent_before_stuck: 0,
            since: Since { ports: vec![PortSeen::default(); engine.ports.len()], ..Since::default() },
            per_success: engine.packets_per_success(links),
            most: of_a_port.saturating_mul(engine.ports.len() as u64),
            repaired: engine.repairs(),
            round_trip,
        }
    }

    /// Some way is taken that may be longer than all that were thought of.
    pub(super) fn stretch(&mut self, engine: &Engine, round_trip: u64, links: u32) {
        self.round_trip = self.round_trip.max(round_trip);
        let [mean, most] = engine.packets_per_success(links);
        self.per_success = [self.per_success[0].max(mean), self.per_success[1].max(most)];
    }

    /// The instant of the next step.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Counts since which nothing has got further.
    pub(super) const fn since(&self) -> &Since {
        &self.since
    }

    /// Packets of which, by all probability, one gets there and word of it back, where that is not more than anybody waits for.
    fn chances(&self) -> u64 {
        (TIMES_CHANCE * self.per_success[1]).min(MOST_CHANCES as f64) as u64
    }

    /// Packets sent for one that gets there and of which word comes back, on average, where nobody waits for that.
    pub(super) fn hopeless(&self) -> Option<f64> {
        let [mean, most] = self.per_success;
        (TIMES_CHANCE * most > MOST_CHANCES as f64).then_some(mean)
    }

    /// The network was idle, and goes on at `now`.
    pub(super) const fn go_on(&mut self, now: u64) {
        self.next = (now / self.step + 1).saturating_mul(self.step);
    }

    /// A step is over, by which so many messages are complete: whether the run is.
    pub(super) fn step(&mut self, parts: &mut Parts, complete: u64) -> Option<Verdict> {
        let (now, totals) = (parts.now(), parts.totals());
        // steps in which nothing happens are passed over
        self.go_on(parts.next().unwrap_or(now).max(now));
        if self.hops != totals.hops {
            (self.hops, self.still) = (totals.hops, 0);
            self.horizons[Verdict::Still as usize] = None;
        }
        self.still += 1;
        let things = parts.any().ports.len() as u64 + u64::from(parts.connection_count());
        let rests = u64::from(self.still) > u64::from(STILL).max(things);
        // receivers may give credit for ever that never leaves
        if rests || self.still.is_multiple_of(STILL_IN_A_CIRCLE) && is_stuck(parts.any()) {
            if rests {
                self.still = 0;
            }
            parts.note_all();
            let on_a_wire =
                |port: PortView<'_>| now < port.service.busy_until.saturating_add(port.rest.kind.delay);
            let stands = parts.totals().hops == totals.hops && !parts.ports().any(on_a_wire);
            return (stands && self.clocks_ran_out(parts, Verdict::Still)).then_some(Verdict::Still);
        }
        if totals.sent - self.looked < LOOK_PACKETS.max(LOOK_TIMES * things) {
            return None;
        }
        self.looked = totals.sent;
        parts.note_all();
        let reached = reached(parts, complete);
        let waited = self.repaired.iter().any(|&(from, to)| from <= now && self.since.at <= to);
        if reached != self.since.reached || waited {
            self.since = Since::now(parts, reached);
            self.horizons[Verdict::InVain as usize] = None;
            self.sent_before_stuck = 0;
            return None;
        }
        (self.is_in_vain(parts, now) && self.clocks_ran_out(parts, Verdict::InVain))
            .then_some(Verdict::InVain)
    }

    fn is_in_vain(&mut self, parts: &Parts, now: u64) -> bool {
        let senders = parts.senders();
        let sent = senders.packets - self.since.data_packets + (senders.requests - self.since.requests);
        let all = parts.totals().sent - self.since.sent;
        let (loses, chances) = (self.per_success[1] > 1.0, self.chances());
        if !loses && all / RECEIVERS_ALONE > sent && parts.totals().hops - self.since.hops >= self.most {
            return true;
        }
        if sent < self.sent_before_stuck.max(chances) {
            // senders wait for what stands in a circle, and receivers go on giving them credit
            return all >= FEWEST_IN_A_CIRCLE && is_stuck(parts.any());
        }
        // links that stop each other run in one part
        let engine = parts.any();
        if engine.rules.queue.holds() {
            self.sent_before_stuck = sent + sent / 4;
        }
        let stuck = Stuck::of(engine);
        let stuck_bytes = |port| stuck.as_ref().map_or(0, |stuck| stuck.bytes_at(engine, port));
        let has_turned_over = |(number, (port, seen)): (usize, (PortView<'_>, &PortSeen))| {
            let in_service =
                if now < port.service.busy_until { u64::from(engine.rules.full_bytes) } else { 0 };
            let waits = port.waiting_bytes() - stuck_bytes(number) + in_service;
            port.service.sent_bytes - seen.bytes >= TIMES_WAITING * waits
        };
        let (fewest, stuck_packets) = stuck.as_ref().map_or((FEWEST, 0), |stuck| (0, stuck.packets));
        sent >= fewest.max(chances).max(TIMES_UNDER_WAY * (parts.in_flight() - stuck_packets))
            && parts.ports().zip(&self.since.ports).enumerate().all(has_turned_over)
    }

    /// Whether clocks have run out that ran when this was asked for the first time of a verdict.
    fn clocks_ran_out(&mut self, parts: &Parts, verdict: Verdict) -> bool {
        let now = parts.now();
        let horizon = &mut self.horizons[verdict as usize];
        let wait = || parts.longest_wait().max(self.round_trip.saturating_mul(2));
        now >= *horizon.get_or_insert_with(|| now.saturating_add(wait()))
    }
}

/// Whether links stop each other in a circle; those run in one part.
fn is_stuck(engine: &Engine) -> bool {
    engine.rules.queue.holds() && Stuck::of(engine).is_some()
}

fn reached(parts: &Parts, complete: u64) -> Reached {
    let mut reached = Reached { complete, ..Reached::default() };
    for number in 0..parts.connection_count() {
        let Some(sender) = parts.at_sender(number) else { continue };
        if sender.open_messages().next().is_some() {
            reached.acknowledged += sender.sender.acknowledged_to();
            let receiver = parts.at_receiver(number).map(|connection| &connection.receiver);
            reached.received_bytes += receiver.map_or(0, |receiver| receiver.received_bytes());
        }
    }
    reached
}

/// The port at which most waits of others than its own host, of those the busiest since then, and what it did meanwhile; none where nothing waits.
pub(super) fn fullest<'a>(parts: &'a Parts, since: &Since) -> Option<(PortView<'a>, PortSeen)> {
    let queues = parts.ports().zip(&since.ports).filter(|(port, _)| port.rest.is_queue());
    let did = queues.map(|(port, seen)| {
        let PortSeen { bytes, trims, drops } = PortSeen::of(port);
        let did =
            PortSeen { bytes: bytes - seen.bytes, trims: trims - seen.trims, drops: drops - seen.drops };
        (port, did)
    });
    let order =
        |(port, did): &(PortView<'_>, PortSeen)| (port.waiting_bytes(), did.bytes, Reverse(port.rest.link));
    did.filter(|(port, _)| port.waiting_bytes() > 0).max_by_key(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::{machine, network};

    /// Two links there and two back; two in a row are lost on average where each second one is.
    #[test]
    fn nobody_waits_for_packets_that_practically_never_get_through() {
        let star =
            machine(r#"{"kind": "single-switch", "nodes": 2, "bandwidth": "100 Gbps", "latency": "1 us"}"#);
        let patience = |probability: f64| {
            let network = network(&star, &format!(r#"{{"loss": {{"probability": {probability}}}}}"#), 1);
            let patience = network.expect("a network").patience;
            (patience.chances(), patience.hopeless().map(|sent| format!("{sent:.0e}")))
        };
        assert_eq!(patience(0.0), (64, None));
        assert_eq!(patience(0.5), (64 * 16 * 2, None));
        assert_eq!(patience(0.999), (MOST_CHANCES, Some("1e12".to_owned())));
        assert_eq!(patience(0.999_999_999), (MOST_CHANCES, Some("1e36".to_owned())));
    }
}
