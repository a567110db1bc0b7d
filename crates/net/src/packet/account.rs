//! What a run of the packet level comes to: counts, bytes of links, and what must hold.

use stratasim_core::model::{FlowRecord, Invariant, NetworkReport, QueueRecord};
use stratasim_core::{Duration, NodeId, Time};
use stratasim_transport::{RecoverySpec, SenderStatistics};

use super::lane::Lane;
use super::network::PacketNetwork;
use super::port::NOTHING;
use crate::{cables, checks};

/// Time-outs of which nobody needs to know, be they in vain.
const FEW_TIMEOUTS: u64 = 16;

impl PacketNetwork {
    /// The account at `now`.
    pub(super) fn account(&self, now: Time) -> NetworkReport {
        let parts = &self.parts;
        let links = self.topology.links();
        let (mut link_bytes, mut link_busy_s) = (vec![0.0; links.len()], vec![0.0; links.len()]);
        let (mut drops, mut trims, mut marks, mut pauses, mut vanished, mut most) = (0, 0, 0, 0, 0, 0);
        for port in parts.ports() {
            let bytes = port.carried_bytes(now.as_ps());
            let port = port.rest;
            link_bytes[port.link.index()] += bytes;
            link_busy_s[port.link.index()] += bytes / links[port.link.index()].bandwidth.bytes_per_s();
            let counts = &port.counts;
            drops += counts.drops;
            trims += counts.trims;
            marks += counts.marked_packets;
            pauses += counts.pauses;
            vanished += counts.vanished;
            if port.is_queue() {
                most = counts.most_bytes.max(most);
            }
        }
        let links_held = self.check_links(&link_bytes, &link_busy_s, now);
        // a service is rounded to whole picoseconds, and so may be shorter than its bytes at the full rate
        let now_s = now.as_secs_f64();
        link_busy_s.iter_mut().for_each(|busy_s| *busy_s = busy_s.min(now_s));
        // hosts have no queue for what they send themselves, but they are asked to pause, and what follows may be dropped
        let wires = parts.any().routes.wires();
        let shared = parts.any().routes.half_duplex();
        let ports = parts.ports().map(|port| port.rest).zip(wires);
        let waited = ports.filter(|(port, _)| match port.is_queue() {
            // control may be dropped where no data ever waited
            true => {
                port.counts.most_bytes > 0 || port.counts.drops + port.counts.trims + port.counts.marks > 0
            }
            false => port.counts.pauses + port.counts.drops > 0,
        });
        let mut queues: Vec<QueueRecord> = waited
            .map(|(port, wire)| QueueRecord {
                link: port.link,
                from: shared.contains(&port.link).then_some(NodeId(wire.from)),
                capacity_bytes: port.kind.capacity,
                most_bytes: if port.is_queue() { port.counts.most_bytes } else { 0 },
                drops: port.counts.drops,
                trims: port.counts.trims,
                marks: port.counts.marks,
                pauses: port.counts.pauses,
            })
            .collect();
        queues.sort_by_key(|queue| queue.link);
        let (senders, totals, faults) = (parts.senders(), parts.totals(), parts.any().fault_counts);
        NetworkReport {
            link_bytes,
            link_busy_s,
            invariants: vec![links_held, self.conserves(now)],
            memory_rates: Some(1.0),
            busiest_nic: None,
            notes: self
                .sent_in_vain(&senders, totals.dropped + trims)
                .into_iter()
                .chain(cables::note(&self.topology))
                .collect(),
            counters: vec![
                ("network.messages", self.messages),
                ("network.packets", totals.sent),
                ("network.packet_hops", totals.hops),
                ("network.events", totals.events),
                ("network.data_packets", senders.packets),
                ("network.retransmissions", senders.retransmissions),
                ("network.timeouts", senders.timeouts),
                ("network.drops", drops),
                ("network.trims", trims),
                ("network.marks", marks),
                ("network.pauses", pauses),
                ("network.lost_on_links", vanished),
                ("network.longest_queue_bytes", most),
                ("network.connections", u64::from(parts.connection_count())),
                ("network.lost_on_down_links", faults.on_down_links),
                ("network.corrupted", faults.corrupted),
                ("network.discarded", faults.discarded),
                ("network.duplicated", faults.duplicated),
                ("network.reordered", faults.reordered),
            ]
            .into_iter()
            .chain(parts.any().rules.queue.returns.then_some(("network.returned", totals.returned)))
            .collect(),
            queues,
            flows: Vec::new(),
            needed: Vec::new(),
        }
    }

    /// Links against their rates. Each service is rounded to whole picoseconds.
    fn check_links(&self, bytes: &[f64], busy_s: &[f64], now: Time) -> Invariant {
        let sizes = &self.transports.spec.packets;
        let least = f64::from(sizes.control_bytes.min(sizes.header_bytes + 1).max(1));
        checks::links(&self.topology, bytes, busy_s, now, |link| (2.0 + bytes[link] / least) * 1e-12)
    }

    /// Messages against what they take alone.
    pub(super) fn check_messages(&mut self, flows: &[FlowRecord]) -> Invariant {
        let took = |flow: &FlowRecord| flow.end.saturating_since(flow.start);
        let known: Vec<&FlowRecord> = flows.iter().filter(|flow| flow.least > Duration::ZERO).collect();
        let beaten = known.iter().filter(|flow| self.is_beaten(flow)).take(checks::NAMED);
        let violations = beaten.map(|flow| {
            format!(
                "a message of {} bytes took {}, and {} alone at least",
                flow.bytes,
                took(flow),
                flow.least
            )
        });
        Invariant {
            name: Invariant::TRANSFERS,
            checked: known.len() as u64,
            violations: violations.collect(),
        }
    }

