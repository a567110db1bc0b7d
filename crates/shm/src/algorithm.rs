//! Which collective, and by which schedule.

/// A collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Operation {
    /// Every rank gets the parts of all.
    AllGather = 1,
    /// Every rank gets its part of the combination.
    ReduceScatter,
    /// Every rank gets the whole combination.
    AllReduce,
    /// Every rank gets what one has.
    Broadcast,
    /// Nobody goes on before all are there.
    Barrier,
}

impl Operation {
    /// Those that move data.
    pub const MOVING: [Self; 4] = [Self::AllGather, Self::ReduceScatter, Self::AllReduce, Self::Broadcast];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllReduce => "all-reduce",
            Self::Broadcast => "broadcast",
            Self::Barrier => "barrier",
        }
    }

    /// The operation of this [`Self::name`].
    pub fn named(name: &str) -> Option<Self> {
        Self::MOVING.into_iter().find(|operation| operation.name() == name)
    }
}

/// A schedule. Each runs every collective, and gives the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Algorithm {
    /// Round the ring: every rank reads from the memory of the one before it, as soon as that says so.
    Ring = 1,
    /// Round the ring by send and receive: the sender copies into a bounce buffer, the receiver out of it.
    RingTwoSided,
    /// Through the Global segment (SW-IntraCC, algorithms 1 and 2): put, one synchronisation, get.
    Csc,
    /// Every rank reads the Local memory of all others, after one synchronisation.
    Direct,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ring, Self::RingTwoSided, Self::Csc, Self::Direct];

    /// The name in files, on the command line and in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::RingTwoSided => "ring-two-sided",
            Self::Csc => "csc",
            Self::Direct => "direct",
        }
    }

    /// The algorithm of this [`Self::name`].
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}
