//! The pull pacer: one per link of a receiving host, shared by all connections that come in there, so that together they are
//! granted no more than the link carries (NDP, section 3.2; EQDS, section 4).

use std::collections::VecDeque;

use stratasim_core::Time;

use crate::credit::CreditRules;
use crate::credit::slowdown::Slowdown;
use crate::packet::Mark;
use crate::profile::Profile;

/// Gives receivers their turns, round robin, at the pace of the link.
///
/// The driver keeps an event at [`Pacer::deadline`]; when it comes, it asks [`Pacer::next`] and calls
/// [`Receiver::on_turn`](crate::Receiver::on_turn) of the receiver that it names.
#[derive(Debug, Clone, Default)]
pub struct Pacer {
    /// Those whose senders have something to send again; served before all others.
    repeats: VecDeque<u32>,
    waiting: VecDeque<u32>,
    /// Those that have all they asked for; served when nobody waits.
    idle: VecDeque<u32>,
    /// How many of those that wait do so in vain: their senders are done.
    done: u32,
    /// Whose turn the last one was.
    serves: Turn,
    /// The next grant may be given from then on.
    free_at: Time,
    /// What slows it down, from the first packet on that may.
    slowdown: Option<Box<Slowdown>>,
}

/// Why it is a receiver's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Turn {
    /// Its sender has something to send again.
    Repeats,
    /// Its sender asks for more.
    #[default]
    Waiting,
    /// It gets what is left over.
    Idle,
}

impl Pacer {
    /// The pacer of a link.
    pub const fn new() -> Self {
        Self {
            repeats: VecDeque::new(),
            waiting: VecDeque::new(),
            idle: VecDeque::new(),
            done: 0,
            serves: Turn::Waiting,
            free_at: Time::ZERO,
            slowdown: None,
        }
    }

    /// When somebody waits, the time of the next turn; [`Time::MAX`] otherwise.
    #[inline]
    pub fn deadline(&self) -> Time {
        let in_vain = self.waiting.len() == self.done as usize;
        if in_vain && self.idle.is_empty() && self.repeats.is_empty() { Time::MAX } else { self.free_at }
    }

    /// The receiver whose turn it is; none before the deadline.
    #[inline]
    pub fn next(&mut self, now: Time) -> Option<u32> {
        if now < self.free_at {
            return None;
        }
        self.serves = self.turn();
        match self.serves {
            Turn::Repeats => self.repeats.pop_front(),
            Turn::Waiting => self.waiting.pop_front(),
            Turn::Idle => self.idle.pop_front(),
        }
    }

    /// The same, without giving it its turn.
    pub fn peek(&self, now: Time) -> Option<u32> {
        let list = match self.turn() {
            _ if now < self.free_at => return None,
            Turn::Repeats => &self.repeats,
            Turn::Waiting => &self.waiting,
            Turn::Idle => &self.idle,
        };
        list.front().copied()
    }

    /// Whose turn comes next.
    #[inline]
    fn turn(&self) -> Turn {
        match (self.repeats.is_empty(), self.waiting.is_empty()) {
            (false, _) => Turn::Repeats,
            (true, false) => Turn::Waiting,
            (true, true) => Turn::Idle,
        }
    }

    /// Whether a grant may be given at once, without a turn.
    #[inline]
    pub(crate) fn is_free(&self, now: Time) -> bool {
        self.waiting.is_empty() && now >= self.free_at
    }

    /// A receiver would like a turn; it must not wait already.
    #[inline]
    pub(crate) fn join(&mut self, id: u32) {
        self.waiting.push_back(id);
    }

    /// A receiver whose sender has all it asked for would like what is left over; it must not be listed so already.
    #[inline]
    pub(crate) fn join_idle(&mut self, id: u32) {
        self.idle.push_back(id);
    }

    /// One that was listed so asks for more: it has a turn with those that wait, and no place among the idle ones until it joins them
    /// anew, so that what is left over is given in turn.
    pub(crate) fn move_from_idle(&mut self, id: u32) {
        if let Some(at) = self.idle.iter().position(|&idle| idle == id) {
            self.idle.remove(at);
        }
        self.join(id);
    }

    /// A receiver whose sender has something to send again would like a turn before the others; it must not be listed so already.
    #[inline]
    pub(crate) fn join_repeats(&mut self, id: u32) {
        self.repeats.push_back(id);
    }

    /// One of those that wait does so in vain from now on: they have turns while others wait, and call for none.
    #[inline]
    pub(crate) fn enter_done(&mut self) {
        self.done += 1;
    }

    /// One of them does not any more.
    #[inline]
    pub(crate) fn leave_done(&mut self) {
        self.done -= 1;
    }

    /// Why the receiver has its turn that has it now.
    #[inline]
    pub(crate) const fn serves(&self) -> Turn {
        self.serves
    }

    /// A grant was given that keeps the link busy for `ps`.
    #[inline]
    pub(crate) fn charge(&mut self, now: Time, ps: u64) {
        self.free_at = now + stratasim_core::Duration::from_ps(ps);
    }

    /// The same for `ps` at full rate, where the rate may be lower.
    pub(crate) fn charge_slowed(&mut self, now: Time, ps: f64) {
        let rate = self.slowdown.as_mut().map_or(1.0, |slowdown| slowdown.rate(now));
        self.charge(now, (ps / rate) as u64);
    }

    /// A packet has come to receiver `id`, which says what slows credit down.
    #[inline]
    pub(crate) fn watch(&mut self, now: Time, id: u32, mark: Mark, rules: &CreditRules) {
        let CreditRules::Quanta(rules) = rules else { return };
        if let Some(rules) = rules.slowdown {
            let new = || Box::new(Slowdown::new(now, rules, id));
            self.slowdown.get_or_insert_with(new).on_packet(now, mark);
        }
    }

    /// Receivers that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether connections of this profile need one.
    pub const fn is_needed(profile: &Profile) -> bool {
        !matches!(profile.credit, CreditRules::None)
    }
}
