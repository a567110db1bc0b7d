//! The traffic of a run: one object, or one for each part of a network that runs on several threads.

use std::ops::Range;
use std::sync::Arc;

use stratasim_net::flit::fast::Fast;
use stratasim_net::flit::full::Full;
use stratasim_net::flit::kernel::Kernel;

use super::account::{Account, Batch, ProbeSink, Totals, join_batches};
use super::open_loop::OpenLoop;
use super::plan::{Plan, Purpose};
use super::sources::Sources;

/// A kernel that runs with the traffic of each of its parts.
pub(super) trait InParts: Kernel {
    /// Runs until `until` is the next cycle.
    fn advance(&mut self, until: u64, traffic: &mut Parts<'_>);
}

impl InParts for Full {
    fn advance(&mut self, until: u64, traffic: &mut Parts<'_>) {
        self.run(until, &mut traffic.parts[0]);
    }
}

impl InParts for Fast {
    fn advance(&mut self, until: u64, traffic: &mut Parts<'_>) {
        self.run_parts(until, &mut traffic.parts);
    }
}

/// The traffic of all parts, in their order.
pub(super) struct Parts<'a> {
    parts: Vec<OpenLoop<'a>>,
}

impl<'a> Parts<'a> {
    /// One part for each of `ranges` of terminals, which are all of them. Probes of all pairs go to `sink`, one
    /// by one, where there is one part.
    pub(super) fn new(
        plan: &Arc<Plan>,
        window: u64,
        ranges: Vec<Range<u32>>,
        mut sink: Option<&'a mut dyn ProbeSink>,
    ) -> Self {
        let (terminals, classes) = (plan.terminals as usize, plan.classes.len());
        let probes = plan.classes.iter().position(|class| class.purpose == Purpose::Probe);
        let part = |range: Range<u32>| OpenLoop {
            sources: Sources::new(plan.clone(), range),
            account: Account::new(terminals, classes, window, sink.take()),
            probes: probes.map(|class| class as u32),
        };
        Self { parts: ranges.into_iter().map(part).collect() }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.parts[0].sources.plan
    }

    /// What all have counted.
    pub(super) fn account(&self) -> Account<'static> {
        Account::joined(self.parts.iter().map(|part| &part.account))
    }

    pub(super) fn totals(&self) -> Totals {
        let mut totals = self.parts[0].account.totals.clone();
        self.parts[1..].iter().for_each(|part| totals.join(&part.account.totals));
        totals
    }

    /// Flits that entered and that arrived, packets that arrived, the sum of their latencies.
    pub(super) fn sums(&self) -> [u64; 4] {
        let mut sums = [0; 4];
        for Totals { injected, accepted, packets, latency, .. } in
            self.parts.iter().map(|part| &part.account.totals)
        {
            let own = [injected.iter().sum(), accepted.iter().sum(), *packets, *latency];
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        sums
    }

    /// Flits of the sample that were given to the network, by class.
    pub(super) fn offered_of(&self) -> Vec<u64> {
        let of_class = |class: usize| self.parts.iter().map(|part| part.account.offered_of[class]).sum();
        (0..self.plan().classes.len()).map(of_class).collect()
    }

    pub(super) fn batches(&self) -> Vec<Batch> {
        let mut batches = Vec::new();
        self.parts.iter().for_each(|part| join_batches(&mut batches, &part.account.batches));
        batches
    }

    /// Packets count that come into being from this cycle on.
    pub(super) fn count_from(&mut self, cycle: u64) {
        self.parts.iter_mut().for_each(|part| part.account.from = cycle);
    }

    /// Packets do not count any more that come into being from this cycle on.
    pub(super) fn count_until(&mut self, cycle: u64) {
        self.parts.iter_mut().for_each(|part| part.account.until = cycle);
    }

    /// First cycle of the sample, and the first one after it.
    pub(super) fn sample(&self) -> Range<u64> {
        self.parts[0].account.from..self.parts[0].account.until
    }

    /// Packets of the sample that have come into being and not arrived.
    pub(super) fn open(&self) -> i64 {
        self.parts.iter().map(|part| part.account.open).sum()
    }

    /// Flits given to the network so far.
    pub(super) fn given(&self) -> u64 {
        self.parts.iter().map(|part| part.account.given).sum()
    }

    /// No packet is made any more.
    pub(super) fn close(&mut self) {
        self.parts.iter_mut().for_each(|part| part.sources.close());
    }

    /// Whether no packet comes any more unless another one arrives.
    pub(super) fn is_exhausted(&self) -> bool {
        self.parts.iter().all(|part| part.sources.next_due().is_none())
    }

    /// Terminals that send anything.
    pub(super) fn senders(&self) -> u64 {
        self.parts.iter().map(|part| part.sources.senders).sum()
    }

    /// As [`Sources::batch_done`]; batches run in one part.
    pub(super) fn batch_done(&self) -> Option<(u64, u64)> {
        self.parts[0].sources.batch_done()
    }

    /// Whether every packet that comes into being before `cycle` has been given to the network.
    pub(super) fn has_given_all_before(&self, cycle: u64) -> bool {
        self.parts.iter().all(|part| part.sources.has_given_all_before(cycle))
    }

    /// Sum over terminals of the cycles for which the packet at the head of the source queue has been waiting outside the
    /// network.
    pub(super) fn waited(&self, now: u64) -> u64 {
        self.parts.iter().flat_map(|part| part.sources.waits(now)).sum()
    }

    /// The same by terminal.
    pub(super) fn waits(&self, now: u64) -> Vec<u64> {
        self.parts.iter().flat_map(|part| part.sources.waits(now)).collect()
    }

    /// As [`Sources::ahead`], of all.
    pub(super) fn ahead(&self, until: u64, mut seen: impl FnMut(u8, u16, u64)) {
        self.parts.iter().for_each(|part| part.sources.ahead(until, &mut seen));
    }
}
