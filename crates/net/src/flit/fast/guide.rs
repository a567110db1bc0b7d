//! Routing as the stages use it.

use std::cell::RefCell;

use super::choices::Choices;
use super::flit::Flit;
use super::mask::{Count, Mask};
use super::packets::Packets;
use super::pool::{Pool, Way};
use super::router::{Out, Routers};
use super::wheel::BLOCK;
use crate::flit::keys::Keys;
use crate::flit::routing::packed::Steps;
use crate::flit::routing::{FlitRouting, Head, Place, Surroundings};
use crate::flit::terminals::Terminals;

/// What a routing function may ask.
pub(super) struct Around<'a, T, C, const VS: usize> {
    pub(super) credits: &'a [Out<C>],
    pub(super) places: u32,
    pub(super) vcs: usize,
    /// What draws of the packet begin with, and their names.
    pub(super) salt: u64,
    pub(super) keys: Keys,
    pub(super) terminals: &'a mut T,
}

impl<T: Terminals, C: Count, const VS: usize> Surroundings for Around<'_, T, C, VS> {
    #[inline]
    fn draw(&mut self, bound: u32) -> u32 {
        let key = self.keys.next(self.salt);
        self.terminals.draw(key, bound)
    }

    fn used(&self, output: u16) -> u32 {
        let credits = &self.credits[output as usize * VS..][..self.vcs];
        self.places - credits.iter().map(|out| out.credits.into()).sum::<u32>()
    }
}

/// Shows heads their way.
pub(super) struct Guide<'a, T, R: ?Sized> {
    pub(super) routing: &'a R,
    pub(super) ranges: &'a [(u8, u8)],
    pub(super) halves: &'a [[u16; 4]],
    pub(super) packets: &'a mut Packets,
    /// First router of the block, in the numbers of the fabric.
    pub(super) first: u32,
    pub(super) places: u32,
    pub(super) vcs: usize,
    pub(super) knows_source: bool,
    pub(super) terminals: &'a mut T,
}

/// The way of a head, and the head one router further.
pub(super) type Step = (Way, Flit);

/// What knows the ways of heads.
pub(super) trait Ways<M: Mask> {
    /// Whether it looks at the packet, beside its flit.
    const LOOKS: bool;
    /// Whether heads have several ways, of which none is theirs before they have a channel.
    const CHOOSES: bool;
    /// Whether a way depends on nothing that changes while a head waits, so that it is worked out when the head comes.
    const AT_ONCE: bool;

    /// The way of a head that is in front of input channel `number`, or, where that does not matter, behind others.
    fn way<T: Terminals, R: FlitRouting + ?Sized, const P: usize, const VS: usize, const N: usize>(
        &self,
        guide: &mut Guide<'_, T, R>,
        routers: &Routers<P, VS, N, M>,
        number: usize,
        flit: Flit,
    ) -> Step;
}

impl<M: Mask, S: Steps> Ways<M> for S {
    const LOOKS: bool = S::DRAWS;
    const CHOOSES: bool = false;
    const AT_ONCE: bool = true;

    #[inline(always)]
    fn way<T: Terminals, R: FlitRouting + ?Sized, const P: usize, const VS: usize, const N: usize>(
        &self,
        guide: &mut Guide<'_, T, R>,
        _: &Routers<P, VS, N, M>,
        number: usize,
        flit: Flit,
    ) -> Step {
        let place = guide.first + (number / N % BLOCK) as u32;
        let step = self.step(place, flit.dest(), flit.memory(), |bound| guide.draw(place, flit, bound));
        let want = match guide.halves {
            [only] => only[step.half as usize % 4],
            _ => guide.channels(flit, step.half),
        };
        (Way::new(step.output.into(), want), flit.short_hop(step.memory))
    }
}

/// A routing function that has more to look at than a few words.
pub(super) struct Any;

impl<M: Mask> Ways<M> for Any {
    const LOOKS: bool = true;
    const CHOOSES: bool = false;
    const AT_ONCE: bool = false;

    #[inline(never)]
    fn way<T: Terminals, R: FlitRouting + ?Sized, const P: usize, const VS: usize, const N: usize>(
        &self,
        guide: &mut Guide<'_, T, R>,
        routers: &Routers<P, VS, N, M>,
        number: usize,
        flit: Flit,
    ) -> Step {
        guide.ask(routers, number, flit, |routing, place, head, around| {
            let candidate = routing.only(place, head, around);
            Way::new(candidate.output.into(), channels(candidate.first_vc, candidate.last_vc))
        })
    }
}

/// A routing function that gives heads of a block several ways: they wait among those that choose.
pub(super) struct Several<'a, M> {
    pub(super) choices: RefCell<&'a mut Choices<M>>,
    pub(super) block: usize,
}

