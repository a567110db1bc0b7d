//! How long queues held how much: distributions weighted by time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_core::{LinkId, Time};

use crate::distribution::{Points, weighted_points};
use crate::filter::TimeWindow;
use crate::labels::Labels;

/// Queues that are told of where nobody chooses.
const BUSIEST: usize = 8;

/// One queue over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueDepth {
    /// Name of its link.
    pub link: String,
    /// Bytes with payload that it held, that under way on the link included, on average over time.
    pub mean_bytes: f64,
    /// Points `[bytes, share of the time in which it held no more]`.
    pub cdf: Points,
}

/// Sums up how long each queue held how much, from looks at the run: what was seen at one holds until the next, which in a long run
/// comes later. Both queues of a half-duplex cable have its name, and are one here.
#[derive(Debug, Clone)]
pub struct QueueDepths {
    window: TimeWindow,
    queues: BTreeMap<LinkId, Held>,
}

/// What a queue held.
#[derive(Debug, Clone)]
struct Held {
    /// Bytes that it holds, and since when.
    bytes: u64,
    since: Time,
    /// Picoseconds by bytes.
    times: BTreeMap<u64, u64>,
}

impl Held {
    /// It has held what it does until `at`.
    fn until(&mut self, at: Time) {
        if at > self.since {
            *self.times.entry(self.bytes).or_default() += (at - self.since).as_ps();
            self.since = at;
        }
    }

    /// Sum of bytes by picoseconds.
    fn volume(&self) -> f64 {
        self.times.iter().map(|(&bytes, &ps)| bytes as f64 * ps as f64).sum()
    }
}

impl QueueDepths {
    /// Nothing seen yet; what happens outside of `window` does not count.
    pub const fn new(window: TimeWindow) -> Self {
        Self { window, queues: BTreeMap::new() }
    }

    /// The distributions of the queues of these links, or of the busiest, busiest first, where none are named; for a run that
    /// ended at `end`. A queue in which nothing was seen to wait was empty all the time. Nothing where the window holds
    /// no time.
    pub fn of(&self, links: &[LinkId], end: Time, labels: &dyn Labels) -> Vec<QueueDepth> {
        let (from, until) = (self.window.from, self.window.until.min(end));
        if until <= from {
            return Vec::new();
        }
        let length_ps = (until - from).as_ps() as f64;
        let held = |link: LinkId| {
            let empty = || Held { bytes: 0, since: from, times: BTreeMap::new() };
            let mut held = self.queues.get(&link).cloned().unwrap_or_else(empty);
            held.until(until);
            (link, held.volume(), held)
        };
        let mut queues: Vec<(LinkId, f64, Held)> = if links.is_empty() {
            self.queues.keys().map(|&link| held(link)).filter(|(_, volume, _)| *volume > 0.0).collect()
        } else {
            links.iter().map(|&link| held(link)).collect()
        };
        if links.is_empty() {
            queues.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            queues.truncate(BUSIEST);
        }
        let told = |(link, volume, held): (LinkId, f64, Held)| QueueDepth {
            link: labels.link(link),
            mean_bytes: volume / length_ps,
            cdf: weighted_points(held.times.iter().map(|(&bytes, &ps)| (bytes as f64, ps as f64))),
        };
        queues.into_iter().map(told).collect()
    }
}

impl Observer for QueueDepths {
    fn interests(&self) -> Interests {
        Interests { queues: true, ..Interests::default() }
    }

    fn span(&self) -> (Time, Time) {
        (self.window.from, self.window.until)
    }

    fn on_event(&mut self, event: &Event) {
        let Event::QueueDepth { link, at, bytes } = *event else { return };
        let at = at.clamp(self.window.from, self.window.until);
        let from = self.window.from;
        let new = || Held { bytes: 0, since: from, times: BTreeMap::new() };
        let held = self.queues.entry(link).or_insert_with(new);
        held.until(at);
        held.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::Plain;

    fn seen(window: TimeWindow) -> QueueDepths {
        let mut depths = QueueDepths::new(window);
        for (link, at, bytes) in [(3, 10, 100), (3, 20, 300), (5, 20, 50), (3, 60, 0), (5, 90, 20)] {
            let (link, at) = (LinkId::from_index(link), Time::from_ps(at));
            depths.on_event(&Event::QueueDepth { link, at, bytes });
        }
        depths
    }

    #[test]
    fn depths_count_for_as_long_as_they_last() {
        let found = seen(TimeWindow::ALWAYS).of(&[], Time::from_ps(100), &Plain);
        let [a, b] = &found[..] else { panic!("{found:?}") };
        assert_eq!((a.link.as_str(), a.mean_bytes), ("link 3", 130.0));
        assert_eq!(a.cdf, [[0.0, 0.5], [100.0, 0.6], [300.0, 1.0]]);
        assert_eq!((b.link.as_str(), b.mean_bytes), ("link 5", 37.0));
        assert_eq!(b.cdf, [[0.0, 0.2], [20.0, 0.3], [50.0, 1.0]]);
    }

    #[test]
    fn a_window_is_all_the_time_that_counts() {
        let window = TimeWindow { from: Time::from_ps(15), until: Time::from_ps(65) };
        let chosen = [7, 3].map(LinkId::from_index);
        let found = seen(window).of(&chosen, Time::from_ps(100), &Plain);
        assert_eq!(found[0].cdf, [[0.0, 1.0]], "nothing ever waited there");
        assert_eq!(found[1].cdf, [[0.0, 0.1], [100.0, 0.2], [300.0, 1.0]]);
        assert!(seen(window).of(&[], Time::from_ps(15), &Plain).is_empty());
    }
}
