//! What sweeps and curves leave in a folder for people and programs.

use std::path::{Path, PathBuf};

use stratasim_report::Page;
use stratasim_report::picture::{Picture, Scheme};
use stratasim_report::table::Table;

use crate::error::Error;
use crate::files;

/// Pixels of a PNG per pixel of the drawing.
const SHARPNESS: f64 = 2.0;

/// The files that are always written: the page, the same for reading in a repository, the table, and everything.
pub(crate) const FILES: [&str; 4] = ["index.html", "README.md", "table.csv", "results.json"];

/// Writes a page as HTML and Markdown, its `pictures` (in the order of the page) as SVG and PNG, a table as CSV and
/// everything as JSON into `out`, which is made if need be. Returns what was written, `index.html` first.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn publish(
    out: &Path,
    page: &Page,
    pictures: &[Picture],
    table: &Table,
    json: String,
) -> Result<Vec<PathBuf>, Error> {
    std::fs::create_dir_all(out).map_err(|error| Error::folder(out, &error))?;
    let markdown = page.markdown();
    let mut csv = Vec::new();
    table.write_csv(&mut csv).map_err(|error| Error::file(out, &error))?;
    let bytes = [page.html().into_bytes(), markdown.text.into_bytes(), csv, json.into_bytes()];
    let mut contents: Vec<(String, Vec<u8>)> = FILES.map(str::to_owned).into_iter().zip(bytes).collect();
    for ((name, svg), picture) in markdown.pictures.into_iter().zip(pictures) {
        let png = Path::new(&name).with_extension("png").to_string_lossy().into_owned();
        contents.push((name, svg.into_bytes()));
        contents.push((png, picture.png(Scheme::Light, SHARPNESS)));
    }
    let mut written = Vec::with_capacity(contents.len());
    for (name, bytes) in contents {
        let path = out.join(name);
        files::write(&path, &bytes).map_err(|error| Error::file(&path, &error))?;
        written.push(path);
    }
    Ok(written)
}
