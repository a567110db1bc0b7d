//! Reads the binary form, and believes nothing that it says.

use std::io::Read;

use super::super::error::ReadError;
use super::super::schedule::{Edge, Operation, OperationKind, Schedule, ScheduleBuilder, Shape};
use super::super::source::{MOST, Source, wrong_at};
use super::{COOKIE, COOKIE_BYTES, HEADER, ORIGIN, RECORD, RECORD_2, USED_UP};

/// Reads a schedule. Memory grows with what was read, never with what the file claims; beside the schedule
/// itself it takes 8 bytes per rank and 16 per operation of the largest rank.
///
/// A largest stream or NIC that no operation uses is accepted. Everything else must be as `txt2bin` writes it.
///
/// # Errors
/// What is wrong, with the byte where it stands: another cookie, blocks that do not follow one another, counts
/// that do not fit their block, kinds that do not exist, dependencies that contradict one another or lead out
/// of the rank, an end that comes too early or too late.
pub fn read(source: impl Read) -> Result<Schedule, ReadError> {
    let mut source = Source::new(source);
    let cookie = u64_at(source.take(COOKIE_BYTES, format_args!("the cookie of {COOKIE_BYTES} bytes"))?, 0);
    match cookie {
        COOKIE => {}
        USED_UP => {
            let reason = format!(
                "cookie {USED_UP}: a run of LogGOPSim with --save-mem has used this file up; {COOKIE} expected. Convert the text again"
            );
            return Err(wrong_at(0, reason));
        }
        other => {
            let reason = format!("cookie {other}; {COOKIE} expected at the beginning of binary GOAL");
            return Err(wrong_at(0, reason));
        }
    }
    let rest = source.take(HEADER - COOKIE_BYTES, format_args!("the header of {HEADER} bytes"))?;
    let (ranks, most_cpu, most_nic) = (u32_at(rest, 0), rest[4], rest[5]);
    let lengths = read_table(&mut source, ranks)?;
    let mut reader = Reader {
        builder: ScheduleBuilder::new(ranks),
        most_cpu,
        most_nic,
        last: 0,
        roots: Vec::new(),
        waits: Vec::new(),
        on_end: Vec::new(),
    };
    for length in lengths {
        reader.rank(&mut source, length)?;
    }
    if !source.peek(1)?.is_empty() {
        return Err(source.error("more bytes; the file is expected to end with its last rank"));
    }
    reader.builder.build().map_err(|error| source.error(error.reason))
}

/// The lengths of all blocks, which must follow one another.
fn read_table(source: &mut Source<impl Read>, ranks: u32) -> Result<Vec<u64>, ReadError> {
    let mut expected = HEADER as u64 - ORIGIN + 16 * u64::from(ranks);
    let mut lengths = Vec::new();
    let mut left = u64::from(ranks);
    while left > 0 {
        let piece = left.min((MOST / 16) as u64);
        let at = source.at();
        // the table of a cut file ends somewhere in between: take what is there, entry by entry
        let there = (source.peek(piece as usize * 16)?.len() / 16).max(1);
        let table = source
            .take(there * 16, format_args!("the table of {ranks} ranks ({} bytes)", 16 * u64::from(ranks)))?;
        for (index, entry) in table.chunks_exact(16).enumerate() {
            let (start, end) = (u64_at(entry, 0), u64_at(entry, 8));
            let (at, rank) = (at + 16 * index as u64, lengths.len());
            if start != expected {
                let reason = format!(
                    "the block of rank {rank} starts at {start}; {expected} expected, where the one before ends"
                );
                return Err(wrong_at(at, reason));
            }
            let length = end.checked_sub(start).filter(|&length| length >= 8).ok_or_else(|| {
                let reason = format!(
                    "the block of rank {rank} starts at {start} and ends at {end}; an end of {} or more expected",
                    start.saturating_add(8)
                );
                wrong_at(at + 8, reason)
            })?;
            lengths.push(length);
            expected = end;
        }
        left -= there as u64;
    }
    Ok(lengths)
}

/// Puts rank after rank into a schedule.
struct Reader {
    builder: ScheduleBuilder,
    most_cpu: u8,
    most_nic: u8,
    /// Operations of the rank before.
    last: usize,
    // of the rank in hand:
    roots: Vec<u32>,
    /// What each operation says it waits for; then what of that has not been found.
    waits: Vec<u32>,
    /// Dependants on the end of each operation; empty while none waits for a start.
    on_end: Vec<u32>,
}

