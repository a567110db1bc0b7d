//! Warm-up, sample, drain: one run on any kernel.

use std::ops::Range;

use super::account::{Batch, Totals};
use super::parts::{InParts, Parts};
use super::plan::Purpose;
use super::spec::MeasureSpec;
use super::verdict::{ClassEvidence, Evidence, Half, has_settled, mean_and_half_width, still_fills, stuck};
use super::watch::{Phase, Stage, Watch};
use crate::error::Error;

/// Terminals that seem to be stuck are looked at again after so many times the sample, one after the other.
const LOOKS_AGAIN_AFTER: [u64; 3] = [1, 2, 4];

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

impl Slice {
    /// The same with what came right after it.
    fn go_on(&mut self, next: &Self) {
        let Self { end, cycles, injected, accepted, packets, latency, waited } = *next;
        *self = Self {
            end,
            cycles: self.cycles + cycles,
            injected: self.injected + injected,
            accepted: self.accepted + accepted,
            packets: self.packets + packets,
            latency: self.latency + latency,
            waited,
        };
    }
}

/// How a run went.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) slices: Vec<Slice>,
    /// How many of the slices are warm-up.
    pub(super) warm_up: usize,
    pub(super) settled: bool,
    /// Whether the network had filled when the warm-up ended.
    filled: bool,
    /// See [`Evidence::is_early`].
    pub(super) early: bool,
    /// See [`Evidence::is_short`].
    pub(super) short: bool,
    pub(super) saturation: Option<String>,
    /// See [`Evidence::growth`].
    pub(super) growth: Option<String>,
    pub(super) drain_cycles: u64,
    /// Totals at the beginning and at the end of the sample.
    pub(super) totals: [Totals; 2],
    /// Flits of each channel at the beginning and at the end of the sample.
    pub(super) channels: [Vec<u64>; 2],
    /// Invariants that did not hold.
    pub(super) violations: Vec<String>,
    /// How long the heads of source queues had been waiting, by terminal, when the sample had so many windows.
    pub(super) waits: Vec<(u32, Vec<u64>)>,
    /// Packets of the sample that had not arrived when somebody stopped the run.
    pub(super) stopped: Option<u64>,
}

impl Course {
    /// The waits at the ends of both halves of the sample; none where it has no middle.
    fn halves(&self, window: u64) -> Vec<Half<'_>> {
        let count = self.waits.last().map_or(0, |last| last.0);
        let middle = self.waits.iter().min_by_key(|(at, _)| (2 * at).abs_diff(count));
        match (self.waits.first(), middle, self.waits.last()) {
            (Some(first), Some(middle), Some(last)) if first.0 < middle.0 && middle.0 < last.0 => {
                [(first, middle), (middle, last)]
                    .map(|((from, before), (to, after))| Half {
                        cycles: f64::from(to - from) * window as f64,
                        waits: [before, after],
                    })
                    .into()
            }
            _ => Vec::new(),
        }
    }

    /// Slices of the sample.
    pub(super) fn sample(&self) -> &[Slice] {
        &self.slices[self.warm_up..]
    }

    /// As many batches as the sample has slices, of all that there are: what came into being in the last moments of a run
    /// that was stopped is in the last one.
    pub(super) fn whole(&self, mut batches: Vec<Batch>) -> Vec<Batch> {
        let count = self.sample().len();
        for late in batches.split_off(count.min(batches.len())) {
            if let Some(last) = batches.last_mut() {
                last.join(&late);
            }
        }
        batches
    }
}

/// Terminals times cycles between two looks at the clock: a fraction of a second.
const STRIDE: u64 = 1 << 20;
/// A network fills as its ways are long for so many times the longest of them at most; what fills later are its buffers.
const WAYS_TO_FILL: u64 = 4;
/// Windows of the sample without which there is nothing to tell: there is no confidence interval.
const LEAST_WINDOWS: usize = 2;

/// One run: the kernel, the traffic on it, and when to stop.
pub(super) struct Run<'a, 'b, K> {
    pub(super) kernel: &'a mut K,
    pub(super) traffic: &'a mut Parts<'b>,
    pub(super) watch: &'a dyn Watch,
    /// What is going on, and since when.
    pub(super) stage: Stage,
    pub(super) since: u64,
    /// Cycles without any movement, with flits in the network, after which it is stuck: more than any channel
    /// or stage can hold a flit.
    pub(super) patience: u64,
    /// About how many cycles the longest way takes in an idle network.
    pub(super) longest_way: &'a dyn Fn() -> u64,
    /// Says who waits for whom when nothing moves.
    pub(super) explain: &'a dyn Fn(&K) -> String,
}

