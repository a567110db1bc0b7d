//! Speeds of compute nodes that change at given instants.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use stratasim_core::{NodeId, Time};
use stratasim_topo::Topology;
use stratasim_topo::io::profile::Profile;

/// What a profile is of.
#[derive(Debug, Clone, Copy)]
enum What {
    Speed,
    State,
}

/// The speed changes to come. A node that is off has speed 0.
#[derive(Debug, Default)]
pub(crate) struct SpeedEvents {
    profiles: Vec<(NodeId, What, Profile)>,
    /// Fraction of nominal speed and whether it is on, of each node that changes.
    present: BTreeMap<NodeId, (f64, bool)>,
    /// (instant, profile, index of the change)
    heap: BinaryHeap<Reverse<(Time, u32, u64)>>,
}

impl SpeedEvents {
    pub(crate) fn new(topology: &Topology) -> Self {
        let mut events = Self::default();
        for (&node, profiles) in &topology.profiles().nodes {
            events.present.insert(node, (1.0, true));
            for (what, profile) in [(What::Speed, &profiles.speed), (What::State, &profiles.state)] {
                let Some(profile) = profile else { continue };
                if let Some((at, _)) = profile.change(0) {
                    events.heap.push(Reverse((at, events.profiles.len() as u32, 0)));
                }
                events.profiles.push((node, what, profile.clone()));
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
        let (node, what, points) = &self.profiles[profile as usize];
        let (_, value) = points.change(index).expect("queued changes exist");
        if let Some((next, _)) = points.change(index + 1) {
            self.heap.push(Reverse((next, profile, index + 1)));
        }
        let (speed, on) = self.present.get_mut(node).expect("set for every node with a profile");
        match what {
            What::Speed => *speed = value,
            What::State => *on = value != 0.0,
        }
        Some((*node, if *on { *speed } else { 0.0 }))
    }
}
