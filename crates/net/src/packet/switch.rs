//! Packets at ports: where they wait, when they leave, what they leave behind.

use stratasim_core::Time;
use stratasim_transport::HopRecord;

use super::balancing::Features;
use super::engine::{Engine, Event, Flying};
use super::port::NOTHING;
use super::routes::Next;

impl Engine {
    /// A packet is at the node behind its port.
    #[inline]
    pub(super) fn arrive(&mut self, packet: u32) {
        let flying = &self.packets[packet as usize];
        let (from, to) = (flying.port, flying.to);
        if self.ports[from as usize].current == packet {
            self.finish(from);
        }
        let port = &self.ports[from as usize];
        let node = port.to;
        if port.faults != NOTHING && !self.survives(from, packet) {
            return;
        }
        if self.routes.node_of(to) == node {
            return self.deliver(packet);
        }
        if let Some((above, _)) = self.rules.queue.pause {
            self.hold(from, packet, above);
        }
        self.forward(node, packet);
    }

    /// A switch sends a packet on.
    #[inline]
    fn forward(&mut self, node: u32, packet: u32) {
        let flying = &self.packets[packet as usize];
        let port = match self.routes.toward(node, flying.to) {
            Next::Port(port) => port,
            Next::Set(set) => {
                let Flying { connection, entropy, control, .. } = *flying;
                let features = Features { connection, entropy, control };
                let range = self.routes.set(set);
                let mut members = &self.routes.members()[range.clone()];
                if self.detours.are_needed() {
                    members = self.detours.usable(&self.routes, members, flying.to);
                }
                self.balancing.choose((node, set), features, (range, members), &self.ports, self.now)
            }
            Next::Nowhere => unreachable!("ways are checked before a message is accepted"),
        };
        self.enqueue::<false>(port, packet);
    }