    /// What must hold at any time of packets, queues and credits.
    fn conserves(&self, now: Time) -> Invariant {
        let checked = self.parts.totals().sent + self.parts.ports().count() as u64;
        let name = "every packet arrived, was dropped or is under way, in queues that have room for it";
        Invariant { name, checked, violations: self.violations(now) }
    }

    fn violations(&self, now: Time) -> Vec<String> {
        let mut violations = Vec::new();
        // what waits for word from the other end of a link runs in one part
        let engine = self.parts.any();
        let (totals, in_flight) = (self.parts.totals(), self.parts.in_flight());
        let is_idle = in_flight == 0 && engine.returning.iter().all(|lane| lane.is_empty());
        let accounted = totals.delivered + totals.dropped + in_flight;
        let doubled = engine.fault_counts.duplicated;
        if self.parts.is_surprised {
            violations
                .push("a message was complete before its time was foreseen: run it on one thread".into());
        }
        if totals.sent + doubled != accounted {
            violations.push(format!(
                "{} packets were sent, {doubled} doubled, {} delivered, {} dropped, {} are in flight: they do not add up",
                totals.sent,
                totals.delivered,
                totals.dropped,
                in_flight
            ));
        }
        for port in self.parts.ports().map(|port| port.rest) {
            let most = port.counts.most_bytes;
            // a host serves what it sends itself over a full queue, too; what it says is let in whatever waits, and counts
            // where it is not control
            let own = match port.nic {
                NOTHING => 0,
                _ if engine.rules.queue.control_first => u64::from(engine.rules.full_bytes),
                _ => u64::MAX,
            };
            if port.is_queue() && most > port.kind.capacity.saturating_add(own) {
                let name = self.topology.link_name(port.link);
                violations
                    .push(format!("the queue of {name} held {most} bytes of at most {}", port.kind.capacity));
            }
            let held: u64 = port.lanes.iter().map(|lane| lane.held_bytes).sum();
            if held > 0 && in_flight == 0 {
                let name = self.topology.link_name(port.link);
                violations.push(format!("{held} bytes that came by {name} were never let go"));
            }
            if port.counts.overruns > 0 {
                let name = self.topology.link_name(port.link);
                violations.push(format!("{} packets came by {name} without room", port.counts.overruns));
            }
            let room = port.room_bytes;
            // pauses come and go; credits are all here when nothing is on its way
            let lacks = |lane: &Lane| lane.credit_bytes > room || lane.credit_bytes < room && is_idle;
            if room < u64::MAX && port.lanes.iter().any(lacks) {
                let name = self.topology.link_name(port.link);
                violations.push(format!("the credit of {name} does not add up to {} B", port.room_bytes));
            }
        }
        for mut pool in self.parts.pools().cloned() {
            let used_bytes = pool.used_bytes(now.as_ps());
            if used_bytes > pool.total_bytes || used_bytes > 0 && in_flight == 0 {
                violations.push(format!("{used_bytes} bytes of {} are shared out", pool.total_bytes));
            }
        }
        violations
    }

    /// What a reader should know of packets that were sent again though they were not lost.
    fn sent_in_vain(&self, senders: &SenderStatistics, lost: u64) -> Vec<String> {
        let engine = self.parts.any();
        let SenderStatistics { retransmissions, timeouts, .. } = *senders;
        if retransmissions.max(timeouts) == 0 {
            return Vec::new();
        }
        let times = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let is_lossless = engine.is_lossless();
        // links that go down turn messages to another way once; a balancing by packets does so all the time
        let keeps_order = engine.balancing.keeps_flows(self.transports.spec.keeps_entropy());
        let gives_up_what_is_early = matches!(self.transports.spec.recovery(), RecoverySpec::GoBackN(_))
            && !keeps_order
            && engine.routes.have_choices();
        if gives_up_what_is_early && (is_lossless || retransmissions > 2 * lost) {
            let (losses, comfort) = match is_lossless {
                true => ("nothing is lost here".to_owned(), "nothing"),
                false => (format!("only {lost} packets were dropped or lost"), "little"),
            };
            return vec![format!(
                "{} ({}), though {losses}: packets of a message go different ways, come out of order, and go-back-N \
                 gives up what is early; where the last ones do, the sender waits for its time-out. With one way for each message \
                 (`network.balancing.kind = \"per-flow\"`) or a recovery that keeps what is early {comfort} is sent twice",
                times(retransmissions, "retransmission"),
                times(timeouts, "time-out"),
            )];
        }
        if !is_lossless {
            // who holds packets up has asked for it
            let held_up = engine.fault_counts.reordered > 0;
            let many = timeouts >= FEW_TIMEOUTS && timeouts.min(retransmissions) > 2 * lost && !held_up;
            let note = || {
                format!(
                    "{}, though only {lost} packets were dropped, cut or lost: others waited for longer in queues, and were sent again in \
                     vain. `network.recovery` has longer time-outs where its kind has the keys",
                    times(timeouts, "time-out"),
                )
            };
            return many.then(note).into_iter().collect();
        }
        if timeouts > 0 {
            vec![format!(
                "{}, though nothing is lost here: packets waited for longer in queues, and were sent again in vain. \
                 `network.recovery` has a longer `timeout`, or none, where its kind has the key",
                times(timeouts, "time-out"),
            )]
        } else {
            Vec::new()
        }
    }
}
