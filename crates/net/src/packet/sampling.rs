//! Looks at queues, windows and links while a run goes on, for those who watch it.

use rustc_hash::FxHashMap;
use stratasim_core::observe::{Event, Interests, Observer, QueueCounts};
use stratasim_core::{LinkId, NodeId, Time};

use super::parts::Parts;
use super::port::PortCounts;

/// Looks before the step between them doubles, so that a run of any length is looked at some ten thousand times.
const LOOKS: u32 = 2048;
/// Idle stretches told from activity before the shortest of them doubles.
const PAUSES: u32 = 512;
/// Looks at each of the finer steps after an idle stretch.
const FINE_LOOKS: u32 = 8;
/// First step, picoseconds: a packet of 4 KiB at 100 Gb/s takes 0.3 us.
const FIRST_STEP: u64 = 500_000;
/// Connections whose windows are followed: the first.
const FOLLOWED: usize = 64;

/// When to look, and what was seen the last time.
///
/// Looks are taken at multiples of a step while messages are under way, in the span of time that matters to those who watch.
/// When a message begins after an idle stretch, there is one at what was before, so that nothing is spread over the
/// stretch, and steps are short again for a while. Steps, and the shortest stretch that is told from activity, double with
/// the number of looks that they cost.
#[derive(Debug)]
pub(super) struct Sampling {
    next: u64,
    step: Doubling,
    /// After an idle stretch, steps are at most so long.
    fine: Doubling,
    /// Idle stretches below this are not told from activity.
    pause: Doubling,
    last: u64,
    /// Since the last look, nothing has begun before.
    begun: u64,
    /// When the last message was complete, or the idle network was looked at.
    quiet: u64,
    /// What those who watch want.
    interests: Interests,
    /// When that matters.
    span: (u64, u64),
    /// What they have not been told yet.
    kept: Vec<Event>,
    /// By port: what it had done.
    seen: Vec<Seen>,
    /// Cables with a port at either end, which are one queue here, with what waits at both and when the last byte left.
    shared: FxHashMap<LinkId, (u64, u64)>,
    /// By connection: its window.
    windows: Vec<u64>,
    /// Hosts of connections that are followed.
    ends: Vec<(u32, u32)>,
}

/// What a port had done at a look.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Bytes that its link had carried.
    carried: f64,
    /// Whether it was about to carry more.
    is_busy: bool,
    /// Bytes that waited.
    waited: u64,
    counts: PortCounts,
}

/// A time that doubles after so many uses.
#[derive(Debug, Clone, Copy)]
struct Doubling {
    time: u64,
    left: u32,
    uses: u32,
}

impl Doubling {
    const fn after(uses: u32) -> Self {
        Self { time: FIRST_STEP, left: uses, uses }
    }

    const fn count(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            (self.left, self.time) = (self.uses, self.time.saturating_mul(2));
        }
    }
}

/// Keeps events until there is somebody to tell.
struct Keeper<'a>(Interests, &'a mut Vec<Event>);

impl Observer for Keeper<'_> {
    fn interests(&self) -> Interests {
        self.0
    }

    fn on_event(&mut self, event: &Event) {
        self.1.push(event.clone());
    }
}

