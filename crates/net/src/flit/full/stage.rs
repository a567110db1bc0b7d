//! The work list of one stage of one router.

use crate::flit::router::Stages;

const NOT_YET: u64 = u64::MAX;

/// Items in the order in which they are served, each with the time at which its stage ends.
///
/// With [`Stages::Batches`] the stage takes in everything that is there when it has nothing to do, and
/// nothing more until all of that has ended. Its time is that of channels: cycles, however many steps they have. With
/// [`Stages::Pipelined`] it takes in everything at once, and its time are steps. A stage of one step or cycle does the same
/// either way.
#[derive(Debug)]
pub(super) struct Stage<T> {
    delay: u64,
    stages: Stages,
    /// Items that the stage has taken in.
    items: Vec<(u64, T)>,
    /// Those behind them.
    behind: Vec<(u64, T)>,
}

impl<T: Copy> Stage<T> {
    pub(super) fn new(delay: u16, stages: Stages) -> Self {
        Self { delay: delay.into(), stages, items: Vec::new(), behind: Vec::new() }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.behind.is_empty()
    }

    /// At the end of the list; its time begins when the stage takes it in.
    #[inline]
    pub(super) fn push(&mut self, item: T) {
        self.behind.push((NOT_YET, item));
    }

    /// Like `push`, but in a pipeline its stage began at time `since`.
    #[inline]
    pub(super) fn push_since(&mut self, item: T, since: u64) {
        let end = match self.stages {
            Stages::Batches => NOT_YET,
            Stages::Pipelined => since + self.delay - 1,
        };
        self.behind.push((end, item));
    }

    /// An item that got nothing, at the end of the list: a batch goes through all of the stage again, in a
    /// pipeline only the last step is repeated.
    #[inline]
    pub(super) fn push_again(&mut self, item: T, time: u64) {
        let end = match self.stages {
            Stages::Batches => NOT_YET,
            Stages::Pipelined => time,
        };
        self.behind.push((end, item));
    }

    /// Takes in what the stage has room for. What is decided in this step is visited by `decided`.
    pub(super) fn begin(&mut self, time: u64) -> Decided {
        if !self.items.is_empty() {
            // A batch is under way; pipelines leave nothing behind.
            return Decided::Nothing;
        }
        std::mem::swap(&mut self.items, &mut self.behind);
        let end = time + self.delay - 1;
        match self.stages {
            Stages::Batches => {
                self.items.iter_mut().for_each(|item| item.0 = end);
                Decided::All
            }
            Stages::Pipelined => {
                self.items.iter_mut().filter(|item| item.0 == NOT_YET).for_each(|item| item.0 = end);
                Decided::Ended(time)
            }
        }
    }

    /// Puts the items that the stage has taken in into the order of a key, which no two have in common.
    pub(super) fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.items.sort_unstable_by_key(|(_, item)| key(item));
    }

    /// The items that are decided in this step, in order.
    #[inline]
    pub(super) fn decided(&mut self, decided: Decided) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut().filter(move |(end, _)| decided.includes(*end)).map(|(_, item)| item)
    }

    /// The items whose stage ends in this step, in order.
    pub(super) fn ending(&mut self, time: u64) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut().filter(move |(end, _)| *end <= time).map(|(_, item)| item)
    }

    /// How many items to take with `take` in this step.
    #[inline]
    pub(super) fn count(&self, time: u64) -> usize {
        match self.stages {
            Stages::Batches if self.items.first().is_none_or(|&(end, _)| end > time) => 0,
            _ => self.items.len(),
        }
    }

    /// The item of that index if its stage ends in this step; in a pipeline the others go around. With the
    /// last one the stage is done.
    #[inline]
    pub(super) fn take(&mut self, index: usize, time: u64) -> Option<T> {
        let (end, item) = self.items[index];
        if index + 1 == self.items.len() {
            self.items.clear();
        }
        if end > time {
            self.behind.push((end, item));
            return None;
        }
        Some(item)
    }

    /// What the stage is through with in a step that comes next.
    pub(super) fn next_through(&self, time: u64) -> impl Iterator<Item = &T> {
        let at_once = self.delay == 1 && self.items.is_empty();
        let through = move |end| end <= time || (end == NOT_YET && at_once);
        self.items.iter().chain(&self.behind).filter(move |(end, _)| through(*end)).map(|(_, item)| item)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().chain(&self.behind).map(|(_, item)| item)
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
            Self::Ended(time) => end <= time,
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
        for time in 0..100 {
            for (item, _) in pushed.iter().enumerate().filter(|&(_, &at)| at == time) {
                stage.push(item);
            }
            stage.begin(time);
            for index in 0..stage.count(time) {
                if let Some(item) = stage.take(index, time) {
                    ends[item] = time;
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
