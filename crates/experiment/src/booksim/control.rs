//! BookSim2's course of a simulation: warm-up, sample periods, convergence, draining, verdict.

use serde::Serialize;
use stratasim_net::flit::kernel::Kernel;

use super::source::{Source, State};
use super::statistics::{Counters, Printed};

/// What is measured, and so how a simulation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Latency: what is recorded must arrive, and its mean latency must stay below the threshold.
    Latency,
    /// Accepted load: ends with the last sample period.
    Throughput,
    /// Every node sends a number of packets, that many times.
    Batch {
        /// How many times.
        count: u64,
    },
}

/// How a simulation is led.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    /// What is measured.
    pub mode: Mode,
    /// Sample periods that are thrown away; 0: until latency and load change little.
    pub warm_up_periods: u64,
    /// Cycles of a period.
    pub sample_period: u64,
    /// Most periods.
    pub most_samples: u64,
    /// Simulations one after the other.
    pub simulations: u64,
}

/// How a simulation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It went to its end.
    Stable,
    /// The latency passed the threshold in a sample period,
    Unstable,
    /// or after them.
    UnstableWhileDraining,
    /// It was given up: flits are in flight and nothing has moved for [`QUIET_CYCLES`]. The simulator
    /// itself would go on for ever.
    Deadlocked,
    /// It was stopped from outside.
    Stopped,
}

/// Cycles between two questions whether to stop.
const ASKED_EVERY: u64 = 1024;

/// Cycles without any movement that make a deadlock.
pub const QUIET_CYCLES: u64 = 100_000;

/// What happened in a sample period to measured classes.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Period {
    /// Its last cycle and one, from the beginning of the simulation.
    pub end: u64,
    /// Whether it is thrown away.
    pub warm_up: bool,
    /// Flits that entered the network.
    pub sent_flits: u64,
    /// Flits that arrived.
    pub accepted_flits: u64,
    /// Packets that arrived and count.
    pub packets: u64,
    /// The sum of their latencies, cycles.
    pub latency: u64,
}

/// What a simulation, or several, found.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// How it ended.
    pub verdict: Verdict,
    /// Cycles of the last simulation until network and credits were empty; only where stable.
    pub total_cycles: Option<u64>,
    /// Cycle in which the warm-up ended.
    pub warm_up_end: Option<u64>,
    /// Periods of the last simulation.
    pub sample_periods: u64,
    /// What happened in each of them; empty for batches.
    pub periods: Vec<Period>,
    /// Cycles of the last simulation that rates and histograms are about: from the last clear to the
    /// beginning of draining, or to the end of the last period where it never came to that.
    pub counted_cycles: u64,
    /// What is printed of each class: means over the simulations where stable, otherwise the last period's.
    pub classes: Vec<Printed>,
    /// Histograms and counts at the end, by class.
    pub counters: Vec<Counters>,
    /// Warnings of a deadlock.
    pub deadlock_warnings: u64,
    /// Cycles of each batch.
    pub batches: Vec<u64>,
}

/// Runs all simulations of a configuration on a kernel that has not run yet. `stop` is asked now and then whether
/// to give up.
pub fn simulate<K: Kernel>(
    kernel: &mut K,
    source: &mut Source,
    control: &Control,
    stop: &dyn Fn() -> bool,
) -> Outcome {
    let mut found = Vec::new();
    let classes = source.classes().len();
    loop {
        let start = kernel.now();
        source.restart(start);
        let mut course = Course {
            kernel,
            source,
            control,
            stop,
            start,
            reset: start,
            counted: Period::default(),
            outcome: Outcome {
                verdict: Verdict::Stable,
                total_cycles: None,
                warm_up_end: None,
                sample_periods: 0,
                periods: Vec::new(),
                counted_cycles: 0,
                classes: vec![Printed::default(); classes],
                counters: Vec::new(),
                deadlock_warnings: 0,
                batches: Vec::new(),
            },
        };
        course.run();
        let mut outcome = course.outcome;
        source.count_warnings(kernel.now());
        outcome.counters.clone_from(&source.counters);
        outcome.deadlock_warnings = source.deadlock_warnings;
        found.push(outcome.classes.clone());
        if outcome.verdict == Verdict::Stable {
            let of_class = |class| Printed::mean(&found.iter().map(|one| one[class]).collect::<Vec<_>>());
            outcome.classes = (0..classes).map(of_class).collect();
        }
        if outcome.verdict != Verdict::Stable || found.len() as u64 >= control.simulations {
            return outcome;
        }
    }
}

