//! File formats in and out.

pub(crate) mod attributed;
pub mod graphml;
pub mod networkx;
pub mod profile;
pub mod simgrid;
pub mod xml;

use stratasim_core::BuildError;
use stratasim_core::error::nearest;

use crate::{Routing, Topology};

/// The formats that [`write()`] knows; each is the kind of a topology too, which reads it.
pub const FORMATS: &[&str] = &["simgrid-xml", "networkx-json", "graphml"];

/// What `format` holds of `topology`, but whoever reads it does not use; in a sentence.
pub fn unused(format: &str, topology: &Topology) -> Option<String> {
    let options = simgrid::export::ExportOptions::default();
    (format == "simgrid-xml").then(|| simgrid::export::unused(topology, &options)).flatten()
}

/// Writes `topology` in `format`, one of [`FORMATS`]. `routing` gives the routes where the format
/// holds routes.
///
/// # Errors
/// At `format` when it is unknown; what the format cannot hold otherwise.
pub fn write(format: &str, topology: &Topology, routing: &mut dyn Routing) -> Result<String, BuildError> {
    match format {
        "simgrid-xml" => {
            simgrid::export::export(topology, routing, &simgrid::export::ExportOptions::default())
        }
        "networkx-json" => networkx::export(topology),
        "graphml" => graphml::export(topology),
        other => {
            let hint = nearest(other, FORMATS.iter().copied())
                .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
            Err(BuildError::new(
                "format",
                format!("unknown format `{other}`{hint} (known: {})", FORMATS.join(", ")),
            ))
        }
    }
}
