//! Many names in one allocation.

/// An append-only column of names. A name may be absent.
#[derive(Debug, Clone, Default)]
pub struct Names {
    text: String,
    ends: Vec<u32>,
}

impl Names {
    /// Appends `name`; its index is the number of names before.
    pub fn push(&mut self, name: std::fmt::Arguments<'_>) {
        use std::fmt::Write as _;
        self.text.write_fmt(name).expect("writing to a string cannot fail");
        self.ends.push(u32::try_from(self.text.len()).expect("names take less than 4 GiB"));
    }

    /// The name at `index`; empty when absent.
    pub fn get(&self, index: usize) -> &str {
        let Some(&end) = self.ends.get(index) else { return "" };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start as usize..end as usize]
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All names in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }
}
