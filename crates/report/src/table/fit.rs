//! Which columns of a table stand side by side, and how wide they are.

use crate::style::display_width;

/// Columns of a terminal between two columns of a table.
const GAP: usize = 2;
/// A column of words is not made narrower than this.
const LEAST_WORDS: usize = 8;
/// Names up to this are whole where there is room.
const NAME: usize = 16;

/// How wide a column of a table would be, and how narrow it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fit {
    wanted: usize,
    least: usize,
}

impl Fit {
    /// Of a column with this heading and cells of at most `cells` columns. Numbers stay whole, but their heading may take
    /// several lines.
    pub(super) fn new(heading: &str, cells: usize, numeric: bool) -> Self {
        let wanted = cells.max(display_width(heading));
        let word = heading.split_whitespace().map(display_width).max().unwrap_or(0);
        let least = if numeric { cells.max(word) } else { wanted.min(LEAST_WORDS) };
        Self { wanted, least }
    }
}

/// Columns with what is between them.
fn total(widths: impl Iterator<Item = usize>) -> usize {
    widths.map(|width| GAP + width).sum::<usize>().saturating_sub(GAP)
}

/// How many of the first `keys` columns leave room for any other one; one at least.
pub(super) fn keys_with_room(fits: &[Fit], keys: usize, room: usize) -> usize {
    let keys = keys.min(fits.len());
    let least = |columns: &[usize]| total(columns.iter().map(|&column| fits[column].least));
    let beside = (keys..fits.len()).max_by_key(|&column| fits[column].least);
    let fit = |&keys: &usize| least(&(0..keys).chain(beside).collect::<Vec<_>>()) <= room;
    (1..=keys).rev().find(fit).unwrap_or(1)
}

/// The columns that stand side by side, part by part: all in one where there is room. Every part begins with the first `keys`,
/// or as many of them as leave room for any other one, and with one at least.
pub(super) fn parts(fits: &[Fit], keys: usize, room: usize) -> Vec<Vec<usize>> {
    let least = |columns: &[usize]| total(columns.iter().map(|&column| fits[column].least));
    let keys: Vec<usize> = (0..keys_with_room(fits, keys, room)).collect();
    let mut parts = vec![Vec::new()];
    for column in 0..fits.len() {
        let part = parts.last_mut().expect("there is a part");
        if part.len() > keys.len() && least(&[part.as_slice(), &[column]].concat()) > room {
            parts.push([keys.as_slice(), &[column]].concat());
        } else {
            part.push(column);
        }
    }
    parts
}

/// The same with more room for the first `keys` columns, where that takes no more parts: names that are cut tell little, and headings
/// of numbers have several lines.
pub(super) fn with_names(fits: &[Fit], keys: usize, room: usize) -> Vec<Fit> {
    let mut wide = fits.to_vec();
    for fit in wide.iter_mut().take(keys) {
        fit.least = fit.wanted.min(NAME).max(fit.least);
    }
    let split = parts(&wide, keys, room);
    let has_room = |part: &Vec<usize>| total(part.iter().map(|&column| wide[column].least)) <= room;
    let as_many = keys_with_room(&wide, keys, room) == keys_with_room(fits, keys, room)
        && split.len() == parts(fits, keys, room).len();
    if as_many && split.iter().all(has_room) { wide } else { fits.to_vec() }
}

/// The width of each of some columns: the widest give way until all fit into `room`.
pub(super) fn widths(fits: impl Iterator<Item = Fit>, room: usize) -> Vec<usize> {
    let fits: Vec<Fit> = fits.collect();
    let mut widths: Vec<usize> = fits.iter().map(|fit| fit.wanted).collect();
    while total(widths.iter().copied()) > room {
        let widest = (0..widths.len()).filter(|&at| widths[at] > fits[at].least).max_by_key(|&at| widths[at]);
        let Some(widest) = widest else { break };
        widths[widest] -= 1;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_room_stand_below_beside_the_first() {
        let name = Fit::new("vector", 6, false);
        let number = Fit::new("ring bandwidth", 10, true);
        assert_eq!(number, Fit { wanted: 14, least: 10 });
        assert_eq!(parts(&[name, number, number, number], 1, 42), [vec![0, 1, 2, 3]]);
        assert_eq!(parts(&[name, number, number, number], 1, 41), [vec![0, 1, 2], vec![0, 3]]);
        assert_eq!(parts(&[name, number, number], 1, 5), [vec![0, 1], vec![0, 2]]);
        assert_eq!(parts(&[], 1, 5), [Vec::<usize>::new()]);
        assert_eq!(parts(&[name, name, number, number], 2, 29), [vec![0, 1, 2], vec![0, 1, 3]]);
        // two names and a number need 26, one and a number 18
        assert_eq!(parts(&[name, name, number, number], 2, 25), [vec![0, 1], vec![0, 2], vec![0, 3]]);
        assert_eq!(widths([name, number, number].into_iter(), 31), [6, 11, 10]);
        assert_eq!(widths([name, number].into_iter(), 80), [6, 14]);
    }

    #[test]
    fn names_are_whole_where_that_takes_no_more_parts() {
        let name = Fit::new("load balancing", 11, false);
        let number = Fit::new("sent again", 6, true);
        assert_eq!((name, number), (Fit { wanted: 14, least: 8 }, Fit { wanted: 10, least: 6 }));
        let fits = [name, number, number, number];
        let of = |room: usize| with_names(&fits, 1, room)[0].least;
        // one part: 14 and three times 8
        assert_eq!([of(38), of(37)], [14, 8]);
        // two parts either way, until the name and one number fill the room
        assert_eq!([of(31), of(30), of(29)], [14, 14, 8]);
        // each number has a part of its own
        assert_eq!([of(23), of(22), of(21)], [14, 14, 8]);
        // no room beside the name
        assert_eq!(with_names(&[name, number], 1, 20)[0].least, 8);
    }
}