impl<K: InParts> Run<'_, '_, K> {
    /// Warm-up, sample, drain, and the network empty again.
    pub(super) fn measure(&mut self, spec: &MeasureSpec) -> Result<Course, Error> {
        let mut course = Course::default();
        self.warm_up(spec, &mut course)?;
        self.traffic.count_from(self.kernel.now());
        course.totals[0] = self.traffic.totals();
        course.channels[0] = self.kernel.channel_flits();
        let sampled = self.sample(spec, &mut course);
        self.traffic.count_until(self.kernel.now());
        self.unless_stopped(sampled, &mut course)?;
        course.totals[1] = self.traffic.totals();
        course.channels[1] = self.kernel.channel_flits();
        let evidence = self.evidence(spec, &course);
        (course.saturation, course.growth) = (evidence.saturation(), evidence.growth());
        (course.early, course.short) = (evidence.is_early(), evidence.is_short());
        if course.saturation.is_none() && course.stopped.is_none() {
            let watched = self.watch_stuck(spec, &mut course);
            self.unless_stopped(watched, &mut course)?;
        }
        if course.stopped.is_none() {
            let drained = self.drain(spec, &mut course);
            self.unless_stopped(drained, &mut course)?;
        }
        if course.stopped.is_none() {
            let emptied = self.empty(&mut course);
            self.unless_stopped(emptied, &mut course)?;
        }
        Ok(course)
    }

    /// Somebody may have stopped the run: with what there is, where that is something.
    fn unless_stopped(&self, result: Result<(), Error>, course: &mut Course) -> Result<(), Error> {
        match result {
            Err(Error::Stopped) if course.sample().len() >= LEAST_WINDOWS => {
                course.stopped = Some(u64::try_from(self.traffic.open()).unwrap_or(0));
                Ok(())
            }
            result => result,
        }
    }

    /// Another phase begins, which takes so many cycles.
    fn begin(&mut self, phase: Phase, least: Option<u64>, most: Option<u64>) {
        self.since = self.kernel.now();
        self.stage = Stage { phase, cycle: self.since, cycles: 0, least, most };
    }

    /// Until every terminal has done its batch; all of it is the sample.
    pub(super) fn batch(&mut self, spec: &MeasureSpec) -> Result<Course, Error> {
        let mut course = Course { settled: true, ..Course::default() };
        self.traffic.count_from(0);
        course.totals[0] = self.traffic.totals();
        course.channels[0] = self.kernel.channel_flits();
        self.begin(Phase::Batch, None, None);
        while self.traffic.batch_done().is_none() {
            self.window(spec.window, &mut course)?;
            let idle = self.kernel.is_settled() && self.traffic.is_exhausted();
            if idle && self.traffic.batch_done().is_none() {
                return Err(Error::Broken(
                    "the batch does not come to its end: nothing is under way".to_owned(),
                ));
            }
        }
        // the last window is as long as something happened in it
        if let (Some((_, done)), Some(last)) = (self.traffic.batch_done(), course.slices.last_mut()) {
            let start = last.end - last.cycles;
            last.end = last.end.min(done.max(start) + 1);
            last.cycles = last.end - start;
        }
        course.totals[1] = self.traffic.totals();
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
        let most_cycles = most.saturating_mul(spec.window);
        self.begin(Phase::WarmUp, spec.warm_up.map(|_| most_cycles), Some(most_cycles));
        let mut means = Vec::new();
        let mut left = most;
        while left > 0 {
            self.window(spec.window, course)?;
            left -= 1;
            if let Some(slice) = course.slices.last().filter(|slice| slice.packets > 0) {
                means.push(slice.latency as f64 / slice.packets as f64);
            }
            if spec.warm_up.is_none() && has_settled(&means) && !self.still_fills(course) {
                course.settled = true;
                break;
            }
            if left == 0 && spec.warm_up.is_none() && self.still_fills(course) {
                // at least as long as the ways take
                let wanted = WAYS_TO_FILL * (self.longest_way)();
                left = wanted.saturating_sub(self.kernel.now()).div_ceil(spec.window);
                self.stage.most = None;
            }
        }
        course.filled = !course.slices.is_empty() && !self.still_fills(course);
        course.warm_up = course.slices.len();
        Ok(())
    }

    /// Whether the network still fills.
    fn still_fills(&self, course: &Course) -> bool {
        let windows: Vec<(u64, u64)> =
            course.slices.iter().map(|slice| (slice.injected, slice.accepted)).collect();
        let lengths = self.traffic.plan().classes.iter().map(|class| class.mean_flits());
        still_fills(&windows, lengths.fold(1.0, f64::max))
    }

