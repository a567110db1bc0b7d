//! Routing of heads: which outputs and virtual channels a packet may take next.

/// What routing knows of a packet, and may remember in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Where it came from (terminal).
    pub source: u32,
    /// Where it goes (terminal).
    pub dest: u32,
    /// First and last virtual channel that packets of its class may use.
    pub range: (u8, u8),
    /// Memory of the routing function: an intermediate terminal, a phase, a ring class; 0 at first.
    pub memory: u64,
}

/// Where a head is when it is routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The router.
    pub router: u32,
    /// The input port that it came by.
    pub input: u16,
    /// The virtual channel that it came by.
    pub vc: u8,
}

/// An output that a head may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The output port.
    pub output: u16,
    /// First virtual channel, and
    pub first_vc: u8,
    /// last one that it may take there.
    pub last_vc: u8,
    /// Higher ones are preferred by allocators that heed priorities.
    pub priority: i32,
}

/// What routing may ask of the router that the head is in, and where it draws from.
pub trait Surroundings {
    /// A number below `bound`, each as likely; `bound` at least 1.
    fn draw(&mut self, bound: u32) -> u32;

    /// Flits under way or waiting at the other end of an output, over all its virtual channels.
    fn used(&self, output: u16) -> u32;
}

/// A routing function, ready for one fabric.
pub trait FlitRouting: Send + Sync {
    /// Called once, when the packet leaves its source queue; may set [`Head::memory`]. Where the source
    /// may start on fewer virtual channels than the range of its class, returns the first and last.
    fn start(&self, head: &mut Head, surroundings: &mut dyn Surroundings) -> (u8, u8) {
        let _ = surroundings;
        head.range
    }

    /// Appends the outputs that the head may take, at least one. A packet at its destination's router
    /// gets that terminal's output. Called once per router, when the head is first in its buffer.
    fn route(
        &self,
        place: Place,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
        out: &mut Vec<Candidate>,
    );

    /// Whether [`Surroundings::used`] is asked.
    fn adaptive(&self) -> bool {
        false
    }
}
