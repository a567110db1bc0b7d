//! The kernel that suits a network: the fast one where it knows all options, the full one elsewhere.

use std::sync::Arc;

use stratasim_core::BuildError;

use super::fabric::Fabric;
use super::fast::Fast;
use super::full::Full;
use super::kernel::{Kernel, Wait};
use super::router::RouterSpec;
use super::routing::FlitRouting;
use super::terminals::Terminals;

/// Either kernel. Both give the same results, number for number.
pub enum AnyKernel {
    /// One-cycle stages, iSLIP, private buffers.
    Fast(Box<Fast>),
    /// Every option, and what the fast one does not know of those that are asked for.
    Full(Box<Full>, &'static str),
}

impl AnyKernel {
    /// An empty network. `queues` is the number of queues per terminal ([`Terminals::queues`]).
    ///
    /// # Errors
    /// What [`RouterSpec::check`] and [`Fabric::check`] refuse.
    pub fn new(
        fabric: Arc<Fabric>,
        spec: &RouterSpec,
        routing: Arc<dyn FlitRouting>,
        seed: u64,
        queues: u8,
    ) -> Result<Self, BuildError> {
        Ok(match Fast::refuses(&fabric, spec, &*routing, queues) {
            None => Self::Fast(Box::new(Fast::new(fabric, spec, routing, seed)?)),
            Some(what) => Self::Full(Box::new(Full::new(fabric, spec, routing, seed)?), what),
        })
    }

    /// Its name: `fast` or `full`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fast(_) => "fast",
            Self::Full(..) => "full",
        }
    }

    /// What the fast one does not know, where the full one runs; `None` where the fast one does.
    pub fn unknown_to_fast(&self) -> Option<&'static str> {
        match self {
            Self::Fast(_) => None,
            Self::Full(_, what) => Some(what),
        }
    }
}

macro_rules! either {
    ($kernel:expr, $inner:ident => $do:expr) => {
        match $kernel {
            AnyKernel::Fast($inner) => $do,
            AnyKernel::Full($inner, _) => $do,
        }
    };
}

impl Kernel for AnyKernel {
    fn now(&self) -> u64 {
        either!(self, kernel => kernel.now())
    }

    fn run<T: Terminals>(&mut self, until: u64, terminals: &mut T) {
        either!(self, kernel => kernel.run(until, terminals));
    }

    fn in_flight(&self) -> u64 {
        either!(self, kernel => kernel.in_flight())
    }

    fn is_settled(&self) -> bool {
        either!(self, kernel => kernel.is_settled())
    }

    fn channel_flits(&self) -> Vec<u64> {
        either!(self, kernel => kernel.channel_flits())
    }

    fn last_progress(&self) -> u64 {
        either!(self, kernel => kernel.last_progress())
    }

    fn waiting(&self) -> Vec<Wait> {
        either!(self, kernel => kernel.waiting())
    }

    fn violations(&self) -> Vec<String> {
        either!(self, kernel => kernel.violations())
    }
}
