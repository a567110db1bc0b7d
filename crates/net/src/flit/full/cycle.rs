//! One cycle from outside: arrivals, channels, terminals; and the four parts of a router's step.

use super::router::{Asking, State, Waiting};
use super::{Full, NOWHERE};
use crate::flit::fabric::FULL_WIDTH;
use crate::flit::router::{Speculation, Stages};
use crate::flit::terminals::{Arrival, FlitArrival, Terminals};

impl Full {
    /// One cycle.
    pub(super) fn cycle<T: Terminals>(&mut self, terminals: &mut T) {
        (self.credits.now, self.source_credits.now) = (self.now, self.now);
        while let Some(router) = self.dozing.wake(self.now) {
            self.active.insert(router as usize);
        }
        self.arrive();
        self.generate(terminals);
        self.inject(terminals);
        self.retire(terminals);
        let steps = self.steps.of_cycle(self.now);
        let count = self.routers.len();
        let mut next = 0;
        while let Some(router) = self.active.next(next, count) {
            next = router + 1;
            for step in steps.clone() {
                self.step(router as u32, step, terminals);
            }
            self.send(router as u32);
        }
        debug_assert_eq!(self.conserved(), None);
    }

    /// Takes what arrives in this cycle off the channels.
    fn arrive(&mut self) {
        let ports = self.outputs.len();
        let stride = self.fabric.stride();
        let Self { arrived, arrivals, active, credited, credit_masks, source_credits, .. } = self;
        self.flits_underway.arrive(self.now, |(place, flit)| {
            debug_assert!(arrived.next(place as usize, place as usize + 1).is_none(), "two flits at once");
            arrived.insert(place as usize);
            arrivals[place as usize] = flit;
            if (place as usize) < ports {
                active.insert(place as usize / stride);
            }
        });
        let mut spurious = 0;
        self.credits_underway.arrive(self.now, |(place, mask)| {
            if (place as usize) < ports {
                credited.insert(place as usize);
                credit_masks[place as usize] |= mask;
                active.insert(place as usize / stride);
            } else {
                for vc in members(mask) {
                    spurious += u32::from(!source_credits.credit(place as usize - ports, vc));
                }
            }
        });
        if spurious > 0 {
            self.complain(format!("{spurious} credits too many at terminals"));
        }
    }

    /// Hands over the flits that arrived at terminals, and gives their places back.
    fn retire<T: Terminals>(&mut self, terminals: &mut T) {
        let ports = self.outputs.len();
        let places = self.arrivals.len();
        let mut next = ports;
        while let Some(place) = self.arrived.next(next, places) {
            next = place + 1;
            self.arrived.remove(place);
            let flit = self.arrivals[place];
            let (target, latency) = self.credit_target[place];
            self.credits_underway.insert(self.now + u64::from(latency) + 1, (target, 1 << flit.vc));
            let terminal = (place - ports) as u32;
            let now = self.now;
            self.in_flight -= 1;
            self.last_progress = now;
            let packet = &mut self.packets[flit.packet];
            terminals.flit(FlitArrival {
                tag: packet.tag,
                created: packet.created,
                terminal,
                arrived: now,
                latency: now - flit.entered,
                measured: packet.measured,
            });
            if flit.head {
                packet.head_arrived = now;
            }
            if flit.tail {
                let arrival = Arrival {
                    source: packet.head.source,
                    dest: packet.head.dest,
                    flits: packet.flits,
                    hops: flit.hops,
                    created: packet.created,
                    entered: packet.entered,
                    head_arrived: packet.head_arrived,
                    arrived: now,
                    tag: packet.tag,
                    measured: packet.measured,
                };
                self.packets.release(flit.packet);
                if arrival.dest != terminal {
                    self.complain(format!("a packet for terminal {} arrived at {terminal}", arrival.dest));
                }
                terminals.packet(&arrival);
            }
        }
    }

    /// One step of a router.
    fn step<T: Terminals>(&mut self, router: u32, step: u64, terminals: &mut T) {
        self.step = step;
        let time = match self.spec.stages {
            Stages::Pipelined => step,
            Stages::Batches => self.now,
        };
        self.take_in(router, time, terminals);
        self.evaluate(router, time, terminals);
        self.update(router, time, terminals);
        for place in self.freed_places.drain(..) {
            let mask = std::mem::take(&mut self.freed[place as usize]);
            self.messages.push(&mut self.message_queues[place as usize], mask);
            self.crediting.insert(place as usize);
        }
    }

