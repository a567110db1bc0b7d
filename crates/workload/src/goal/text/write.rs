//! From a schedule to text.

use std::io::Write;

use rustc_hash::FxHashSet;

use super::cursor::in_word;
use crate::goal::{ANY, Operation, OperationKind, Schedule, WriteError};

/// Bytes that are gathered before they are written.
const CHUNK: usize = 1 << 16;

/// Writes a schedule as GOAL text that `txt2bin` accepts; [`strict`](super::strict()) has nothing against it
/// but peers that do not exist. Reading it gives a schedule with the same digest.
///
/// Every operation has a label, its own or `l` and its place in the rank; a label that is taken or cannot
/// be written is changed. A dependency stands as far up as it can: behind both of its operations.
///
/// # Errors
/// [`WriteError::Form`] if an operation cannot be said in GOAL text: a cpu or nic above 255, or a
/// computation with a peer, a tag or a NIC; errors of `out`.
pub fn write(schedule: &Schedule, out: &mut impl Write) -> Result<(), WriteError> {
    let mut writer = Writer { text: Vec::with_capacity(CHUNK + 1024), ..Writer::default() };
    writer.text.extend_from_slice(b"num_ranks ");
    writer.number(schedule.ranks().into());
    writer.text.push(b'\n');
    for rank in 0..schedule.ranks() {
        writer.text.extend_from_slice(b"\nrank ");
        writer.number(rank.into());
        writer.text.extend_from_slice(b" {\n");
        writer.rank(schedule, rank, out)?;
        writer.text.extend_from_slice(b"}\n");
        writer.flush(CHUNK, out)?;
    }
    writer.flush(0, out)
}

#[derive(Default)]
struct Writer {
    text: Vec<u8>,
    /// Labels of the rank's operations, if they are not all `l1`, `l2`, ...
    labels: Vec<String>,
    /// Dependencies of the rank, in the order in which they are declared for each operation.
    edges: Vec<Dependency>,
    /// Where the dependencies of each operation begin in `order`.
    starts: Vec<u32>,
    /// Dependencies by the operation behind which they stand.
    order: Vec<u32>,
}

struct Dependency {
    after: u32,
    before: u32,
    on_start: bool,
    /// The operation behind which it stands.
    behind: u32,
}

impl Writer {
    fn rank(&mut self, schedule: &Schedule, rank: u32, out: &mut impl Write) -> Result<(), WriteError> {
        self.name(schedule, rank);
        self.place_dependencies(schedule, rank);
        let first = schedule.of_rank(rank).start;
        for number in schedule.of_rank(rank) {
            let place = number - first;
            self.label(place);
            self.text.extend_from_slice(b": ");
            let operation = schedule.operation(rank, number);
            check(schedule, rank, number, operation)?;
            self.operation(operation);
            if !self.edges.is_empty() {
                for at in self.starts[place as usize]..self.starts[place as usize + 1] {
                    let Dependency { after, before, on_start, .. } =
                        self.edges[self.order[at as usize] as usize];
                    self.label(after);
                    self.text.extend_from_slice(if on_start { b" irequires " } else { b" requires " });
                    self.label(before);
                    self.text.push(b'\n');
                    self.flush(CHUNK, out)?;
                }
            }
            self.flush(CHUNK, out)?;
        }
        Ok(())
    }

    fn operation(&mut self, operation: Operation) {
        let Operation { kind, size, peer, tag, cpu, nic } = operation;
        self.text.extend_from_slice(match kind {
            OperationKind::Send => b"send ",
            OperationKind::Receive => b"recv ",
            OperationKind::Calc => b"calc ",
        });
        self.number(size);
        if kind != OperationKind::Calc {
            let receive = kind == OperationKind::Receive;
            self.text.extend_from_slice(if receive { b"b from " } else { b"b to " });
            // a send to anybody is no GOAL; 2^32 - 1 is what other tools take for it
            self.number_or_any(peer, receive);
            self.text.extend_from_slice(b" tag ");
            self.number_or_any(tag, true);
        }
        for (name, value) in [(b" cpu ", cpu), (b" nic ", nic)] {
            if value != 0 {
                self.text.extend_from_slice(name);
                self.number(value.into());
            }
        }
        self.text.push(b'\n');
    }

