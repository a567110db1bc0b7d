//! Headers that find no room at a switch and go back to their senders.

use stratasim_transport::{Flags, Kind};

use super::engine::{Engine, Event, Flying};

impl Engine {
    /// A packet whose header finds no room at port `number` goes back to its sender, by any way from here, where the queue does that
    /// and there is a sender to go back to. What finds no room on its way back, too, is dropped.
    ///
    /// Source: NDP, "return-to-sender": the switch exchanges the addresses.
    pub(super) fn returns(&mut self, number: u32, packet: u32) -> bool {
        let Flying { connection, signs, bytes, .. } = self.packets[packet as usize];
        let header = &mut self.headers[packet as usize];
        let is_data = header.kind == Kind::Data && signs & Flying::BACK == 0;
        if !self.rules.queue.returns || !is_data {
            return false;
        }
        header.kind = Kind::Returned;
        header.flags = header.flags | Flags::when(self.ports[number as usize].last_hop, Flags::LAST_HOP);
        let flying = &mut self.packets[packet as usize];
        flying.signs |= Flying::BACK;
        flying.bytes = self.rules.trimmed_bytes.min(bytes);
        flying.control = true;
        flying.mark.trimmed = true;
        flying.to = self.origins[connection as usize];
        self.totals.returned += 1;
        // in an event of its own: what each hop does would be longer if it could lead to another hop
        self.note(self.now, Event::Back(packet));
        true
    }

    /// A header sets out from the switch where it found no room.
    pub(super) fn send_back(&mut self, packet: u32) {
        let from = self.packets[packet as usize].port;
        let next = self.choose(self.ends[from as usize].node, packet);
        self.enqueue::<false>(next, packet);
    }
}