    /// A packet comes to a port. Those of the port's own host are let in whatever waits there.
    #[inline]
    pub(super) fn enqueue<const OWN: bool>(&mut self, number: u32, packet: u32) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        if now >= port.busy_until && !port.free_is_noted && !port.paused {
            // nobody waits where the link is free
            return self.serve(number, packet);
        }
        let Flying { bytes, control, .. } = self.packets[packet as usize];
        if control {
            if !OWN && port.high.bytes + u64::from(bytes) > port.control_capacity {
                return self.lose(number, packet);
            }
            Self::append(&mut self.packets, &mut port.high, packet);
        } else if OWN || port.data_bytes(now) + u64::from(bytes) <= port.capacity {
            Self::append(&mut self.packets, &mut port.low, packet);
            port.counts.most_bytes = port.counts.most_bytes.max(port.data_bytes(now));
        } else {
            self.overflow(number, packet);
        }
        let port = &mut self.ports[number as usize];
        let waits = !port.high.is_empty() || !port.low.is_empty();
        if waits && !port.free_is_noted && !port.paused {
            port.free_is_noted = true;
            let at = port.busy_until.max(now);
            self.note(at, Event::Free(number));
        }
    }

    /// A packet with payload finds no room.
    #[cold]
    fn overflow(&mut self, number: u32, packet: u32) {
        let rules = self.rules.queue;
        let port = &mut self.ports[number as usize];
        let newest = port.low.tail;
        if rules.spares_newcomers && !port.low.is_empty() && port.draws.bits() & 1 == 1 {
            // the newest gives its place: the two are exchanged where they lie, and the line stays as it is
            let [old, new] = [newest, packet].map(|packet| u64::from(self.packets[packet as usize].bytes));
            let port = &mut self.ports[number as usize];
            if port.data_bytes(self.now) - old + new <= port.capacity {
                port.low.bytes = port.low.bytes - old + new;
                self.packets.swap(newest as usize, packet as usize);
                self.headers.swap(newest as usize, packet as usize);
                if self.rules.records {
                    self.telemetry.swap(newest as usize, packet as usize);
                }
                self.packets[newest as usize].next = NOTHING;
            }
        }
        let cut = self.rules.trimmed_bytes;
        let port = &mut self.ports[number as usize];
        if !rules.trims || port.high.bytes + u64::from(cut) > port.control_capacity {
            return self.lose(number, packet);
        }
        port.counts.trims += 1;
        let flying = &mut self.packets[packet as usize];
        flying.mark.trimmed = true;
        flying.mark.last_hop = port.last_hop;
        flying.bytes = cut;
        flying.control = true;
        Self::append(&mut self.packets, &mut port.high, packet);
    }

    /// A packet is dropped.
    #[cold]
    fn lose(&mut self, number: u32, packet: u32) {
        self.ports[number as usize].counts.drops += 1;
        self.totals.dropped += 1;
        self.release(packet);
    }

    /// The link of a port is free, and something may wait.
    #[inline]
    pub(super) fn on_free(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        port.free_is_noted = false;
        if port.current != NOTHING {
            self.finish(number);
        }
        self.kick(number);
    }

    /// Starts what goes next, where the link is free.
    #[inline]
    pub(super) fn kick(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        if self.now < port.busy_until || port.free_is_noted || port.paused {
            return;
        }
        if !port.high.is_empty() {
            let packet = Self::take(&self.packets, &mut port.high);
            return self.serve(number, packet);
        }
        let own = port.nic;
        if !port.low.is_empty() {
            // a host that forwards and sends does both in turn
            if own != NOTHING {
                port.own_turn = !port.own_turn;
                if port.own_turn
                    && let Some(packet) = self.next_of_nic(own)
                {
                    return self.serve(number, packet);
                }
            }
            let packet = Self::take(&self.packets, &mut self.ports[number as usize].low);
            return self.serve(number, packet);
        }
        if own != NOTHING
            && let Some(packet) = self.next_of_nic(own)
        {
            self.serve(number, packet);
        }
    }

    /// A packet goes onto the link.
    #[inline]
    fn serve(&mut self, number: u32, packet: u32) {
        if self.ports[number as usize].current != NOTHING {
            self.finish(number);
        }
        let port = &mut self.ports[number as usize];
        let flying = &mut self.packets[packet as usize];
        let end = self.now + port.time_of(flying.bytes);
        port.busy_until = end;
        port.current = packet;
        port.in_service_bytes = if flying.control { 0 } else { flying.bytes };
        port.counts.bytes += u64::from(flying.bytes);
        port.counts.most_bytes =
            port.counts.most_bytes.max(port.low.bytes + u64::from(port.in_service_bytes));
        flying.port = number;
        self.totals.hops += 1;
        let at = end + port.delay;
        let waits = !port.high.is_empty()
            || !port.low.is_empty()
            // what is held for an input is let go when it has left, to the instant
            || flying.came_by != NOTHING
            || port.nic != NOTHING && !self.nics[port.nic as usize].ready.is_empty();
        port.free_is_noted = waits;
        if waits {
            self.note(end, Event::Free(number));
        }
        self.note(at, Event::Arrival(packet));
    }

    /// The packet in service has left: what it leaves behind is noted in it.
    #[inline]
    fn finish(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        let packet = std::mem::replace(&mut port.current, NOTHING);
        let flying = &mut self.packets[packet as usize];
        let input = std::mem::replace(&mut flying.came_by, NOTHING);
        if port.in_service_bytes != 0 {
            let queue = port.low.bytes;
            if self.rules.records && port.nic == NOTHING {
                self.telemetry[packet as usize].push(HopRecord {
                    queue_bytes: queue.min(u64::from(u32::MAX)) as u32,
                    bytes_per_s: port.rate.bytes_per_s(),
                    at: Time::from_ps(port.busy_until),
                    sent_bytes: port.counts.bytes,
                });
            }
            if queue > port.mark_from {
                let (from, all) = (port.mark_from, port.mark_all);
                // as likely as the share of the way from the first threshold to the second
                let marked = queue > all
                    || u128::from(port.draws.bits()) * u128::from(all - from)
                        < u128::from(queue - from) << 64;
                if marked {
                    flying.mark.ecn = true;
                    port.counts.marks += 1;
                }
            }
        }
        if input != NOTHING {
            let bytes = u64::from(flying.bytes);
            self.let_go(input, bytes);
        }
    }

    /// A packet that came by `from` is held at the switch behind it until it has left.
    fn hold(&mut self, from: u32, packet: u32, above: u64) {
        let flying = &mut self.packets[packet as usize];
        flying.came_by = from;
        let port = &mut self.ports[from as usize];
        port.held_bytes += u64::from(flying.bytes);
        if port.held_bytes > above && !port.pausing {
            port.pausing = true;
            port.counts.pauses += 1;
            let at = self.now + port.delay;
            self.note(at, Event::Pause(from));
        }
    }

    /// Bytes that came by `from` have left the switch behind it.
    fn let_go(&mut self, from: u32, bytes: u64) {
        let Some((_, below)) = self.rules.queue.pause else { return };
        let port = &mut self.ports[from as usize];
        port.held_bytes -= bytes;
        if port.held_bytes < below && port.pausing {
            port.pausing = false;
            let at = self.now + port.delay;
            self.note(at, Event::Resume(from));
        }
    }

    /// A port may go on.
    pub(super) fn on_resume(&mut self, number: u32) {
        self.ports[number as usize].paused = false;
        self.call(number);
    }

    /// A port has something to send: at once, or when its link is free.
    #[inline]
    pub(super) fn call(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        if port.free_is_noted || port.paused {
            return;
        }
        if self.now >= port.busy_until {
            return self.kick(number);
        }
        port.free_is_noted = true;
        let at = port.busy_until;
        self.note(at, Event::Free(number));
    }

    /// A packet has reached its host.
    #[inline]
    fn deliver(&mut self, packet: u32) {
        let flying = self.packets[packet as usize];
        if flying.signs & Flying::CORRUPT != 0 {
            return self.discard(packet);
        }
        self.totals.delivered += 1;
        if self.headers[packet as usize].kind.is_forward() {
            self.reach_receiver(packet, &flying);
        } else {
            self.reach_sender(packet, flying.connection);
        }
        self.release(packet);
    }
}
