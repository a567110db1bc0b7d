//! One cycle of a block of routers.
//!
//! Every stage looks at the state before the cycle, so the stages may go one after the other through all
//! routers of the block: long loops over lists, whose rounds do not depend on each other.

use super::guide::Guide;
use super::mask::Mask;
use super::part::Part;
use super::router::Far;
use super::wheel::{Arrivals, BLOCK, Ejected};
use crate::flit::fabric::FULL_WIDTH;
use crate::flit::routing::FlitRouting;
use crate::flit::terminals::Terminals;

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Part<P, VS, N, M> {
    /// One cycle of the routers of a block.
    pub(super) fn cycle<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        block: usize,
        now: u64,
        slot: usize,
        terminals: &mut T,
    ) {
        let arrivals = self.wheel.take(block, slot);
        self.take_credits(block, &arrivals);
        self.give_channels(block, now);
        self.take_flits(routing, block, now, &arrivals, terminals);
        self.wheel.give_back(block, slot, arrivals);
        self.traverse(block, now);
        let routers = block_of(&mut self.routers, block);
        for &number in &self.scratch.granted {
            if routers[number as usize / N % BLOCK].activate(number as usize % N) {
                self.work[block].ready.push(number);
            }
        }
        self.scratch.granted.clear();
    }

    /// Credits come back to output channels.
    #[inline(always)]
    fn take_credits(&mut self, block: usize, arrivals: &Arrivals) {
        let routers = block_of(&mut self.routers, block);
        for &number in &arrivals.credits {
            let (router, channel) = (&mut routers[number as usize / N % BLOCK], number as usize % N);
            let out = &mut router.outs[channel];
            debug_assert!(out.credits < self.buffer);
            out.credits += 1;
            if out.credits == 1 && !router.free.has(channel) {
                let owner = out.owner as usize % N;
                if router.vcs[owner].len != 0 && router.activate(owner) {
                    self.work[block].ready.push(number - channel as u16 + owner as u16);
                }
            }
        }
    }

    /// Flits come to input channels, and heads that have come to the front learn where they go: at once, or,
    /// where the order of draws matters, when all are known.
    #[inline(always)]
    fn take_flits<T: Terminals, R: FlitRouting + ?Sized>(
        &mut self,
        routing: &R,
        block: usize,
        now: u64,
        arrivals: &Arrivals,
        terminals: &mut T,
    ) {
        let routers = block_of(&mut self.routers, block);
        let base = block * BLOCK * N;
        let work = &mut self.work[block];
        let mut guide = Guide {
            routing,
            packed: routing.packed(),
            ranges: &self.ranges,
            halves: &self.halves,
            packets: &mut self.packets,
            first: self.first_router + (block * BLOCK) as u32,
            places: u32::from(self.buffer) * u32::from(self.vcs),
            vcs: self.vcs as usize,
            knows_source: self.knows_source,
            terminals,
        };
        for &(number, flit) in &arrivals.flits {
            let (index, channel) = (number as usize / N % BLOCK, number as usize % N);
            let router = &mut routers[index];
            let vc = &mut router.vcs[channel];
            debug_assert!(vc.len < self.buffer);
            let len = vc.len;
            vc.len = len + 1;
            if len != 0 {
                self.rings.put(base + number as usize, vc, len, flit, &mut guide.packets.queued);
            } else if flit.is_head() {
                match &mut self.order {
                    None => guide.route(router, index, channel, flit, &mut work.asking),
                    Some(order) => {
                        vc.front = flit;
                        work.fresh.push(number as u16);
                        order.arrived(base + number as usize);
                    }
                }
            } else {
                vc.front = flit;
                if router.activate(channel) {
                    work.ready.push(number as u16);
                }
                if let Some(order) = &mut self.order {
                    order.resumed(now, base + number as usize, N);
                }
            }
        }
        if let Some(order) = &mut self.order {
            order.routed(now, &mut work.fresh, base, N, &mut self.scratch.contested);
        }
        for &number in &work.fresh {
            let (index, channel) = (number as usize / N % BLOCK, number as usize % N);
            let flit = routers[index].vcs[channel].front;
            guide.route(&mut routers[index], index, channel, flit, &mut work.asking);
        }
        work.fresh.clear();
    }

    /// Packets that wait get output channels.
    #[inline(always)]
    fn give_channels(&mut self, block: usize, now: u64) {
        let routers = block_of(&mut self.routers, block);
        let asking = &mut self.work[block].asking;
        let granted = &mut self.scratch.granted;
        let mut kept = 0;
        for index in 0..asking.len() {
            let number = asking[index];
            let router = number as usize / P % BLOCK;
            let (mut given, again) = routers[router].give_channels(number as usize % P);
            while !given.is_empty() {
                granted.push((router * N + given.first()) as u16);
                given = given.rest();
            }
            asking[kept] = number;
            kept += usize::from(again);
        }
        asking.truncate(kept);
        if let Some(order) = &mut self.order {
            order.channels_given(now, granted, block * BLOCK * N, N, &mut self.scratch.contested);
        }
    }

    /// Flits go through the switches: those that no other competes with, and the winners among the others.
    #[inline(always)]
    fn traverse(&mut self, block: usize, now: u64) {
        let spare = std::mem::take(&mut self.scratch.spare);
        let mut ready = std::mem::replace(&mut self.work[block].ready, spare);
        if !ready.is_empty() {
            self.last_progress = self.last_progress.max(now);
        }
        // one that is alone changes nothing that the others look at
        for &number in &ready {
            let (index, channel) = (number as usize / N % BLOCK, number as usize % N);
            if self.routers[block * BLOCK + index].is_alone(channel) {
                self.pass(block, number, now);
            } else {
                let contested = &mut self.scratch.contested[index];
                if contested.is_empty() {
                    self.scratch.shared.push(index as u8);
                }
                *contested |= M::bit(channel);
            }
        }
        ready.clear();
        self.scratch.spare = ready;
        if !self.scratch.shared.is_empty() {
            self.share_switches(block, now);
        }
    }

    /// Channels that compete for a switch.
    #[inline(never)]
    fn share_switches(&mut self, block: usize, now: u64) {
        let mut shared = std::mem::take(&mut self.scratch.shared);
        for &index in &shared {
            let index = index as usize % BLOCK;
            let contested = std::mem::take(&mut self.scratch.contested[index]);
            let mut winners = self.routers[block * BLOCK + index].share_switch(contested);
            let mut losers = contested & !winners;
            while !losers.is_empty() {
                self.work[block].ready.push((index * N + losers.first()) as u16);
                losers = losers.rest();
            }
            while !winners.is_empty() {
                self.pass(block, (index * N + winners.first()) as u16, now);
                winners = winners.rest();
            }
        }
        shared.clear();
        self.scratch.shared = shared;
    }

    /// A flit goes through the switch and onto its channel, and the place that it leaves becomes a credit.
    #[inline(always)]
    fn pass(&mut self, block: usize, number: u16, now: u64) {
        let index = block * BLOCK + number as usize / N;
        let channel = number as usize % N;
        let router = &mut self.routers[index];
        let work = &mut self.work[block];
        let (input, in_vc) = (channel / VS, channel % VS);
        let vc = &mut router.vcs[channel];
        let flit = vc.front;
        let output = vc.port as usize % P;
        let out_channel = vc.out as usize % N;
        let out_vc = out_channel % VS;
        let left = vc.len - 1;
        vc.len = left;
        if left != 0 {
            vc.front = self.rings.take(index * N + channel, vc, &self.packets.queued);
        }
        router.pass(channel, output, self.vcs);
        let out = &mut router.outs[out_channel];
        out.credits -= 1;
        let credits = out.credits;
        router.sent[output] += 1;
        let bit = M::bit(channel);
        if flit.is_tail() {
            router.free |= M::bit(out_channel);
            router.clear_ready(bit, output);
            if router.ask(output) {
                work.asking.push((number as usize / N * P + output) as u16);
            }
            if left != 0 {
                work.fresh.push(number);
                if let Some(order) = &mut self.order {
                    order.followed(index * N + channel);
                }
            }
        } else if left == 0 || credits == 0 {
            router.clear_ready(bit, output);
        } else {
            work.ready.push(number);
        }

        let (link, feeder) = (router.outputs[output], router.inputs[input]);
        let mut at = now + u64::from(link.delay);
        if let Some(spacing) = self.spacing.get_mut(index) {
            // channels narrower than a flit per cycle
            let (spacing, free) = &mut spacing[output];
            let start = (*free).max((now + 1) * u64::from(FULL_WIDTH));
            *free = start + u64::from(*spacing);
            at += start.div_ceil(u64::from(FULL_WIDTH)) - (now + 1);
        }
        match link.far() {
            Far::Router => self.wheel.flit(at, link.number() + out_vc as u32, flit),
            Far::Terminal => {
                self.wheel.eject(at, Ejected { terminal: link.number(), flit });
                // the terminal takes it at once, and its credit comes back
                self.wheel.credit(at + u64::from(link.back), (index * N + out_channel) as u32);
            }
            Far::Remote | Far::Nothing => self.cross(link.number() + out_vc as u32, at, flit),
        }
        let at = now + u64::from(feeder.delay);
        let number = feeder.number() + in_vc as u32;
        match feeder.far() {
            Far::Router => self.wheel.credit(at, number),
            Far::Terminal => self.wheel.terminal_credit(at, feeder.number(), in_vc as u8),
            Far::Remote | Far::Nothing => {
                let part = self.part_of[number as usize / N] as usize;
                self.outbox[part].credits.push((at, number));
            }
        }
    }
}

/// The routers of a block.
#[inline(always)]
fn block_of<R>(routers: &mut [R], block: usize) -> &mut [R; BLOCK] {
    routers[block * BLOCK..].first_chunk_mut().expect("the last block is filled up")
}
