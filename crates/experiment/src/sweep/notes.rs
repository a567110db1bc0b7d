//! What the results of a sweep say beside their numbers.

use std::borrow::Cow;

use super::plot::is_saturated;
use super::points::Sweep;
use super::table::Row;
use crate::sayers::{NAMED, sayers};
use crate::traffic::notes::SATURATED;

impl Sweep {
    /// The notes of all results, once each, in the order of the points; where not all say it, with the setting that those have in
    /// common and no others, or all their settings, or how many those are. Last, why there is no picture, where there is none.
    pub fn notes(&self, rows: &[Row]) -> Vec<String> {
        let saturated = SATURATED.to_owned();
        let said = rows.iter().flat_map(|row| {
            let own = is_saturated(row).then_some(&saturated);
            row.notes.iter().chain(own).map(move |note| (row, note))
        });
        let told = sayers(said);
        let settings =
            |row: &&Row| self.points.iter().find(|it| it.index == row.index).map(|it| self.describe(it));
        let whole = |(note, mut sayers): (Cow<'_, str>, Vec<&Row>)| {
            sayers.dedup_by_key(|row| row.index);
            if sayers.len() == rows.len() {
                note.into_owned()
            } else if let Some(setting) = self.setting_of(&sayers, rows) {
                format!("{setting}: {note}")
            } else if sayers.len() <= NAMED {
                format!("{}: {note}", sayers.iter().filter_map(settings).collect::<Vec<_>>().join("; "))
            } else {
                format!("{} of {} points: {note}", sayers.len(), rows.len())
            }
        };
        told.into_iter().map(whole).chain(self.undrawn(rows)).collect()
    }

    /// The setting that `some` of the rows have, and no others, in words.
    fn setting_of(&self, some: &[&Row], rows: &[Row]) -> Option<String> {
        let value = |column: usize| &some[0].settings[column];
        let have = |row: &&Row, column: usize| row.settings[column] == *value(column);
        let tells_apart = |&column: &usize| {
            some.iter().all(|row| have(row, column))
                && rows.iter().filter(|row| have(row, column)).count() == some.len()
        };
        (0..self.columns.len()).find(tells_apart).map(|column| self.setting(column, value(column)))
    }
}
