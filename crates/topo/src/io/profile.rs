//! Values that change over simulated time: link rates, latencies, speeds, failures.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use stratasim_core::{Duration, LinkId, NodeId, Time};

/// A value that takes new settings at given instants, once or over and over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profile {
    /// Instant since the start (of the period, when it repeats) and the value from then on;
    /// instants never decrease. Until the first point the value is the nominal one.
    pub points: Vec<(Duration, f64)>,
    /// Length of the period: all points come again this much later, and again. `None`: once. It is
    /// not shorter than the last point's instant and never zero.
    pub repeat_after: Option<Duration>,
}

impl Profile {
    /// The `index`-th change since the start of the simulation: when, and the new value. `None`
    /// after the last, and beyond the range of [`Time`].
    pub fn change(&self, index: u64) -> Option<(Time, f64)> {
        let length = self.points.len() as u64;
        let (round, place) = (index.checked_div(length)?, index.checked_rem(length)?);
        let (offset, value) = self.points[place as usize];
        let start = match (round, self.repeat_after) {
            (0, _) => 0,
            (_, None) => return None,
            (_, Some(period)) => period.as_ps().checked_mul(round)?,
        };
        Some((Time::from_ps(start.checked_add(offset.as_ps())?), value))
    }
}

/// The changes of many profiles in order of time; `K` says what each profile is of.
#[derive(Debug, Clone)]
pub struct ProfileEvents<K> {
    profiles: Vec<(K, Profile)>,
    /// (instant, profile, index of the change)
    heap: BinaryHeap<Reverse<(Time, u32, u64)>>,
}

impl<K> Default for ProfileEvents<K> {
    fn default() -> Self {
        Self { profiles: Vec::new(), heap: BinaryHeap::new() }
    }
}

impl<K: Copy> ProfileEvents<K> {
    /// Adds the changes of a profile.
    pub fn add(&mut self, key: K, profile: &Profile) {
        if let Some((at, _)) = profile.change(0) {
            self.heap.push(Reverse((at, self.profiles.len() as u32, 0)));
        }
        self.profiles.push((key, profile.clone()));
    }

    /// Whether there is no profile.
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty()
    }

    /// When the next change comes.
    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Leaves out the changes of whole periods before `now`, when nobody looked: each value of a period still comes once at least, in
    /// its order, and the last ones are those that hold.
    pub fn skip_periods(&mut self, now: Time) {
        let profiles = &self.profiles;
        let later = |Reverse((at, profile, index)): Reverse<(Time, u32, u64)>| {
            let points = &profiles[profile as usize].1;
            let rounds = points.repeat_after.map_or(0, |period| now.as_ps() / period.as_ps());
            let first = rounds.saturating_sub(1).saturating_mul(points.points.len() as u64);
            match points.change(first) {
                Some((later, _)) if first > index => Reverse((later, profile, first)),
                _ => Reverse((at, profile, index)),
            }
        };
        self.heap = std::mem::take(&mut self.heap).into_iter().map(later).collect();
    }

    /// The next change that is due at `now`, with its value. Changes of one instant come in the order
    /// in which their profiles were added.
    pub fn pop_due(&mut self, now: Time) -> Option<(K, f64)> {
        let &Reverse((at, profile, index)) = self.heap.peek()?;
        if at > now {
            return None;
        }
        self.heap.pop();
        let (key, points) = &self.profiles[profile as usize];
        let (_, value) = points.change(index).expect("queued changes exist");
        if let Some((next, _)) = points.change(index + 1) {
            self.heap.push(Reverse((next, profile, index + 1)));
        }
        Some((*key, value))
    }
}

/// What changes about a link.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkProfiles {
    /// Rate in bytes per second, in place of the link's own.
    pub bandwidth: Option<Profile>,
    /// Propagation delay in seconds, in place of the link's own.
    pub latency: Option<Profile>,
    /// Zero: the link is off; anything else: it is on.
    pub state: Option<Profile>,
}

/// What changes about a node.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeProfiles {
    /// Fraction of the nominal compute rate that is available.
    pub speed: Option<Profile>,
    /// Zero: the node is off; anything else: it is on.
    pub state: Option<Profile>,
}

impl NodeProfiles {
    /// The largest fraction of the nominal compute rate that is ever available; at least 1, which
    /// holds until the first point.
    pub fn peak_speed(&self) -> f64 {
        let points = self.speed.iter().flat_map(|profile| &profile.points);
        points.map(|(_, value)| *value).fold(1.0, f64::max)
    }
}

/// Everything about a topology that changes over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profiles {
    /// Links with at least one profile.
    pub links: BTreeMap<LinkId, LinkProfiles>,
    /// Nodes with at least one profile.
    pub nodes: BTreeMap<NodeId, NodeProfiles>,
}

impl Profiles {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.nodes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_repeats_with_its_period() {
        let at = Duration::from_ps;
        let mut profile = Profile { points: vec![(at(0), 1.0), (at(4), 0.5)], repeat_after: Some(at(10)) };
        let changes: Vec<_> = (0..5).map(|i| profile.change(i).unwrap()).collect();
        let expected = [(0, 1.0), (4, 0.5), (10, 1.0), (14, 0.5), (20, 1.0)];
        assert_eq!(changes, expected.map(|(ps, value)| (Time::from_ps(ps), value)));
        assert_eq!(profile.change(u64::MAX), None);
        profile.repeat_after = None;
        assert_eq!(profile.change(2), None);
        assert_eq!(Profile::default().change(0), None);
    }
    #[test]
    fn periods_that_are_skipped_leave_what_holds() {
        let at = Duration::from_ps;
        let once = Profile { points: vec![(at(3), 7.0), (at(11), 8.0)], repeat_after: None };
        let over =
            Profile { points: vec![(at(0), 1.0), (at(4), 0.5), (at(10), 2.0)], repeat_after: Some(at(10)) };
        for now in (0..60).map(Time::from_ps) {
            let ends = |skips: bool| {
                let mut events = ProfileEvents::default();
                [&once, &over].iter().enumerate().for_each(|(key, profile)| events.add(key, profile));
                if skips {
                    events.skip_periods(now);
                }
                let (mut held, mut count) = ([f64::NAN; 2], 0);
                while let Some((key, value)) = events.pop_due(now) {
                    (held[key], count) = (value, count + 1);
                }
                (held.map(f64::to_bits), events.next_at(), count)
            };
            let (all, skipped) = (ends(false), ends(true));
            assert_eq!((all.0, all.1), (skipped.0, skipped.1), "{now}");
            // the periods that are left are two, and what has begun
            assert!(skipped.2 <= 2 + 3 * 3, "{} at {now}", skipped.2);
        }
    }
}