    /// Finds the labels of a rank, so that no two are the same.
    fn name(&mut self, schedule: &Schedule, rank: u32) {
        self.labels.clear();
        let numbers = schedule.of_rank(rank);
        if numbers.clone().all(|number| schedule.own_label(number).is_none()) {
            return;
        }
        let mut taken: FxHashSet<String> = FxHashSet::default();
        for number in numbers.clone() {
            let own = schedule.own_label(number).filter(|label| is_label(label));
            let own = own.filter(|label| taken.insert((*label).to_owned()));
            self.labels.push(own.map_or_else(String::new, str::to_owned));
        }
        for (place, number) in (0..).zip(numbers) {
            let label = &mut self.labels[place];
            if !label.is_empty() {
                continue;
            }
            // only one with a label of its own that was not free keeps something of it
            let wish = schedule.own_label(number).filter(|label| is_label(label));
            let wish =
                wish.map_or_else(|| format!("l{}", place + 1), |label| format!("{label}_{}", place + 1));
            *label = wish.clone();
            let mut variant = 1;
            while !taken.insert(label.clone()) {
                variant += 1;
                *label = format!("{wish}_{variant}");
            }
        }
    }

    /// Decides behind which operation each dependency of a rank stands.
    fn place_dependencies(&mut self, schedule: &Schedule, rank: u32) {
        let numbers = schedule.of_rank(rank);
        self.edges.clear();
        for (before, number) in (0_u32..).zip(numbers.clone()) {
            let mut behind = before;
            let mut started = false;
            for edge in schedule.edges(number) {
                if edge.on_start() != started {
                    // what waits for the start is a list of its own
                    (started, behind) = (true, before);
                }
                behind = behind.max(edge.after());
                self.edges.push(Dependency {
                    after: edge.after(),
                    before,
                    on_start: edge.on_start(),
                    behind,
                });
            }
        }
        if self.edges.is_empty() {
            return;
        }
        self.starts.clear();
        self.starts.resize(numbers.len() + 2, 0);
        for edge in &self.edges {
            self.starts[edge.behind as usize + 2] += 1;
        }
        for at in 2..self.starts.len() {
            self.starts[at] += self.starts[at - 1];
        }
        self.order.clear();
        self.order.resize(self.edges.len(), 0);
        for (at, edge) in (0..).zip(&self.edges) {
            let place = &mut self.starts[edge.behind as usize + 1];
            self.order[*place as usize] = at;
            *place += 1;
        }
    }

    #[inline]
    fn label(&mut self, place: u32) {
        match self.labels.get(place as usize) {
            Some(label) => self.text.extend_from_slice(label.as_bytes()),
            None => {
                self.text.push(b'l');
                self.number(u64::from(place) + 1);
            }
        }
    }

    #[inline]
    fn number_or_any(&mut self, value: u32, any: bool) {
        if value == ANY && any {
            self.text.extend_from_slice(b"-1");
        } else {
            self.number(value.into());
        }
    }

    #[inline]
    fn number(&mut self, mut value: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        while value >= 100 {
            let pair = 2 * (value % 100) as usize;
            value /= 100;
            at -= 2;
            digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        }
        if value >= 10 {
            at -= 2;
            digits[at..at + 2].copy_from_slice(&PAIRS[2 * value as usize..2 * value as usize + 2]);
        } else {
            at -= 1;
            digits[at] = b'0' + value as u8;
        }
        self.text.extend_from_slice(&digits[at..]);
    }

    #[inline]
    fn flush(&mut self, above: usize, out: &mut impl Write) -> Result<(), WriteError> {
        if self.text.len() > above {
            out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

/// The digits of 00, 01, ..., 99.
const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut number = 0;
    while number < 100 {
        pairs[2 * number] = b'0' + (number / 10) as u8;
        pairs[2 * number + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
};

/// Whether every parser takes a word for a label.
fn is_label(word: &str) -> bool {
    let words = ["send", "recv", "calc", "rank", "num_ranks", "requires", "irequires"];
    word.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && word.bytes().all(in_word)
        && !words.contains(&word)
}

/// Refuses what GOAL text has no words for.
#[inline]
fn check(schedule: &Schedule, rank: u32, number: u32, operation: Operation) -> Result<(), WriteError> {
    let Operation { kind, peer, tag, cpu, nic, .. } = operation;
    let calc = kind == OperationKind::Calc;
    if cpu <= 255 && nic <= 255 && !(calc && (peer != 0 || tag != 0 || nic != 0)) {
        return Ok(());
    }
    let label = schedule.label(rank, number);
    let reason = if cpu > 255 || nic > 255 {
        format!("cpu {cpu} and nic {nic}; GOAL text has at most 255")
    } else {
        format!("a computation with peer {peer}, tag {tag} and nic {nic}; GOAL text has none for it")
    };
    Err(WriteError::Form(format!("operation `{label}` of rank {rank}: {reason}")))
}
