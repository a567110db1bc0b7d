//! The work list of one stage of one router.

use std::collections::VecDeque;

use crate::flit::router::Stages;

const NOT_YET: u64 = u64::MAX;

/// Items in the order in which they are served, each with the step in which its stage ends.
///
/// With [`Stages::Batches`] the stage takes in everything that is there when it has nothing to do, and
/// nothing more until all of that has ended. With [`Stages::Pipelined`] it takes in everything at once. A
/// stage of one step does the same either way.
#[derive(Debug)]
pub(super) struct Stage<T> {
    delay: u64,
    stages: Stages,
    items: VecDeque<(u64, T)>,
    /// Items at the front that have begun.
    begun: usize,
}

impl<T: Copy> Stage<T> {
    pub(super) fn new(delay: u16, stages: Stages) -> Self {
        Self { delay: delay.into(), stages, items: VecDeque::new(), begun: 0 }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// At the end of the list; its time begins when the stage takes it in.
    #[inline]
    pub(super) fn push(&mut self, item: T) {
        self.items.push_back((NOT_YET, item));
    }

    /// Like `push`, but in a pipeline the time began in step `since`.
    #[inline]
    pub(super) fn push_since(&mut self, item: T, since: u64) {
        let end = match self.stages {
            Stages::Batches => NOT_YET,
            Stages::Pipelined => since + self.delay - 1,
        };
        self.items.push_back((end, item));
    }

    /// An item that got nothing, at the end of the list: a batch goes through all of the stage again, in a
    /// pipeline only the last step is repeated.
    #[inline]
    pub(super) fn push_again(&mut self, item: T, step: u64) {
        let end = match self.stages {
            Stages::Batches => NOT_YET,
            Stages::Pipelined => step,
        };
        self.items.push_back((end, item));
    }

    /// Takes in what the stage has room for. What is decided in this step is visited by `decided`.
    pub(super) fn begin(&mut self, step: u64) -> Decided {
        match self.stages {
            Stages::Batches => {
                let idle = self.begun == 0 && !self.items.is_empty();
                if idle {
                    self.items.iter_mut().for_each(|(end, _)| *end = step + self.delay - 1);
                    self.begun = self.items.len();
                }
                if idle { Decided::All } else { Decided::Nothing }
            }
            Stages::Pipelined => {
                for (end, _) in self.items.iter_mut().filter(|(end, _)| *end == NOT_YET) {
                    *end = step + self.delay - 1;
                }
                self.begun = self.items.len();
                Decided::Ended(step)
            }
        }
    }

    /// The items that are decided in this step, in order.
    #[inline]
    pub(super) fn decided(&mut self, decided: Decided) -> impl Iterator<Item = &mut T> {
        let count = if decided == Decided::Nothing { 0 } else { self.begun };
        let ended = self.items.iter_mut().take(count);
        ended.filter(move |(end, _)| decided.includes(*end)).map(|(_, item)| item)
    }

    /// The items whose stage ends in this step, in order.
    pub(super) fn ending(&mut self, step: u64) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut().take(self.begun).filter(move |(end, _)| *end <= step).map(|(_, item)| item)
    }

    /// How many items to take with `take` in this step.
    #[inline]
    pub(super) fn count(&mut self, step: u64) -> usize {
        let waits = self.stages == Stages::Batches && self.items.front().is_some_and(|&(end, _)| end > step);
        if waits { 0 } else { std::mem::take(&mut self.begun) }
    }

    /// The next item if its stage ends in this step; in a pipeline the others go around.
    #[inline]
    pub(super) fn take(&mut self, step: u64) -> Option<T> {
        let (end, item) = self.items.pop_front()?;
        if end > step {
            self.items.push_back((end, item));
            return None;
        }
        Some(item)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|(_, item)| item)
    }
}

/// What a stage decides in a step: everything it has just taken in, or what has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decided {
    /// A batch has begun: all of it.
    All,
    /// A batch is under way.
    Nothing,
    /// Of a pipeline, what ends in this step or was left over from one before.
    Ended(u64),
}

impl Decided {
    fn includes(self, end: u64) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Ended(step) => end <= step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps in which items pushed in `pushed` end.
    fn ends(delay: u16, stages: Stages, pushed: &[u64]) -> Vec<u64> {
        let mut stage = Stage::new(delay, stages);
        let mut ends = vec![0; pushed.len()];
        for step in 0..100 {
            for (item, _) in pushed.iter().enumerate().filter(|&(_, &at)| at == step) {
                stage.push(item);
            }
            stage.begin(step);
            for _ in 0..stage.count(step) {
                if let Some(item) = stage.take(step) {
                    ends[item] = step;
                }
            }
        }
        assert!(stage.is_empty());
        ends
    }

    #[test]
    fn a_pipeline_takes_in_every_step_and_a_batch_only_when_idle() {
        let pushed = [0, 1, 2, 2, 9];
        for stages in [Stages::Pipelined, Stages::Batches] {
            assert_eq!(ends(1, stages, &pushed), pushed);
        }
        assert_eq!(ends(3, Stages::Pipelined, &pushed), [2, 3, 4, 4, 11]);
        assert_eq!(ends(3, Stages::Batches, &pushed), [2, 5, 5, 5, 11]);
    }
}
