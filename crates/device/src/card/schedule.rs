//! What an on-card collective does: launches, synchronisations, copies, calculations, and what waits for what.
//!
//! The same schedule is timed by the models and can be executed: a copy says which bytes of which memory go
//! where. Vectors lie in place: each group has the whole vector in its Local memory. An all-gather starts
//! with group r holding chunk r; a reduce-scatter ends with group r holding the sum of chunk r there.

use std::ops::Range;

/// A memory of the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Local memory of a core group.
    Local(u32),
    /// Global memory of the card.
    Global,
    /// Scratch-pads of a core group. Bytes pass through in tiles; a region there is a running sum.
    Ldm(u32),
}

/// The beginning of some bytes in a memory. In Local, offsets are those of the vector; in Global, of the area
/// that the collective uses; in the scratch-pads, of the running sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Which memory.
    pub place: Place,
    /// Bytes from the beginning.
    pub offset_bytes: u64,
}

impl Region {
    /// A region of a memory.
    pub const fn new(place: Place, offset_bytes: u64) -> Self {
        Self { place, offset_bytes }
    }
}

/// Bytes that a group moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    /// The core group whose DMA engines move them.
    pub group: u32,
    /// Where they are.
    pub from: Region,
    /// Where they go.
    pub to: Region,
    /// How many.
    pub bytes: u64,
    /// Whether they are added to what is there instead of replacing it.
    pub add: bool,
    /// Whether the fixed cost of a step comes before them.
    pub step: bool,
}

/// What a task does.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// The host starts a kernel on all groups.
    Launch,
    /// All groups wait for each other.
    Sync,
    /// A group moves bytes.
    Copy(Copy),
    /// A group computes.
    Calculate {
        /// The core group.
        group: u32,
        /// Floating-point operations.
        flops: f64,
    },
}

/// One thing to do, after others.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// What to do.
    pub work: Work,
    /// Indices of the tasks that must have ended; all are smaller than this task's own.
    pub after: Vec<u32>,
}

/// Which fixed costs and which rate of additions hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The host starts a kernel for every round.
    Ring,
    /// One kernel does the whole collective.
    Csc,
}

/// What a collective does on a card.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Number of core groups.
    pub groups: u32,
    /// Length of the vector in bytes.
    pub bytes: u64,
    /// Whose fixed costs hold.
    pub family: Family,
    /// Bytes of Global memory that it uses.
    pub global_bytes: u64,
    /// Whether the inputs are in Global memory before it starts, put there by whoever made them.
    pub starts_in_global: bool,
    /// The tasks; a task comes after those that it waits for.
    pub tasks: Vec<Task>,
}

/// The bytes of chunk `index` of `count` of a vector of `bytes`: as equal as whole bytes allow.
pub fn chunk(bytes: u64, index: u32, count: u32) -> Range<u64> {
    let at = |index: u32| (u128::from(bytes) * u128::from(index) / u128::from(count)) as u64;
    at(index)..at(index + 1)
}

impl Schedule {
    /// A schedule without tasks.
    pub fn new(groups: u32, bytes: u64, family: Family) -> Self {
        Self { groups, bytes, family, global_bytes: 0, starts_in_global: false, tasks: Vec::new() }
    }

    /// Adds a task; returns its index.
    pub fn push(&mut self, work: Work, after: impl IntoIterator<Item = u32>) -> u32 {
        let mut after: Vec<u32> = after.into_iter().collect();
        after.sort_unstable();
        after.dedup();
        debug_assert!(after.last().is_none_or(|&last| (last as usize) < self.tasks.len()));
        self.tasks.push(Task { work, after });
        (self.tasks.len() - 1) as u32
    }

    /// Adds a launch after everything so far; returns its index.
    pub fn launch(&mut self) -> u32 {
        let ends = self.ends();
        self.push(Work::Launch, ends)
    }

    /// Adds a synchronisation after everything so far; returns its index.
    pub fn sync(&mut self) -> u32 {
        let ends = self.ends();
        self.push(Work::Sync, ends)
    }

    /// The tasks that no other waits for.
    fn ends(&self) -> Vec<u32> {
        let mut is_end = vec![true; self.tasks.len()];
        for task in &self.tasks {
            task.after.iter().for_each(|&before| is_end[before as usize] = false);
        }
        (0..self.tasks.len() as u32).filter(|&at| is_end[at as usize]).collect()
    }

    /// This schedule and then, when all of it has ended, `next`. Global memory is used again.
    ///
    /// # Panics
    /// When the two are for different numbers of groups or lengths.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        assert_eq!((self.groups, self.bytes), (next.groups, next.bytes), "one vector on one card");
        let ends = self.ends();
        let shift = self.tasks.len() as u32;
        for mut task in next.tasks {
            task.after.iter_mut().for_each(|before| *before += shift);
            if task.after.is_empty() {
                task.after.clone_from(&ends);
            }
            self.tasks.push(task);
        }
        self.global_bytes = self.global_bytes.max(next.global_bytes);
        self
    }

    /// The bytes of chunk `index`, one chunk per group.
    pub fn chunk(&self, index: u32) -> Range<u64> {
        chunk(self.bytes, index, self.groups)
    }

    /// Bytes of Local memory that each group uses: the vector lies there, and nothing else.
    pub const fn local_bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of launches and of synchronisations, as the host counts them.
    pub fn barriers(&self) -> (u64, u64) {
        let count = |work: &Work| self.tasks.iter().filter(|task| task.work == *work).count() as u64;
        (count(&Work::Launch), count(&Work::Sync))
    }

    /// Bytes that are moved between memories, in all.
    pub fn moved_bytes(&self) -> u64 {
        let copies = self.tasks.iter().filter_map(|task| match &task.work {
            Work::Copy(copy) => Some(copy.bytes),
            _ => None,
        });
        copies.sum()
    }
}
