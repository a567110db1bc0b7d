//! What is counted while traffic runs. All sums are integers.

use std::collections::BTreeMap;

use stratasim_net::flit::terminals::{Arrival, Offer};

use super::histogram::Histogram;
use super::plan::{Plan, Purpose};

/// Counts that go on from the beginning of the run.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    /// Flits that entered, by terminal.
    pub(super) injected: Vec<u64>,
    /// Flits that arrived, by terminal.
    pub(super) accepted: Vec<u64>,
    /// Flits that arrived, by class.
    pub(super) accepted_of: Vec<u64>,
    /// Packets that arrived.
    pub(super) packets: u64,
    /// Sum of their latencies.
    pub(super) latency: u64,
}

/// The packets of the sample of one class.
#[derive(Debug, Clone, Default)]
pub(super) struct ClassAccount {
    pub(super) packet_latency: Histogram,
    pub(super) network_latency: Histogram,
    pub(super) flit_latency: Histogram,
    pub(super) hops: Histogram,
    pub(super) fragmentation: Histogram,
}

impl Totals {
    /// Nothing yet.
    fn new(terminals: usize, classes: usize) -> Self {
        Self {
            injected: vec![0; terminals],
            accepted: vec![0; terminals],
            accepted_of: vec![0; classes],
            ..Self::default()
        }
    }

    /// All that `other` counted, too.
    pub(super) fn join(&mut self, other: &Self) {
        let add =
            |own: &mut [u64], more: &[u64]| own.iter_mut().zip(more).for_each(|(own, more)| *own += more);
        add(&mut self.injected, &other.injected);
        add(&mut self.accepted, &other.accepted);
        add(&mut self.accepted_of, &other.accepted_of);
        self.packets += other.packets;
        self.latency += other.latency;
    }
}

impl ClassAccount {
    pub(super) fn join(&mut self, other: &Self) {
        self.packet_latency.join(&other.packet_latency);
        self.network_latency.join(&other.network_latency);
        self.flit_latency.join(&other.flit_latency);
        self.hops.join(&other.hops);
        self.fragmentation.join(&other.fragmentation);
    }

    pub(super) fn all(&self) -> [&Histogram; 5] {
        [&self.packet_latency, &self.network_latency, &self.flit_latency, &self.hops, &self.fragmentation]
    }
}

/// One batch of the sample: packets that came into being in one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Batch {
    /// Packets that have arrived.
    pub(super) arrived: u64,
    /// Sum of their latencies.
    pub(super) latency: u64,
    /// Sum of their latencies in the network.
    pub(super) network: u64,
    /// Flits of the sample that arrived in the window.
    pub(super) flits: u64,
    /// Sum of their latencies.
    pub(super) flit_latency: u64,
    /// Flits that came into being.
    pub(super) offered: u64,
}

impl Batch {
    /// The same with what another one has.
    pub(super) fn join(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.latency += other.latency;
        self.network += other.network;
        self.flits += other.flits;
        self.flit_latency += other.flit_latency;
        self.offered += other.offered;
    }
}

/// The batches of `own`, with what `other` has of each.
pub(super) fn join_batches(own: &mut Vec<Batch>, other: &[Batch]) {
    if own.len() < other.len() {
        own.resize(other.len(), Batch::default());
    }
    for (own, more) in own.iter_mut().zip(other) {
        own.join(more);
    }
}

/// Probes of one pair.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PairAccount {
    pub(super) count: u64,
    pub(super) sum: u64,
    pub(super) squares: u128,
    pub(super) min: u64,
    pub(super) max: u64,
}

impl PairAccount {
    pub(super) fn add(&mut self, latency: u64) {
        self.min = if self.count == 0 { latency } else { self.min.min(latency) };
        self.max = self.max.max(latency);
        self.count += 1;
        self.sum += latency;
        self.squares += u128::from(latency) * u128::from(latency);
    }
}

/// Where single probes go when every pair is asked for: a latency at a time.
pub trait ProbeSink: Send {
    /// A probe that came into being in cycle `created` took `latency` cycles from `source` to `dest`.
    fn probe(&mut self, source: u32, dest: u32, created: u64, latency: u64);
}

/// Everything that is counted.
#[derive(Default)]
pub(super) struct Account<'a> {
    pub(super) totals: Totals,
    /// Packets count that came into being from this cycle
    pub(super) from: u64,
    /// until before this one.
    pub(super) until: u64,
    /// Cycles of a batch.
    pub(super) window: u64,
    pub(super) classes: Vec<ClassAccount>,
    pub(super) batches: Vec<Batch>,
    /// The batch that was looked up last for a packet, and its first cycle from `from` on: nearly always the one that is
    /// looked up next. The same for flits that arrive.
    last: (usize, u64),
    last_of_flits: (usize, u64),
    /// Flits of the sample that came into being, by class.
    pub(super) offered_of: Vec<u64>,
    /// Packets of the sample that have come into being less those that have arrived. A packet comes into being
    /// in one part of a network and may arrive in another, so that of one part it may be negative.
    pub(super) open: i64,
    /// Flits given to the network so far.
    pub(super) given: u64,
    /// Probes by pair, where pairs are listed.
    pub(super) pairs: BTreeMap<(u32, u32), PairAccount>,
    /// Where probes of all pairs go.
    pub(super) sink: Option<&'a mut dyn ProbeSink>,
}

