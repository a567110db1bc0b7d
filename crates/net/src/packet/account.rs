//! What a run of the packet level comes to: counts, bytes of links, and what must hold.

use stratasim_core::Time;
use stratasim_core::model::{NetworkReport, QueueRecord};

use super::lane::Lane;
use super::network::PacketNetwork;
use super::port::NOTHING;

impl PacketNetwork {
    /// The account at `now`.
    pub(super) fn account(&self, now: Time) -> NetworkReport {
        let engine = &self.engine;
        let links = self.topology.links();
        let (mut link_bytes, mut link_busy_s) = (vec![0.0; links.len()], vec![0.0; links.len()]);
        let (mut drops, mut trims, mut marks, mut pauses, mut vanished, mut most) = (0, 0, 0, 0, 0, 0);
        for port in &engine.ports {
            let bytes = port.carried_bytes(now.as_ps());
            link_bytes[port.link.index()] += bytes;
            link_busy_s[port.link.index()] += bytes / links[port.link.index()].bandwidth.bytes_per_s();
            let counts = &port.counts;
            drops += counts.drops;
            trims += counts.trims;
            marks += counts.marks;
            pauses += counts.pauses;
            vanished += counts.vanished;
            if port.nic == NOTHING {
                most = counts.most_bytes.max(most);
            }
        }
        let waited = engine.ports.iter().filter(|port| port.nic == NOTHING && port.counts.most_bytes > 0);
        let mut queues: Vec<QueueRecord> = waited
            .map(|port| QueueRecord {
                link: port.link,
                capacity_bytes: port.capacity,
                most_bytes: port.counts.most_bytes,
                drops: port.counts.drops,
                trims: port.counts.trims,
                marks: port.counts.marks,
                pauses: port.counts.pauses,
            })
            .collect();
        queues.sort_by_key(|queue| queue.link);
        let mut senders = engine.senders;
        for connection in engine.connections.iter().flatten() {
            senders += connection.sender.statistics();
        }
        NetworkReport {
            link_bytes,
            link_busy_s,
            violations: self.violations(),
            counters: vec![
                ("network.messages", self.messages),
                ("network.packets", engine.totals.sent),
                ("network.packet_hops", engine.totals.hops),
                ("network.events", engine.totals.events),
                ("network.data_packets", senders.packets),
                ("network.retransmissions", senders.retransmissions),
                ("network.timeouts", senders.timeouts),
                ("network.drops", drops),
                ("network.trims", trims),
                ("network.marks", marks),
                ("network.pauses", pauses),
                ("network.lost_on_links", vanished),
                ("network.longest_queue_bytes", most),
                ("network.connections", engine.connections.len() as u64),
                ("network.lost_on_down_links", engine.fault_counts.on_down_links),
                ("network.corrupted", engine.fault_counts.corrupted),
                ("network.discarded", engine.fault_counts.discarded),
                ("network.duplicated", engine.fault_counts.duplicated),
                ("network.reordered", engine.fault_counts.reordered),
            ],
            queues,
            flows: Vec::new(),
        }
    }

    /// What must hold at any time.
    fn violations(&self) -> Vec<String> {
        let mut violations = Vec::new();
        let is_idle =
            self.engine.in_flight() == 0 && self.engine.returning.iter().all(|lane| lane.is_empty());
        let totals = self.engine.totals;
        let accounted = totals.delivered + totals.dropped + self.engine.in_flight();
        let doubled = self.engine.fault_counts.duplicated;
        if totals.sent + doubled != accounted {
            violations.push(format!(
                "{} packets were sent, {doubled} doubled, {} delivered, {} dropped, {} are in flight: they do not add up",
                totals.sent,
                totals.delivered,
                totals.dropped,
                self.engine.in_flight()
            ));
        }
        for port in &self.engine.ports {
            let most = port.counts.most_bytes;
            // at a host, what it says itself is let in whatever waits
            if port.nic == NOTHING && most > port.capacity {
                let name = self.topology.link_name(port.link);
                violations
                    .push(format!("the queue of {name} held {most} bytes of at most {}", port.capacity));
            }
            let held: u64 = port.lanes.iter().map(|lane| lane.held_bytes).sum();
            if held > 0 && self.engine.in_flight() == 0 {
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
        for pool in &self.engine.pools {
            if pool.used_bytes > pool.total_bytes || pool.used_bytes > 0 && self.engine.in_flight() == 0 {
                violations.push(format!("{} bytes of {} are shared out", pool.used_bytes, pool.total_bytes));
            }
        }
        violations
    }
}
