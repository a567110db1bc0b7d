//! Where the time of each rank goes.

use stratasim_core::observe::Activity;
use stratasim_core::{Duration, Time};

/// How a rank spent a run. The four lengths add up to the makespan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankAccount {
    /// When its last task ended.
    pub finish: Time,
    /// At least one computation ran.
    pub compute: Duration,
    /// No computation ran, but memory was accessed.
    pub memory: Duration,
    /// Neither, but a message or collective was under way: exposed communication.
    pub communication: Duration,
    /// Nothing ran.
    pub idle: Duration,
}

/// The account in the making.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    last: Time,
    /// Running parts by activity.
    running: [u32; 3],
    /// Picoseconds spent, by [`Clock::state`].
    spent: [u64; 4],
    finish: Time,
}

impl Clock {
    /// What the rank is doing: 0 compute, 1 memory, 2 communication, 3 nothing.
    #[inline]
    fn state(&self) -> usize {
        if self.running[0] > 0 {
            0
        } else if self.running[1] > 0 {
            1
        } else if self.running[2] > 0 {
            2
        } else {
            3
        }
    }

    /// Counts the time since the last call; how much of it was exposed communication.
    #[inline]
    fn pass(&mut self, now: Time) -> u64 {
        let (state, passed) = (self.state(), now.as_ps() - self.last.as_ps());
        self.spent[state] += passed;
        self.last = now;
        if state == Activity::Communication as usize { passed } else { 0 }
    }

    /// Something begins; returns the picoseconds of exposed communication since something last began or ended.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time, activity: Activity) -> u64 {
        let exposed_ps = self.pass(now);
        self.running[activity as usize] += 1;
        exposed_ps
    }

    /// The same of something that ends.
    #[inline]
    pub(crate) fn end(&mut self, now: Time, activity: Activity) -> u64 {
        let exposed_ps = self.pass(now);
        self.running[activity as usize] -= 1;
        self.finish = now;
        exposed_ps
    }

    /// The account at the end of the run.
    pub(crate) fn close(mut self, end: Time) -> RankAccount {
        self.pass(end);
        let [compute, memory, communication, idle] = self.spent.map(Duration::from_ps);
        RankAccount { finish: self.finish, compute, memory, communication, idle }
    }
}

/// The account of a rank that only computes and communicates, in half a line of the cache: schedules
/// have millions of ranks.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
pub(crate) struct SmallClock {
    last: u64,
    compute: u64,
    communication: u64,
    /// Running computations, and messages under way.
    running: [u32; 2],
}

impl SmallClock {
    #[inline]
    fn pass(&mut self, now: Time) {
        let passed = now.as_ps() - self.last;
        if self.running[0] > 0 {
            self.compute += passed;
        } else if self.running[1] > 0 {
            self.communication += passed;
        }
        self.last = now.as_ps();
    }

    #[inline]
    fn index(activity: Activity) -> usize {
        usize::from(activity != Activity::Compute)
    }

    #[inline]
    pub(crate) fn begin(&mut self, now: Time, activity: Activity) {
        self.pass(now);
        self.running[Self::index(activity)] += 1;
    }

    #[inline]
    pub(crate) fn end(&mut self, now: Time, activity: Activity) {
        self.pass(now);
        self.running[Self::index(activity)] -= 1;
    }

    /// The account at the end of the run. The last thing that a rank does is to end something.
    pub(crate) fn close(mut self, end: Time) -> RankAccount {
        let finish = Time::from_ps(self.last);
        self.pass(end);
        let [compute, communication] = [self.compute, self.communication].map(Duration::from_ps);
        let idle = Duration::from_ps(end.as_ps() - self.compute - self.communication);
        RankAccount { finish, compute, memory: Duration::ZERO, communication, idle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_clock_tells_the_same() {
        let at = Time::from_ps;
        let (mut small, mut clock) = (SmallClock::default(), Clock::default());
        for (now, activity, begins) in [
            (5, Activity::Communication, true),
            (10, Activity::Compute, true),
            (15, Activity::Compute, true),
            (20, Activity::Compute, false),
            (30, Activity::Communication, false),
            (35, Activity::Communication, true),
            (40, Activity::Compute, false),
            (50, Activity::Communication, false),
        ] {
            if begins {
                small.begin(at(now), activity);
                clock.begin(at(now), activity);
            } else {
                small.end(at(now), activity);
                clock.end(at(now), activity);
            }
        }
        assert_eq!(small.close(at(60)), clock.close(at(60)));
    }

    #[test]
    fn overlapping_activities_count_once_by_rank_of_importance() {
        let at = Time::from_ps;
        let mut clock = Clock::default();
        clock.begin(at(10), Activity::Communication);
        clock.begin(at(20), Activity::Memory);
        clock.begin(at(30), Activity::Compute);
        clock.end(at(50), Activity::Compute);
        clock.end(at(60), Activity::Memory);
        clock.end(at(100), Activity::Communication);
        let account = clock.close(at(110));
        let lengths = [account.compute, account.memory, account.communication, account.idle];
        assert_eq!(lengths.map(Duration::as_ps), [20, 20, 50, 20]);
        assert_eq!(account.finish, at(100));
    }
}
