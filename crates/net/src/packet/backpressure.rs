//! How a switch keeps the other end of a link from sending what it has no room for.

use super::deadlock::LaneId;
use super::engine::{Engine, Event, Flying};
use super::port::NOTHING;
use super::queue::Backpressure;

impl Engine {
    /// The name of a class at a port in events.
    pub(super) fn lane(&self, (port, class): LaneId) -> u32 {
        port * u32::from(self.rules.classes) + u32::from(class)
    }

    /// The port and the class that a name means.
    fn named(&self, lane: u32) -> LaneId {
        let classes = u32::from(self.rules.classes);
        (lane / classes, (lane % classes) as u8)
    }

    /// A packet that came by `from` is held at the switch behind it until it has left; false where there is no room for it.
    pub(super) fn hold(&mut self, from: u32, packet: u32) -> bool {
        let Flying { class, bytes, .. } = self.packets[packet as usize];
        if let Backpressure::Pause { above_bytes, .. } = self.rules.queue.backpressure {
            let port = &mut self.ports[from as usize];
            let lane = port.lanes.get_mut(class);
            let held_bytes = lane.held_bytes + u64::from(bytes);
            // a pause that ends with what leaves would not end with what stays
            if lane.pausing || held_bytes > above_bytes.saturating_add(port.raised_bytes) {
                self.see_off(from);
            }
        }
        let flying = &mut self.packets[packet as usize];
        flying.came_by = from;
        let port = &mut self.ports[from as usize];
        let (room, raised) = (port.room_bytes, port.raised_bytes);
        let lane = port.lanes.get_mut(class);
        let held_bytes = lane.held_bytes + u64::from(flying.bytes);
        if let Backpressure::Pause { most_bytes, .. } = self.rules.queue.backpressure
            && held_bytes > most_bytes.saturating_add(raised)
        {
            flying.came_by = NOTHING;
            return false;
        }
        lane.held_bytes = held_bytes;
        match self.rules.queue.backpressure {
            Backpressure::Pause { above_bytes, .. }
                if lane.held_bytes > above_bytes.saturating_add(raised) && !lane.pausing =>
            {
                lane.pausing = true;
                port.counts.pauses += 1;
                let at = self.now + port.kind.delay;
                self.note(at, Event::Pause(self.lane((from, class))));
            }
            Backpressure::Credit { .. } if lane.held_bytes > room => port.counts.overruns += 1,
            _ => {}
        }
        true
    }

    /// What came by `from` and leaves its switch in this very instant is not there any more when others arrive.
    fn see_off(&mut self, from: u32) {
        for number in self.routes.ports_of(self.ends[from as usize].node) {
            let service = self.ports.service(number);
            if service.busy_until == self.now
                && service.current != NOTHING
                && self.ports[number as usize].leaving_from == from
            {
                // what it leaves behind in its queue is noted when its port looks at it, as with any threshold
                self.leave_room(number);
            }
        }
    }

    /// Bytes of a class that came by `from` have left the switch behind it.
    #[inline(never)]
    pub(super) fn let_go(&mut self, from: u32, class: u8, bytes: u32) {
        let port = &mut self.ports[from as usize];
        let raised = port.raised_bytes;
        let lane = port.lanes.get_mut(class);
        lane.held_bytes -= u64::from(bytes);
        match self.rules.queue.backpressure {
            Backpressure::Pause { below_bytes, .. }
                if lane.held_bytes < below_bytes.saturating_add(raised) && lane.pausing =>
            {
                lane.pausing = false;
                let at = self.now + port.kind.delay;
                let lane = self.lane((from, class));
                self.returning[lane as usize].push_back(0);
                self.note(at, Event::Resume(lane));
            }
            _ => self.tell_room(from, class, bytes),
        }
    }

    /// Where links have credits: the sender at `from` hears that there is room for so many bytes more.
    pub(super) fn tell_room(&mut self, from: u32, class: u8, bytes: u32) {
        if let Backpressure::Credit { .. } = self.rules.queue.backpressure {
            let lane = self.lane((from, class));
            self.returning[lane as usize].push_back(bytes);
            let at = self.now + self.ports[from as usize].kind.delay;
            self.note(at, Event::Credit(lane));
        }
    }

    /// A request to stop has come.
    pub(super) fn on_pause(&mut self, lane: u32) {
        let (port, class) = self.named(lane);
        self.ports[port as usize].lanes.get_mut(class).credit_bytes = 0;
    }

    /// A class at a port may go on.
    pub(super) fn on_resume(&mut self, lane: u32) {
        let (port, class) = self.named(lane);
        self.returning[lane as usize].pop_front();
        self.ports[port as usize].lanes.get_mut(class).credit_bytes = u64::MAX;
        self.call(port);
    }

    /// Word of room has come.
    pub(super) fn on_credit(&mut self, lane: u32) {
        let (port, class) = self.named(lane);
        // each travels as long as the others, so that they come in order
        let bytes = self.returning[lane as usize].pop_front().unwrap_or(0);
        self.ports[port as usize].lanes.get_mut(class).credit_bytes += u64::from(bytes);
        self.call(port);
    }
}
