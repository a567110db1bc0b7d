//! Speeds of compute nodes that change at given instants.

use std::collections::BTreeMap;

use stratasim_core::{NodeId, Time};
use stratasim_topo::Topology;
use stratasim_topo::io::profile::ProfileEvents;

/// What a profile is of.
#[derive(Debug, Clone, Copy)]
enum What {
    Speed,
    State,
}

/// The speed changes to come. A node that is off has speed 0.
#[derive(Debug, Default)]
pub(crate) struct SpeedEvents {
    changes: ProfileEvents<(NodeId, What)>,
    /// Fraction of nominal speed and whether it is on, of each node that changes.
    present: BTreeMap<NodeId, (f64, bool)>,
}

impl SpeedEvents {
    pub(crate) fn new(topology: &Topology) -> Self {
        let mut events = Self::default();
        for (&node, profiles) in &topology.profiles().nodes {
            events.present.insert(node, (1.0, true));
            for (what, profile) in [(What::Speed, &profiles.speed), (What::State, &profiles.state)] {
                if let Some(profile) = profile {
                    events.changes.add((node, what), profile);
                }
            }
        }
        events
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// When the next change comes.
    pub(crate) fn next(&self) -> Option<Time> {
        self.changes.next_at()
    }

    /// Leaves out whole periods before `now`, in which no node had anything to do.
    pub(crate) fn skip_periods(&mut self, now: Time) {
        self.changes.skip_periods(now);
    }

    /// The next change that is due at `now`: the node and its fraction of nominal speed.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(NodeId, f64)> {
        let ((node, what), value) = self.changes.pop_due(now)?;
        let (speed, on) = self.present.get_mut(&node).expect("set for every node with a profile");
        match what {
            What::Speed => *speed = value,
            What::State => *on = value != 0.0,
        }
        Some((node, if *on { *speed } else { 0.0 }))
    }
}
