//! The table of next hops: for every node and group of hosts a port, or a set of ports.

use super::Next;

/// Most entries of a table (1 GiB).
pub(super) const MOST_ENTRIES: u64 = 1 << 28;

/// Entries by node and column, in two bytes each where all of them fit: a large machine looks one up with every hop, each time
/// another one, and the nearer caches hold twice as many.
#[derive(Debug, Clone)]
pub(super) struct Table {
    columns: usize,
    entries: Entries,
}

/// A word is nothing with all bits set, a set of several ports with the highest one, and a port otherwise.
#[derive(Debug, Clone)]
enum Entries {
    Short(Vec<u16>),
    Long(Vec<u32>),
}

const SEVERAL: u32 = 1 << 31;
const SEVERAL_SHORT: u16 = 1 << 15;

/// A table while it is filled, in whole words.
#[derive(Debug)]
pub(super) struct Filling {
    columns: usize,
    entries: Vec<u32>,
}

impl Filling {
    /// No way anywhere.
    pub(super) fn new(nodes: usize, columns: usize) -> Self {
        Self { columns, entries: vec![u32::MAX; nodes * columns] }
    }

    /// Says where packets go next.
    pub(super) fn set(&mut self, node: usize, column: usize, next: Next) {
        self.entries[node * self.columns + column] = match next {
            Next::Nowhere => u32::MAX,
            Next::Port(port) => port,
            Next::Set(set) => SEVERAL | set,
        };
    }

    /// The table, which does not change any more.
    pub(super) fn done(self) -> Table {
        let Self { columns, entries } = self;
        let short = |&entry: &u32| {
            let several = entry & SEVERAL != 0;
            match entry {
                u32::MAX => Some(u16::MAX),
                _ => u16::try_from(entry & !SEVERAL)
                    .ok()
                    .filter(|number| number | SEVERAL_SHORT != u16::MAX && number & SEVERAL_SHORT == 0)
                    .map(|number| if several { number | SEVERAL_SHORT } else { number }),
            }
        };
        let entries = match entries.iter().map(short).collect() {
            Some(short) => Entries::Short(short),
            None => Entries::Long(entries),
        };
        Table { columns, entries }
    }
}

impl Table {
    /// Groups of hosts.
    pub(super) const fn columns(&self) -> usize {
        self.columns
    }

    /// Where packets go next.
    #[inline]
    pub(super) fn get(&self, node: u32, column: u32) -> Next {
        let at = node as usize * self.columns + column as usize;
        match &self.entries {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_what_they_were_however_long_they_are() {
        for (most, is_short) in [(5, true), (0x7ffe, true), (0x7fff, false), (70_000, false)] {
            let entries = [
                Next::Port(most),
                Next::Set(most),
                Next::Nowhere,
                Next::Port(0),
                Next::Set(0),
                Next::Port(1),
            ];
            let mut filling = Filling::new(2, 3);
            for (at, &next) in entries.iter().enumerate() {
                filling.set(at / 3, at % 3, next);
            }
            let table = filling.done();
            assert_eq!(matches!(table.entries, Entries::Short(_)), is_short, "{most}");
            for (at, &next) in (0..).zip(&entries) {
                assert_eq!(table.get(at / 3, at % 3), next);
            }
        }
    }
}
