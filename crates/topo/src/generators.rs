//! Generators: one topology per file, one line in the list.

pub mod single_switch;

use std::path::PathBuf;

use stratasim_core::random::Streams;
use stratasim_core::{BuildError, registry};

use crate::Topology;

/// What a generator may use besides its own spec.
#[derive(Debug, Clone)]
pub struct BuildContext {
    /// Folder that relative paths start from.
    pub base: PathBuf,
    /// Random streams of the run.
    pub streams: Streams,
}

/// Makes a topology.
pub trait Generator {
    /// Builds the graph.
    ///
    /// # Errors
    /// Parameters that make no topology, or too large a one.
    fn build(&self, context: &BuildContext) -> Result<Topology, BuildError>;
}

/// More nodes or links than this are refused before anything is allocated.
pub const LARGEST: u64 = 1 << 28;

/// Refuses sizes that no machine of today can hold; `what` such as `nodes`.
///
/// # Errors
/// When `count` is above [`LARGEST`] or overflowed (`None`).
pub fn check_size(field: &str, what: &str, count: Option<u64>) -> Result<u64, BuildError> {
    match count {
        Some(count) if count <= LARGEST => Ok(count),
        Some(count) => {
            Err(BuildError::new(field, format!("this asks for {count} {what}, at most {LARGEST} are built")))
        }
        None => Err(BuildError::new(
            field,
            format!("this asks for more than 2^64 {what}, at most {LARGEST} are built"),
        )),
    }
}

registry! {
    /// Every topology, by its `kind`.
    pub enum TopologySpec: dyn Generator {
        "single-switch" => SingleSwitch(single_switch::SingleSwitch),
    }
}
