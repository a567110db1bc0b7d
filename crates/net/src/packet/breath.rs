//! When a network in which nothing ends for long looks up: whether somebody wants it to stop.

use stratasim_core::Time;
use stratasim_core::observe::{Event, Observer};

/// It looks up after some tenths of a second of work: between so many events, and twice as many.
const LEAST_EVENTS: u64 = 1 << 20;
/// But at least once in so many picoseconds: what comes next may be more than what came before.
const MOST_STEP: u64 = 1 << 28;

/// Steps of simulated time. How long they are depends on what happens in them; what happens does not depend on them.
#[derive(Debug)]
pub(super) struct Breath {
    step: u64,
    next: u64,
    events: u64,
}

impl Breath {
    pub(super) const fn new() -> Self {
        Self { step: 1 << 20, next: 1 << 20, events: 0 }
    }

    /// The end of the step, picoseconds.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// A step begins.
    const fn begin(&mut self, now: u64) {
        self.next = now.saturating_add(self.step);
    }

    /// Nothing happens before `now`, by which there were so many events: it looks up at once where that is due.
    pub(super) const fn go_on(&mut self, now: u64, events: u64) {
        let is_due = events - self.events >= LEAST_EVENTS;
        if is_due {
            self.next = now;
        } else {
            self.begin(now);
        }
    }

    /// Nothing happens from the end of the step until `now`: whether `observer` wants to stop, where it was time to ask.
    pub(super) fn pass(&mut self, now: u64, events: u64, observer: &mut dyn Observer) -> bool {
        if events - self.events >= LEAST_EVENTS {
            return self.take(now, events, observer);
        }
        self.begin(now);
        false
    }

    /// A step is over, by which there were so many events: whether `observer` wants to stop.
    pub(super) fn take(&mut self, now: u64, events: u64, observer: &mut dyn Observer) -> bool {
        let happened = events - self.events;
        if happened < LEAST_EVENTS {
            self.step = (self.step * 2).min(MOST_STEP);
            self.begin(now);
            return false;
        }
        if happened > 2 * LEAST_EVENTS {
            self.step = (self.step / 2).max(1);
        }
        self.events = events;
        self.begin(now);
        observer.on_event(&Event::Clock { at: Time::from_ps(now) });
        observer.wants_stop()
    }
}
