//! Flits and credits that go from one part to another.

use super::flit::Flit;
use super::mask::Mask;
use super::part::Part;
use super::threads::Outbox;
use super::wheel::BLOCK;

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Part<P, VS, N, M> {
    /// Flits that have gone through a switch leave the part.
    #[cold]
    #[inline(never)]
    pub(super) fn send_away(&mut self) {
        let mut leaving = std::mem::take(&mut self.scratch.leaving);
        for (_, _, flit) in &leaving {
            self.packets.ask_for(flit.packet());
            self.packets.ask_for_salt(flit.packet());
        }
        for (at, number, flit) in leaving.drain(..) {
            self.cross(number, at, flit);
        }
        self.scratch.leaving = leaving;
    }

    fn cross(&mut self, number: u32, at: u64, flit: Flit) {
        let id = flit.packet();
        let outbox = &mut self.outbox[self.part_of[number as usize / N] as usize];
        if flit.is_head() {
            outbox.packets.push((self.packets.cold[id], self.packets.rest(flit)));
        }
        outbox.flits.push((at, number, flit));
        self.in_flight -= 1;
        if flit.is_tail() {
            self.packets.leave(id as u32);
            self.scratch.left.push(id as u32);
        }
    }

    /// Takes what has come from another part, and empties the box.
    pub(super) fn receive(&mut self, inbox: &mut Outbox) {
        let mut packets = inbox.packets.drain(..);
        let base = self.first_router * N as u32;
        for (at, number, flit) in inbox.flits.drain(..) {
            let channel = (number - base) as usize;
            if flit.is_head() {
                let (cold, rest) = packets.next().expect("a packet comes with its head");
                if rest.flits > 1 {
                    self.is_wide = true;
                }
                // where one has left, nothing has to be read first
                self.crossing[channel] = match self.scratch.left.pop() {
                    Some(id) => {
                        self.packets.put(id, cold, rest);
                        id
                    }
                    None => self.packets.insert(cold, rest),
                };
            }
            let flit = flit.with_packet(self.crossing[channel]);
            self.wheel.flit(at, channel / (BLOCK * N), channel % (BLOCK * N), flit);
            self.in_flight += 1;
        }
        drop(packets);
        for (at, number) in inbox.credits.drain(..) {
            let channel = (number - base) as usize;
            self.wheel.credit(at, channel / (BLOCK * N), channel % (BLOCK * N));
        }
    }

    /// Everything has come from the other parts: places that are left over can be used by all packets.
    pub(super) fn settle(&mut self) {
        for id in self.scratch.left.drain(..) {
            self.packets.give_back(id);
        }
    }
}
