//! Packets at ports: where they wait, when they leave, what they leave behind.

use super::at_work::AtWork;
use super::balancing::Features;
use super::engine::{Engine, Event, Flying};
use super::port::{Beyond, NOTHING};
use super::routes::Next;
use super::service::MARKED;

impl Engine {
    /// A packet is at the node behind its port.
    #[inline]
    pub(super) fn arrive(&mut self, packet: u32) {
        let Flying { port: from, to, signs, .. } = self.packets[packet as usize];
        if signs & Flying::LEADS != 0 {
            self.go_on(from, self.now);
        }
        if self.rules.settles_late && self.ports.service(from).current == packet {
            self.finish(from);
        }
        if !self.faults.is_empty()
            && self.ports[from as usize].faults != NOTHING
            && !self.survives(from, packet, 0)
        {
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
        let (rate, has_faults) = (port.kind.rate, port.faults != NOTHING);
        if has_faults && !self.survives(from, packet, rest_ps) {
            return;
        }
        let next = self.choose(node, packet);
        let out = self.ports.service(next);
        if self.now >= out.busy_until
            && out.high.is_empty()
            && self.ports.view(next as usize).waiting_data_bytes() == 0
            && self.lets(next, class, bytes)
            && !self.ports.kind(next).rate.is_faster_than(rate)
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
    pub(super) fn choose(&mut self, node: u32, packet: u32) -> u32 {
        let next = if self.landings.are_needed() {
            self.toward_landing(node, packet)
        } else {
            self.routes.toward(node, self.packets[packet as usize].to)
        };
        let flying = &self.packets[packet as usize];
        match next {
            Next::Port(port) => port,
            Next::Set(set) => {
                let Flying { connection, entropy, .. } = *flying;
                let features = Features { connection, entropy, control: flying.is_control() };
                let mut members = self.routes.members(node, set);
                if self.detours.are_needed() {
                    members = self.detours.usable(&self.routes, members, flying.to);
                }
                if self.balancing.is_by_source() {
                    // the rest of the number is for the switches behind
                    self.packets[packet as usize].entropy = (usize::from(entropy) / members.len()) as u16;
                }
                self.balancing.choose((node, set), features, members, (&self.routes, &self.ports), self.now)
            }
            Next::Nowhere => unreachable!("ways are checked before a message is accepted"),
        }
    }

    /// A packet comes to a port. Those of the port's own host are let in whatever waits there.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is called in the loop, and else where speed does not matter")]
    pub(super) fn enqueue<const OWN: bool>(&mut self, number: u32, packet: u32) {
        let now = self.now;
        let Flying { bytes, control, class, .. } = self.packets[packet as usize];
        // asked before the port is looked at: mostly nobody keeps count
        let keeps_count = self.rules.keeps_count;
        let passes = !keeps_count || self.lets_pass(number, control, class, bytes);
        let mut at_work = self.ports.at_work(number);
        if at_work.service.goes_on_before(now) {
            self.catch_up(number, now);
            at_work = self.ports.at_work(number);
        }
        if now >= at_work.service.busy_until && !at_work.service.is_noted() && passes {
            if keeps_count || self.rules.settles_late {
                return self.serve(number, packet);
            }
            let begun = at_work.begin(packet, &mut self.packets[packet as usize], now, |is_of_host| {
                is_of_host && self.nics[self.ends[number as usize].nic as usize].is_waiting()
            });
            return self.follow(number, packet, begun);
        }
        if keeps_count && now >= at_work.service.busy_until {
            at_work.mark_alone(&mut self.packets, &mut self.telemetry);
        }
        let held = at_work.lane_bytes(class, now) + u64::from(bytes);
        if control {
            let high = &mut at_work.service.high;
            if !OWN && high.bytes + u64::from(bytes) > at_work.kind.control_capacity {
                return self.lose(number, packet);
            }
            Self::append(&mut self.packets, high, packet);
        } else {
            let pool = at_work.pool(keeps_count);
            let fits = OWN
                || pool.map_or(held <= at_work.kind.capacity, |pool| {
                    self.pools[pool].admits(now, held - u64::from(bytes), u64::from(bytes))
                });
            if fits {
                Self::append(&mut self.packets, at_work.line_mut(class), packet);
                at_work.note_held(held);
                if let Some(pool) = pool {
                    self.pools[pool].take(bytes);
                }
            } else {
                self.overflow(number, packet);
                at_work = self.ports.at_work(number);
            }
        }
        let holds = self.rules.queue.holds();
        if !at_work.service.is_noted() && at_work.is_waited_for() && at_work.lets(holds, class, bytes) {
            at_work.service.set_noted(true);
            if at_work.service.is_chained() {
                debug_assert!(now < at_work.service.busy_until, "something is on its way that leads others");
                self.packets[at_work.service.current as usize].signs |= Flying::LEADS;
                if !at_work.service.is_plain() {
                    self.follow_up(number);
                }
                return;
            }
            let at = at_work.service.busy_until.max(now);
            self.note(at, Event::Free(number));
        }
    }

    /// Whether the other end of a port's link lets a packet come.
    #[inline]
    pub(super) fn lets(&self, number: u32, class: u8, bytes: u32) -> bool {
        !self.rules.queue.holds() || self.ports[number as usize].lanes.get(class).lets(bytes)
    }

    /// Whether a packet that comes to the free link may go before anything else is looked at.
    #[inline(never)]
    fn lets_pass(&self, number: u32, control: bool, class: u8, bytes: u32) -> bool {
        if !control && self.shares_buffer(number) {
            return false;
        }
        let lane = self.ports[number as usize].lanes.get(class);
        // without credits and pauses, nobody waits where the link is free
        lane.credit_bytes == u64::MAX
            || lane.lets(bytes)
                && if control {
                    self.ports.service(number).high.is_empty()
                } else {
                    self.ports.line(number, class).is_empty()
                }
    }

    /// Whether a port shares its buffer with others.
    #[inline]
    fn shares_buffer(&self, number: u32) -> bool {
        self.rules.keeps_count && self.ports[number as usize].pool != NOTHING
    }

    /// Whether a queue has room for so many bytes of data more.
    #[inline]
    fn has_room(&mut self, number: u32, class: u8, bytes: u32) -> bool {
        let (held, bytes) = (self.ports.lane_bytes(number, class, self.now), u64::from(bytes));
        if !self.shares_buffer(number) {
            return held + bytes <= self.ports.kind(number).capacity;
        }
        self.pools[self.ports[number as usize].pool as usize].admits(self.now, held, bytes)
    }

    /// Data takes room of a buffer that ports share.
    #[inline]
    fn take_room(&mut self, number: u32, bytes: u32) {
        if self.shares_buffer(number) {
            self.pools[self.ports[number as usize].pool as usize].take(bytes);
        }
    }

    /// Data leaves a buffer that ports share.
    #[inline]
    fn free_room(&mut self, number: u32, bytes: u32) {
        if self.shares_buffer(number) {
            self.pools[self.ports[number as usize].pool as usize].give_back(bytes);
        }
    }

    /// A packet with payload finds no room.
    #[cold]
    fn overflow(&mut self, number: u32, packet: u32) {
        let rules = self.rules.queue;
        let class = self.packets[packet as usize].class;
        let line = *self.ports.line(number, class);
        let newest = line.tail;
        if rules.spares_newcomers && !line.is_empty() && self.ports[number as usize].draws.bits() & 1 == 1 {
            // the newest gives its place: the two are exchanged where they lie, and the line stays as it is
            let [old, new] = [newest, packet].map(|packet| self.packets[packet as usize].bytes);
            self.free_room(number, old);
            self.ports.at_work(number).line_mut(class).bytes -= u64::from(old);
            let fits = self.has_room(number, class, new);
            let stays = if fits { new } else { old };
            self.take_room(number, stays);
            self.ports.at_work(number).line_mut(class).bytes += u64::from(stays);
            if fits {
                self.packets.swap(newest as usize, packet as usize);
                self.headers.swap(newest as usize, packet as usize);
                if self.rules.records {
                    self.telemetry.swap(newest as usize, packet as usize);
                }
                self.packets[newest as usize].next = NOTHING;
            }
        }
        // a small packet does not grow
        let cut = self.rules.trimmed_bytes.min(self.packets[packet as usize].bytes);
        let AtWork { service, kind, .. } = self.ports.at_work(number);
        if !rules.trims || service.high.bytes + u64::from(cut) > kind.control_capacity {
            return self.lose(number, packet);
        }
        let port = &mut self.ports[number as usize];
        port.counts.trims += 1;
        let flying = &mut self.packets[packet as usize];
        flying.mark.trimmed = true;
        flying.mark.last_hop = port.last_hop;
        flying.bytes = cut;
        flying.control = true;
        Self::append(&mut self.packets, &mut self.ports.service_mut(number).high, packet);
    }

    /// A packet is dropped, where it does not go back to its sender.
    #[cold]
    fn lose(&mut self, number: u32, packet: u32) {
        if self.returns(number, packet) {
            return;
        }
        self.ports[number as usize].counts.drops += 1;
        self.totals.dropped += 1;
        self.release(packet);
    }

    /// The link of a port is free, and something may wait.
    #[inline]
    pub(super) fn on_free(&mut self, number: u32) {
        let service = self.ports.service_mut(number);
        if self.now < service.busy_until {
            // a packet whose header had come began in this very instant
            return;
        }
        service.set_noted(false);
        self.settle(number);
        self.kick(number);
    }

    /// Starts what goes next, where the link is free.
    #[inline]
    pub(super) fn kick(&mut self, number: u32) {
        let mut at_work = self.ports.at_work(number);
        if self.now < at_work.service.busy_until || at_work.service.is_noted() {
            return;
        }
        let holds = self.rules.queue.holds();
        if at_work.control_goes(self.rules.queue.control_in_a_row) {
            let bytes = self.packets[at_work.service.high.head as usize].bytes;
            if at_work.lets(holds, 0, bytes) {
                let packet = Self::take(&self.packets, &mut at_work.service.high);
                return self.serve(number, packet);
            }
        }
        for class in 0..self.rules.classes {
            if let Some(packet) = self.next_of_class(number, class) {
                return self.serve(number, packet);
            }
        }
    }

    /// The next packet of a class, where it may go.
    #[inline]
    fn next_of_class(&mut self, number: u32, class: u8) -> Option<u32> {
        // whether there is room for all of a packet is asked when it is known how large it is
        let own_may = self.ports.service(number).is_of_host() && self.lets(number, class, 1);
        let room = if self.rules.queue.holds() {
            self.ports[number as usize].lanes.get(class).credit_bytes
        } else {
            u64::MAX
        };
        let own = self.ends[number as usize].nic;
        let line = *self.ports.line(number, class);
        if line.is_empty() {
            return if own_may { self.next_of_nic(own, class, room) } else { None };
        }
        if !self.lets(number, class, self.packets[line.head as usize].bytes) {
            return None;
        }
        // a host that sends, and forwards or answers, does both in turn, as many bytes of each: packet by packet, answers to
        // what it is sent, which are small and many, would wait for as many packets of its own
        let others_go = own_may && self.ports[number as usize].own_ahead_bytes > 0;
        if own_may
            && !others_go
            && let Some(packet) = self.next_of_nic(own, class, room)
        {
            self.ports[number as usize].own_ahead_bytes += i64::from(self.packets[packet as usize].bytes);
            return Some(packet);
        }
        let packet = Self::take(&self.packets, self.ports.at_work(number).line_mut(class));
        let bytes = self.packets[packet as usize].bytes;
        if others_go {
            self.ports[number as usize].own_ahead_bytes -= i64::from(bytes);
        }
        debug_assert!(self.ports[number as usize].lanes.get(class).lets(bytes), "it went without leave");
        Some(packet)
    }

    /// A packet goes onto the link.
    #[inline]
    fn serve(&mut self, number: u32, packet: u32) {
        // what went before has left nothing else behind: nobody waited when its service ended
        if self.rules.settles_late || self.rules.keeps_count {
            self.settle(number);
        }
        let leaves_room = self.rules.keeps_count && self.take_leave(number, packet);
        let mut at_work = self.ports.at_work(number);
        let begun = at_work.begin(packet, &mut self.packets[packet as usize], self.now, |is_of_host| {
            // what is held for an input is let go when it has left, to the instant, and so is shared room
            leaves_room || is_of_host && self.nics[self.ends[number as usize].nic as usize].is_waiting()
        });
        if self.shares_buffer(number) {
            let service = self.ports.service(number);
            let (end, bytes) = (service.busy_until, service.data_bytes());
            self.pools[self.ports[number as usize].pool as usize].leave(end, bytes);
        }
        self.follow(number, packet, begun);
    }

    /// A service has begun, of a packet that will be at the other end at `arrives`. `is_all`: nothing else is to be noted.
    #[inline]
    pub(super) fn follow(&mut self, number: u32, packet: u32, (arrives, is_all): (u64, bool)) {
        self.totals.hops += 1;
        if is_all || self.note_begun(number, packet, arrives) {
            self.note(arrives, Event::Arrival(packet));
        }
    }

    /// Notes what else comes of a service that has begun; whether its packet is seen when it has
    /// arrived, and not before.
    #[inline(never)]
    fn note_begun(&mut self, number: u32, packet: u32, arrives: u64) -> bool {
        let service = self.ports.service(number);
        let beyond = service.beyond();
        if service.is_noted() && !service.is_chained() {
            self.note(service.busy_until, Event::Free(number));
        }
        match beyond {
            Beyond::Node => {}
            Beyond::Header => self.show_header(number, packet),
            Beyond::Part => self.depart(number, packet),
            Beyond::Host => self.expect(packet, arrives),
        }
        matches!(beyond, Beyond::Node | Beyond::Host)
    }

    /// A packet goes onto the link, by leave of the other end where that is needed: whether it takes room in this switch until it has left.
    #[inline(never)]
    fn take_leave(&mut self, number: u32, packet: u32) -> bool {
        let port = &mut self.ports[number as usize];
        let flying = &mut self.packets[packet as usize];
        let lane = port.lanes.get_mut(flying.class);
        if lane.credit_bytes != u64::MAX {
            lane.credit_bytes -= u64::from(flying.bytes);
        }
        if flying.came_by != NOTHING {
            port.leaving_from = std::mem::replace(&mut flying.came_by, NOTHING);
            port.leaving_bytes = flying.bytes;
        }
        port.leaves_room()
    }

    /// The other end looks at a packet as soon as its header has come, and so before it has left.
    #[inline(never)]
    fn show_header(&mut self, number: u32, packet: u32) {
        let mut at_work = self.ports.at_work(number);
        at_work.mark(packet, &mut self.packets, &mut self.telemetry);
        let AtWork { service, kind, .. } = at_work;
        service.current = MARKED;
        let header = self.rules.header_bytes.min(self.packets[packet as usize].bytes);
        let at = self.now + kind.time_of(header) + kind.delay;
        self.note(at, Event::Head(packet));
    }

    /// Another service begins: that of the last packet is over, if there was one.
    #[inline]
    fn settle(&mut self, number: u32) {
        let AtWork { service, kind, .. } = self.ports.at_work(number);
        // one that has arrived has left nothing behind: nobody waited when its service ended
        if service.current != NOTHING
            && (self.now < service.busy_until + kind.delay || self.rules.settles_late)
        {
            self.finish(number);
        }
    }

    /// The packet in service has left.
    #[inline]
    pub(super) fn finish(&mut self, number: u32) {
        self.ports.at_work(number).finish(&mut self.packets, &mut self.telemetry);
        if self.rules.keeps_count && self.ports[number as usize].leaves_room() {
            self.leave_room(number);
        }
    }

    /// The room that a packet took in its switch is free again.
    #[inline(never)]
    pub(super) fn leave_room(&mut self, number: u32) {
        let service = self.ports.service(number);
        let class = service.class();
        let port = &mut self.ports[number as usize];
        let bytes = port.leaving_bytes;
        let input = std::mem::replace(&mut port.leaving_from, NOTHING);
        if input != NOTHING {
            self.let_go(input, class, bytes);
        }
    }

    /// A port has something to send: at once, or when its link is free.
    #[inline]
    pub(super) fn call(&mut self, number: u32) {
        let stopped = || !self.ports[number as usize].lanes.any(|lane| lane.credit_bytes > 0);
        if self.ports.service(number).is_noted() || self.rules.queue.holds() && stopped() {
            return;
        }
        let service = self.ports.service_mut(number);
        if self.now >= service.busy_until {
            return self.kick(number);
        }
        service.set_noted(true);
        let at = service.busy_until;
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
