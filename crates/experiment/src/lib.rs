//! The composition root: from an experiment file to a result. Only this crate knows every plug-in.

pub mod booksim;
mod bounds;
pub mod build;
pub mod card;
mod card_nodes;
pub mod conformance;
pub mod document;
pub mod error;
pub mod forecast;
pub mod goal;
pub mod jobs;
mod json;
mod kept;
mod layout;
pub mod noise;
pub mod placement;
pub mod plugins;
mod publish;
mod read;
pub mod run;
mod schedules;
mod schema;
pub mod spec;
pub mod sweep;
pub mod traffic;

pub use build::{Prepared, build_context, build_topology, load};
pub use document::Document;
pub use error::{ConfigError, Error};
pub use forecast::Forecast;
pub use goal::GoalRun;
pub use placement::PlacementSpec;
pub use run::RunLabels;
pub use spec::Spec;
pub use stratasim_core::files;
pub use sweep::Sweep;
pub use traffic::Traffic;
