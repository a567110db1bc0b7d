//! Virtual channels that are set aside for the output of the next router: heads are routed two routers ahead.

use super::Full;
use super::packet::Here;
use crate::flit::fabric::End;
use crate::flit::next_output::set_aside;
use crate::flit::routing::{Candidate, Place};
use crate::flit::terminals::Terminals;

impl Full {
    /// A head is now the first flit of its virtual channel: finds the output by which it leaves the next router, and
    /// with that the virtual channels that it asks for here.
    pub(super) fn look_further<T: Terminals>(&mut self, router: u32, local: u32, terminals: &mut T) {
        let vcs = u32::from(self.spec.virtual_channels);
        let channel = &self.channels[self.channel_base(router) + local as usize];
        let head = self.waiting.first(&channel.flits).expect("who begins has a head").flit;
        let output = self.packets.candidates(head.packet)[0].output;
        let End::Router { router: next, port } = self.fabric.channel(router, output).end else { return };
        let place = Place { router: next, input: port, vc: (local % vcs) as u8 };
        let used = self.credits.used_from(self.fabric.index(next, 0));
        let mut here = Here::new(terminals, &self.packets[head.packet], Some(next), used);
        let mut after = self.routing.only(place, &mut self.packets[head.packet].head, &mut here);
        let range = (after.first_vc, after.last_vc);
        if let Some(aside) = set_aside(range, after.output, self.fabric.output_count(next)) {
            (after.first_vc, after.last_vc) = aside;
            let (_, candidates) = self.packets.start_route(head.packet);
            candidates.push(Candidate { output, first_vc: aside.0, last_vc: aside.1, priority: 0 });
        }
        if self.after.len() <= head.packet as usize {
            self.after.resize(head.packet as usize + 1, after);
        }
        self.after[head.packet as usize] = after;
    }

    /// A head moves on to the router where [`look_further`](Full::look_further) has found its output.
    pub(super) fn follow(&mut self, packet: u32) {
        let after = self.after[packet as usize];
        let (_, candidates) = self.packets.start_route(packet);
        candidates.push(Candidate { priority: 0, ..after });
    }
}