impl Reader {
    fn rank(&mut self, source: &mut Source<impl Read>, length: u64) -> Result<(), ReadError> {
        let rank = self.builder.rank();
        let at = source.at();
        let head = source.take(8, format_args!("the block of rank {rank}"))?;
        let (operations, roots) = (u32_at(head, 0), u32_at(head, 4));
        let rest = length - 8;
        let lists = 4 * u64::from(roots);
        let needed = |record: usize| lists + record as u64 * u64::from(operations);
        let fits = |record| rest.checked_sub(needed(record)).filter(|rest| rest % 4 == 0);
        let other = operations > 0 && fits(RECORD_2).is_some();
        let edges = fits(RECORD).ok_or_else(|| {
            let reason = if other {
                format!(
                    "rank {rank}: {operations} operations in a block of {length} bytes; its operations take {RECORD_2} bytes, as LogGOPSim2 writes them, and {RECORD} are expected"
                )
            } else {
                format!(
                    "rank {rank}: {operations} operations and {roots} roots in a block of {length} bytes; {} bytes expected, and 4 for each dependency",
                    8 + needed(RECORD)
                )
            };
            wrong_at(at, reason)
        })? / 4;
        let mut body = |reader: &mut Self| {
            reader.check_counts(rank, operations, roots, edges, at)?;
            reader.read_roots(source, roots as usize)?;
            let found = reader.read_operations(source, operations as usize)?;
            if found != edges {
                let reason = format!(
                    "rank {rank}: its operations have {found} dependants together; {edges} expected, as its block has room for"
                );
                return Err(wrong_at(at, reason));
            }
            reader.read_edges(source, operations as usize, edges as usize)
        };
        body(self).map_err(|mut error| {
            if other && let ReadError::Format(error) = &mut error {
                error.reason.push_str(
                    " (the block has the length of one by LogGOPSim2, whose operations take 104 bytes; those are not read)",
                );
            }
            error
        })
    }

    fn check_counts(
        &self,
        rank: u32,
        operations: u32,
        roots: u32,
        edges: u64,
        at: u64,
    ) -> Result<(), ReadError> {
        let schedule = &self.builder.schedule;
        let total = schedule.shape_of.len() as u64 + u64::from(operations);
        let total_edges = schedule.edges.len() as u64 + edges;
        let most = u64::from(u32::MAX) - 1;
        let reason = if roots > operations {
            format!("rank {rank}: {roots} roots of {operations} operations; at most as many expected")
        } else if operations > Edge::MOST || total > most || total_edges > most {
            format!(
                "rank {rank}: {operations} operations ({total} in all, with {total_edges} dependencies); at most 2^31 per rank and 2^32 in all can be held"
            )
        } else {
            return Ok(());
        };
        Err(wrong_at(at, reason))
    }

    fn read_roots(&mut self, source: &mut Source<impl Read>, count: usize) -> Result<(), ReadError> {
        let rank = self.builder.rank();
        self.roots.clear();
        while self.roots.len() < count {
            let piece = (count - self.roots.len()).min(MOST / 4);
            let bytes = source.take(piece * 4, format_args!("the roots of rank {rank}"))?;
            self.roots.extend(bytes.chunks_exact(4).map(|bytes| u32_at(bytes, 0)));
        }
        Ok(())
    }

    /// Reads the operations of a rank; how many dependants they have together.
    fn read_operations(&mut self, source: &mut Source<impl Read>, count: usize) -> Result<u64, ReadError> {
        let rank = self.builder.rank();
        let roots_end = source.at();
        self.waits.clear();
        self.on_end.clear();
        // the operation at the same place in the rank before is often the same
        let before = self.builder.schedule.shape_of.len() - self.last;
        let base = self.builder.schedule.edges.len() as u64;
        let (mut dependants, mut next_root) = (0, 0);
        while self.waits.len() < count {
            let piece = (count - self.waits.len()).min(MOST / RECORD);
            let at = source.at();
            let bytes = source.take(piece * RECORD, format_args!("the operations of rank {rank}"))?;
            for (index, record) in bytes.chunks_exact(RECORD).enumerate() {
                let place = self.waits.len();
                let wrong = |byte: usize, what: String| {
                    let at = at + (index * RECORD + byte) as u64;
                    wrong_at(at, format!("rank {rank}, operation {place}: {what}"))
                };
                let shape = self.shape(record).map_err(|(byte, what)| wrong(byte, what))?;
                let (ends, starts) = (u32_at(record, 23), u32_at(record, 31));
                for (byte, expected) in [(27, dependants), (35, dependants + u64::from(ends))] {
                    let from = u32_at(record, byte);
                    if u64::from(from) != expected {
                        let what = format!("its dependants stand from {from} on; {expected} expected");
                        return Err(wrong(byte, what));
                    }
                }
                dependants += u64::from(ends) + u64::from(starts);
                if starts > 0 && self.on_end.is_empty() {
                    // until here, none waited for a start
                    let first_edge = &self.builder.schedule.first_edge;
                    let first = &first_edge[first_edge.len() - 1 - place..];
                    self.on_end.extend(first.windows(2).map(|pair| pair[1] - pair[0]));
                }
                if starts > 0 || !self.on_end.is_empty() {
                    self.on_end.push(ends);
                }
                let waits = u32_at(record, 0);
                if waits == 0 {
                    let root = self.roots.get(next_root).copied();
                    if root != Some(place as u32) {
                        let found =
                            root.map_or_else(|| "no more roots".to_owned(), |root| format!("root {root}"));
                        let at = roots_end - 4 * (self.roots.len() - next_root) as u64;
                        let reason =
                            format!("rank {rank}: {found}; {place} expected, which waits for nothing");
                        return Err(wrong_at(at, reason));
                    }
                    next_root += 1;
                }
                self.waits.push(waits);
                self.push(shape, before + place);
                let total = u32::try_from(base + dependants).map_err(|_| {
                    wrong(23, format!("{dependants} dependants up to here; at most 2^32 in all can be held"))
                })?;
                self.builder.schedule.first_edge.push(total);
            }
        }
        if let Some(root) = self.roots.get(next_root) {
            let at = roots_end - 4 * (self.roots.len() - next_root) as u64;
            let reason =
                format!("rank {rank}: root {root}; {next_root} roots expected, as many as wait for nothing");
            return Err(wrong_at(at, reason));
        }
        Ok(dependants)
    }

