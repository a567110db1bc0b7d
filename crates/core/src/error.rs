//! The error of building something from a well-formed spec.

/// A value that parses but cannot be built: which field, and what is wrong with it.
///
/// `field` is a dotted path inside the spec (`of.nodes`); [`BuildError::within`] extends it on the
/// way up, and the experiment's document turns the full path into a line and column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if field.is_empty() { String::new() } else { format!("{field}: ") })]
pub struct BuildError {
    /// Dotted path of the field, empty for the whole section.
    pub field: String,
    /// What was found, what was expected and, where it helps, what to do.
    pub reason: String,
}

impl BuildError {
    /// An error at `field` (empty for the section itself).
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }

    /// The same error seen from one level up: `outer.field`.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.field = if self.field.is_empty() { outer.to_owned() } else { format!("{outer}.{}", self.field) };
        self
    }
}

/// The known name closest to `word`, for "did you mean"; `None` when nothing is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .filter_map(|name| Some((distance(word, name, 2.max(name.len() / 3))?, name)))
        .min()
        .map(|(_, name)| name)
}

/// Whether `word` is `name` but for one slip: a letter too many, left out or wrong, or two swapped. Closer than
/// [`nearest`] asks for, where `word` may be a name of its own right.
pub fn is_slip(word: &str, name: &str) -> bool {
    distance(word, name, 1) == Some(1)
}

/// Characters to insert, leave out, replace, or swap with their neighbour (optimal string alignment); `None` when they are more
/// than `most`.
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    // a word may be a file without a blank
    if a.chars().count().abs_diff(b.chars().count()) > most {
        return None;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut least = (last[j] + usize::from(a[i] != b[j])).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                let before: &Vec<usize> = &before;
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    Some(last[b.len()]).filter(|&characters| characters <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_grows_from_the_inside_out() {
        let error = BuildError::new("nodes", "a ring needs two, got 1").within("of").within("topology");
        assert_eq!(error.to_string(), "topology.of.nodes: a ring needs two, got 1");
    }

    #[test]
    fn a_typo_finds_its_neighbour() {
        assert_eq!(nearest("fat-treee", ["ring", "fat-tree", "torus"]), Some("fat-tree"));
        assert_eq!(nearest("flwo", ["flit", "flow"]), Some("flow"), "two letters swapped are one mistake");
        assert_eq!(nearest("banana", ["ring", "fat-tree", "torus"]), None);
    }

    #[test]
    fn a_slip_is_one_mistake() {
        for word in ["knd", "kinnd", "kimd", "knid", "Kind"] {
            assert!(is_slip(word, "kind"), "{word}");
        }
        for word in ["kind", "link", "min", "ring"] {
            assert!(!is_slip(word, "kind"), "{word}");
        }
    }
}
