//! What a sweep leaves for people: a page, pictures, a table.

use std::path::{Path, PathBuf};

use stratasim_core::words::counted;
use stratasim_report::Page;
use stratasim_report::picture::Picture;

use super::points::Sweep;
use super::run::{Failure, Finished, alike};
use crate::error::Error;
use crate::publish::publish;
use crate::shell::quoted;

impl Sweep {
    /// The page: what it is, pictures, our numbers beside published ones, all numbers, and what failed.
    pub fn page(&self, Finished { rows, failures, .. }: &Finished) -> Page {
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
        for name in self.absent(rows) {
            page.paragraph(format!("No point has a number {name}, which was asked for."));
        }
        let is_shown = |name: &&str| {
            let asked = self.spec.metrics.is_empty() || self.spec.metrics.iter().any(|metric| metric == name);
            asked && rows.iter().any(|row| row.numbers.contains_key(*name))
        };
        let has_parts = ["compute_s", "memory_s", "comm_exposed_s", "idle_s"].iter().any(is_shown);
        let caption = if has_parts { "Parts of the time are means over the ranks." } else { "" };
        page.table(self.table(rows), caption);
        let notes = self.notes(rows);
        if !notes.is_empty() {
            page.heading("Notes");
            page.list(notes);
        }
        let failed: Vec<String> = alike(failures).iter().map(|alike| in_words(alike)).collect();
        if !failed.is_empty() {
            page.heading("What failed");
            page.list(failed);
        }
        if self.has_command() {
            page.heading("Again");
            let file = Path::new(self.document.name()).file_name().unwrap_or_default().to_string_lossy();
            let changes: Vec<String> =
                self.document.assignments().iter().map(|it| format!(" --set {}", quoted(it))).collect();
            page.code(format!("stratasim sweep {}{} --out results", quoted(&file), changes.concat()));
        }
        page
    }

    /// Writes page, pictures and tables into `out`; `index.html` comes first.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, out: &Path, finished: &Finished) -> Result<Vec<PathBuf>, Error> {
        let pictures = self.pictures(&finished.rows).into_iter().map(|(_, picture, _)| picture);
        let pictures: Vec<Picture> = pictures.collect();
        let table = self.full_table(&finished.rows);
        publish(out, &self.page(finished), &pictures, &table, self.json(finished))
    }
}

/// Points that failed in the same way, and how.
fn in_words(alike: &[&Failure]) -> String {
    let (first, error) = (&alike[0].settings, &alike[0].error);
    match alike.len() - 1 {
        0 => format!("{first}: {error}"),
        more => format!("{first}, and {} alike: {error}", counted(more as u64, "other")),
    }
}
