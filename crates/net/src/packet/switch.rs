//! Packets at ports: where they wait, when they leave, what they leave behind.

use stratasim_core::Time;
use stratasim_transport::HopRecord;

use super::balancing::Features;
use super::engine::{Engine, Event, Flying};
use super::port::{Beyond, MARKED, NOTHING};
use super::routes::Next;

impl Engine {
    /// A packet is at the node behind its port.
    #[inline]
    pub(super) fn arrive(&mut self, packet: u32) {
        let Flying { port: from, to, signs, .. } = self.packets[packet as usize];
        if signs & Flying::LEADS != 0 {
            self.go_on(from, self.now);
        }
        if self.rules.settles_late && self.ports[from as usize].current == packet {
            self.finish(from);
        }
        if !self.faults.is_empty() && self.ends[from as usize].has_faults && !self.survives(from, packet, 0) {
            return;
        }
        // it is on its way where a way was foreseen
        let is_foreseen = signs & Flying::FORESEEN != 0;
        if !is_foreseen && self.routes.node_of(to) == self.ends[from as usize].node {
            let Flying { class, bytes, .. } = self.packets[packet as usize];
            if self.rules.queue.holds() {
                self.tell_room(from, class, bytes);
            }
            return self.deliver(packet);
        }
        if self.rules.queue.holds() && !self.hold(from, packet) {
            return self.lose(from, packet);
        }
        let flying = &mut self.packets[packet as usize];
        flying.signs &= !(Flying::HEADED | Flying::FORESEEN);
        let is_known = signs & Flying::HEADED != 0 || is_foreseen && !self.detours.are_needed();
        let next = if is_known { flying.next } else { self.choose(self.ends[from as usize].node, packet) };
        self.enqueue::<false>(next, packet);
    }

    /// The header of a packet is at the switch behind its port: it goes on at once where that is possible, and is stored
    /// otherwise.
    #[inline(never)]
    pub(super) fn on_head(&mut self, packet: u32) {
        let Flying { port: from, bytes, control, class, .. } = self.packets[packet as usize];
        let port = &self.ports[from as usize];
        let node = port.to;
        let rest_ps = port.time_of(bytes) - port.time_of(self.rules.header_bytes.min(bytes));
        let (rate, has_faults) = (port.rate, port.faults != NOTHING);
        if has_faults && !self.survives(from, packet, rest_ps) {
            return;
        }
        let next = self.choose(node, packet);
        let out = &self.ports[next as usize];
        if self.now >= out.busy_until
            && out.high.is_empty()
            && !out.is_waited_for()
            && out.lanes.get(class).lets(bytes)
            && !out.rate.is_faster_than(rate)
            && (control || self.has_room(next, class, bytes))
        {
            if self.rules.queue.holds() && !self.hold(from, packet) {
                return self.lose(from, packet);
            }
            if !control {
                self.take_room(next, bytes);
            }
            return self.serve(next, packet);
        }
        let flying = &mut self.packets[packet as usize];
        flying.next = next;
        flying.signs |= Flying::HEADED | if has_faults { Flying::SETTLED } else { 0 };
        self.note(self.now + rest_ps, Event::Arrival(packet));
    }

