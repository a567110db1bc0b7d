//! Decisions take effect, in a fixed order: routes, virtual channels, kept connections, the switch, the
//! crossbar. What joins a list here is served in the next step, before what is put back.

use super::Full;
use super::evaluate::Crossbar;
use super::router::{Asking, Crossing, Held, State};
use crate::flit::allocator::NONE;
use crate::flit::fabric::End;
use crate::flit::router::Speculation;
use crate::flit::routing::Place;
use crate::flit::terminals::Terminals;

impl Full {
    pub(super) fn update<T: Terminals>(&mut self, router: u32, time: u64, terminals: &mut T) {
        self.update_routes(router, time, terminals);
        self.update_channels(router, time);
        self.update_held(router, time, terminals);
        self.update_switch(router, time, terminals);
        self.update_crossing(router, time);
    }

    fn update_routes<T: Terminals>(&mut self, router: u32, time: u64, terminals: &mut T) {
        let vcs = u32::from(self.spec.virtual_channels);
        let base = self.channel_base(router);
        for index in 0..self.routers[router as usize].routing.count(time) {
            let Some(local) = self.routers[router as usize].routing.take(index, time) else { continue };
            let flits = &self.channels[base + local as usize].flits;
            let head = self.waiting.first(flits).expect("who is routed has a head").flit;
            debug_assert!(head.head, "the first flit of a packet is its head");
            let place = Place { router, input: (local / vcs) as u16, vc: (local % vcs) as u8 };
            self.route(head.packet, place, terminals);
            self.ask_for_channel(router, local, time + 1);
        }
    }

    fn update_channels(&mut self, router: u32, time: u64) {
        let vcs = u32::from(self.spec.virtual_channels);
        let base = self.channel_base(router);
        let place = self.fabric.index(router, 0);
        let speculates = self.spec.speculation != Speculation::None;
        let lists = &mut self.routers[router as usize];
        for index in 0..lists.waiting.count(time) {
            let Some(asking) = lists.waiting.take(index, time) else { continue };
            let channel = &mut self.channels[base + asking.channel as usize];
            let granted = asking.granted;
            if granted == NONE {
                lists.waiting.push_again(asking, time);
                continue;
            }
            channel.granted = NONE;
            let head = self.waiting.first(&channel.flits).expect("who gets a channel has a head").flit;
            channel.output = (granted / vcs) as u16;
            channel.output_vc = (granted % vcs) as u8;
            channel.state = State::Active;
            channel.since = self.spec.since_granted(time);
            self.credits.take(place + channel.output as usize, channel.output_vc, head.packet);
            if !speculates {
                lists.active.push_since(Asking::new(asking.channel), time + 1);
            }
        }
    }

    /// Flits of kept connections move on; a connection that cannot be used is given up.
    fn update_held<T: Terminals>(&mut self, router: u32, time: u64, terminals: &mut T) {
        for index in 0..self.routers[router as usize].holding.count(time) {
            let Some(asking) = self.routers[router as usize].holding.take(index, time) else { continue };
            if asking.granted == NONE || self.place_is_gone(router, asking.channel) {
                self.give_up(router, asking.channel);
                let since = self.since(router, asking.channel);
                self.routers[router as usize].active.push_since(Asking::new(asking.channel), since);
                continue;
            }
            match self.move_flit(router, asking.channel, terminals) {
                Rest::SamePacket => self.routers[router as usize].holding.push(Asking::new(asking.channel)),
                Rest::Nothing => self.give_up(router, asking.channel),
                Rest::NextPacket => {
                    self.give_up(router, asking.channel);
                    self.begin_packet(router, asking.channel, time + 1, terminals);
                }
            }
        }
    }

    fn update_switch<T: Terminals>(&mut self, router: u32, time: u64, terminals: &mut T) {
        for index in 0..self.routers[router as usize].active.count(time) {
            let Some(asking) = self.routers[router as usize].active.take(index, time) else { continue };
            let local = asking.channel;
            if asking.granted == NONE || !self.may_use(router, asking, time) {
                self.routers[router as usize].active.push_again(Asking::new(local), time);
                continue;
            }
            match self.move_flit(router, local, terminals) {
                Rest::SamePacket if self.spec.hold_switch => {
                    let (input, vc) = self.spec.crossbar_input(local);
                    let lists = &mut self.routers[router as usize];
                    lists.held[input as usize] = Some(Held { vc: vc as u8, output: asking.granted });
                    lists.output_held[asking.granted as usize] = true;
                    lists.holding.push(Asking::new(local));
                }
                Rest::SamePacket => {
                    let since = self.since(router, local);
                    self.routers[router as usize].active.push_since(Asking::new(local), since);
                }
                Rest::Nothing => {}
                Rest::NextPacket => self.begin_packet(router, local, time + 1, terminals),
            }
        }
    }