impl Sampling {
    pub(super) fn new() -> Self {
        Self {
            next: FIRST_STEP,
            step: Doubling::after(LOOKS),
            fine: Doubling::after(FINE_LOOKS),
            pause: Doubling::after(PAUSES),
            last: 0,
            begun: 0,
            quiet: 0,
            interests: Interests::default(),
            span: (0, u64::MAX),
            kept: Vec::new(),
            seen: Vec::new(),
            shared: FxHashMap::default(),
            windows: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// The instant of the next look.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Takes up what `observer` wants to know, and tells it what was seen meanwhile; whether it wants anything.
    pub(super) fn watch(&mut self, observer: &mut dyn Observer) -> bool {
        if !self.is_watched() {
            self.interests = observer.interests();
            if self.is_watched() {
                let (from, until) = observer.span();
                self.span = (from.as_ps(), until.as_ps());
                self.look_behind(self.next - 1);
            }
        }
        for event in self.kept.drain(..) {
            observer.on_event(&event);
        }
        self.is_watched()
    }

    /// Whether the observer of the last [`Sampling::watch`] wants messages.
    pub(super) const fn tells_messages(&self) -> bool {
        self.interests.messages
    }

    const fn is_watched(&self) -> bool {
        self.interests.queues || self.interests.link_uses
    }

    /// The last message that was under way is complete, or has failed.
    pub(super) const fn rest(&mut self, now: u64) {
        self.quiet = now;
    }

    /// A message is about to begin at `now`, and no other is under way; before that, everything has happened. What is seen is
    /// told later.
    pub(super) fn wake(&mut self, now: u64, parts: &mut Parts) {
        if now < self.next {
            return;
        }
        let matters = now >= self.span.0 && self.quiet <= self.span.1;
        let looks = self.is_watched() && matters && now - self.quiet >= self.pause.time;
        let begun = self.begun;
        if looks {
            // what happens at this very instant is still to come
            parts.reach(parts.now().max(now - 1));
            let mut kept = std::mem::take(&mut self.kept);
            self.see(parts, Some(self.quiet), &mut Keeper(self.interests, &mut kept));
            self.kept = kept;
            self.quiet = now;
            self.pause.count();
            self.fine = Doubling::after(FINE_LOOKS);
        }
        self.look_behind(now);
        if !looks {
            // what was carried before a short pause is told with what comes now
            self.begun = begun;
        }
    }

    /// Tells what has changed since the last look while messages are under way.
    pub(super) fn look(&mut self, parts: &mut Parts, observer: &mut dyn Observer) {
        self.see(parts, None, observer);
        let used = if self.fine.time < self.step.time { &mut self.fine } else { &mut self.step };
        used.count();
        // steps in which nothing happened are passed over
        let now = parts.now();
        self.look_behind(parts.next().unwrap_or(now).max(now));
    }

    /// Looks next at the first multiple of the step behind `now`, before which nothing begins.
    fn look_behind(&mut self, now: u64) {
        let step = self.fine.time.min(self.step.time);
        let next = |at: u64| (at / step + 1).saturating_mul(step);
        self.begun = now / step * step;
        let (from, until) = self.span;
        // once behind the span for what was in it
        let is_over = now > until && self.last >= until;
        self.next = if is_over { u64::MAX } else { next(now.max(from.saturating_sub(1))) };
    }

    /// Tells what is left to tell at the end of a run. `is_quiet` where nothing is under way any more.
    pub(super) fn look_back(&mut self, parts: &mut Parts, is_quiet: bool, observer: &mut dyn Observer) {
        if self.watch(observer) {
            self.see(parts, is_quiet.then_some(self.quiet), observer);
        }
    }

    /// Tells what has changed since the last look. `quiet`: when the last message was complete, where none is under way.
    fn see(&mut self, parts: &mut Parts, quiet: Option<u64>, observer: &mut dyn Observer) {
        parts.note_all();
        let at = parts.now();
        let interests = self.interests;
        if self.seen.is_empty() {
            self.seen.resize(parts.any().ports.len(), Seen::default());
            let cables = parts.any().routes.half_duplex();
            self.shared = cables.into_iter().map(|link| (link, (0, 0))).collect();
        }
        self.shared.values_mut().for_each(|shared| *shared = (0, 0));
        if !self.shared.is_empty() {
            for port in parts.ports().filter(|port| port.rest.is_queue()) {
                if let Some((depth, end)) = self.shared.get_mut(&port.rest.link) {
                    *depth += port.data_bytes(at);
                    *end = port.service.busy_until.min(at).max(*end);
                }
            }
        }
        for (port, Seen { carried, is_busy, waited, counts }) in parts.ports().zip(&mut self.seen) {
            let gone = port.carried_bytes(at);
            // its last byte had left by then
            let end = port.service.busy_until.min(at);
            if gone > *carried && end > self.last {
                if interests.link_uses {
                    let start = if *is_busy { self.last } else { self.last.max(self.begun.min(end - 1)) };
                    observer.on_event(&Event::LinkUse {
                        link: port.rest.link,
                        start: Time::from_ps(start),
                        end: Time::from_ps(end),
                        bytes: gone - *carried,
                    });
                }
                *carried = gone;
            }
            *is_busy = port.service.busy_until > at;
            let own = if port.rest.is_queue() { port.data_bytes(at) } else { 0 };
            let (depth, end) = self.shared.get(&port.rest.link).copied().unwrap_or((own, end));
            if depth != *waited {
                if interests.queues {
                    // a queue that is empty now has been so since its last byte left
                    let since = if depth == 0 { end.max(self.last) } else { at };
                    let at = Time::from_ps(since);
                    observer.on_event(&Event::QueueDepth { link: port.rest.link, at, bytes: depth });
                }
                *waited = depth;
            }
            let more = port.rest.counts.since(counts);
            if more != QueueCounts::default() {
                if interests.queues {
                    let [start, end] = [self.last, at].map(Time::from_ps);
                    observer.on_event(&Event::QueueCounts { link: port.rest.link, start, end, counts: more });
                }
                *counts = port.rest.counts;
            }
        }
        if interests.queues {
            let at = quiet.unwrap_or(at);
            self.look_at_windows(parts, quiet.is_some(), Time::from_ps(at), observer);
        }
        self.last = at;
    }

    fn look_at_windows(&mut self, parts: &Parts, over: bool, now: Time, observer: &mut dyn Observer) {
        let followed = (parts.connection_count() as usize).min(FOLLOWED);
        self.windows.resize(followed, 0);
        self.ends.resize(followed, (0, 0));
        for number in 0..followed {
            let connection = parts.at_sender(number as u32).filter(|connection| !connection.is_closed());
            let bytes = match connection {
                Some(connection) => {
                    self.ends[number] = (connection.from, connection.to);
                    // some are limited by credit alone
                    let window = connection.sender.window_bytes();
                    let limited = if window > 1 << 40 { connection.sender.in_flight_bytes() } else { window };
                    if over && connection.reported { 0 } else { limited }
                }
                None => 0,
            };
            if std::mem::replace(&mut self.windows[number], bytes) != bytes {
                let (from, to) = self.ends[number];
                let [src, dst] = [from, to].map(|host| NodeId(parts.any().routes.node_of(host)));
                observer.on_event(&Event::Window { connection: number as u32, src, dst, at: now, bytes });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_doubles_for_ever_stays_a_time() {
        let mut step = Doubling::after(2);
        (0..3).for_each(|_| step.count());
        assert_eq!((step.time, step.left), (2 * FIRST_STEP, 1));
        (0..200).for_each(|_| step.count());
        assert_eq!(step.time, u64::MAX);
        let mut sampling = Sampling { step, fine: step, ..Sampling::new() };
        sampling.look_behind(FIRST_STEP);
        assert_eq!(sampling.next(), u64::MAX);
    }
}
