//! Warm-up, sample, drain: one run on any kernel.

use stratasim_net::flit::kernel::Kernel;

use super::account::Totals;
use super::open_loop::OpenLoop;
use super::spec::MeasureSpec;
use super::verdict::{Evidence, has_settled, mean_and_half_width};
use crate::error::Error;

/// A window of time, in integers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    pub(super) end: u64,
    pub(super) cycles: u64,
    pub(super) injected: u64,
    pub(super) accepted: u64,
    pub(super) packets: u64,
    pub(super) latency: u64,
    /// Sum over terminals.
    pub(super) waited: u64,
}

/// How a run went.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) slices: Vec<Slice>,
    /// How many of the slices are warm-up.
    pub(super) warm_up: usize,
    pub(super) settled: bool,
    pub(super) saturation: Option<String>,
    pub(super) drain_cycles: u64,
    /// Totals at the beginning and at the end of the sample.
    pub(super) totals: [Totals; 2],
    /// Flits of each channel at the beginning and at the end of the sample.
    pub(super) channels: [Vec<u64>; 2],
    /// Invariants that did not hold.
    pub(super) violations: Vec<String>,
}

/// One run: the kernel, the traffic on it, and when to stop.
pub(super) struct Run<'a, 'b, K> {
    pub(super) kernel: &'a mut K,
    pub(super) traffic: &'a mut OpenLoop<'b>,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
    /// Cycles without any movement, with flits in the network, after which it is stuck: more than any channel
    /// or stage can hold a flit.
    pub(super) patience: u64,
    /// Says who waits for whom when nothing moves.
    pub(super) explain: &'a dyn Fn(&K) -> String,
}

impl<K: Kernel> Run<'_, '_, K> {
    /// Warm-up, sample, drain, and the network empty again.
    pub(super) fn measure(&mut self, spec: &MeasureSpec) -> Result<Course, Error> {
        let mut course = Course::default();
        self.warm_up(spec, &mut course)?;
        self.traffic.account.from = self.kernel.now();
        course.totals[0] = self.traffic.account.totals.clone();
        course.channels[0] = self.kernel.channel_flits();
        self.sample(spec, &mut course)?;
        self.traffic.account.until = self.kernel.now();
        course.totals[1] = self.traffic.account.totals.clone();
        course.channels[1] = self.kernel.channel_flits();
        course.saturation = self.evidence(spec, &course).saturation();
        self.drain(spec, &mut course)?;
        self.empty(&mut course)?;
        Ok(course)
    }

    /// Until every terminal has done its batch; all of it is the sample.
    pub(super) fn batch(&mut self, spec: &MeasureSpec) -> Result<Course, Error> {
        let mut course = Course { settled: true, ..Course::default() };
        self.traffic.account.from = 0;
        course.totals[0] = self.traffic.account.totals.clone();
        course.channels[0] = self.kernel.channel_flits();
        while self.traffic.sources.batch_done().is_none() {
            self.window(spec.window, &mut course)?;
            let idle = self.kernel.in_flight() == 0 && self.traffic.sources.next_due().is_none();
            if idle && self.traffic.sources.batch_done().is_none() {
                return Err(Error::Broken(
                    "the batch does not come to its end: nothing is under way".to_owned(),
                ));
            }
        }
        course.totals[1] = self.traffic.account.totals.clone();
        course.channels[1] = self.kernel.channel_flits();
        self.empty(&mut course)?;
        Ok(course)
    }

    fn warm_up(&mut self, spec: &MeasureSpec, course: &mut Course) -> Result<(), Error> {
        let most = match spec.warm_up {
            Some(cycles) => cycles.div_ceil(spec.window),
            None => spec.most_warm_up_windows.into(),
        };
        course.settled = spec.warm_up.is_some();
        let mut means = Vec::new();
        for _ in 0..most {
            self.window(spec.window, course)?;
            if let Some(slice) = course.slices.last().filter(|slice| slice.packets > 0) {
                means.push(slice.latency as f64 / slice.packets as f64);
            }
            if spec.warm_up.is_none() && has_settled(&means) {
                course.settled = true;
                break;
            }
        }
        course.warm_up = course.slices.len();
        Ok(())
    }

    fn sample(&mut self, spec: &MeasureSpec, course: &mut Course) -> Result<(), Error> {
        for number in 1..=spec.most_windows {
            self.window(spec.window, course)?;
            if number < spec.windows {
                continue;
            }
            let (mean, half) = mean_and_half_width(&self.batch_means());
            if half.is_none_or(|half| half <= spec.precision * mean) {
                break;
            }
        }
        Ok(())
    }

