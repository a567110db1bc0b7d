//! The sources at work: which packet a terminal has to send next.
//!
//! Queues of unlimited length cost nothing: a packet is made when the one before it has gone, and says when it
//! came into being. Each lane of a terminal keeps the date of its next packet only.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use stratasim_core::random::key;
use stratasim_net::flit::terminals::Offer;
use stratasim_workload::injection::Clock;

use super::calendar::Calendar;
use super::plan::{Class, Keys, Lane, Plan};

/// Where one lane of a terminal is.
#[derive(Debug, Clone, Copy)]
struct Place {
    clock: Clock,
    /// Number of its next packet.
    number: u64,
    keys: Keys,
}

/// A reply that waits.
#[derive(Debug, Clone, Copy)]
struct Reply {
    class: u8,
    dest: u32,
    flits: u16,
    created: u64,
}

/// A terminal's part of a batch.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    sent: u32,
    under_way: u32,
    done: u32,
    done_at: u64,
    /// Since when the next packet may enter.
    ready: u64,
}

/// The sources of a range of terminals: of all, or of those of one part of the network.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) plan: Arc<Plan>,
    /// The first of the terminals.
    first: u32,
    /// By terminal, then lane.
    places: Vec<Place>,
    replies: Vec<VecDeque<Reply>>,
    /// Replies of each terminal so far.
    answered: Vec<u64>,
    batch: Vec<Share>,
    /// The cycle for which each queue is in the calendar.
    noted: Vec<u64>,
    calendar: Calendar,
    closed: bool,
    /// Whether a terminal has a single lane and nothing else to send.
    alone: bool,
    /// Terminals that send anything.
    pub(super) senders: u64,
}

impl Sources {
    pub(super) fn new(plan: Arc<Plan>, range: Range<u32>) -> Self {
        let terminals = range.len();
        let lanes = plan.lanes.len();
        let mut places = Vec::with_capacity(terminals * lanes);
        for terminal in range.clone() {
            for (number, lane) in plan.lanes.iter().enumerate() {
                let takes_part = lane.sources.as_ref().is_none_or(|sources| sources[terminal as usize]);
                let sends = takes_part && plan.share(number, terminal) > 0.0;
                let keys = lane.keys(terminal);
                let mut clock = lane.process.start(&mut keys.gap(0));
                if !sends {
                    clock.cycle = Clock::NEVER;
                }
                places.push(Place { clock, number: 0, keys });
            }
        }
        let queues = plan.queues.len();
        let alone = queues == 1 && lanes == 1 && plan.reply_queue.is_none() && plan.batch.is_none();
        let mut sources = Self {
            first: range.start,
            alone,
            places,
            replies: vec![VecDeque::new(); if plan.reply_queue.is_some() { terminals } else { 0 }],
            answered: vec![0; if plan.reply_queue.is_some() { terminals } else { 0 }],
            batch: vec![Share::default(); if plan.batch.is_some() { terminals } else { 0 }],
            noted: vec![Clock::NEVER; terminals * queues],
            calendar: Calendar::new(range.clone(), alone, plan.packets_per_cycle()),
            closed: false,
            senders: 0,
            plan,
        };
        let sends = |places: &&[Place]| places.iter().any(|place| place.clock.cycle < Clock::NEVER);
        sources.senders = sources.places.chunks(lanes.max(1)).filter(sends).count() as u64;
        for terminal in range {
            if sources.plan.batch.is_some() {
                sources.calendar.add(0, terminal);
            }
            for queue in 0..queues {
                sources.note(terminal, queue as u8);
            }
        }
        sources
    }

    /// The place of a terminal in the lists.
    fn at(&self, terminal: u32) -> usize {
        (terminal - self.first) as usize
    }

    /// No packet is made any more.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Whether every packet is in the calendar when its time comes.
    #[inline]
    pub(super) fn announces(&self) -> bool {
        self.alone
    }

    pub(super) fn next_due(&self) -> Option<u64> {
        if self.closed { None } else { self.calendar.next() }
    }

    pub(super) fn due(&mut self, now: u64, out: &mut Vec<u32>) {
        if !self.closed {
            self.calendar.take(now, out);
        }
    }

    /// The lane of a queue whose packet comes first, and the cycle of that.
    fn first(&self, terminal: u32, queue: u8) -> Option<(usize, u64)> {
        let lanes = self.plan.lanes.len();
        let here = &self.places[self.at(terminal) * lanes..][..lanes];
        let lanes = self.plan.queues[queue as usize].iter();
        let dated =
            lanes.map(|&lane| (lane, here[lane].clock.cycle)).filter(|(_, cycle)| *cycle < Clock::NEVER);
        // the first of several
        dated.reduce(|best, other| if other.1 < best.1 { other } else { best })
    }

