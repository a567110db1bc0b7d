//! File formats in and out.

pub(crate) mod attributed;
pub mod graphml;
pub mod networkx;
pub mod profile;
pub mod simgrid;
pub mod xml;

use std::path::Path;

use stratasim_core::BuildError;
use stratasim_core::error::nearest;

use crate::{Routing, Topology};

/// The formats that [`write()`] knows; each is the kind of a topology too, which reads it.
pub const FORMATS: &[&str] = &["simgrid-xml", "networkx-json", "graphml"];

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

/// The text of a file.
///
/// # Errors
/// At `field`, when it cannot be read or is no UTF-8 text.
pub(crate) fn read_text(field: &str, path: &Path) -> Result<String, BuildError> {
    // a device has no end, a pipe may never have one
    let special = std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir());
    if special {
        return Err(BuildError::new(field, format!("cannot read `{}`: it is not a file", path.display())));
    }
    stratasim_core::files::read_text(path).map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => {
                "no such file; a relative path starts from the experiment's folder".to_owned()
            }
            _ => error.to_string(),
        };
        BuildError::new(field, format!("cannot read `{}`: {what}", path.display()))
    })
}
