//! A network whose run is over, as if it had just been built.

use stratasim_core::Time;
use stratasim_core::queue::GroupedQueue;

use super::levels::Work;
use super::lines::Lines;
use super::network::{Counters, FlowNetwork};
use super::system::System;

impl FlowNetwork {
    /// Forgets what happened; false where a pipeline has run or the machine changes by itself. Flows get the numbers again that
    /// they had: those break ties.
    pub(super) fn forget_run(&mut self) -> bool {
        if self.is_busy()
            || !self.pending.is_empty()
            || !self.profiles.is_empty()
            || self.pipelines.have_run()
        {
            return false;
        }
        self.system.forget_flows();
        self.routes.forget_run();
        self.now = Time::ZERO;
        self.queue = GroupedQueue::new();
        self.flows.clear();
        self.lines = self.lines.is_some().then(Lines::default);
        self.peaks.clear();
        // nobody knows yet who watches
        (self.record, self.link_uses) = (Some((0, u64::MAX)), true);
        self.spans.clear();
        self.pieces.clear();
        self.failures.clear();
        self.violations.clear();
        self.counters = Counters::default();
        true
    }
}

impl System {
    /// Forgets all flows, of which none is enabled any more.
    fn forget_flows(&mut self) {
        // nobody uses them, but the last to leave may have left marks
        for resource in self.solver.take_marks() {
            self.resources[resource as usize].marked = false;
        }
        self.solver = Work::default();
        self.flows.clear();
        self.elements.clear();
    }
}
