//! Flits and credits that go from one part to another.

use super::flit::Flit;
use super::mask::Mask;
use super::part::Part;
use super::threads::Outbox;

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Part<P, VS, N, M> {
    /// A flit leaves the part.
    #[cold]
    #[inline(never)]
    pub(super) fn cross(&mut self, number: u32, at: u64, flit: Flit) {
        let id = flit.packet();
        let outbox = &mut self.outbox[self.part_of[number as usize / N] as usize];
        if flit.is_head() {
            let memory = if self.remembers { self.packets.memory[id] } else { 0 };
            outbox.packets.push((memory, self.packets.cold[id]));
        }
        outbox.flits.push((at, number, flit));
        self.in_flight -= 1;
        if flit.is_tail() {
            self.packets.remove(id as u32);
        }
    }

    /// Takes what has come from another part, and empties the box.
    pub(super) fn receive(&mut self, inbox: &mut Outbox) {
        let mut packets = inbox.packets.drain(..);
        let base = self.first_router * N as u32;
        for (at, number, flit) in inbox.flits.drain(..) {
            let channel = (number - base) as usize;
            if flit.is_head() {
                let (memory, cold) = packets.next().expect("a packet comes with its head");
                if cold.flits > 1 {
                    self.rings.widen();
                }
                self.crossing[channel] = self.packets.insert(memory, cold);
            }
            self.wheel.flit(at, number - base, flit.with_packet(self.crossing[channel]));
            self.in_flight += 1;
        }
        drop(packets);
        for (at, number) in inbox.credits.drain(..) {
            self.wheel.credit(at, number - base);
        }
    }
}
