//! What the machine is asked to do: one program form, collectives, and builders that write programs.

pub mod builders;
pub mod collective;
pub mod goal;
pub mod injection;
pub mod pattern;
pub mod program;
pub mod training;

pub use builders::{WorkloadContext, WorkloadGenerator, WorkloadSpec};
pub use collective::{Action, CollectiveAlgorithm, CollectiveKind, CollectiveSpec, Plan};
pub use program::{Op, Program, ProgramBuilder, Scope, Vertex, VertexId};