    /// The operation of a record, or its byte that is wrong.
    fn shape(&self, record: &[u8]) -> Result<Shape, (usize, String)> {
        let kind = match record[4] {
            1 => OperationKind::Send,
            2 => OperationKind::Receive,
            3 => OperationKind::Calc,
            other => {
                return Err((4, format!("kind {other}; 1 (send), 2 (receive) or 3 (calc) expected")));
            }
        };
        let (peer, size, tag) = (u32_at(record, 5), u64_at(record, 9), u32_at(record, 17));
        let (cpu, nic) = (record[21], record[22]);
        if cpu > self.most_cpu {
            return Err((
                21,
                format!("stream {cpu}; at most {} expected, as the header says", self.most_cpu),
            ));
        }
        if nic > self.most_nic {
            return Err((22, format!("NIC {nic}; at most {} expected, as the header says", self.most_nic)));
        }
        if kind == OperationKind::Calc {
            for (byte, what, found) in [(5, "peer", peer), (17, "tag", tag), (22, "NIC", nic.into())] {
                if found != 0 {
                    return Err((byte, format!("a computation with {what} {found}; 0 expected")));
                }
            }
        }
        let operation = Operation { kind, size, peer, tag, cpu: cpu.into(), nic: nic.into() };
        Ok(Shape::of(operation, self.builder.rank(), self.builder.ranks()))
    }

    #[inline]
    fn push(&mut self, shape: Shape, before: usize) {
        let schedule = &self.builder.schedule;
        let guess = schedule.shape_of.get(before).copied();
        let number = guess
            .filter(|&number| schedule.shapes[number as usize] == shape)
            .unwrap_or_else(|| self.builder.shape_number(shape));
        self.builder.push_shape(number);
    }

    /// Reads what waits for the operations of a rank, and ends the rank.
    fn read_edges(
        &mut self,
        source: &mut Source<impl Read>,
        operations: usize,
        count: usize,
    ) -> Result<(), ReadError> {
        let rank = self.builder.rank();
        let schedule = &mut self.builder.schedule;
        let first_edge = schedule.first_edge.len() - 1 - operations;
        let (mut operation, mut done) = (0, 0);
        while done < count {
            let piece = (count - done).min(MOST / 4);
            let at = source.at();
            let bytes = source.take(piece * 4, format_args!("the dependencies of rank {rank}"))?;
            for (index, bytes) in bytes.chunks_exact(4).enumerate() {
                let after = u32_at(bytes, 0);
                let Some(waits) = self.waits.get_mut(after as usize) else {
                    let reason = format!(
                        "rank {rank}: operation {after} waits for another; less than {operations} expected"
                    );
                    return Err(wrong_at(at + 4 * index as u64, reason));
                };
                let Some(less) = waits.checked_sub(1) else {
                    let reason =
                        format!("rank {rank}: operation {after} has more dependencies than its number says");
                    return Err(wrong_at(at + 4 * index as u64, reason));
                };
                *waits = less;
                let on_start = !self.on_end.is_empty() && {
                    let here = schedule.edges.len() as u32;
                    while schedule.first_edge[first_edge + operation + 1] <= here {
                        operation += 1;
                    }
                    here - schedule.first_edge[first_edge + operation] >= self.on_end[operation]
                };
                schedule.edges.push(Edge::new(after, on_start));
            }
            done += piece;
        }
        if let Some(after) = self.waits.iter().position(|&waits| waits > 0) {
            let reason = format!(
                "rank {rank}: operation {after} lacks {} of the dependencies that its number says",
                self.waits[after]
            );
            return Err(source.error(reason));
        }
        let total = schedule.len();
        schedule.first.push(total);
        self.last = operations;
        Ok(())
    }
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
