//! Numbers of the sets of all nodes, by which what is drawn for them is told apart.

use super::{Next, Routes};

/// Sets of different nodes count as different ones here. They are numbered column by column of the table, node by node, each where
/// it stands first: there may be almost as many as entries, so that only their places are kept, a bit for each entry.
#[derive(Debug)]
pub(in super::super) struct Numbers {
    /// By column: how many sets stand before.
    before: Vec<u32>,
    /// Rows whose set in a column is a new one: column after column, so many words each.
    new: Vec<u64>,
    words: usize,
}

impl Numbers {
    /// Of all sets of the table.
    pub(in super::super) fn new(routes: &Routes) -> Self {
        let columns = routes.next.columns();
        let rows: Vec<u32> = routes.next.rows().collect();
        let words = rows.len().div_ceil(u64::BITS as usize);
        let mut new = vec![0_u64; words * columns];
        let mut counts = vec![0_u32; columns];
        // by set: a bit for each of some rows, where it stood before
        let mut seen = vec![0_u64; routes.sets.count()];
        for (word, nodes) in rows.chunks(u64::BITS as usize).enumerate() {
            seen.fill(0);
            for (column, count) in counts.iter_mut().enumerate() {
                let own = &mut new[column * words + word];
                for (bit, &node) in nodes.iter().enumerate() {
                    if let Next::Set(set) = routes.next.get(node, column as u32) {
                        let before = seen[set as usize];
                        *own |= !before & 1 << bit;
                        seen[set as usize] = before | 1 << bit;
                    }
                }
                *count += own.count_ones();
            }
        }
        let before = counts.iter().scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count))).collect();
        Self { before, new, words }
    }

    /// The number of a set of a node.
    pub(in super::super) fn of(&self, routes: &Routes, node: u32, set: u32) -> u32 {
        let column = routes.first_column(node, set);
        let words = &self.new[column as usize * self.words..][..self.words];
        let row = node - routes.next.rows().start;
        let (word, bit) = ((row / u64::BITS) as usize, row % u64::BITS);
        let ones = |word: &u64| word.count_ones();
        let nodes = words[..word].iter().map(ones).sum::<u32>() + ones(&(words[word] & ((1 << bit) - 1)));
        self.before[column as usize] + nodes
    }
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::packet::testing::machine;

    #[test]
    fn sets_have_the_numbers_that_counting_them_gives() {
        for spec in [
            r#"{"kind": "torus", "dimensions": [5, 4, 4], "bandwidth": "10 Gbps", "latency": "1 us"}"#,
            r#"{"kind": "hypercube", "dimensions": 7, "bandwidth": "10 Gbps", "latency": "1 us"}"#,
            r#"{"kind": "fat-tree", "k": 6, "bandwidth": "10 Gbps", "latency": "1 us"}"#,
        ] {
            let routes = Routes::new(&machine(spec), 4160).expect("a table");
            let numbers = Numbers::new(&routes);
            let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
            for column in 0..routes.next.columns() as u32 {
                for node in routes.next.rows() {
                    if let Next::Set(set) = routes.next.get(node, column) {
                        let next = known.len() as u32;
                        let number = *known.entry((node, set)).or_insert(next);
                        assert_eq!(numbers.of(&routes, node, set), number, "{spec}: {node}, {column}");
                    }
                }
            }
            assert!(known.len() > routes.sets.count(), "{spec}: nodes share sets");
        }
    }
}