    /// The port by which a switch sends a packet on.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is called in the loop, and elsewhere where speed does not matter"
    )]
    fn choose(&mut self, node: u32, packet: u32) -> u32 {
        let next = if self.landings.are_needed() {
            self.toward_landing(node, packet)
        } else {
            self.routes.toward(node, self.packets[packet as usize].to)
        };
        let flying = &self.packets[packet as usize];
        match next {
            Next::Port(port) => port,
            Next::Set(set) => {
                let Flying { connection, entropy, control, .. } = *flying;
                let features = Features { connection, entropy, control };
                let range = self.routes.set(set);
                let mut members = &self.routes.members()[range.clone()];
                if self.detours.are_needed() {
                    members = self.detours.usable(&self.routes, members, flying.to);
                }
                if self.balancing.is_by_source() {
                    // the rest of the number is for the switches behind
                    self.packets[packet as usize].entropy = (usize::from(entropy) / members.len()) as u16;
                }
                self.balancing.choose((node, set), features, (range, members), &self.ports, self.now)
            }
            Next::Nowhere => unreachable!("ways are checked before a message is accepted"),
        }
    }

    /// A packet comes to a port. Those of the port's own host are let in whatever waits there.
    #[inline]
    pub(super) fn enqueue<const OWN: bool>(&mut self, number: u32, packet: u32) {
        let now = self.now;
        let Flying { bytes, control, class, .. } = self.packets[packet as usize];
        self.go_on(number, now);
        let port = &mut self.ports[number as usize];
        if now >= port.busy_until
            && !port.free_is_noted
            && port.lets_pass(control, class, bytes)
            && (port.pool == NOTHING || control)
        {
            return self.serve(number, packet);
        }
        if control {
            if !OWN && port.high.bytes + u64::from(bytes) > port.control_capacity {
                return self.lose(number, packet);
            }
            Self::append(&mut self.packets, &mut port.high, packet);
        } else if OWN || self.has_room(number, class, bytes) {
            let port = &mut self.ports[number as usize];
            Self::append(&mut self.packets, &mut port.lanes.get_mut(class).line, packet);
            port.counts.most_bytes = port.counts.most_bytes.max(port.lane_bytes(class, now));
            self.take_room(number, bytes);
        } else {
            self.overflow(number, packet);
        }
        let port = &mut self.ports[number as usize];
        let waits = !port.high.is_empty() || port.is_waited_for();
        if waits && !port.free_is_noted && port.lanes.get(class).lets(bytes) {
            port.free_is_noted = true;
            if port.chained {
                self.packets[port.current as usize].signs |= Flying::LEADS;
                return;
            }
            let at = port.busy_until.max(now);
            self.note(at, Event::Free(number));
        }
    }

    /// Whether a queue has room for so many bytes of data more.
    #[inline]
    fn has_room(&self, number: u32, class: u8, bytes: u32) -> bool {
        let port = &self.ports[number as usize];
        let (held, bytes) = (port.lane_bytes(class, self.now), u64::from(bytes));
        if port.pool == NOTHING {
            return held + bytes <= port.capacity;
        }
        self.pools[port.pool as usize].admits(held, bytes)
    }

    /// Data takes room of a buffer that ports share.
    #[inline]
    fn take_room(&mut self, number: u32, bytes: u32) {
        let port = &self.ports[number as usize];
        if port.pool != NOTHING {
            self.pools[port.pool as usize].used_bytes += u64::from(bytes);
        }
    }

    /// Data leaves a buffer that ports share.
    #[inline]
    fn free_room(&mut self, number: u32, bytes: u32) {
        let port = &self.ports[number as usize];
        if port.pool != NOTHING {
            self.pools[port.pool as usize].used_bytes -= u64::from(bytes);
        }
    }

    /// A packet with payload finds no room.
    #[cold]
    fn overflow(&mut self, number: u32, packet: u32) {
        let rules = self.rules.queue;
        let class = self.packets[packet as usize].class;
        let port = &mut self.ports[number as usize];
        let line = port.lanes.get(class).line;
        let newest = line.tail;
        if rules.spares_newcomers && !line.is_empty() && port.draws.bits() & 1 == 1 {
            // the newest gives its place: the two are exchanged where they lie, and the line stays as it is
            let [old, new] = [newest, packet].map(|packet| self.packets[packet as usize].bytes);
            self.free_room(number, old);
            let line = &mut self.ports[number as usize].lanes.get_mut(class).line;
            line.bytes -= u64::from(old);
            let fits = self.has_room(number, class, new);
            let stays = if fits { new } else { old };
            self.take_room(number, stays);
            let line = &mut self.ports[number as usize].lanes.get_mut(class).line;
            line.bytes += u64::from(stays);
            if fits {
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
        if self.now < port.busy_until {
            // a packet whose header had come began in this very instant
            return;
        }
        port.free_is_noted = false;
        self.settle(number);
        self.kick(number);
    }

    /// Starts what goes next, where the link is free.
    #[inline]
    pub(super) fn kick(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        if self.now < port.busy_until || port.free_is_noted {
            return;
        }
        let most = self.rules.queue.control_in_a_row;
        if port.control_goes(most) && port.lanes.get(0).lets(self.packets[port.high.head as usize].bytes) {
            let packet = Self::take(&self.packets, &mut port.high);
            return self.serve(number, packet);
        }
        for class in 0..port.lanes.count() {
            if let Some(packet) = self.next_of_class(number, class) {
                return self.serve(number, packet);
            }
        }
    }

    /// The next packet of a class, where it may go.
    #[inline]
    fn next_of_class(&mut self, number: u32, class: u8) -> Option<u32> {
        let port = &mut self.ports[number as usize];
        let (own, lane) = (port.nic, port.lanes.get(class));
        let own_may = own != NOTHING && lane.lets(self.rules.full_bytes);
        let line = lane.line;
        if line.is_empty() {
            return if own_may { self.next_of_nic(own, class) } else { None };
        }
        if !lane.lets(self.packets[line.head as usize].bytes) {
            return None;
        }
        // a host that forwards and sends does both in turn
        if own_may {
            port.own_turn = !port.own_turn;
            if port.own_turn
                && let Some(packet) = self.next_of_nic(own, class)
            {
                return Some(packet);
            }
        }
        let packet = Self::take(&self.packets, &mut self.ports[number as usize].lanes.get_mut(class).line);
        let bytes = self.packets[packet as usize].bytes;
        debug_assert!(self.ports[number as usize].lanes.get(class).lets(bytes), "it went without leave");
        Some(packet)
    }

    /// A packet goes onto the link.
    #[inline]
    fn serve(&mut self, number: u32, packet: u32) {
        self.settle(number);
        self.begin(number, packet, self.now);
    }

    /// The service of a packet begins at `start`, when that of the one before it is over and noted.
    #[inline]
    pub(super) fn begin(&mut self, number: u32, packet: u32, start: u64) {
        let port = &mut self.ports[number as usize];
        let flying = &mut self.packets[packet as usize];
        let end = start + port.time_of(flying.bytes);
        port.busy_until = end;
        port.current = packet;
        port.in_service_bytes = if flying.control { 0 } else { flying.bytes };
        port.in_service_class = flying.class;
        port.counts.bytes += u64::from(flying.bytes);
        let lane = port.lanes.get_mut(flying.class);
        port.counts.most_bytes =
            port.counts.most_bytes.max(lane.line.bytes + u64::from(port.in_service_bytes));
        if lane.credit_bytes != u64::MAX {
            lane.credit_bytes -= u64::from(flying.bytes);
        }
        flying.port = number;
        if flying.came_by != NOTHING {
            port.leaving_from = std::mem::replace(&mut flying.came_by, NOTHING);
            port.leaving_bytes = flying.bytes;
        }
        self.totals.hops += 1;
        let at = end + port.delay;
        let (chained, beyond) = (port.chained, port.beyond);
        let waits = !port.high.is_empty()
            || port.is_waited_for()
            // what is held for an input is let go when it has left, to the instant, and so is shared room
            || port.leaves_room()
            || port.nic != NOTHING && self.nics[port.nic as usize].is_waiting();
        port.free_is_noted = waits;
        if chained {
            flying.signs = flying.signs & !Flying::LEADS | if waits { Flying::LEADS } else { 0 };
        } else if waits {
            self.note(end, Event::Free(number));
        }
        match beyond {
            // where chained ports lead, too
            Beyond::Node => {}
            Beyond::Header => return self.show_header(number, packet),
            Beyond::Part => return self.depart(number, packet),
            Beyond::Host => self.expect(packet, at),
        }
        self.note(at, Event::Arrival(packet));
    }

    /// The other end looks at a packet as soon as its header has come, and so before it has left.
    #[inline(never)]
    fn show_header(&mut self, number: u32, packet: u32) {
        self.mark(number, packet);
        let port = &mut self.ports[number as usize];
        port.current = MARKED;
        let header = self.rules.header_bytes.min(self.packets[packet as usize].bytes);
        let at = self.now + port.time_of(header) + port.delay;
        self.note(at, Event::Head(packet));
    }

    /// The service of the last packet is over, if there was one.
    #[inline]
    fn settle(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        if port.current == NOTHING {
            return;
        }
        if self.now < port.busy_until + port.delay || self.rules.settles_late {
            self.finish(number);
        } else {
            // it has arrived, and left nothing behind: nobody waited when its service ended
            port.current = NOTHING;
        }
    }

    /// The packet in service has left.
    #[inline]
    pub(super) fn finish(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        let packet = std::mem::replace(&mut port.current, NOTHING);
        let leaves_room = port.leaves_room();
        // control neither counts in queues nor is marked
        if packet != MARKED && port.in_service_bytes != 0 {
            self.mark(number, packet);
        }
        if leaves_room {
            self.leave_room(number);
        }
    }

    /// The room that a packet took in its switch is free again.
    #[inline(never)]
    fn leave_room(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        let (data_bytes, bytes, class) = (port.in_service_bytes, port.leaving_bytes, port.in_service_class);
        let input = std::mem::replace(&mut port.leaving_from, NOTHING);
        self.free_room(number, data_bytes);
        if input != NOTHING {
            self.let_go(input, class, bytes);
        }
    }

    /// What a packet leaves behind is noted in it.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it is called in the loop, and elsewhere where speed does not matter"
    )]
    fn mark(&mut self, number: u32, packet: u32) {
        let port = &mut self.ports[number as usize];
        let flying = &mut self.packets[packet as usize];
        if port.in_service_bytes != 0 {
            let queue = port.lanes.get(port.in_service_class).line.bytes;
            if self.rules.records && port.is_queue() {
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
    }

    /// A port has something to send: at once, or when its link is free.
    #[inline]
    pub(super) fn call(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        if port.free_is_noted || !port.lanes.any(|lane| lane.credit_bytes > 0) {
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
        if flying.signs & Flying::BACK == 0 {
            self.has_come(flying.connection);
            self.reach_receiver(packet, &flying);
        } else {
            self.reach_sender(packet, flying.connection);
        }
        self.release(packet);
    }
}
