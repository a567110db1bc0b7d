//! Notes of many results, and which of them say each.

use std::borrow::Cow;

/// Sayers that are named one by one.
pub(crate) const NAMED: usize = 3;

/// Who says a note, with the order in which all are told.
type Sayers<T> = Vec<(usize, T)>;

/// Each note once, in the order in which they are first said, with those that say it. Where more than [`NAMED`] notes differ in
/// their numbers alone, they are one, with the least and the largest of each number: `2.1…8.1 %`.
pub(crate) fn sayers<'a, T: Copy>(
    said: impl Iterator<Item = (T, &'a String)>,
) -> Vec<(Cow<'a, str>, Vec<T>)> {
    let mut told: Vec<(&str, Sayers<T>)> = Vec::new();
    for (order, (sayer, note)) in said.enumerate() {
        match told.iter_mut().find(|(other, _)| other == note) {
            Some((_, sayers)) => sayers.push((order, sayer)),
            None => told.push((note, vec![(order, sayer)])),
        }
    }
    let mut groups: Vec<Vec<(&str, Sayers<T>)>> = Vec::new();
    for (note, sayers) in told {
        match groups.iter_mut().find(|group| words(group[0].0).eq(words(note))) {
            Some(group) => group.push((note, sayers)),
            None => groups.push(vec![(note, sayers)]),
        }
    }
    let mut whole: Vec<(Cow<'_, str>, Sayers<T>)> = Vec::new();
    for group in groups {
        if group.len() > NAMED {
            let note = ranges(&group.iter().map(|(note, _)| *note).collect::<Vec<_>>());
            let mut sayers: Vec<_> = group.into_iter().flat_map(|(_, sayers)| sayers).collect();
            sayers.sort_by_key(|&(order, _)| order);
            whole.push((note.into(), sayers));
        } else {
            whole.extend(group.into_iter().map(|(note, sayers)| (note.into(), sayers)));
        }
    }
    whole.sort_by_key(|(_, sayers)| sayers[0].0);
    let without_order = |sayers: Sayers<T>| sayers.into_iter().map(|(_, sayer)| sayer).collect();
    whole.into_iter().map(|(note, sayers)| (note, without_order(sayers))).collect()
}

/// The pieces of a note, numbers that stand alone as nothing; those in names, such as that of `host-12`, are text.
fn words(note: &str) -> impl Iterator<Item = Option<&str>> {
    pieces(note).map(|(piece, value)| value.is_none().then_some(piece))
}

/// The words of a note and what stands between them, numbers with their value.
fn pieces(note: &str) -> impl Iterator<Item = (&str, Option<f64>)> {
    let is_inside = |c: char| c.is_alphanumeric() || "-_.,`:>#".contains(c);
    let mut rest = note;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = match is_inside(first) {
            true => {
                let end = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
                // what ends a clause is no part of a number
                rest[..end].trim_end_matches(['.', ',', ':']).len().max(1)
            }
            false => first.len_utf8(),
        };
        let piece;
        (piece, rest) = rest.split_at(end);
        let is_number = piece.starts_with(|c: char| c.is_ascii_digit());
        Some((piece, is_number.then(|| piece.replace(',', "").parse().ok()).flatten()))
    })
}

/// Notes that differ in their numbers alone, as one.
fn ranges(notes: &[&str]) -> String {
    let mut all: Vec<_> = notes.iter().map(|note| pieces(note)).collect();
    let mut whole = String::new();
    while let Some(first) = all[0].next() {
        let others = all[1..].iter_mut().filter_map(Iterator::next);
        let (mut least, mut most) = (first, first);
        for other in others {
            if other.1 < least.1 {
                least = other;
            }
            if other.1 > most.1 {
                most = other;
            }
        }
        whole += least.0;
        if least.1 != most.1 {
            whole.push('…');
            whole += most.0;
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(notes: &[&str]) -> Vec<(String, Vec<usize>)> {
        let notes: Vec<String> = notes.iter().map(|&note| note.to_owned()).collect();
        sayers(notes.iter().enumerate()).into_iter().map(|(note, who)| (note.into_owned(), who)).collect()
    }

    #[test]
    fn many_notes_that_differ_in_numbers_are_one() {
        let note =
            |low: f64, up: &str| format!("Known to within {low} %, not the 2 %: it is between 1 and {up}.");
        let all =
            [note(8.1, "10"), "Other.".to_owned(), note(2.5, "1,000"), note(10.25, "7"), note(3.0, "7")];
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let whole = "Known to within 2.5…10.25 %, not the 2 %: it is between 1 and 7…1,000.";
        assert_eq!(told(&all), [(whole.to_owned(), vec![0, 2, 3, 4]), ("Other.".to_owned(), vec![1])]);
        // few are told as they are
        let few = told(&all[..4]);
        assert_eq!(few.iter().map(|(note, _)| note.as_str()).collect::<Vec<_>>(), all[..4]);
    }

    #[test]
    fn names_with_numbers_are_names() {
        let all = ["host-1 is 3 m away", "host-2 is 3 m away", "host-3 is 3 m away", "host-4 is 3 m away"];
        assert_eq!(told(&all).len(), 4);
        let all = ["`a.1` and 1x", "`a.2` and 2x", "`a.3` and 3x", "`a.4` and 4x"];
        assert_eq!(told(&all).len(), 4);
    }
}
