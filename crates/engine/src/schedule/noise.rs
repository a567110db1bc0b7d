//! Noise: what the system takes from streams.
//!
//! A detour stops whatever a stream does for a while. Detours of a rank are a fixed sequence in time,
//! whatever the program does; a piece of work ends when as much time as it needs has passed outside of
//! them (Hoefler, Schneider and Lumsdaine, "Characterizing the influence of system noise on large-scale
//! applications by simulation", 2010).

use rand::RngExt as _;
use stratasim_core::random::Streams;
use stratasim_core::{Duration, Time};

/// One detour: from when, how long, both in picoseconds.
type Detour = (u64, u64);

/// Where detours come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A recorded sequence that repeats; each rank begins at another place of it, or all at the same
    /// place.
    Trace {
        /// (start, length) of each detour in picoseconds, ascending and disjoint.
        detours: Vec<Detour>,
        /// Length of the whole record in picoseconds.
        period_ps: u64,
        /// Whether all ranks begin at the same place (co-scheduled noise).
        together: bool,
    },
    /// Detours at random: gaps between them and their lengths are distributed exponentially.
    Random {
        /// Mean time from the end of one to the start of the next, in picoseconds.
        every_ps: f64,
        /// Mean length, in picoseconds.
        length_ps: f64,
    },
}

/// The detours of every rank.
#[derive(Debug)]
pub struct Noise {
    source: Source,
    /// Time of a trace's period that its detours leave, in picoseconds.
    free_ps: u64,
    streams: Streams,
    ranks: Vec<State>,
}

/// Where a rank is in its sequence.
#[derive(Debug, Clone)]
enum State {
    /// It has not done anything yet.
    New,
    /// Offset into the trace.
    Trace(u64),
    /// The detours from the current one on, as far as they were drawn.
    Random(Box<Drawn>),
}

#[derive(Debug, Clone)]
struct Drawn {
    random: stratasim_core::random::Stream,
    detours: Vec<Detour>,
}

impl Noise {
    /// Noise for `ranks` ranks; offsets and random numbers come from `streams`.
    pub fn new(source: Source, ranks: u32, streams: Streams) -> Self {
        let free_ps = match &source {
            Source::Trace { detours, period_ps, .. } => left_by(detours, *period_ps),
            Source::Random { .. } => 0,
        };
        Self { source, free_ps, streams, ranks: vec![State::New; ranks as usize] }
    }

    /// The same noise from the beginning.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self::new(self.source.clone(), self.ranks.len() as u32, self.streams)
    }

    /// How long `work` that begins at `now` takes on `rank` with the detours that it meets.
    pub fn stretch(&mut self, rank: u32, now: Time, work: Duration) -> Duration {
        let Self { source, free_ps, streams, ranks } = self;
        let state = &mut ranks[rank as usize];
        if let State::New = state {
            *state = match source {
                Source::Trace { period_ps, together, .. } => {
                    let of = if *together { 0 } else { u64::from(rank) };
                    State::Trace(streams.indexed("noise", of).random_range(0..(*period_ps).max(1)))
                }
                Source::Random { .. } => State::Random(Box::new(Drawn {
                    random: streams.indexed("noise", u64::from(rank)),
                    detours: Vec::new(),
                })),
            };
        }
        let (from, work) = (now.as_ps(), work.as_ps());
        let end = match (source, state) {
            (Source::Trace { detours, period_ps, .. }, State::Trace(offset)) => {
                through_trace(detours, [*period_ps, *free_ps], *offset, from, work)
            }
            (Source::Random { every_ps, length_ps }, State::Random(drawn)) => {
                drawn.through(from, work, [*every_ps, *length_ps])
            }
            _ => unreachable!("a state is that of its source"),
        };
        Duration::from_ps(end - from)
    }
}

/// What detours leave of a period.
fn left_by(detours: &[Detour], period: u64) -> u64 {
    detours.iter().fold(period, |left, (_, length)| left.saturating_sub(*length))
}

