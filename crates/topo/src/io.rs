//! File formats in and out.

pub mod profile;
pub mod simgrid;
pub mod xml;

use std::path::Path;

use stratasim_core::BuildError;

/// The text of a file.
///
/// # Errors
/// At `field`, when it cannot be read or is no UTF-8 text.
pub(crate) fn read_text(field: &str, path: &Path) -> Result<String, BuildError> {
    std::fs::read_to_string(path).map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => {
                "no such file; a relative path starts from the experiment's folder"
            }
            std::io::ErrorKind::InvalidData => "the file is no UTF-8 text",
            _ => return BuildError::new(field, format!("cannot read `{}`: {error}", path.display())),
        };
        BuildError::new(field, format!("cannot read `{}`: {what}", path.display()))
    })
}