impl<M: Mask> Ways<M> for Several<'_, M> {
    const LOOKS: bool = true;
    const CHOOSES: bool = true;
    const AT_ONCE: bool = false;

    fn way<T: Terminals, R: FlitRouting + ?Sized, const P: usize, const VS: usize, const N: usize>(
        &self,
        guide: &mut Guide<'_, T, R>,
        routers: &Routers<P, VS, N, M>,
        number: usize,
        flit: Flit,
    ) -> Step {
        let choices = &mut **self.choices.borrow_mut();
        choices.candidates.clear();
        let ((), further) = guide.ask(routers, number, flit, |routing, place, head, around| {
            routing.route(place, head, around, &mut choices.candidates);
        });
        choices.wait::<N>(self.block, number, guide.packets.flits(flit));
        (Way::UNKNOWN, further)
    }
}

impl<T: Terminals, R: FlitRouting + ?Sized> Guide<'_, T, R> {
    /// A head is in front of input channel `number`.
    #[inline(always)]
    pub(super) fn route<Y: Ways<M>, const P: usize, const VS: usize, const N: usize, M: Mask>(
        &mut self,
        ways: &Y,
        routers: &mut Routers<P, VS, N, M>,
        pool: &mut Pool,
        number: usize,
    ) {
        let ends = *routers.ends(number);
        let mut way = pool.first_way(ends);
        if way == Way::UNKNOWN {
            let flit = pool.first(ends);
            debug_assert!(flit.is_head(), "only heads are routed");
            let further;
            (way, further) = ways.way(self, routers, number, flit);
            pool.set_first(ends, further);
        }
        if !Y::CHOOSES {
            routers.wait(number, way, true);
        }
    }

    /// A head comes to input channel `number`.
    #[inline(always)]
    pub(super) fn receive<Y: Ways<M>, const P: usize, const VS: usize, const N: usize, M: Mask>(
        &mut self,
        ways: &Y,
        routers: &mut Routers<P, VS, N, M>,
        pool: &mut Pool,
        number: usize,
        flit: Flit,
    ) {
        debug_assert!(flit.is_head(), "only heads are routed");
        let is_empty = routers.enter(number) == 0;
        if Y::AT_ONCE || is_empty {
            let (way, further) = ways.way(self, routers, number, flit);
            pool.put(routers.ends_mut(number), is_empty, further, way);
            if !Y::CHOOSES {
                routers.wait(number, way, is_empty);
            }
        } else {
            pool.put(routers.ends_mut(number), false, flit, Way::UNKNOWN);
        }
    }

    /// Asks for what the way of a head will depend on.
    #[inline(always)]
    pub(super) fn ask_early(&self, flit: Flit) {
        self.packets.ask_for_salt(flit.packet());
        if self.knows_source || self.ranges.len() > 1 {
            self.packets.ask_for(flit.packet());
        }
    }

    /// A number below `bound` for a head at router `place`.
    #[inline(always)]
    fn draw(&mut self, place: u32, flit: Flit, bound: u32) -> u32 {
        let salt = self.packets.salt(flit.packet());
        self.terminals.draw(Keys::at(Some(place)).next(salt), bound)
    }

    /// The range of virtual channels of a packet.
    #[inline(always)]
    fn range(&self, flit: Flit) -> usize {
        match self.ranges {
            [_] => 0,
            _ => self.packets.cold[flit.packet()].range(),
        }
    }

    /// A half of its range, or all of it.
    #[inline(never)]
    fn channels(&self, flit: Flit, half: u8) -> u16 {
        self.halves[self.range(flit)][half as usize % 4]
    }

    /// Asks the routing function itself; what it says, and the head one router further.
    #[inline(always)]
    fn ask<A, const P: usize, const VS: usize, const N: usize, M: Mask>(
        &mut self,
        routers: &Routers<P, VS, N, M>,
        number: usize,
        flit: Flit,
        ask: impl FnOnce(&R, Place, &mut Head, &mut Around<'_, T, M::Count, VS>) -> A,
    ) -> (A, Flit) {
        let (index, channel) = (number / N % BLOCK, number % N);
        let place = self.first + index as u32;
        let id = flit.packet();
        let remembered = self.packets.memory.get(id).copied();
        let range = self.ranges[self.range(flit)];
        let mut packet = Head {
            source: if self.knows_source { self.packets.cold[id].source() } else { 0 },
            dest: flit.dest(),
            range,
            memory: remembered.unwrap_or(flit.memory().into()),
        };
        let mut around = Around::<T, M::Count, VS> {
            credits: routers.outs_of(index),
            places: self.places,
            vcs: self.vcs,
            salt: self.packets.salt(id),
            keys: Keys::at(Some(place)),
            terminals: self.terminals,
        };
        let place = Place { router: place, input: (channel / VS) as u16, vc: (channel % VS) as u8 };
        let answer = ask(self.routing, place, &mut packet, &mut around);
        if remembered.is_some() {
            self.packets.memory[id] = packet.memory;
        }
        let next = flit.hop(packet.memory);
        if next.hops() == 0 {
            self.packets.go_round(id);
        }
        (answer, next)
    }
}

/// A word of the virtual channels from `first` to `last`.
#[inline(always)]
pub(super) fn channels(first: u8, last: u8) -> u16 {
    (u16::MAX << (first & 15)) & (u16::MAX >> (15 - (last & 15)))
}
