//! What the results of a sweep say beside their numbers.

use super::points::Sweep;
use super::table::Row;

/// Sayers that are named one by one.
const NAMED: usize = 3;

impl Sweep {
    /// The notes of all results, once each, in the order of the points; with the settings of the points that say it where others
    /// do not, or how many those are.
    pub fn notes(&self, rows: &[Row]) -> Vec<String> {
        let mut told: Vec<(&str, Vec<&Row>)> = Vec::new();
        for row in rows {
            for note in &row.notes {
                match told.iter_mut().find(|(other, _)| other == note) {
                    Some((_, sayers)) => sayers.push(row),
                    None => told.push((note, vec![row])),
                }
            }
        }
        let settings =
            |row: &&Row| self.points.iter().find(|it| it.index == row.index).map(|it| self.describe(it));
        let whole = |(note, sayers): (&str, Vec<&Row>)| {
            if sayers.len() == rows.len() {
                note.to_owned()
            } else if sayers.len() <= NAMED {
                format!("{}: {note}", sayers.iter().filter_map(settings).collect::<Vec<_>>().join("; "))
            } else {
                format!("{} of {} points: {note}", sayers.len(), rows.len())
            }
        };
        told.into_iter().map(whole).collect()
    }
}
