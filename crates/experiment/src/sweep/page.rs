//! What a sweep leaves for people: a page, pictures, a table.

use std::path::{Path, PathBuf};

use stratasim_report::Page;
use stratasim_report::picture::Picture;

use super::points::Sweep;
use super::table::Row;
use crate::error::Error;
use crate::publish::publish;

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
        page.heading("Again");
        let file = Path::new(self.document.name()).file_name().unwrap_or_default().to_string_lossy();
        let changes: Vec<String> = self.document.assignments().iter().map(|it| set_option(it)).collect();
        page.code(format!("stratasim sweep {file}{} --out results", changes.concat()));
        page
    }

    /// Writes page, pictures and tables into `out`; `index.html` comes first.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, out: &Path, rows: &[Row]) -> Result<Vec<PathBuf>, Error> {
        let pictures: Vec<Picture> = self.pictures(rows).into_iter().map(|(_, picture, _)| picture).collect();
        publish(out, &self.page(rows), &pictures, &self.full_table(rows), self.json(rows))
    }
}

/// The option that makes an assignment, as a shell reads it, with a space before it.
fn set_option(assignment: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+:/=,@%".contains(c);
    if !assignment.is_empty() && assignment.chars().all(is_plain) {
        return format!(" --set {assignment}");
    }
    format!(" --set '{}'", assignment.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_an_assignment_as_it_was() {
        assert_eq!(set_option("traffic.flits=8"), " --set traffic.flits=8");
        assert_eq!(set_option("network={kind=\"flow\"}"), " --set 'network={kind=\"flow\"}'");
        assert_eq!(set_option("name=it's"), r" --set 'name=it'\''s'");
    }
}
