//! Which operation of a rank a label names.

use rustc_hash::FxHashMap;
use stratasim_core::error::nearest;

/// The labels of a rank. Most schedules use `l1`, `l2`, ...; those are found without hashing.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// Operation of the label `l` with the number of the place; [`NONE`] where there is no such label.
    numbered: Vec<u32>,
    /// Labels of at most 16 letters, as a number.
    short: FxHashMap<u128, u32>,
    long: FxHashMap<Box<[u8]>, u32>,
    defined: usize,
}

const NONE: u32 = u32::MAX;
/// Room that numbered labels may take beyond two places per label.
const GAP: usize = 64;

/// The number of a label like `l17`.
#[inline]
pub(super) fn label_number(word: &[u8]) -> Option<u32> {
    let [b'l', digits @ ..] = word else { return None };
    if digits.is_empty() || digits.len() > 9 || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    let mut value = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u32::from(digit);
    }
    Some(value)
}

impl Labels {
    /// Forgets all labels.
    pub(super) fn clear(&mut self) {
        self.numbered.clear();
        self.defined = 0;
        clear(&mut self.short);
        clear(&mut self.long);
    }

    /// Gives a label to an operation; false, and the label stays where it is, if it is taken.
    #[inline]
    pub(super) fn define(&mut self, word: &[u8], number: Option<u32>, operation: u32) -> bool {
        self.defined += 1;
        if let Some(number) = number.map(|number| number as usize)
            && self.short.is_empty()
            && number < 2 * self.defined + GAP
        {
            // the usual case: one more than the last
            if number == self.numbered.len() {
                self.numbered.push(operation);
                return true;
            }
            if number > self.numbered.len() {
                self.numbered.resize(number, NONE);
                self.numbered.push(operation);
                return true;
            }
            let place = &mut self.numbered[number];
            let free = *place == NONE;
            if free {
                *place = operation;
            }
            return free;
        }
        self.define_rare(word, number, operation)
    }

    fn define_rare(&mut self, word: &[u8], number: Option<u32>, operation: u32) -> bool {
        if self.find(word, number).is_some() {
            return false;
        }
        match pack(word) {
            Some(key) => self.short.insert(key, operation),
            None => self.long.insert(word.into(), operation),
        };
        true
    }

    /// The operation that a label names.
    #[inline]
    pub(super) fn find(&self, word: &[u8], number: Option<u32>) -> Option<u32> {
        if let Some(number) = number
            && let Some(&operation) = self.numbered.get(number as usize)
            && operation != NONE
        {
            return Some(operation);
        }
        match pack(word) {
            Some(key) => self.short.get(&key).copied(),
            None => self.long.get(word).copied(),
        }
    }

    /// What an unknown label may have been meant to be.
    #[cold]
    pub(super) fn nearest(&self, word: &[u8]) -> Option<String> {
        let word = str::from_utf8(word).ok()?;
        let mut known: Vec<String> = (self.numbered.iter().zip(0_u32..))
            .filter(|(operation, _)| **operation != NONE)
            .map(|(_, number)| format!("l{number}"))
            .collect();
        // the order of a hash table does not matter: what is nearest is chosen by distance and name
        #[expect(clippy::iter_over_hash_type, reason = "sorted by `nearest`")]
        for key in self.short.keys() {
            let bytes = key.to_le_bytes();
            let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            known.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
        }
        #[expect(clippy::iter_over_hash_type, reason = "sorted by `nearest`")]
        for label in self.long.keys() {
            known.push(String::from_utf8_lossy(label).into_owned());
        }
        let (letters, number) = split_number(word);
        let neighbour = known
            .iter()
            .filter(|label| split_number(label).0 == letters)
            .filter_map(|label| Some((split_number(label).1?.abs_diff(number?), label)))
            .filter(|(distance, _)| *distance < 10)
            .min();
        if let Some((_, label)) = neighbour {
            return Some(label.clone());
        }
        let alike = |label: &&String| label.as_bytes()[0].eq_ignore_ascii_case(&word.as_bytes()[0]);
        nearest(word, known.iter().filter(alike).map(String::as_str)).map(str::to_owned)
    }
}

/// Empties a table; one much larger than what it held is given back, as clearing takes time by its size.
fn clear<K: std::hash::Hash + Eq>(table: &mut FxHashMap<K, u32>) {
    if table.capacity() > 64 + 8 * table.len() {
        *table = FxHashMap::default();
    } else {
        table.clear();
    }
}

#[inline]
fn pack(word: &[u8]) -> Option<u128> {
    let mut bytes = [0; 16];
    bytes.get_mut(..word.len())?.copy_from_slice(word);
    Some(u128::from_le_bytes(bytes))
}

/// The number at the end of a label, and what stands before it.
fn split_number(label: &str) -> (&str, Option<u64>) {
    let letters = label.trim_end_matches(|character: char| character.is_ascii_digit());
    (letters, label[letters.len()..].parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_whatever_they_look_like() {
        let words = ["l1", "l2", "l2a", "l500", "l3", "l01", "l0", "x", "l123456789", "l1234567890"];
        let long = ["a_label_of_seventeen", "a_label_of_sixte", "a_label_of_sevent"];
        let words: Vec<&[u8]> = words.iter().chain(&long).map(|word| word.as_bytes()).collect();
        let mut labels = Labels::default();
        for _ in 0..2 {
            for (place, word) in (0..).zip(&words) {
                assert_eq!(labels.find(word, label_number(word)), None, "{}", word.escape_ascii());
                assert!(labels.define(word, label_number(word), place));
            }
            for (place, word) in (0..).zip(&words) {
                assert!(!labels.define(word, label_number(word), 99));
                assert_eq!(labels.find(word, label_number(word)), Some(place), "{}", word.escape_ascii());
            }
            labels.clear();
        }
    }

    #[test]
    fn a_label_that_was_too_far_ahead_keeps_its_operation() {
        let mut labels = Labels::default();
        assert!(labels.define(b"l1000", Some(1000), 7));
        for number in 1..2000_u32 {
            let word = format!("l{number}");
            assert_eq!(labels.define(word.as_bytes(), Some(number), number), number != 1000);
        }
        assert_eq!(labels.find(b"l1000", Some(1000)), Some(7));
        assert_eq!(labels.find(b"l1999", Some(1999)), Some(1999));
    }

    #[test]
    fn the_nearest_label_is_the_next_number_or_the_next_spelling() {
        let mut labels = Labels::default();
        for (place, word) in (0..).zip(["l1", "l11", "l12", "send_all", "Mount"]) {
            labels.define(word.as_bytes(), label_number(word.as_bytes()), place);
        }
        let near = |word: &str| labels.nearest(word.as_bytes());
        assert_eq!(near("l13").as_deref(), Some("l12"));
        assert_eq!(near("sendall").as_deref(), Some("send_all"));
        assert_eq!(near("mount").as_deref(), Some("Mount"));
        assert_eq!(near("z"), None);
    }
}
