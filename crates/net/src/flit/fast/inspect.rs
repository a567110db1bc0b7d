//! What is known of a part between two cycles.

use std::ops::Range;

use super::mask::Mask;
use super::order::Order;
use super::part::Part;
use super::wheel::BLOCK;
use crate::flit::fabric::Fabric;
use crate::flit::kernel::Wait;

impl<const P: usize, const VS: usize, const N: usize, M: Mask, W: Mask> Part<P, VS, N, M, W> {
    /// Its terminals, in the numbers of the fabric.
    pub(super) fn terminals(&self) -> Range<u32> {
        self.first_terminal..self.first_terminal + self.sources.len() as u32
    }

    /// Draws are made in the order in which a list-based router makes them.
    pub(super) fn keep_order(&mut self) {
        self.order = Some(Order::new(self.blocks.len() * BLOCK * N));
    }

    /// Whether no flit and no credit is anywhere but at its source.
    pub(super) fn is_settled(&self) -> bool {
        self.in_flight == 0
            && self.wheel.next(self.now).is_none()
            && self.sources.iter().all(|source| source.left == 0)
    }

    /// Appends flits sent by every output.
    pub(super) fn channel_flits(&self, fabric: &Fabric, out: &mut [u64]) {
        for index in 0..self.router_count {
            let global = self.first_router + index as u32;
            let sent = self.blocks[index / BLOCK].sent_by(index % BLOCK);
            for output in 0..fabric.output_count(global) {
                out[fabric.index(global, output)] = sent[output as usize];
            }
        }
    }

    /// Appends the channels that wait.
    pub(super) fn waiting(&self, out: &mut Vec<Wait>) {
        for index in 0..self.router_count {
            let routers = &self.blocks[index / BLOCK];
            for (channel, vc) in routers.vcs_of(index % BLOCK).iter().enumerate() {
                let number = (index % BLOCK * N + channel) as u16;
                if vc.len == 0 || self.fresh[index / BLOCK].items().contains(&number) {
                    continue;
                }
                out.push(Wait {
                    router: self.first_router + index as u32,
                    input: (channel / VS) as u16,
                    vc: (channel % VS) as u8,
                    output: vc.port % P as u16,
                    output_vc: (!routers.waiters(vc.port.into()).has(channel))
                        .then_some((vc.out % VS as u16) as u8),
                    dest: self.packets.cold[vc.front.packet()].dest(),
                });
            }
        }
    }

    /// Credits above the buffer or flits without a place.
    pub(super) fn violations(&self, out: &mut Vec<String>) {
        for index in 0..self.router_count {
            let router = self.first_router as usize + index;
            let (credits, flits) = self.blocks[index / BLOCK].overflows(index % BLOCK, self.buffer);
            if credits {
                out.push(format!("router {router} has more credits than places"));
            }
            if flits {
                out.push(format!("router {router} holds more flits than it has places"));
            }
        }
    }
}