/// One simulation.
struct Course<'a, K> {
    kernel: &'a mut K,
    source: &'a mut Source,
    control: &'a Control,
    stop: &'a dyn Fn() -> bool,
    start: u64,
    /// Cycle of the last clear.
    reset: u64,
    /// What the counters held at the end of the last period, or zeros after a clear.
    counted: Period,
    outcome: Outcome,
}

impl<K: Kernel> Course<'_, K> {
    fn run(&mut self) {
        let stable = match self.control.mode {
            Mode::Batch { count } => self.batches(count),
            _ => self.periods() && (self.control.mode == Mode::Throughput || self.drain()),
        };
        if !stable {
            return;
        }
        self.source.state = State::Emptying;
        while !(self.source.all_in_flight() == 0 && self.kernel.is_settled()) {
            self.step();
            if self.is_stuck() {
                return;
            }
        }
        self.outcome.total_cycles = Some(self.kernel.now() - self.start);
        self.print(self.source.drain_time - self.reset);
    }

    fn step(&mut self) {
        self.kernel.run(self.kernel.now() + 1, self.source);
    }

    /// Whether nothing will ever move again, or nobody wants to know.
    fn is_stuck(&mut self) -> bool {
        if self.kernel.now().is_multiple_of(ASKED_EVERY) && self.is_unwanted() {
            return true;
        }
        let quiet = self.kernel.now() - self.kernel.last_progress().max(self.start);
        let stuck = quiet > QUIET_CYCLES && self.source.all_in_flight() > 0;
        if stuck {
            self.outcome.verdict = Verdict::Deadlocked;
        }
        stuck
    }

    /// Whether nobody wants to know.
    fn is_unwanted(&mut self) -> bool {
        let unwanted = (self.stop)();
        if unwanted {
            self.outcome.verdict = Verdict::Stopped;
        }
        unwanted
    }

    fn clear(&mut self) {
        self.reset = self.kernel.now();
        self.counted = Period::default();
        self.source.counters.iter_mut().for_each(Counters::clear);
    }

    fn print(&mut self, cycles: u64) {
        self.outcome.counted_cycles = cycles;
        let counters = self.source.counters.iter().zip(&self.source.in_flight);
        self.outcome.classes = counters.map(|(one, &flits)| one.printed(cycles, flits)).collect();
    }

    /// The sample periods; whether the simulation came to its draining.
    fn periods(&mut self) -> bool {
        let Control { mode, warm_up_periods, sample_period, most_samples, .. } = *self.control;
        let measured: Vec<usize> =
            (0..self.outcome.classes.len()).filter(|&class| self.source.classes()[class].measured).collect();
        let latency_matters = mode == Mode::Latency;
        let mut previous = vec![(0.0, 0.0); self.outcome.classes.len()];
        let (mut converged, mut just_warm) = (0, false);
        while self.outcome.sample_periods < most_samples
            && (self.source.state != State::Running || converged < 3)
        {
            let phase = self.outcome.sample_periods;
            if just_warm || self.source.state == State::WarmUp && phase.is_multiple_of(2) {
                just_warm = false;
                self.clear();
            }
            if !self.period(sample_period) {
                return false;
            }
            let now = self.kernel.now();
            self.print(now - self.reset);
            self.note_period(&measured);
            self.outcome.sample_periods += 1;
            let (mut latency_moved, mut load_moved) = (false, false);
            for &class in &measured {
                let printed = &self.outcome.classes[class];
                let (latency, load) = (printed.packet.mean, printed.accepted_flits.mean);
                let (before, load_before) = std::mem::replace(&mut previous[class], (latency, load));
                let kind = &self.source.classes()[class];
                let (latency_limit, load_limit) = match self.source.state {
                    State::WarmUp => kind.warm_up_thresholds,
                    _ => kind.stopping_thresholds,
                };
                latency_moved |= latency_limit >= 0.0 && ((latency - before) / latency).abs() > latency_limit;
                load_moved |= load_limit >= 0.0 && ((load - load_before) / load).abs() > load_limit;
            }
            if latency_matters && self.too_slow(measured.iter().copied()) {
                self.outcome.verdict = Verdict::Unstable;
                return false;
            }
            let settled = !(load_moved || latency_matters && latency_moved);
            match self.source.state {
                State::WarmUp => {
                    let warm = if warm_up_periods > 0 { phase + 1 >= warm_up_periods } else { settled };
                    if warm {
                        self.outcome.warm_up_end = Some(now - self.start);
                        (just_warm, self.source.state) = (true, State::Running);
                    }
                }
                _ => converged = if settled { converged + 1 } else { 0 },
            }
        }
        if self.source.state != State::Running {
            self.outcome.verdict = Verdict::Unstable;
            return false;
        }
        self.source.drain_time = self.kernel.now();
        self.source.state = State::Draining;
        true
    }

    /// Runs so many cycles; whether it came to their end.
    fn period(&mut self, cycles: u64) -> bool {
        let end = self.kernel.now() + cycles;
        while self.kernel.now() < end {
            if self.is_unwanted() {
                return false;
            }
            self.kernel.run(end.min(self.kernel.now() + ASKED_EVERY), self.source);
        }
        true
    }

    /// Notes what has happened since the end of the period before.
    fn note_period(&mut self, measured: &[usize]) {
        let mut sums = Period::default();
        for counters in measured.iter().map(|&class| &self.source.counters[class]) {
            sums.sent_flits += counters.sent_flits.iter().sum::<u64>();
            sums.accepted_flits += counters.accepted_flits.iter().sum::<u64>();
            sums.packets += counters.packet.count;
            sums.latency += counters.packet.sum;
        }
        let before = std::mem::replace(&mut self.counted, sums);
        self.outcome.periods.push(Period {
            end: self.kernel.now() - self.start,
            warm_up: self.source.state == State::WarmUp,
            sent_flits: sums.sent_flits - before.sent_flits,
            accepted_flits: sums.accepted_flits - before.accepted_flits,
            packets: sums.packets - before.packets,
            latency: sums.latency - before.latency,
        });
    }

    /// Whether the mean latency of one of these classes, with all flits in flight counted as far as they are, has
    /// passed its threshold.
    fn too_slow(&self, mut classes: impl Iterator<Item = usize>) -> bool {
        classes.any(|class| {
            let (packets, flits) = (&self.source.counters[class].packet, self.source.in_flight[class]);
            let waited = flits * self.kernel.now() - self.source.created_sum[class];
            let threshold = self.source.classes()[class].latency_threshold;
            threshold >= 0.0
                && (packets.sum as f64 + waited as f64) / (packets.count + flits) as f64 > threshold
        })
    }

    /// Goes on until all that is recorded has arrived, and has come into being. Here no class may be too slow, measured or
    /// not.
    fn drain(&mut self) -> bool {
        let measured: Vec<usize> =
            (0..self.outcome.classes.len()).filter(|&class| self.source.classes()[class].measured).collect();
        let mut steps = 0u64;
        while measured
            .iter()
            .any(|&class| self.source.recorded_in_flight[class] > 0 || self.source.undrained[class] > 0)
        {
            self.step();
            steps += 1;
            if steps.is_multiple_of(1000) && self.too_slow(0..self.outcome.classes.len()) {
                self.outcome.verdict = Verdict::UnstableWhileDraining;
                return false;
            }
            if self.is_stuck() {
                return false;
            }
        }
        true
    }

    fn batches(&mut self, count: u64) -> bool {
        for _ in 0..count {
            if self.is_unwanted() {
                return false;
            }
            let start = self.kernel.now();
            self.source.start_batch();
            loop {
                self.step();
                if self.source.unfinished == 0 {
                    break;
                }
                if self.is_stuck() {
                    return false;
                }
            }
            while self.source.all_in_flight() > 0 {
                self.step();
                if self.is_stuck() {
                    return false;
                }
            }
            self.outcome.batches.push(self.kernel.now() - start);
            self.outcome.sample_periods += 1;
        }
        self.source.drain_time = self.kernel.now();
        true
    }
}
