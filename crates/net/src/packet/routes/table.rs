//! The table of next hops: for nodes and groups of hosts a port, or a set of ports.

use std::ops::Range;
use std::sync::Arc;

use super::Next;
use super::grid::Grid;

/// Most entries of a table (2 GiB).
pub(super) const MOST_ENTRIES: u64 = 1 << 29;

/// Entries column by column, in two bytes each where all of them fit: a large machine looks one up with every hop, each time
/// another one, and the nearer caches hold twice as many. All who have the table share them.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// The nodes that have a row.
    rows: Range<u32>,
    columns: usize,
    entries: Entries,
}

/// A word is nothing with all bits set, a set of several ports with the highest one, and a port otherwise.
#[derive(Debug, Clone)]
enum Entries {
    Short(Arc<[u16]>),
    Long(Arc<[u32]>),
    /// None: they are told from coordinates.
    Grid(Arc<Grid>),
}

const SEVERAL: u32 = 1 << 31;
const SEVERAL_SHORT: u16 = 1 << 15;

/// The largest number of a port or a set that a short word holds: with all bits set it is nothing.
const MOST_SHORT: u32 = (SEVERAL_SHORT - 2) as u32;

/// The short word of one whose number fits.
const fn shortened(word: u32) -> u16 {
    ((word >> 16) as u16 & SEVERAL_SHORT) | word as u16 & !SEVERAL_SHORT
}

/// The word of a short one.
const fn lengthened(word: u16) -> u32 {
    match word {
        u16::MAX => u32::MAX,
        _ => ((word & SEVERAL_SHORT) as u32 * (SEVERAL >> 15)) | (word & !SEVERAL_SHORT) as u32,
    }
}

/// A table while it is filled, column by column.
#[derive(Debug)]
pub(super) struct Filling {
    table: Table,
    /// By row, the next column, in whole words.
    next: Vec<u32>,
    /// Columns that are there.
    filled: usize,
    /// The largest number of a port or a set so far.
    most: u32,
}

impl Filling {
    /// Of no column yet, for these nodes. Ports have numbers up to `most`.
    pub(super) fn new(rows: Range<u32>, columns: usize, most: u32) -> Self {
        let count = rows.len();
        let entries = if most > MOST_SHORT {
            Entries::Long(std::iter::repeat_n(u32::MAX, count * columns).collect())
        } else {
            Entries::Short(std::iter::repeat_n(u16::MAX, count * columns).collect())
        };
        let table = Table { rows, columns, entries };
        Self { table, next: vec![u32::MAX; count], filled: 0, most }
    }

    /// The next column: where packets go next from each node that has a row.
    pub(super) fn column(&mut self, mut next: impl FnMut(usize) -> Next) {
        for (node, word) in (self.table.rows.start as usize..).zip(&mut self.next) {
            *word = match next(node) {
                Next::Nowhere => u32::MAX,
                Next::Port(port) => {
                    self.most = self.most.max(port);
                    port
                }
                Next::Set(set) => {
                    self.most = self.most.max(set);
                    SEVERAL | set
                }
            };
        }
        if let Entries::Short(entries) = &self.table.entries
            && self.most > MOST_SHORT
        {
            self.table.entries = Entries::Long(entries.iter().map(|&word| lengthened(word)).collect());
        }
        let rows = self.next.len();
        let column = self.filled * rows..(self.filled + 1) * rows;
        match &mut self.table.entries {
            Entries::Short(entries) => {
                let words = Arc::make_mut(entries)[column].iter_mut().zip(&self.next);
                words.for_each(|(entry, &word)| *entry = shortened(word));
            }
            Entries::Long(entries) => Arc::make_mut(entries)[column].copy_from_slice(&self.next),
            Entries::Grid(_) => unreachable!("nothing is filled in"),
        }
        self.filled += 1;
    }

    /// The table, which does not change any more.
    pub(super) fn done(self) -> Table {
        debug_assert_eq!(self.filled, self.table.columns, "some columns are missing");
        self.table
    }
}

impl Table {
    /// Of nobody.
    pub(super) fn empty() -> Self {
        Self { rows: 0..0, columns: 0, entries: Entries::Short(Arc::default()) }
    }

    /// Of a grid: the columns are its nodes.
    pub(super) fn of_grid(grid: Grid) -> Self {
        Self { rows: 0..grid.nodes() as u32, columns: grid.nodes(), entries: Entries::Grid(Arc::new(grid)) }
    }

    /// The nodes that have a row.
    pub(super) fn rows(&self) -> Range<u32> {
        self.rows.clone()
    }

    /// Whether a node has a row.
    #[inline]
    pub(super) fn has_row(&self, node: u32) -> bool {
        self.rows.contains(&node)
    }

    /// Groups of hosts.
    pub(super) const fn columns(&self) -> usize {
        self.columns
    }

    /// Where packets go next from a node that has a row.
    #[inline]
    pub(super) fn get(&self, node: u32, column: u32) -> Next {
        let at = column as usize * self.rows.len() + (node - self.rows.start) as usize;
        match &self.entries {
            Entries::Grid(grid) => grid.next(node, column),
            Entries::Short(entries) => match entries[at] {
                u16::MAX => Next::Nowhere,
                set if set & SEVERAL_SHORT != 0 => Next::Set(u32::from(set & !SEVERAL_SHORT)),
                port => Next::Port(port.into()),
            },
            Entries::Long(entries) => match entries[at] {
                u32::MAX => Next::Nowhere,
                set if set & SEVERAL != 0 => Next::Set(set & !SEVERAL),
                port => Next::Port(port),
            },
        }
    }

    /// The first column where a node has this set, one that it has.
    pub(super) fn first_column(&self, node: u32, set: u32) -> u32 {
        let columns = self.columns as u32;
        let first = match &self.entries {
            Entries::Grid(grid) => grid.first_to(node, set),
            _ => (0..columns).find(|&column| self.get(node, column) == Next::Set(set)),
        };
        first.unwrap_or(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_what_they_were_however_long_they_are() {
        // some of the columns are there while all words are short
        for columns in [3, 40] {
            for (most, is_short) in [(5, true), (0x7ffe, true), (0x7fff, false), (70_000, false)] {
                for known in [0, most] {
                    let entry = |node: usize, column: usize| match (node * columns + column) % 7 {
                        // the large ones come last
                        0 if column + 3 >= columns => Next::Port(most),
                        1 if column + 3 >= columns => Next::Set(most),
                        0 | 2 => Next::Nowhere,
                        1 | 3 => Next::Port(0),
                        4 => Next::Set(0),
                        5 => Next::Port(1),
                        _ => Next::Set(3),
                    };
                    let rows = 2..9;
                    let mut filling = Filling::new(rows.clone(), columns, known);
                    for column in 0..columns {
                        filling.column(|node| entry(node, column));
                    }
                    let table = filling.done();
                    assert_eq!(matches!(table.entries, Entries::Short(_)), is_short, "{most}");
                    for (node, column) in rows.flat_map(|node| (0..columns).map(move |at| (node, at))) {
                        let known = table.get(node, column as u32);
                        assert_eq!(known, entry(node as usize, column), "{most}");
                    }
                }
            }
        }
    }
}