impl<'a> Account<'a> {
    pub(super) fn new(
        terminals: usize,
        classes: usize,
        window: u64,
        sink: Option<&'a mut dyn ProbeSink>,
    ) -> Self {
        Self {
            totals: Totals::new(terminals, classes),
            from: u64::MAX,
            until: u64::MAX,
            window,
            classes: vec![ClassAccount::default(); classes],
            offered_of: vec![0; classes],
            sink,
            ..Self::default()
        }
    }

    /// Everything that the accounts of several parts of a network hold. All are sums of integers, so that the
    /// whole does not depend on how many parts there are.
    pub(super) fn joined<'b>(parts: impl Iterator<Item = &'b Self>) -> Account<'static>
    where
        'a: 'b,
    {
        let mut whole: Option<Account<'static>> = None;
        for part in parts {
            let whole = whole.get_or_insert_with(|| Account {
                from: part.from,
                until: part.until,
                ..Account::new(part.totals.injected.len(), part.classes.len(), part.window, None)
            });
            whole.totals.join(&part.totals);
            whole.classes.iter_mut().zip(&part.classes).for_each(|(own, more)| own.join(more));
            join_batches(&mut whole.batches, &part.batches);
            whole.offered_of.iter_mut().zip(&part.offered_of).for_each(|(own, more)| *own += more);
            whole.open += part.open;
            whole.given += part.given;
            // a pair's probes all arrive in one part
            whole.pairs.extend(part.pairs.iter().map(|(pair, probes)| (*pair, *probes)));
        }
        whole.unwrap_or_default()
    }

    /// Whether a packet that came into being then is of the sample.
    #[inline]
    pub(super) fn is_measured(&self, created: u64) -> bool {
        (self.from..self.until).contains(&created)
    }

    /// The batch of a packet of the sample.
    #[inline]
    fn batch(&mut self, created: u64) -> &mut Batch {
        let offset = created - self.from;
        let (at, start) = self.last;
        if offset.wrapping_sub(start) >= self.window || at >= self.batches.len() {
            self.last = self.look_up(offset);
        }
        &mut self.batches[self.last.0]
    }

    /// A batch that was not the last one, and its first cycle.
    #[inline(never)]
    fn look_up(&mut self, offset: u64) -> (usize, u64) {
        let at = offset / self.window;
        if at as usize >= self.batches.len() {
            self.batches.resize(at as usize + 1, Batch::default());
        }
        (at as usize, at * self.window)
    }

    /// A flit of the sample has arrived.
    #[inline]
    pub(super) fn flit(&mut self, class: usize, latency: u64) {
        self.classes[class].flit_latency.add(latency);
    }

    /// The same, of load: it counts in the batch in which it entered the network, as those that arrive first are those with the
    /// shortest ways.
    #[inline]
    pub(super) fn flit_of_batch(&mut self, entered: u64, latency: u64) {
        let offset = entered - self.from;
        let (at, start) = self.last_of_flits;
        if offset.wrapping_sub(start) >= self.window || at >= self.batches.len() {
            self.last_of_flits = self.look_up(offset);
        }
        let batch = &mut self.batches[self.last_of_flits.0];
        batch.flits += 1;
        batch.flit_latency += latency;
    }

    /// A packet has been given to the network; whether it is of the sample is entered in it.
    #[inline(always)]
    pub(super) fn given(&mut self, plan: &Plan, offer: &mut Offer) {
        self.given += u64::from(offer.flits);
        if self.is_measured(offer.created) {
            offer.measured = true;
            // a reply was counted when its request arrived
            if plan.classes[offer.tag as usize].purpose != Purpose::Reply {
                self.open += 1;
                self.offered(offer.tag as u8, offer.flits, offer.created);
            }
        }
    }

    /// The same of packets of the only class, to which nobody replies.
    pub(super) fn all_given(&mut self, offers: &mut [(u32, Offer)]) {
        let (from, until) = (self.from, self.until);
        let (mut given, mut open, mut offered) = (0, 0, 0);
        for (_, offer) in offers {
            let flits = u64::from(offer.flits);
            given += flits;
            if (from..until).contains(&offer.created) {
                offer.measured = true;
                open += 1;
                offered += flits;
                self.batch(offer.created).offered += flits;
            }
        }
        self.given += given;
        self.open += open;
        self.offered_of[0] += offered;
    }

    /// A packet of the sample has come into being.
    #[inline]
    pub(super) fn offered(&mut self, class: u8, flits: u16, created: u64) {
        self.batch(created).offered += u64::from(flits);
        self.offered_of[class as usize] += u64::from(flits);
    }

    /// Packets of one flit each have arrived, all of the only class: what [`Account::flit`], [`Account::flit_of_batch`] and
    /// [`Account::arrived`] do for each.
    #[inline(always)]
    pub(super) fn singles(&mut self, arrivals: impl Iterator<Item = Arrival>) {
        let (mut packets, mut latencies, mut measured) = (0, 0, 0);
        // here, so that what else is written leaves them where they are
        let mut accepted = std::mem::take(&mut self.totals.accepted);
        let mut class = std::mem::take(&mut self.classes[0]);
        for arrival in arrivals {
            let latency = arrival.arrived - arrival.created;
            accepted[arrival.dest as usize] += 1;
            packets += 1;
            latencies += latency;
            if !arrival.measured {
                continue;
            }
            measured += 1;
            let network = arrival.arrived - arrival.entered;
            class.packet_latency.add(latency);
            class.network_latency.add(network);
            class.flit_latency.add(network);
            class.hops.add(arrival.hops.into());
            let batch = self.batch(arrival.created);
            batch.arrived += 1;
            batch.latency += latency;
            batch.network += network;
            self.flit_of_batch(arrival.entered, network);
        }
        self.totals.packets += packets;
        self.totals.latency += latencies;
        self.totals.accepted_of[0] += packets;
        self.open -= measured as i64;
        // no flit comes between those of a packet that has one
        class.fragmentation.add_zeros(measured);
        self.classes[0] = class;
        self.totals.accepted = accepted;
    }

    /// A packet has arrived. `counts`: in the latencies of all classes together, and `probe`: in those of pairs.
    pub(super) fn arrived(&mut self, arrival: &Arrival, probe: bool, listed: bool) {
        let latency = arrival.arrived - arrival.created;
        if !probe {
            self.totals.packets += 1;
            self.totals.latency += latency;
        }
        if !arrival.measured {
            return;
        }
        self.open -= 1;
        let class = &mut self.classes[arrival.tag as usize];
        class.packet_latency.add(latency);
        class.network_latency.add(arrival.arrived - arrival.entered);
        class.hops.add(arrival.hops.into());
        class
            .fragmentation
            .add((arrival.arrived - arrival.head_arrived).saturating_sub(u64::from(arrival.flits) - 1));
        if !probe {
            let batch = self.batch(arrival.created);
            batch.arrived += 1;
            batch.latency += latency;
            batch.network += arrival.arrived - arrival.entered;
        } else if listed {
            self.pairs.entry((arrival.source, arrival.dest)).or_default().add(latency);
        } else if let Some(sink) = &mut self.sink {
            sink.probe(arrival.source, arrival.dest, arrival.created, latency);
        }
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;

    use super::*;

    /// Packets of one flit in one go are what they are one by one.
    #[test]
    fn single_flits_count_together_as_they_do_alone() {
        let account = || Account { from: 500, until: 900, ..Account::new(8, 1, 100, None) };
        let (mut alone, mut together) = (account(), account());
        let mut draws = Draws::new(1);
        for now in 400..1000 {
            let arrivals: Vec<Arrival> = (0..draws.below(8))
                .map(|dest| {
                    let entered = now - u64::from(draws.below(90));
                    let created = entered - u64::from(draws.below(100));
                    let (source, hops) = (draws.below(8), draws.below(12) as u16);
                    let measured = alone.is_measured(created);
                    let (head_arrived, arrived) = (now, now);
                    Arrival {
                        source,
                        dest,
                        flits: 1,
                        hops,
                        created,
                        entered,
                        head_arrived,
                        arrived,
                        tag: 0,
                        measured,
                    }
                })
                .collect();
            for arrival in &arrivals {
                alone.totals.accepted[arrival.dest as usize] += 1;
                alone.totals.accepted_of[0] += 1;
                if arrival.measured {
                    alone.flit(0, now - arrival.entered);
                    alone.flit_of_batch(arrival.entered, now - arrival.entered);
                }
                alone.arrived(arrival, false, false);
            }
            together.singles(arrivals.into_iter());
        }
        assert!(alone.batches.len() >= 4 && alone.open < 0);
        assert_eq!(format!("{:?}", alone.totals), format!("{:?}", together.totals));
        assert_eq!(format!("{:?}", alone.classes), format!("{:?}", together.classes));
        assert_eq!((&alone.batches, alone.open), (&together.batches, together.open));
    }
}
