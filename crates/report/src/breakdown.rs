//! Where each rank's time went, counted while the run goes on.
//!
//! A moment belongs to the first of: compute, memory access, communication, idle. The lengths of three
//! unions of intervals give all four: of compute (C), of compute and memory (C ∪ M), and of everything
//! (C ∪ M ∪ X); then memory is |C ∪ M| - |C| and exposed communication |C ∪ M ∪ X| - |C ∪ M|.

use stratasim_core::observe::{Activity, Event, Interests, Observer, TaskSpan};
use stratasim_core::{Duration, Time};

use crate::result::{Iteration, RankResult};

/// Sums up what ranks did. Keeps the gaps between busy times, not the tasks.
#[derive(Debug, Clone, Default)]
pub struct Breakdown {
    ranks: Vec<Unions>,
    /// First start and last end of each iteration.
    iterations: Vec<Option<(Time, Time)>>,
    makespan: Time,
}

/// The three unions of one rank, and when it ended its last task.
#[derive(Debug, Clone, Default)]
struct Unions {
    /// Of compute; of compute and memory; of everything.
    of: [Union; 3],
    finish: Time,
}

impl Breakdown {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a task.
    #[inline]
    pub fn add(&mut self, task: &TaskSpan) {
        let rank = task.rank.index();
        if rank >= self.ranks.len() {
            self.ranks.resize_with(rank + 1, Unions::default);
        }
        let unions = &mut self.ranks[rank];
        unions.finish = unions.finish.max(task.end);
        self.makespan = self.makespan.max(task.end);
        let first = match task.activity {
            Activity::Compute => 0,
            Activity::Memory => 1,
            Activity::Communication => 2,
        };
        for union in &mut unions.of[first..] {
            union.add(task.start, task.end);
        }
        let iteration = task.iteration as usize;
        if iteration >= self.iterations.len() {
            self.iterations.resize(iteration + 1, None);
        }
        let (start, end) = self.iterations[iteration].get_or_insert((task.start, task.end));
        *start = (*start).min(task.start);
        *end = (*end).max(task.end);
    }

    /// End of the last task.
    pub const fn makespan(&self) -> Time {
        self.makespan
    }

    /// The times of ranks `0 .. ranks`; a rank that did nothing was idle until `makespan`.
    pub fn ranks(&self, ranks: u32, makespan: Time) -> Vec<RankResult> {
        let nothing = Unions::default();
        (0..ranks as usize)
            .map(|rank| {
                let unions = self.ranks.get(rank).unwrap_or(&nothing);
                let [compute, memory, all] = [0, 1, 2].map(|at| unions.of[at].length());
                RankResult {
                    finish_s: unions.finish.as_secs_f64(),
                    compute_s: compute.as_secs_f64(),
                    memory_s: (memory - compute).as_secs_f64(),
                    comm_exposed_s: (all - memory).as_secs_f64(),
                    idle_s: makespan.saturating_since(Time::ZERO + all).as_secs_f64(),
                }
            })
            .collect()
    }

    /// When each iteration ran; iterations without a task are left out.
    pub fn iterations(&self) -> Vec<Iteration> {
        let ran = self.iterations.iter().flatten();
        ran.map(|(start, end)| Iteration { start_s: start.as_secs_f64(), end_s: end.as_secs_f64() }).collect()
    }
}

impl Observer for Breakdown {
    fn interests(&self) -> Interests {
        Interests { tasks: true, ..Interests::default() }
    }

    #[inline]
    fn on_event(&mut self, event: &Event) {
        if let Event::Task(task) = event {
            self.add(task);
        }
    }
}

/// A union of intervals, as disjoint ones in ascending order.
#[derive(Debug, Clone, Default)]
struct Union {
    intervals: Vec<(Time, Time)>,
}

impl Union {
    #[inline]
    fn add(&mut self, start: Time, end: Time) {
        match self.intervals.last_mut() {
            // tasks come in the order of their ends, so nearly all are new or prolong the last
            Some(last) if start > last.1 => self.intervals.push((start, end)),
            Some(last) if start >= last.0 => last.1 = last.1.max(end),
            Some(_) => self.insert(start, end),
            None => self.intervals.push((start, end)),
        }
    }

    /// Merges an interval that begins before the last one.
    #[cold]
    fn insert(&mut self, start: Time, end: Time) {
        let first = self.intervals.partition_point(|&(_, e)| e < start);
        let after = self.intervals.partition_point(|&(s, _)| s <= end);
        let mut merged = (start, end);
        for &(s, e) in &self.intervals[first..after] {
            merged = (merged.0.min(s), merged.1.max(e));
        }
        self.intervals.splice(first..after, [merged]);
    }

    fn length(&self) -> Duration {
        self.intervals.iter().map(|&(start, end)| end - start).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stratasim_core::Rank;

    use super::*;

    fn task(activity: Activity, start: u64, end: u64, iteration: u32) -> TaskSpan {
        let (start, end) = (Time::from_ps(start), Time::from_ps(end));
        TaskSpan { rank: Rank(1), stream: 0, vertex: 0, iteration, activity, start, end, bytes: 0 }
    }

    #[test]
    fn a_moment_counts_once_for_the_most_useful_thing() {
        let mut breakdown = Breakdown::new();
        // compute 0-10, memory 5-20, communication 8-30 and 40-50
        for span in [
            task(Activity::Compute, 0, 10, 0),
            task(Activity::Memory, 5, 20, 0),
            task(Activity::Communication, 8, 30, 0),
            task(Activity::Communication, 40, 50, 1),
        ] {
            breakdown.on_event(&Event::Task(span));
        }
        let ps = |ps: u64| Duration::from_ps(ps).as_secs_f64();
        let ranks = breakdown.ranks(2, Time::from_ps(60));
        assert_eq!(ranks[0], RankResult { idle_s: ps(60), ..RankResult::default() });
        assert_eq!(
            ranks[1],
            RankResult {
                finish_s: ps(50),
                compute_s: ps(10),
                memory_s: ps(10),
                comm_exposed_s: ps(20),
                idle_s: ps(20)
            }
        );
        assert_eq!(breakdown.makespan(), Time::from_ps(50));
        assert_eq!(breakdown.iterations()[1], Iteration { start_s: ps(40), end_s: ps(50) });
    }

    proptest! {
        #[test]
        fn the_parts_are_what_counting_each_picosecond_gives(
            spans in prop::collection::vec((0_usize..3, 0_u64..200, 0_u64..40), 0..60),
            in_order in any::<bool>(),
        ) {
            let mut tasks: Vec<TaskSpan> = spans
                .iter()
                .map(|&(kind, start, length)| task(crate::columns::ACTIVITIES[kind], start, start + length, 0))
                .collect();
            if in_order {
                tasks.sort_by_key(|task| task.end);
            }
            let mut breakdown = Breakdown::new();
            tasks.iter().for_each(|task| breakdown.add(task));

            let mut parts = [0_u64; 4];
            for ps in 0..300 {
                let now = |task: &&TaskSpan| task.start.as_ps() <= ps && ps < task.end.as_ps();
                let first = tasks.iter().filter(now).map(|task| task.activity as usize).min();
                parts[first.unwrap_or(3)] += 1;
            }
            let [compute_s, memory_s, comm_exposed_s, idle_s] = parts.map(|ps| Duration::from_ps(ps).as_secs_f64());
            let rank = breakdown.ranks(2, Time::from_ps(300))[1];
            prop_assert_eq!(
                (rank.compute_s, rank.memory_s, rank.comm_exposed_s, rank.idle_s),
                (compute_s, memory_s, comm_exposed_s, idle_s)
            );
        }
    }
}
