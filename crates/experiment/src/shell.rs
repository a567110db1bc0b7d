//! Commands that are told to readers.

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+:/=,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_word_as_it_was() {
        assert_eq!(quoted("traffic.flits=8"), "traffic.flits=8");
        assert_eq!(quoted("network={kind=\"flow\"}"), "'network={kind=\"flow\"}'");
        assert_eq!(quoted("name=it's"), r"'name=it'\''s'");
    }
}
