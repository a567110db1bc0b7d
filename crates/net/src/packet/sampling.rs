//! Looks at queues, windows and links while a run goes on, for those who watch it.

use stratasim_core::observe::{Event, Observer};
use stratasim_core::{NodeId, Time};

use super::parts::Parts;
use super::port::NOTHING;

/// Looks before the step between them doubles, so that a run of any length is looked at some ten thousand times.
const LOOKS: u32 = 2048;
/// First step, picoseconds: a packet of 4 KiB at 100 Gb/s takes 0.3 us.
const FIRST_STEP: u64 = 500_000;
/// Connections whose windows are followed: the first.
const FOLLOWED: usize = 64;

/// When to look, and what was seen the last time.
#[derive(Debug)]
pub(super) struct Sampling {
    next: u64,
    step: u64,
    left: u32,
    last: u64,
    /// By port: bytes that it had carried, and that waited.
    seen: Vec<(u64, u64)>,
    /// By connection: its window.
    windows: Vec<u64>,
    /// Hosts of connections that are followed.
    ends: Vec<(u32, u32)>,
}

impl Sampling {
    pub(super) const fn new() -> Self {
        Self {
            next: FIRST_STEP,
            step: FIRST_STEP,
            left: LOOKS,
            last: 0,
            seen: Vec::new(),
            windows: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// The instant of the next look.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Tells what has changed since the last look. `over` when nothing is under way any more: what is seen then is
    /// not looked at again until something is.
    pub(super) fn look(&mut self, parts: &mut Parts, over: bool, observer: &mut dyn Observer) {
        parts.note_all();
        let at = parts.now();
        let (interests, now) = (observer.interests(), Time::from_ps(at));
        self.seen.resize(parts.any().ports.len(), (0, 0));
        for (port, (carried, waited)) in parts.ports().zip(&mut self.seen) {
            let gone = port.carried_bytes(at) as u64;
            let bytes = gone.saturating_sub(*carried);
            if bytes > 0 && interests.link_uses {
                observer.on_event(&Event::LinkUse {
                    link: port.link,
                    start: Time::from_ps(self.last),
                    end: now,
                    bytes,
                });
            }
            *carried = gone.max(*carried);
            let depth = if port.nic == NOTHING { port.data_bytes(at) } else { 0 };
            if depth != *waited && interests.queues {
                observer.on_event(&Event::QueueDepth { link: port.link, at: now, bytes: depth });
            }
            *waited = depth;
        }
        if interests.queues {
            self.look_at_windows(parts, over, now, observer);
        }
        self.last = at;
        self.left -= 1;
        if self.left == 0 {
            (self.left, self.step) = (LOOKS, self.step * 2);
        }
        // steps in which nothing happened are passed over
        let awake = parts.next().unwrap_or(at).max(at);
        self.next = (awake / self.step + 1) * self.step;
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