    /// Enters the next packet of a queue in the calendar.
    fn note(&mut self, terminal: u32, queue: u8) {
        let Some((_, cycle)) = self.first(terminal, queue) else { return };
        let at = self.at(terminal) * self.plan.queues.len() + queue as usize;
        let noted = &mut self.noted[at];
        if *noted != cycle {
            *noted = cycle;
            self.calendar.add(cycle, terminal);
        }
    }

    /// The next packet of an empty queue, if there is one now; its tag is its class.
    #[inline]
    pub(super) fn offer(&mut self, terminal: u32, queue: u8, now: u64) -> Option<Offer> {
        if self.closed {
            None
        } else if self.alone {
            let at = self.at(terminal);
            let (lane, class) = self.plan.only_lane();
            Self::offer_alone(
                &self.plan,
                lane,
                class,
                &mut self.places[at],
                &mut self.calendar,
                terminal,
                now,
            )
        } else {
            self.offer_any(terminal, queue, now)
        }
    }

    /// The same of the only queues of some terminals.
    pub(super) fn offers(&mut self, terminals: &[u32], now: u64, out: &mut Vec<(u32, Offer)>) {
        out.reserve(terminals.len());
        if self.alone && !self.closed {
            let Self { plan, first, places, calendar, .. } = self;
            let (lane, class) = plan.only_lane();
            out.extend(terminals.iter().filter_map(|&terminal| {
                let place = &mut places[(terminal - *first) as usize];
                Some((terminal, Self::offer_alone(plan, lane, class, place, calendar, terminal, now)?))
            }));
        } else {
            out.extend(
                terminals.iter().filter_map(|&terminal| Some((terminal, self.offer(terminal, 0, now)?))),
            );
        }
    }

    /// The next packet of a terminal's only lane: what [`Sources::offer_any`] does, and the date of the packet
    /// behind it goes into the calendar at once.
    #[inline(always)]
    fn offer_alone(
        plan: &Plan,
        lane: &Lane,
        class: &Class,
        place: &mut Place,
        calendar: &mut Calendar,
        terminal: u32,
        now: u64,
    ) -> Option<Offer> {
        let mut clock = place.clock;
        if clock.cycle > now {
            return None;
        }
        let (mut found, mut created, mut number) = (None, clock.cycle, place.number);
        // silent terminals have no date, others may leave packets out, which takes no time
        while found.is_none() && clock.cycle <= now {
            created = clock.cycle;
            found = plan.packet_of(class, place.keys, terminal, number);
            number += 1;
            lane.next(&mut clock, &mut place.keys.gap(number));
        }
        (place.clock, place.number) = (clock, number);
        // one that is late is announced in the next cycle
        if clock.cycle != Clock::NEVER {
            calendar.add(clock.cycle.max(now + 1), terminal);
        }
        let (dest, flits) = found?;
        Some(class.offer(lane.class, dest, flits, created, created < now))
    }

    fn offer_any(&mut self, terminal: u32, queue: u8, now: u64) -> Option<Offer> {
        if self.plan.reply_queue == Some(queue) {
            let at = self.at(terminal);
            let reply = *self.replies[at].front().filter(|reply| reply.created <= now)?;
            self.replies[at].pop_front();
            return Some(self.plan.offer(
                reply.class,
                reply.dest,
                reply.flits,
                reply.created,
                reply.created < now,
            ));
        }
        if queue == 0
            && let Some(found) = self.batch_packet(terminal, now)
        {
            return Some(found);
        }
        loop {
            let Some((lane, cycle)) = self.first(terminal, queue).filter(|(_, cycle)| *cycle <= now) else {
                self.note(terminal, queue);
                return None;
            };
            if let Some((class, dest, flits)) = self.advance(terminal, lane) {
                return Some(self.plan.offer(class, dest, flits, cycle, cycle < now));
            }
        }
    }

    /// Takes the next packet off a lane; `None` where it goes nowhere.
    fn advance(&mut self, terminal: u32, lane: usize) -> Option<(u8, u32, u16)> {
        let at = self.at(terminal) * self.plan.lanes.len() + lane;
        let place = &mut self.places[at];
        let number = place.number;
        let rule = &self.plan.lanes[lane];
        place.number += 1;
        rule.next(&mut place.clock, &mut place.keys.gap(place.number));
        let class = &self.plan.classes[rule.class as usize];
        let (dest, flits) = self.plan.packet_of(class, place.keys, terminal, number)?;
        Some((rule.class, dest, flits))
    }

