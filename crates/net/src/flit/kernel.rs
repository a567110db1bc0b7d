//! What moves the flits: the surface that both kernels have.

use super::terminals::Terminals;

/// A virtual channel that holds flits and does not move, for the report of a deadlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The router.
    pub router: u32,
    /// The input port and
    pub input: u16,
    /// the virtual channel that holds the packet.
    pub vc: u8,
    /// The output port that it wants or has.
    pub output: u16,
    /// The virtual channel that it has there; `None` while it waits for one.
    pub output_vc: Option<u8>,
    /// Where the packet goes (terminal).
    pub dest: u32,
}

/// A network of routers under simulation.
pub trait Kernel {
    /// The cycle that runs next.
    fn now(&self) -> u64;

    /// Runs cycles until `until` is the next one, or [`Terminals::stop`] wants no more. Cycles in which nothing can happen are skipped.
    fn run<T: Terminals>(&mut self, until: u64, terminals: &mut T);

    /// Flits that have entered and not arrived.
    fn in_flight(&self) -> u64;

    /// Whether nothing is in flight, no queue of a terminal holds a flit and every credit is back.
    fn is_settled(&self) -> bool;

    /// Flits that each output has sent so far, by [`Fabric::index`](super::fabric::Fabric::index).
    fn channel_flits(&self) -> Vec<u64>;

    /// The last cycle in which a flit moved through a switch, entered or arrived.
    fn last_progress(&self) -> u64;

    /// The virtual channels that hold a packet and wait, in order of router, input and channel.
    fn waiting(&self) -> Vec<Wait>;

    /// Broken invariants (a credit too many, a flit without a place); empty unless there is a bug.
    fn violations(&self) -> Vec<String>;
}
