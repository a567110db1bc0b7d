//! How many steps routers take in each cycle.

use std::ops::Range;

/// Counts steps. What is left of one at the end of a cycle is carried to the next, as a floating-point number: that is how
/// BookSim2 counts, and so where it rounds.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    per_cycle: f64,
    /// The part of a step that is left at the beginning of `cycle`.
    left: f64,
    cycle: u64,
    /// Steps before `cycle`.
    taken: u64,
}

impl Steps {
    pub(super) fn new(per_cycle: f64) -> Self {
        Self { per_cycle, left: 0.0, cycle: 0, taken: 0 }
    }

    /// The numbers of the steps of cycle `now`, counted from the beginning of the run. Cycles are asked for in order.
    pub(super) fn of_cycle(&mut self, now: u64) -> Range<u64> {
        self.pass(now - self.cycle);
        let first = self.taken;
        self.pass(1);
        first..self.taken
    }

    fn pass(&mut self, cycles: u64) {
        // sums of such numbers are exact, however they are formed
        let is_exact = (self.per_cycle * f64::from(1 << 16)).fract() == 0.0;
        if is_exact && cycles < 1 << 32 {
            self.count(self.left + cycles as f64 * self.per_cycle);
        } else {
            (0..cycles).for_each(|_| self.count(self.left + self.per_cycle));
        }
        self.cycle += cycles;
    }

    /// Takes the whole steps of a sum.
    fn count(&mut self, sum: f64) {
        self.taken += sum as u64;
        self.left = sum.fract();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(per_cycle: f64, cycles: u64) -> Vec<u64> {
        let mut steps = Steps::new(per_cycle);
        (0..cycles).map(|now| steps.of_cycle(now)).map(|steps| steps.end - steps.start).collect()
    }

    #[test]
    fn what_is_left_of_a_step_is_carried_over() {
        assert_eq!(counts(1.0, 3), [1, 1, 1]);
        assert_eq!(counts(1.5, 4), [1, 2, 1, 2]);
        assert_eq!(counts(2.2, 5), [2, 2, 2, 2, 3]);
        // five fifths, each rounded, are less than one
        assert_eq!(counts(1.2, 6), [1, 1, 1, 1, 1, 2]);
    }

    #[test]
    fn cycles_may_be_skipped() {
        for per_cycle in [1.0, 1.25, 1.3, 2.7] {
            let mut every = Steps::new(per_cycle);
            let mut some = Steps::new(per_cycle);
            for now in 0..1000 {
                let steps = every.of_cycle(now);
                if now % 7 == 3 {
                    assert_eq!(some.of_cycle(now), steps, "{per_cycle} {now}");
                }
            }
        }
    }
}