    /// Mean packet latency of each batch of which something has arrived.
    pub(super) fn batch_means(&self) -> Vec<f64> {
        let batches = self.traffic.account.batches.iter().filter(|batch| batch.arrived > 0);
        batches.map(|batch| batch.latency as f64 / batch.arrived as f64).collect()
    }

    /// What the sample says about saturation. Packets that came into being and wait outside the network are
    /// counted with what was offered.
    fn evidence(&self, spec: &MeasureSpec, course: &Course) -> Evidence {
        let account = &self.traffic.account;
        let slices = &course.slices[course.warm_up..];
        let mut offered: Vec<u64> =
            (0..slices.len()).map(|at| account.batches.get(at).map_or(0, |it| it.offered)).collect();
        self.traffic.sources.ahead(account.until, |_, flits, created| {
            if created >= account.from {
                offered[((created - account.from) / spec.window) as usize] += u64::from(flits);
            }
        });
        let scale = account.totals.injected.len() as f64 * spec.window as f64;
        let missing = slices
            .iter()
            .zip(&offered)
            .map(|(slice, &offered)| (offered as f64 - slice.accepted as f64) / scale);
        let senders = self.traffic.sources.senders.max(1) as f64;
        Evidence {
            missing: missing.collect(),
            offered: offered.iter().sum::<u64>() as f64 / scale / slices.len().max(1) as f64,
            waits: slices.iter().map(|slice| slice.waited as f64 / senders).collect(),
            window: spec.window as f64,
        }
    }

    /// Goes on, traffic and all, until what came into being in the sample has arrived.
    fn drain(&mut self, spec: &MeasureSpec, course: &mut Course) -> Result<(), Error> {
        if course.saturation.is_some() && !spec.drain_when_saturated {
            return Ok(());
        }
        let start = self.kernel.now();
        let until = self.traffic.account.until;
        let most = spec.drain.unwrap_or(10 * (until - self.traffic.account.from));
        let step = (spec.window / 16).max(16);
        while self.traffic.account.open > 0 || !self.traffic.sources.has_given_all_before(until) {
            if self.kernel.now() - start >= most {
                let reason = format!("packets of the sample had not arrived {most} cycles after it");
                course.saturation.get_or_insert(reason);
                break;
            }
            self.run(step)?;
        }
        course.drain_cycles = self.kernel.now() - start;
        Ok(())
    }

    /// Stops the sources and lets the network run empty: every flit that entered must come out.
    fn empty(&mut self, course: &mut Course) -> Result<(), Error> {
        self.traffic.sources.close();
        let mut empty_for = 0;
        while !self.kernel.is_settled() {
            self.run(256)?;
            // credits may be under way for a while, but not for ever
            empty_for = if self.kernel.in_flight() == 0 { empty_for + 256 } else { 0 };
            if empty_for > self.patience {
                course.violations.push("the network is empty and does not come to rest".to_owned());
                break;
            }
        }
        course.violations = self.kernel.violations();
        let totals = &self.traffic.account.totals;
        let (injected, accepted): (u64, u64) = (totals.injected.iter().sum(), totals.accepted.iter().sum());
        let given = self.traffic.account.given;
        if injected != accepted || given != injected {
            course.violations.push(format!(
                "{given} flits were given to the network, {injected} entered and {accepted} arrived"
            ));
        }
        Ok(())
    }

    /// A window of time, and what happened in it.
    fn window(&mut self, cycles: u64, course: &mut Course) -> Result<(), Error> {
        let sums = |totals: &Totals| {
            let sum = |list: &[u64]| list.iter().sum::<u64>();
            (sum(&totals.injected), sum(&totals.accepted), totals.packets, totals.latency)
        };
        let before = sums(&self.traffic.account.totals);
        self.run(cycles)?;
        let after = sums(&self.traffic.account.totals);
        let end = self.kernel.now();
        course.slices.push(Slice {
            end,
            cycles,
            injected: after.0 - before.0,
            accepted: after.1 - before.1,
            packets: after.2 - before.2,
            latency: after.3 - before.3,
            waited: self.traffic.sources.waited(end),
        });
        Ok(())
    }

    fn run(&mut self, cycles: u64) -> Result<(), Error> {
        if (self.stop)() {
            return Err(Error::Stopped);
        }
        let until = self.kernel.now() + cycles;
        self.kernel.run(until, self.traffic);
        if self.kernel.in_flight() > 0 && self.kernel.now() - self.kernel.last_progress() > self.patience {
            return Err(Error::Broken((self.explain)(self.kernel)));
        }
        Ok(())
    }
}