    /// The next packet of a batch.
    fn batch_packet(&mut self, terminal: u32, now: u64) -> Option<Offer> {
        let batch = self.plan.batch?;
        let at = self.at(terminal);
        let share = &mut self.batch[at];
        let (dest, flits) = loop {
            if share.sent == batch.packets || batch.outstanding.is_some_and(|most| share.under_way >= most) {
                return None;
            }
            match self.plan.packet(0, terminal, share.sent.into()) {
                Some(packet) => break packet,
                // what goes nowhere is done
                None => {
                    (share.sent, share.done) = (share.sent + 1, share.done + 1);
                    if share.done == batch.packets {
                        share.done_at = now;
                    }
                }
            }
        };
        let waited = share.ready < now;
        share.sent += 1;
        share.under_way += 1;
        // the next one waits for this one, or for one that arrives
        share.ready = now;
        Some(self.plan.offer(0, dest, flits, now, waited))
    }

    /// A request of `source` has arrived at `terminal`, which answers. Returns the flits of the reply.
    pub(super) fn answer(&mut self, class: u8, terminal: u32, source: u32, now: u64) -> u16 {
        let at = self.at(terminal);
        let draws = key(key(self.plan.replies, terminal.into()), self.answered[at]);
        self.answered[at] += 1;
        let flits = self.plan.classes[class as usize].draw_length(draws);
        self.replies[at].push_back(Reply { class, dest: source, flits, created: now });
        // packets come into being before others arrive
        self.calendar.add(now + 1, terminal);
        flits
    }

    /// A packet of a batch, or the reply to it, has arrived: the terminal that sent it may send another one.
    pub(super) fn complete(&mut self, source: u32, now: u64) {
        let Some(batch) = self.plan.batch else { return };
        let at = self.at(source);
        let share = &mut self.batch[at];
        if batch.outstanding.is_some_and(|most| share.under_way >= most) {
            share.ready = now + 1;
        }
        share.under_way -= 1;
        share.done += 1;
        if share.done == batch.packets {
            share.done_at = now;
        }
        if share.sent < batch.packets {
            self.calendar.add(now + 1, source);
        }
    }

    /// First and last cycle in which a terminal was done with its batch; `None` before all are. Terminals that
    /// are silent do not count.
    pub(super) fn batch_done(&self) -> Option<(u64, u64)> {
        let packets = self.plan.batch?.packets;
        let silent = |terminal: &(usize, &Share)| self.plan.share(0, self.first + terminal.0 as u32) == 0.0;
        let mut range: Option<(u64, u64)> = None;
        for (_, share) in self.batch.iter().enumerate().filter(|it| !silent(it)) {
            if share.done < packets {
                return None;
            }
            let (first, last) = range.unwrap_or((share.done_at, share.done_at));
            range = Some((first.min(share.done_at), last.max(share.done_at)));
        }
        range.or(Some((0, 0)))
    }

    /// Whether every packet that comes into being before `cycle` has been given to the network.
    pub(super) fn has_given_all_before(&self, cycle: u64) -> bool {
        self.places.iter().all(|place| place.clock.cycle >= cycle)
            && self.replies.iter().flatten().all(|reply| reply.created >= cycle)
    }

    /// The cycles for which the packet at the head of the source queue of each terminal has been waiting outside the network,
    /// be it a reply or not.
    pub(super) fn waits(&self, now: u64) -> impl Iterator<Item = u64> {
        let lanes = self.plan.lanes.len();
        let terminals = self.places.len().checked_div(lanes).unwrap_or(self.replies.len());
        (0..terminals).map(move |at| {
            let dates = self.places[at * lanes..][..lanes].iter().map(|place| place.clock.cycle);
            let reply = self.replies.get(at).and_then(VecDeque::front).map(|reply| reply.created);
            now.saturating_sub(dates.chain(reply).min().unwrap_or(now))
        })
    }

    /// Calls `seen(class, flits, cycle)` for each packet of a lane that comes into being before `until` and has
    /// not been given to the network.
    pub(super) fn ahead(&self, until: u64, mut seen: impl FnMut(u8, u16, u64)) {
        let lanes = self.plan.lanes.len();
        for (at, place) in self.places.iter().enumerate() {
            let (terminal, lane) = (self.first + (at / lanes) as u32, at % lanes);
            let rule = &self.plan.lanes[lane];
            let mut place = *place;
            while place.clock.cycle < until {
                if let Some((_, flits)) = self.plan.packet(lane, terminal, place.number) {
                    seen(rule.class, flits, place.clock.cycle);
                }
                place.number += 1;
                rule.next(&mut place.clock, &mut place.keys.gap(place.number));
            }
        }
    }
}
