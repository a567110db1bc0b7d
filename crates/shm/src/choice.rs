//! Which algorithm for which size.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::algorithm::{Algorithm, Operation};

/// Most changes of the algorithm over all sizes, per operation.
const MOST: usize = 32;

/// For each operation, algorithms by the size of the whole vector. Where nothing is said, it is direct: with the memory
/// of all ranks in reach, nothing moves fewer bytes or waits less often.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choices {
    /// Ascending: from so many bytes on, this algorithm.
    from: BTreeMap<Operation, BTreeMap<u64, Algorithm>>,
}

/// A file of choices that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// It cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Which file.
        path: String,
        /// The system's answer.
        error: std::io::Error,
    },
    /// It says something else.
    #[error("{path}: {reason}")]
    Form {
        /// Which file.
        path: String,
        /// What was found, and what was expected.
        reason: String,
    },
}

/// The part of a calibration that is read here; there is more in the file, for people.
#[derive(Debug, Serialize, Deserialize)]
struct Form {
    /// Operation to a list of (from so many bytes on, algorithm).
    choices: BTreeMap<String, Vec<(u64, String)>>,
}

impl Choices {
    /// From `bytes` on, `operation` goes by `algorithm`; what was said for larger sizes stays.
    ///
    /// # Errors
    /// When there are more than 32 sizes for an operation.
    pub fn set(&mut self, operation: Operation, bytes: u64, algorithm: Algorithm) -> Result<(), String> {
        let sizes = self.from.entry(operation).or_default();
        if sizes.len() == MOST && !sizes.contains_key(&bytes) {
            return Err(format!("{}: at most {MOST} sizes are expected", operation.name()));
        }
        sizes.insert(bytes, algorithm);
        Ok(())
    }

    /// The algorithm for a vector of `bytes`.
    pub fn get(&self, operation: Operation, bytes: u64) -> Algorithm {
        let sizes = self.from.get(&operation);
        let found = sizes.and_then(|sizes| sizes.range(..=bytes).next_back());
        found.map_or(Algorithm::Direct, |(_, &algorithm)| algorithm)
    }

    /// All that was said: operation, from so many bytes on, algorithm.
    pub fn entries(&self) -> impl Iterator<Item = (Operation, u64, Algorithm)> {
        self.from.iter().flat_map(|(&operation, sizes)| {
            sizes.iter().map(move |(&bytes, &algorithm)| (operation, bytes, algorithm))
        })
    }

    /// As the value of `choices` in a file.
    pub fn to_json(&self) -> serde_json::Value {
        let mut choices: BTreeMap<&str, Vec<(u64, &str)>> = BTreeMap::new();
        for (operation, bytes, algorithm) in self.entries() {
            choices.entry(operation.name()).or_default().push((bytes, algorithm.name()));
        }
        serde_json::json!(choices)
    }

    /// Reads a file that has `choices`, such as `stratasim card bench --real --save` writes.
    ///
    /// # Errors
    /// No such file, no JSON, unknown names.
    pub fn read(path: &Path) -> Result<Self, ChoiceError> {
        let name = path.display().to_string();
        // a device has no end, a pipe may never have one
        let text = match std::fs::metadata(path) {
            Ok(there) if !there.is_file() && !there.is_dir() => {
                Err(std::io::Error::other("this is no file of text"))
            }
            _ => std::fs::read_to_string(path),
        };
        let text = text.map_err(|error| ChoiceError::File { path: name.clone(), error })?;
        Self::parse(&text).map_err(|reason| ChoiceError::Form { path: name, reason })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let form: Form = serde_json::from_str(text).map_err(|error| {
            format!("{error}; what `stratasim card bench --real --save` writes is expected")
        })?;
        let mut choices = Self::default();
        for (operation, sizes) in form.choices {
            let known = Operation::named(&operation).ok_or_else(|| {
                let names = Operation::MOVING.map(Operation::name).join(", ");
                format!("choices: unknown operation `{operation}` (known: {names})")
            })?;
            for (bytes, algorithm) in sizes {
                let algorithm = Algorithm::named(&algorithm).ok_or_else(|| {
                    let names = Algorithm::ALL.map(Algorithm::name).join(", ");
                    format!("choices.{operation}: unknown algorithm `{algorithm}` (known: {names})")
                })?;
                choices.set(known, bytes, algorithm)?;
            }
        }
        Ok(choices)
    }
}

/// The same in shared memory: those of rank 0.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SharedChoices {
    /// Per operation: size and number of the algorithm; an entry without a number ends the list.
    entries: [[(AtomicU64, AtomicU8); MOST]; Operation::MOVING.len()],
}

impl SharedChoices {
    pub(crate) fn write(&self, choices: &Choices) {
        for (list, operation) in self.entries.iter().zip(Operation::MOVING) {
            let sizes = choices.from.get(&operation).into_iter().flatten();
            for (entry, (&bytes, &algorithm)) in list.iter().zip(sizes) {
                entry.0.store(bytes, Ordering::Relaxed);
                entry.1.store(algorithm as u8, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn get(&self, operation: Operation, bytes: u64) -> Algorithm {
        let lists = self.entries.iter().zip(Operation::MOVING);
        let list = lists.filter(|(_, known)| *known == operation).flat_map(|(list, _)| list);
        list.map(|(from, number)| (from.load(Ordering::Relaxed), number.load(Ordering::Relaxed)))
            .take_while(|&(from, number)| number != 0 && from <= bytes)
            .last()
            .and_then(|(_, number)| Algorithm::ALL.into_iter().find(|known| *known as u8 == number))
            .unwrap_or(Algorithm::Direct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_what_was_put_in() {
        let mut choices = Choices::default();
        for (bytes, algorithm) in
            [(0, Algorithm::Csc), (100, Algorithm::Ring), (5000, Algorithm::RingTwoSided)]
        {
            choices.set(Operation::AllGather, bytes, algorithm).expect("few");
        }
        let text = serde_json::json!({"choices": choices.to_json(), "machine": "any"}).to_string();
        let read = Choices::parse(&text).expect("ours");
        assert_eq!(read, choices);
        let shared = SharedChoices {
            entries: std::array::from_fn(|_| std::array::from_fn(|_| (AtomicU64::new(0), AtomicU8::new(0)))),
        };
        shared.write(&choices);
        for (bytes, wanted) in [
            (0, Algorithm::Csc),
            (99, Algorithm::Csc),
            (100, Algorithm::Ring),
            (9999, Algorithm::RingTwoSided),
        ] {
            assert_eq!(read.get(Operation::AllGather, bytes), wanted);
            assert_eq!(shared.get(Operation::AllGather, bytes), wanted);
            assert_eq!(shared.get(Operation::Broadcast, bytes), Algorithm::Direct);
        }
    }

    #[test]
    fn unknown_names_in_a_file_are_named() {
        let error = Choices::parse(r#"{"choices": {"all-gater": []}}"#).expect_err("a typo");
        assert!(error.contains("unknown operation `all-gater` (known: all-gather,"), "{error}");
        let error = Choices::parse(r#"{"choices": {"all-gather": [[0, "cssc"]]}}"#).expect_err("a typo");
        assert!(error.contains("unknown algorithm `cssc` (known: ring,"), "{error}");
        assert!(Choices::parse("{}").expect_err("nothing").contains("choices"));
        let many: Vec<_> = (0..40).map(|bytes| (bytes, "csc")).collect();
        let text = serde_json::json!({"choices": {"broadcast": many}}).to_string();
        assert!(Choices::parse(&text).expect_err("too many").contains("at most 32"));
    }
}