    /// Whether a grant of the switch can still be used, after those before it in this step.
    fn may_use(&mut self, router: u32, asking: Asking, time: u64) -> bool {
        let number = self.channel_base(router) + asking.channel as usize;
        if self.spec.requests.combined_allocation && self.channels[number].state == State::Waiting {
            let output = asking.granted / u32::from(self.spec.output_speedup);
            return self.take_with_switch(router, asking.channel, output as u16, time);
        }
        !self.place_is_gone(router, asking.channel)
    }

    /// Whether the last place of a shared buffer, free when it was asked for, went to another virtual channel
    /// of the same output in this step: outputs with a speedup take several flits.
    fn place_is_gone(&self, router: u32, local: u32) -> bool {
        let channel = &self.channels[self.channel_base(router) + local as usize];
        self.credits.has_no_place(self.fabric.index(router, channel.output), channel.output_vc)
    }

    /// First time at which the first flit of a virtual channel with an output could ask for the switch.
    fn since(&self, router: u32, local: u32) -> u64 {
        let channel = &self.channels[self.channel_base(router) + local as usize];
        let came = self.waiting.first(&channel.flits).map_or(0, |first| first.since);
        came.max(channel.since)
    }

    /// Ends a kept connection.
    fn give_up(&mut self, router: u32, local: u32) {
        let (input, vc) = self.spec.crossbar_input(local);
        let lists = &mut self.routers[router as usize];
        if let Some(held) = lists.held[input as usize].take() {
            debug_assert_eq!(u32::from(held.vc), vc, "the connection belongs to another channel");
            lists.output_held[held.output as usize] = false;
        }
    }

    /// The first flit of a virtual channel goes into the crossbar, and its place becomes free.
    fn move_flit<T: Terminals>(&mut self, router: u32, local: u32, terminals: &mut T) -> Rest {
        let vcs = u32::from(self.spec.virtual_channels);
        let number = self.channel_base(router) + local as usize;
        let channel = &mut self.channels[number];
        let mut flit = self.waiting.pop(&mut channel.flits).expect("who gets the switch has a flit").flit;
        let (output, output_vc, left) = (channel.output, channel.output_vc, channel.flits.len);
        flit.hops = flit.hops.saturating_add(1);
        flit.vc = output_vc;
        let place = self.fabric.index(router, output);
        if flit.head
            && self.lookahead
            && let End::Router { router: next, port } = self.fabric.channel(router, output).end
        {
            if self.spec.requests.next_output_queues {
                self.follow(flit.packet);
            } else {
                self.route(flit.packet, Place { router: next, input: port, vc: output_vc }, terminals);
            }
        }
        self.credits.send(place, output_vc, flit.tail);
        self.routers[router as usize].crossing.push(Crossing { flit, output });
        self.crossing += 1;
        self.last_progress = self.now;
        let input = self.fabric.index(router, (local / vcs) as u16);
        if self.freed[input] == 0 {
            self.freed_places.push(input as u32);
        }
        self.freed[input] |= 1 << (local % vcs);
        match (flit.tail, left) {
            (false, 0) => Rest::Nothing,
            (false, _) => Rest::SamePacket,
            (true, 0) => {
                self.channels[number].state = State::Idle;
                Rest::Nothing
            }
            (true, _) => Rest::NextPacket,
        }
    }

    fn update_crossing(&mut self, router: u32, time: u64) {
        for index in 0..self.routers[router as usize].crossing.count(time) {
            let Some(Crossing { flit, output }) = self.routers[router as usize].crossing.take(index, time)
            else {
                continue;
            };
            let place = self.fabric.index(router, output);
            self.behind.push(&mut self.outputs[place].flits, flit);
            self.sending.insert(place);
            self.crossing -= 1;
        }
    }
}

/// What is in a virtual channel after a flit has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Nothing.
    Nothing,
    /// More flits of the same packet.
    SamePacket,
    /// The head of the next packet.
    NextPacket,
}