    fn sample(&mut self, spec: &MeasureSpec, course: &mut Course) -> Result<(), Error> {
        let cycles = |windows: u32| Some(u64::from(windows).saturating_mul(spec.window));
        self.begin(Phase::Sample, cycles(spec.windows), cycles(spec.most_windows));
        course.waits.push((0, self.traffic.waits(self.kernel.now())));
        for number in 1..=spec.most_windows {
            self.window(spec.window, course)?;
            // those of the beginning, of what may be about the middle, and of the end so far
            course.waits.retain(|&(at, _)| at == 0 || at.is_power_of_two() && at * 4 > number);
            course.waits.push((number, self.traffic.waits(self.kernel.now())));
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
        let batches = self.traffic.batches().into_iter().filter(|batch| batch.arrived > 0);
        batches.map(|batch| batch.latency as f64 / batch.arrived as f64).collect()
    }

    /// What the sample says about saturation. Packets that came into being and wait outside the network are
    /// counted with what was offered.
    fn evidence(&self, spec: &MeasureSpec, course: &Course) -> Evidence {
        let (batches, sample) = (course.whole(self.traffic.batches()), self.traffic.sample());
        let slices = course.sample();
        let mut offered: Vec<u64> =
            (0..slices.len()).map(|at| batches.get(at).map_or(0, |it| it.offered)).collect();
        let mut offered_of = self.traffic.offered_of();
        self.traffic.ahead(sample.end, |class, flits, created| {
            if created >= sample.start {
                let at = ((created - sample.start) / spec.window) as usize;
                offered[at.min(slices.len() - 1)] += u64::from(flits);
                offered_of[class as usize] += u64::from(flits);
            }
        });
        let [before, after] = &course.totals;
        let accepted_of =
            after.accepted_of.iter().zip(&before.accepted_of).map(|(after, before)| after - before);
        let classes = self.traffic.plan().classes.iter().zip(offered_of).zip(accepted_of);
        let classes = classes.filter(|((class, _), _)| class.purpose != Purpose::Probe);
        let late = late_part(slices, &offered, (self.longest_way)());
        let classes: Vec<_> = classes
            .map(|((class, offered), accepted)| ClassEvidence {
                name: class.name.clone(),
                offered: offered as f64,
                late: late * offered as f64,
                accepted: accepted as f64,
                length: class.mean_flits(),
            })
            .collect();
        let terminals = f64::from(self.traffic.plan().terminals);
        let missing = slices.iter().zip(&offered).map(|(slice, &offered)| {
            (offered as f64 - slice.accepted as f64) / (terminals * slice.cycles as f64)
        });
        let scale = terminals * slices.iter().map(|slice| slice.cycles).sum::<u64>().max(1) as f64;
        let senders = self.traffic.senders().max(1) as f64;
        let [injected, accepted] = [|slice: &Slice| slice.injected, |slice: &Slice| slice.accepted]
            .map(|of| slices.iter().map(of).sum::<u64>() as f64);
        let all_offered = offered.iter().sum::<u64>() as f64;
        Evidence {
            fills: !course.filled
                && 2.0 * (injected - accepted) > all_offered - accepted
                && self.traffic.sample().start < WAYS_TO_FILL * (self.longest_way)(),
            short: sample.end - sample.start < 2 * (self.longest_way)(),
            missing: missing.collect(),
            offered: all_offered / scale,
            waits: slices.iter().map(|slice| slice.waited as f64 / senders).collect(),
            window: spec.window as f64,
            classes,
        }
    }

    /// Whether terminals are stuck: if so in the sample, it goes on, traffic and all, and looks at them again and again. Who is
    /// overloaded falls behind for ever, and who is held up by chance catches up some time.
    fn watch_stuck(&mut self, spec: &MeasureSpec, course: &mut Course) -> Result<(), Error> {
        let Some(mut found) = stuck(&course.halves(spec.window)) else { return Ok(()) };
        if spec.drain == Some(0) {
            course.growth.get_or_insert_with(|| found.to_string());
            return Ok(());
        }
        let Range { start: from, end: until } = self.traffic.sample();
        let most = LOOKS_AGAIN_AFTER.iter().sum::<u64>() * (until - from);
        self.begin(Phase::Drain, None, Some(most));
        let mut later: Vec<(u64, Vec<u64>)> = Vec::new();
        for times in LOOKS_AGAIN_AFTER {
            let cycles = times * (until - from);
            self.run(cycles)?;
            later.push((cycles, self.traffic.waits(self.kernel.now())));
            let mut parts = course.halves(spec.window);
            for (cycles, after) in &later {
                let before = parts.last().map_or(after.as_slice(), |part| part.waits[1]);
                parts.push(Half { cycles: *cycles as f64, waits: [before, after] });
            }
            match stuck(&parts) {
                Some(still) => found = still,
                None => return Ok(()),
            }
        }
        course.saturation = Some(found.to_string());
        Ok(())
    }

    /// Goes on, traffic and all, until what came into being in the sample has arrived.
    fn drain(&mut self, spec: &MeasureSpec, course: &mut Course) -> Result<(), Error> {
        if spec.drain == Some(0) || course.saturation.is_some() && !spec.drain_when_saturated {
            return Ok(());
        }
        let Range { start: from, end: until } = self.traffic.sample();
        let start = until;
        // a sample that is short beside the ways says nothing of packets that are still on them
        let usual = || (10 * (until - from)).max(WAYS_TO_FILL * (self.longest_way)());
        let most = spec.drain.unwrap_or_else(usual);
        let step = (spec.window / 16).max(16);
        self.begin(Phase::Drain, None, Some(most));
        while self.traffic.open() > 0 || !self.traffic.has_given_all_before(until) {
            if self.kernel.now() - start >= most {
                if !course.early && !course.short {
                    let reason = format!("packets of the sample had not arrived {most} cycles after it");
                    course.saturation.get_or_insert(reason);
                }
                break;
            }
            self.run(step.min(start + most - self.kernel.now()))?;
        }
        course.drain_cycles = self.kernel.now() - start;
        Ok(())
    }

    /// Stops the sources and lets the network run empty: every flit that entered must come out.
    fn empty(&mut self, course: &mut Course) -> Result<(), Error> {
        self.traffic.close();
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
        course.violations.append(&mut self.kernel.violations());
        let [injected, accepted, ..] = self.traffic.sums();
        let given = self.traffic.given();
        if injected != accepted || given != injected {
            course.violations.push(format!(
                "{given} flits were given to the network, {injected} entered and {accepted} arrived"
            ));
        }
        Ok(())
    }

    /// A window of time, and what happened in it; one that is cut short by a stop belongs to the one before.
    fn window(&mut self, cycles: u64, course: &mut Course) -> Result<(), Error> {
        let (before, start) = (self.traffic.sums(), self.kernel.now());
        let ran = self.run(cycles);
        let after = self.traffic.sums();
        let end = self.kernel.now();
        let slice = Slice {
            end,
            cycles: end - start,
            injected: after[0] - before[0],
            accepted: after[1] - before[1],
            packets: after[2] - before[2],
            latency: after[3] - before[3],
            waited: self.traffic.waited(end),
        };
        match course.slices.last_mut() {
            _ if ran.is_ok() => course.slices.push(slice),
            Some(last) => last.go_on(&slice),
            None => {}
        }
        ran
    }

    /// So many cycles, with a look at the clock now and then.
    fn run(&mut self, cycles: u64) -> Result<(), Error> {
        let until = self.kernel.now() + cycles;
        let stride = (STRIDE / u64::from(self.traffic.plan().terminals.max(1))).max(16);
        while self.kernel.now() < until {
            if self.watch.wants_stop() {
                return Err(Error::Stopped);
            }
            self.go(until.min(self.kernel.now() + stride))?;
            let cycle = self.kernel.now();
            self.stage = Stage { cycle, cycles: cycle - self.since, ..self.stage };
            self.watch.at(&self.stage);
        }
        Ok(())
    }

    fn go(&mut self, until: u64) -> Result<(), Error> {
        self.kernel.advance(until, self.traffic);
        if self.kernel.in_flight() > 0 && self.kernel.now() - self.kernel.last_progress() > self.patience {
            return Err(Error::Broken((self.explain)(self.kernel)));
        }
        Ok(())
    }
}

/// The part of what was offered in a sample that came into being so few cycles before its end that it cannot all have arrived:
/// bursts may hold much of it.
fn late_part(slices: &[Slice], offered: &[u64], cycles: u64) -> f64 {
    let mut left = cycles;
    let mut late = 0.0;
    for (slice, &offered) in slices.iter().zip(offered).rev() {
        let own = left.min(slice.cycles);
        late += offered as f64 * own as f64 / slice.cycles.max(1) as f64;
        left -= own;
    }
    late / (offered.iter().sum::<u64>() as f64).max(1.0)
}