    /// Flits that arrived join the queue of their virtual channel, credits are counted.
    fn take_in<T: Terminals>(&mut self, router: u32, time: u64, terminals: &mut T) {
        let first = self.fabric.index(router, 0);
        let end = first + self.fabric.stride();
        let vcs = usize::from(self.spec.virtual_channels);
        let mut next = first;
        while let Some(place) = self.arrived.next(next, end) {
            next = place + 1;
            self.arrived.remove(place);
            let flit = self.arrivals[place];
            let number = place * vcs + usize::from(flit.vc);
            let channel = &mut self.channels[number];
            let was_empty = channel.flits.len == 0;
            self.waiting.push(&mut channel.flits, Waiting { flit, since: time });
            let local = (number - first * vcs) as u32;
            match channel.state {
                State::Idle if flit.head => self.begin_packet(router, local, time, terminals),
                State::Idle => self.complain(format!("a flit without its head at input place {place}")),
                State::Active if was_empty => {
                    let since = channel.since.max(time);
                    self.routers[router as usize].active.push_since(Asking::new(local), since);
                }
                _ => {}
            }
        }
        let mut next = first;
        while let Some(place) = self.credited.next(next, end) {
            next = place + 1;
            self.credited.remove(place);
            for vc in members(std::mem::take(&mut self.credit_masks[place])) {
                if !self.credits.credit(place, vc) {
                    self.complain(format!("a credit too many at output place {place}"));
                }
            }
        }
    }

    /// The head of a packet is now the first flit of its virtual channel: it is routed, or, where that was
    /// done one router ahead, asks for a virtual channel. `since` is the first time at which it can.
    pub(super) fn begin_packet<T: Terminals>(
        &mut self,
        router: u32,
        local: u32,
        since: u64,
        terminals: &mut T,
    ) {
        let number = self.channel_base(router) + local as usize;
        if self.lookahead {
            self.ask_for_channel(router, local, since);
            if self.spec.requests.next_output_queues {
                self.look_further(router, local, terminals);
            }
        } else {
            self.channels[number].state = State::Routing;
            self.routers[router as usize].routing.push(local);
        }
    }

    /// A routed head asks for a virtual channel, and, if it speculates, for the switch.
    pub(super) fn ask_for_channel(&mut self, router: u32, local: u32, since: u64) {
        let number = self.channel_base(router) + local as usize;
        let channel = &mut self.channels[number];
        channel.state = State::Waiting;
        let router = &mut self.routers[router as usize];
        let combined = self.spec.requests.combined_allocation;
        if self.spec.speculation != Speculation::None {
            // In a pipeline both allocations end together, so that neither waits for the other.
            let longer = match combined {
                true => 0,
                false => self.spec.vc_allocation_delay.saturating_sub(self.spec.switch_allocation_delay),
            };
            router.active.push_since(Asking::new(local), since + u64::from(longer));
        }
        if !combined {
            router.waiting.push(Asking::new(local));
        }
    }

    /// Number of the first virtual channel of a router's first input.
    pub(super) fn channel_base(&self, router: u32) -> usize {
        self.fabric.index(router, 0) * usize::from(self.spec.virtual_channels)
    }

    /// Each output sends one flit if its channel is free, each input one message of credits.
    fn send(&mut self, router: u32) {
        let first = self.fabric.index(router, 0);
        let end = first + self.fabric.stride();
        let mut busy = !self.routers[router as usize].is_idle();
        let now = self.now << 8;
        // when the first output that has something to send is free
        let mut free_at = u64::MAX;
        let mut next = first;
        while let Some(place) = self.sending.next(next, end) {
            next = place + 1;
            let output = &mut self.outputs[place];
            if output.free_at > now {
                output.late = true;
                free_at = free_at.min(output.free_at);
                continue;
            }
            let Some(flit) = self.behind.pop(&mut output.flits) else { continue };
            let start = if output.late { output.free_at } else { now };
            output.free_at = start + u64::from(output.spacing);
            output.late = output.flits.len > 0;
            output.sent += 1;
            debug_assert_ne!(output.target, NOWHERE, "a flit leaves by an output that leads nowhere");
            self.flits_underway.insert(self.now + u64::from(output.latency) + 1, (output.target, flit));
            if output.flits.len == 0 {
                self.sending.remove(place);
            } else {
                free_at = free_at.min(output.free_at);
            }
        }
        let mut next = first;
        while let Some(place) = self.crediting.next(next, end) {
            next = place + 1;
            let queue = &mut self.message_queues[place];
            let Some(mask) = self.messages.pop(queue) else { continue };
            let (target, latency) = self.credit_target[place];
            self.credits_underway.insert(self.now + u64::from(latency) + 1, (target, mask));
            if queue.len == 0 {
                self.crediting.remove(place);
            } else {
                busy = true;
            }
        }
        if !busy {
            self.doze(router, free_at);
        }
    }

    /// A router has nothing to do before `free_at`, in 256ths of a cycle, but what arrives.
    fn doze(&mut self, router: u32, free_at: u64) {
        let cycle = free_at.div_ceil(FULL_WIDTH.into());
        if cycle == self.now + 1 {
            return;
        }
        self.active.remove(router as usize);
        if free_at != u64::MAX {
            self.dozing.note(self.now, cycle, router);
        }
    }
}

/// The virtual channels in a mask, in ascending order.
fn members(mut mask: u32) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let vc = (mask != 0).then(|| mask.trailing_zeros() as u8)?;
        mask &= mask - 1;
        Some(vc)
    })
}
