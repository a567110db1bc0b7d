//! What BookSim2 prints: means, extremes, histograms, rates per node.

use serde::Serialize;

/// Samples of one quantity with bins of width 1; the last bin also holds all larger ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Samples {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The smallest; the largest of all numbers without samples.
    pub min: u64,
    /// The largest; 0 without samples.
    pub max: u64,
    /// How many of each value.
    pub bins: Vec<u64>,
}

impl Samples {
    /// No samples yet.
    pub fn new(bins: usize) -> Self {
        Self { count: 0, sum: 0, min: u64::MAX, max: 0, bins: vec![0; bins] }
    }

    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let last = self.bins.len() - 1;
        self.bins[(value as usize).min(last)] += 1;
    }

    /// Adds those of `other`, which has as many bins.
    pub fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.bins.iter_mut().zip(&other.bins).for_each(|(own, more)| *own += more);
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        self.bins.fill(0);
        *self = Self { bins: std::mem::take(&mut self.bins), ..Self::new(0) };
    }

    /// The mean; not a number without samples.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// Mean and extremes.
    pub fn summary(&self) -> Summary {
        let min = if self.count == 0 { f64::NAN } else { self.min as f64 };
        Summary { mean: self.mean(), min, max: self.max as f64 }
    }
}

/// A mean with its extremes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Counts of nodes as rates over `cycles`.
    pub fn of_rates(counts: &[u64], cycles: u64) -> Self {
        let cycles = cycles as f64;
        let sum: u64 = counts.iter().sum();
        Self {
            mean: sum as f64 / cycles / counts.len() as f64,
            min: counts.iter().min().map_or(0.0, |&min| min as f64 / cycles),
            max: counts.iter().max().map_or(0.0, |&max| max as f64 / cycles),
        }
    }

    fn add(&mut self, other: Self) {
        self.mean += other.mean;
        self.min += other.min;
        self.max += other.max;
    }

    fn divide(&mut self, by: f64) {
        self.mean /= by;
        self.min /= by;
        self.max /= by;
    }
}

/// Everything that is counted of a class since the last clear.
#[derive(Debug, Clone, Serialize)]
pub struct Counters {
    /// Packet latency: from creation to the arrival of the tail, cycles.
    pub packet: Samples,
    /// Network latency: from the entry of the head to the arrival of the tail, cycles.
    pub network: Samples,
    /// Flit latency: from entry to arrival, of every flit, cycles.
    pub flit: Samples,
    /// Fragmentation: cycles between head and tail beyond those of the flits between.
    pub fragmentation: Samples,
    /// Routers that tails went through.
    pub hops: Samples,
    /// Packets and flits sent, by node,
    pub sent_packets: Vec<u64>,
    /// in both units,
    pub sent_flits: Vec<u64>,
    /// and accepted.
    pub accepted_packets: Vec<u64>,
    /// In both units.
    pub accepted_flits: Vec<u64>,
}

impl Counters {
    /// Nothing counted, for a number of nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            packet: Samples::new(1000),
            network: Samples::new(1000),
            flit: Samples::new(1000),
            fragmentation: Samples::new(100),
            hops: Samples::new(20),
            sent_packets: vec![0; nodes],
            sent_flits: vec![0; nodes],
            accepted_packets: vec![0; nodes],
            accepted_flits: vec![0; nodes],
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        for samples in
            [&mut self.packet, &mut self.network, &mut self.flit, &mut self.fragmentation, &mut self.hops]
        {
            samples.clear();
        }
        for counts in [
            &mut self.sent_packets,
            &mut self.sent_flits,
            &mut self.accepted_packets,
            &mut self.accepted_flits,
        ] {
            counts.fill(0);
        }
    }

    /// What is printed of the class when `cycles` have passed since the last clear.
    pub fn printed(&self, cycles: u64, in_flight_flits: u64) -> Printed {
        let size = |flits: &[u64], packets: &[u64]| {
            flits.iter().sum::<u64>() as f64 / packets.iter().sum::<u64>() as f64
        };
        Printed {
            packet: self.packet.summary(),
            network: self.network.summary(),
            flit: self.flit.summary(),
            fragmentation: self.fragmentation.summary(),
            hops: self.hops.mean(),
            injected_packets: Summary::of_rates(&self.sent_packets, cycles),
            accepted_packets: Summary::of_rates(&self.accepted_packets, cycles),
            injected_flits: Summary::of_rates(&self.sent_flits, cycles),
            accepted_flits: Summary::of_rates(&self.accepted_flits, cycles),
            injected_size: size(&self.sent_flits, &self.sent_packets),
            accepted_size: size(&self.accepted_flits, &self.accepted_packets),
            in_flight_flits,
        }
    }
}

/// The numbers that are printed of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Printed {
    /// Packet latency, cycles.
    pub packet: Summary,
    /// Network latency, cycles.
    pub network: Summary,
    /// Flit latency, cycles.
    pub flit: Summary,
    /// Fragmentation, cycles.
    pub fragmentation: Summary,
    /// Mean of the routers that tails went through.
    pub hops: f64,
    /// Packets sent per node and cycle,
    pub injected_packets: Summary,
    /// accepted,
    pub accepted_packets: Summary,
    /// flits sent,
    pub injected_flits: Summary,
    /// and flits accepted.
    pub accepted_flits: Summary,
    /// Flits per packet sent,
    pub injected_size: f64,
    /// and accepted.
    pub accepted_size: f64,
    /// Flits created and not yet arrived.
    pub in_flight_flits: u64,
}

impl Printed {
    /// The mean over several simulations. Flits per packet are those of the mean rates, not a mean of their own.
    pub fn mean(all: &[Self]) -> Self {
        let mut mean = Self::default();
        for one in all {
            for (sum, value) in mean.summaries().into_iter().zip({ *one }.summaries()) {
                sum.add(*value);
            }
            mean.hops += one.hops;
            mean.in_flight_flits += one.in_flight_flits;
        }
        let count = all.len() as f64;
        mean.summaries().into_iter().for_each(|sum| sum.divide(count));
        mean.hops /= count;
        mean.injected_size = mean.injected_flits.mean / mean.injected_packets.mean;
        mean.accepted_size = mean.accepted_flits.mean / mean.accepted_packets.mean;
        mean.in_flight_flits /= all.len().max(1) as u64;
        mean
    }

    fn summaries(&mut self) -> [&mut Summary; 8] {
        [
            &mut self.packet,
            &mut self.network,
            &mut self.flit,
            &mut self.fragmentation,
            &mut self.injected_packets,
            &mut self.accepted_packets,
            &mut self.injected_flits,
            &mut self.accepted_flits,
        ]
    }
}
