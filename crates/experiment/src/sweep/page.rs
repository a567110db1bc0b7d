//! What a sweep leaves for people: a page, pictures, a table.

use std::path::{Path, PathBuf};

use stratasim_report::Page;
use stratasim_report::picture::Scheme;

use super::points::Sweep;
use super::table::Row;
use crate::error::Error;
use crate::files;

/// Pixels of a PNG per pixel of the drawing.
const SHARPNESS: f64 = 2.0;

impl Sweep {
    /// The page: what it is, pictures, our numbers beside published ones, all numbers.
    pub fn page(&self, rows: &[Row]) -> Page {
        let mut page = Page::new(self.title());
        for text in self.description.iter().chain(&self.spec.text) {
            page.paragraph(text.as_str());
        }
        for (name, picture, caption) in self.pictures(rows) {
            page.picture(picture, name, caption);
        }
        let comparisons = self.comparisons(rows);
        if !comparisons.is_empty() {
            page.heading("Beside published numbers");
            for (caption, table) in comparisons {
                page.table(table, caption);
            }
        }
        page.heading("All numbers");
        let missing = self.points.len() - rows.len();
        if missing > 0 {
            page.paragraph(format!("{missing} of {} points have no result.", self.points.len()));
        }
        page.table(self.table(rows), "Parts of the time are means over the ranks.");
        page.heading("Again");
        let file = Path::new(self.document.name()).file_name().unwrap_or_default().to_string_lossy();
        page.code(format!("stratasim sweep {file} --out results"));
        page
    }

    /// Writes page, pictures and tables into `out`; `index.html` comes first.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, out: &Path, rows: &[Row]) -> Result<Vec<PathBuf>, Error> {
        let page = self.page(rows);
        let markdown = page.markdown();
        let mut csv = Vec::new();
        self.full_table(rows).write_csv(&mut csv).map_err(|error| Error::file(out, &error))?;
        let mut contents: Vec<(String, Vec<u8>)> = vec![
            ("index.html".to_owned(), page.html().into_bytes()),
            ("README.md".to_owned(), markdown.text.into_bytes()),
            ("table.csv".to_owned(), csv),
            ("results.json".to_owned(), self.json(rows).into_bytes()),
        ];
        for ((name, svg), (_, picture, _)) in markdown.pictures.into_iter().zip(self.pictures(rows)) {
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
}
