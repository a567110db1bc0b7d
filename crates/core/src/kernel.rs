//! What kernels of collectives cost on a compute node, beside their data.

use crate::{Bandwidth, Duration};

/// Fixed costs and rates of collectives that kernels do between the core groups of a card (SW-IntraCC paper,
/// equations 3 and 4). All zero and unlimited for other compute nodes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KernelCosts {
    /// Of starting a kernel on all members, which start together.
    pub launch: Duration,
    /// Of a synchronisation of all members through the host.
    pub synchronise: Duration,
    /// Of a step of a ring, whose rounds the host starts.
    pub ring_step: Duration,
    /// Of a step inside of a kernel that does the whole collective.
    pub kernel_step: Duration,
    /// At which a member fetches and adds in a ring; unlimited when absent.
    pub ring_add: Option<Bandwidth>,
    /// At which a member fetches and adds inside of a kernel; unlimited when absent.
    pub kernel_add: Option<Bandwidth>,
}

impl KernelCosts {
    /// The durations with the names that files use.
    pub fn durations(&mut self) -> [(&'static str, &mut Duration); 4] {
        let Self { launch, synchronise, ring_step, kernel_step, .. } = self;
        [
            ("launch", launch),
            ("synchronise", synchronise),
            ("ring_step", ring_step),
            ("kernel_step", kernel_step),
        ]
    }

    /// The rates of additions with the names that files use.
    pub fn rates(&mut self) -> [(&'static str, &mut Option<Bandwidth>); 2] {
        [("ring_add", &mut self.ring_add), ("kernel_add", &mut self.kernel_add)]
    }
}