/// When `work` that begins at `from` ends, in a trace that repeats and leaves `free` of each period;
/// never, where it leaves nothing.
fn through_trace(detours: &[Detour], [period, free]: [u64; 2], offset: u64, from: u64, work: u64) -> u64 {
    if detours.is_empty() || period == 0 {
        return from.saturating_add(work);
    }
    if free == 0 {
        return u64::MAX;
    }
    // whole periods at once; the last part is looked at in detail
    let whole = work.saturating_sub(1) / free;
    let Some(mut at) = whole.checked_mul(period).and_then(|long| from.checked_add(long)) else {
        return u64::MAX;
    };
    let mut left = work - whole * free;
    loop {
        let place = at.wrapping_add(offset) % period;
        let next = detours.partition_point(|&(start, length)| start + length <= place);
        // time to the next detour, and its length; after the last one the record begins again
        let (free, lost) = match detours.get(next) {
            Some(&(start, length)) if start <= place => (0, start + length - place),
            Some(&(start, length)) => (start - place, length),
            None => (period - place, 0),
        };
        if left <= free {
            return at.saturating_add(left);
        }
        left -= free;
        let Some(then) = at.checked_add(free + lost) else { return u64::MAX };
        at = then;
    }
}

impl Drawn {
    fn through(&mut self, from: u64, work: u64, [every, length]: [f64; 2]) -> u64 {
        let mut exponential = |mean: f64| -> u64 {
            let uniform: f64 = self.random.random();
            (-(1.0 - uniform).ln() * mean).round() as u64
        };
        let (mut at, mut left) = (from, work);
        let mut place = self.detours.partition_point(|&(start, length)| start.saturating_add(length) <= from);
        loop {
            if place == self.detours.len() {
                let before = self.detours.last().map_or(0, |&(start, length)| start.saturating_add(length));
                let start = before.saturating_add(exponential(every).max(1));
                self.detours.push((start, exponential(length)));
            }
            let (start, length) = self.detours[place];
            let end = start.saturating_add(length);
            let free = start.saturating_sub(at);
            if left <= free || end == u64::MAX {
                break;
            }
            left -= free;
            at = at.max(end);
            place += 1;
        }
        // streams of a rank begin at about the same time: what lies far back is never asked for again
        const KEPT: usize = 256;
        let old = self.detours.partition_point(|&(start, length)| start.saturating_add(length) <= from);
        if old > KEPT {
            self.detours.drain(..old - 1);
        }
        at.saturating_add(left)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_trace_delays_work_by_the_detours_that_it_meets() {
        let detours = [(10, 5), (20, 10)];
        // period 40: free 0..10, 15..20, 30..40
        let end = |from, work| through_trace(&detours, [40, 25], 0, from, work);
        assert_eq!(end(0, 10), 10);
        assert_eq!(end(0, 11), 16);
        assert_eq!(end(12, 1), 16);
        assert_eq!(end(15, 5), 20);
        assert_eq!(end(0, 16), 31);
        assert_eq!(end(0, 26), 41, "the record begins again");
        assert_eq!(end(35, 25), 75, "35..40, 40..50, 55..60 and 70..75");
    }

    /// As many picoseconds outside of detours as the work needs, one by one.
    fn one_by_one(detours: &[Detour], period: u64, offset: u64, from: u64, work: u64) -> u64 {
        let busy = |at: u64| {
            let place = (at + offset) % period;
            detours.iter().any(|&(start, length)| (start..start + length).contains(&place))
        };
        let (mut at, mut left) = (from, work);
        while left > 0 {
            left -= u64::from(!busy(at));
            at += 1;
        }
        at
    }

    proptest! {
        #[test]
        fn a_trace_gives_what_counting_picoseconds_gives(
            parts in prop::collection::vec((0..9_u64, 0..9_u64), 1..8),
            rest in 1..9_u64,
            (offset, from, work) in (0..200_u64, 0..200_u64, 1..300_u64),
        ) {
            let mut detours = Vec::new();
            let mut at = 0;
            for (free, length) in parts {
                detours.push((at + free, length));
                at += free + length;
            }
            let period = at + rest;
            let free = left_by(&detours, period);
            let offset = offset % period;
            let end = through_trace(&detours, [period, free], offset, from, work);
            prop_assert_eq!(end, one_by_one(&detours, period, offset, from, work));
        }

        #[test]
        fn work_in_two_parts_ends_when_it_does_in_one(
            pieces in prop::collection::vec((0..5_000_u64, 1..9_000_u64, 1..9_000_u64), 1..60),
            seed in any::<u64>(),
            record in any::<bool>(),
        ) {
            let source = match record {
                true => Source::Trace { detours: vec![(100, 40), (700, 250)], period_ps: 1000, together: false },
                false => Source::Random { every_ps: 800.0, length_ps: 150.0 },
            };
            let mut noise = Noise::new(source.clone(), 4, Streams::new(seed));
            let mut again = Noise::new(source, 4, Streams::new(seed));
            let mut now = Time::ZERO;
            for (pause, first, second) in pieces {
                now += Duration::from_ps(pause);
                let whole = now + noise.stretch(3, now, Duration::from_ps(first + second));
                let middle = now + again.stretch(3, now, Duration::from_ps(first));
                let end = middle + again.stretch(3, middle, Duration::from_ps(second));
                prop_assert_eq!(whole, end);
                prop_assert!(whole >= now + Duration::from_ps(first + second));
                now = end;
            }
        }
    }

    #[test]
    fn a_trace_that_leaves_nothing_or_next_to_nothing_is_no_endless_loop() {
        assert_eq!(through_trace(&[(0, 10)], [10, 0], 3, 5, 1), u64::MAX);
        let (detours, second) = ([(1, 999_999_999_999)], 1_000_000_000_000);
        assert_eq!(through_trace(&detours, [second, 1], 0, 0, 1_000_000), 999_999 * second + 1);
        assert_eq!(through_trace(&detours, [second, 1], 0, 0, u64::MAX), u64::MAX);
    }

    #[test]
    fn ranks_have_offsets_of_their_own_unless_they_are_together() {
        let ends = |together| {
            let source = Source::Trace { detours: vec![(0, 500_000)], period_ps: 10_000_000, together };
            let mut noise = Noise::new(source, 40, Streams::new(3));
            let mut end = |rank| noise.stretch(rank, Time::ZERO, Duration::from_ps(5_000_000)).as_ps();
            (0..40).map(&mut end).collect::<Vec<_>>()
        };
        let (apart, together) = (ends(false), ends(true));
        assert!(together.iter().all(|end| *end == together[0]));
        let hit = apart.iter().filter(|end| **end > 5_000_000).count();
        assert!((10..=32).contains(&hit), "a bit more than half of them meet it: {hit}");
    }

    #[test]
    fn random_detours_take_their_share_in_the_long_run() {
        let source = Source::Random { every_ps: 9_000.0, length_ps: 1_000.0 };
        let mut noise = Noise::new(source, 2, Streams::new(7));
        let (mut now, mut work) = (Time::ZERO, 0);
        for _ in 0..20_000 {
            now += noise.stretch(1, now, Duration::from_ps(5_000));
            work += 5_000;
        }
        let share = 1.0 - work as f64 / now.as_ps() as f64;
        assert!((share - 0.1).abs() < 0.005, "{share}");
    }

    #[test]
    fn the_same_seed_gives_the_same_noise_whatever_else_runs() {
        let source = Source::Random { every_ps: 500.0, length_ps: 100.0 };
        let run = |others: bool| {
            let mut noise = Noise::new(source.clone(), 3, Streams::new(1));
            let mut now = Time::ZERO;
            for _ in 0..50 {
                if others {
                    noise.stretch(0, now, Duration::from_ps(77));
                }
                now += noise.stretch(2, now, Duration::from_ps(300));
            }
            now
        };
        assert_eq!(run(false), run(true));
    }
}
