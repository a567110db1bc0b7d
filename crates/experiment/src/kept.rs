//! Results that are kept in a folder, one file each, for calls to come: `points/<digest>.json`.
//!
//! The digest names everything that determines a result, and a result is taken only when it says itself that it is
//! the one and comes from this version of the program. So points of changed experiments never mix, and several calls
//! may share a folder.

pub(crate) mod digest;

use std::path::{Path, PathBuf};

use stratasim_report::result::RunResult;

use crate::error::Error;
use crate::files;
use crate::publish::FILES;

/// Whether a file has the name of a result.
fn is_result(entry: &std::fs::DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy().into_owned();
    let digest = name.strip_suffix(".json");
    digest.is_some_and(|digest| digest.len() == 32 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether the page and the tables in the folder `out` are ours: they say so, or there are results beside them.
fn is_ours(out: &Path) -> bool {
    let [.., results] = FILES;
    if std::fs::read_dir(folder(out)).is_ok_and(|entries| entries.flatten().any(|entry| is_result(&entry))) {
        return true;
    }
    let text = std::fs::read_to_string(out.join(results)).unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|value| value.get("stratasim").is_some())
}

/// Where results are in the folder `out`.
pub(crate) fn folder(out: &Path) -> PathBuf {
    out.join("points")
}

/// Makes the folder for results in `out`.
///
/// # Errors
/// It cannot be made, or nothing can be written there; or there are files of somebody else in `out` where a page and its
/// tables go.
pub(crate) fn prepare(out: &Path) -> Result<(), Error> {
    let mut there = FILES.iter().map(|name| out.join(name)).filter(|path| path.exists());
    // a pipe has nobody who reads it
    let special = there.clone().find(|path| !path.is_file());
    if let Some(path) = special.or_else(|| there.next().filter(|_| !is_ours(out))) {
        let reason = "this is no file of a sweep or curve, and one would take its place; name another folder"
            .to_owned();
        return Err(Error::File { path: path.display().to_string(), reason });
    }
    let folder = folder(out);
    std::fs::create_dir_all(&folder).map_err(|error| Error::folder(&folder, &error))?;
    // hours of results would have no place
    for folder in [folder.as_path(), out] {
        let tried = files::AtomicFile::create(&folder.join("tried"));
        tried.map_err(|error| Error::File {
            path: folder.display().to_string(),
            reason: format!("nothing can be written in this folder: {error}"),
        })?;
    }
    Ok(())
}

/// Where the result with a digest is, or will be, in the folder `out`.
pub(crate) fn path(out: &Path, digest: &str) -> PathBuf {
    folder(out).join(format!("{digest}.json"))
}

/// A result, if it is there, complete, of this version of the program, and `wanted`.
pub(crate) fn read(path: &Path, wanted: impl FnOnce(&RunResult) -> bool) -> Option<RunResult> {
    let text = std::fs::read_to_string(path).ok()?;
    let result = RunResult::from_json(&text).ok()?;
    (result.stratasim == env!("CARGO_PKG_VERSION") && wanted(&result)).then_some(result)
}

/// All results in the folder `out`, of whatever version of the program.
pub(crate) fn all(out: &Path) -> impl Iterator<Item = RunResult> {
    let entries = std::fs::read_dir(folder(out)).into_iter().flatten().flatten();
    let paths = entries.filter(is_result).map(|entry| entry.path());
    paths.filter_map(|path| RunResult::from_json(&std::fs::read_to_string(path).ok()?).ok())
}

/// Keeps a result; what was there before stays until it is complete.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(path: &Path, result: &RunResult) -> Result<(), Error> {
    files::write(path, result.to_json().as_bytes()).map_err(|error| Error::file(path, &error))
}
