//! Speeds of compute nodes that change at given instants.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stratasim_core::{NodeId, Time};
use stratasim_topo::Topology;
use stratasim_topo::io::profile::Profile;

/// The speed changes to come. A node that is off has speed 0.
#[derive(Debug, Default)]
pub(crate) struct SpeedEvents {
    profiles: Vec<(NodeId, Profile)>,
    /// (instant, profile, index of the change)
    heap: BinaryHeap<Reverse<(Time, u32, u64)>>,
}

impl SpeedEvents {
    pub(crate) fn new(topology: &Topology) -> Self {
        let mut events = Self::default();
        for (&node, profiles) in &topology.profiles().nodes {
            for profile in [&profiles.speed, &profiles.state].into_iter().flatten() {
                if let Some((at, _)) = profile.change(0) {
                    events.heap.push(Reverse((at, events.profiles.len() as u32, 0)));
                }
                events.profiles.push((node, profile.clone()));
            }
        }
        events
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.profiles.is_empty()
    }

    /// When the next change comes.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// The next change that is due at `now`: the node and its fraction of nominal speed.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(NodeId, f64)> {
        let &Reverse((at, profile, index)) = self.heap.peek()?;
        if at > now {
            return None;
        }
        self.heap.pop();
        let (node, points) = &self.profiles[profile as usize];
        let (_, value) = points.change(index).expect("queued changes exist");
        if let Some((next, _)) = points.change(index + 1) {
            self.heap.push(Reverse((next, profile, index + 1)));
        }
        Some((*node, value))
    }
}
