//! The terminals of open-loop traffic: sources on one side, the account on the other.

use stratasim_net::flit::terminals::{Arrival, FlitArrival, Offer, Terminals, one_by_one};

use super::account::Account;
use super::plan::Purpose;
use super::sources::Sources;

/// Open-loop traffic as a kernel sees it.
pub(super) struct OpenLoop<'a> {
    pub(super) sources: Sources,
    pub(super) account: Account<'a>,
    /// The class of probes.
    pub(super) probes: Option<u32>,
}

impl Terminals for OpenLoop<'_> {
    fn queues(&self) -> u8 {
        self.sources.plan.queues.len() as u8
    }

    fn offer(&mut self, terminal: u32, queue: u8, now: u64) -> Option<Offer> {
        let mut offer = self.sources.offer(terminal, queue, now)?;
        self.account.given(&self.sources.plan, &mut offer);
        Some(offer)
    }

    fn offers(&mut self, terminals: &[u32], now: u64, out: &mut Vec<(u32, Offer)>) {
        let first = out.len();
        self.sources.offers(terminals, now, out);
        if self.sources.plan.is_plain() {
            return self.account.all_given(&mut out[first..]);
        }
        for (_, offer) in &mut out[first..] {
            self.account.given(&self.sources.plan, offer);
        }
    }

    #[inline]
    fn announces(&self) -> bool {
        self.sources.announces()
    }

    #[inline]
    fn in_order(&self) -> bool {
        // sums do not depend on it
        self.account.sink.is_some()
    }

    #[inline]
    fn in_any_order(&self) -> bool {
        self.sources.plan.is_plain() && !self.in_order()
    }

    fn next_due(&mut self, _: u64) -> Option<u64> {
        self.sources.next_due()
    }

    fn due(&mut self, now: u64, out: &mut Vec<u32>) {
        self.sources.due(now, out);
    }

    #[inline]
    fn flit(&mut self, flit: FlitArrival) {
        self.account.totals.accepted[flit.terminal as usize] += 1;
        self.account.totals.accepted_of[flit.tag as usize] += 1;
        if flit.measured {
            self.account.flit(flit.tag as usize, flit.latency);
            if self.probes != Some(flit.tag) {
                self.account.flit_of_batch(flit.arrived - flit.latency, flit.latency);
            }
        }
    }

    #[inline]
    fn singles(&mut self, arrivals: impl Iterator<Item = Arrival>) {
        if self.sources.plan.is_plain() {
            self.account.singles(arrivals);
        } else {
            one_by_one(self, arrivals);
        }
    }

    #[inline]
    fn entered(&mut self, _: u32, terminal: u32, _: bool) {
        self.account.totals.injected[terminal as usize] += 1;
    }

    #[inline]
    fn packet(&mut self, arrival: &Arrival) {
        let plan = &self.sources.plan;
        let class = &plan.classes[arrival.tag as usize];
        let (purpose, reply) = (class.purpose, class.reply);
        let listed = plan.probe_pairs.is_some();
        self.account.arrived(arrival, purpose == Purpose::Probe, listed);
        match (purpose, reply) {
            (Purpose::Load, Some(reply)) => {
                let (terminal, now) = (arrival.dest, arrival.arrived);
                let flits = self.sources.answer(reply, terminal, arrival.source, now);
                if self.account.is_measured(now) {
                    self.account.open += 1;
                    self.account.offered(reply, flits, now);
                }
            }
            (Purpose::Load, None) => self.sources.complete(arrival.source, arrival.arrived),
            // the reply arrives where the request came from
            (Purpose::Reply, _) => self.sources.complete(arrival.dest, arrival.arrived),
            (Purpose::Probe, _) => {}
        }
    }
}
