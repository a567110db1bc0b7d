//! Notes of many results, and which of them say each.

/// Sayers that are named one by one.
pub(crate) const NAMED: usize = 3;

/// Each note once, in the order in which they are first said, with those that say it.
pub(crate) fn sayers<'a, T: Copy>(said: impl Iterator<Item = (T, &'a String)>) -> Vec<(&'a str, Vec<T>)> {
    let mut told: Vec<(&str, Vec<T>)> = Vec::new();
    for (sayer, note) in said {
        match told.iter_mut().find(|(other, _)| other == note) {
            Some((_, sayers)) => sayers.push(sayer),
            None => told.push((note, vec![sayer])),
        }
    }
    told
}
