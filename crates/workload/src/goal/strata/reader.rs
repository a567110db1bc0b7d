//! Reads the form: all of it, rank by rank, or from some rank on.

use std::io::{Read, Seek, SeekFrom};

use super::super::error::{FormatError, Place, ReadError};
use super::super::schedule::{Edge, Operation, Schedule, Shape};
use super::super::source::{Source, wrong_at};
use super::block::{Block, Kind, TRAILER, Totals, Trailer};
use super::varint::Numbers;
use super::{labels, ranks, shapes};

/// Reads a schedule. Memory grows with what was read, never with what the file claims; beside the schedule
/// itself it takes that of one block, which is some megabytes, or 10 bytes per operation of the largest rank.
///
/// # Errors
/// As [`Reader::next_rank`].
pub fn read(source: impl Read) -> Result<Schedule, ReadError> {
    Reader::new(source)?.read_all()
}

/// Reads a `.strata` file, which begins where the source does, rank by rank, in the memory of one block and the shapes.
///
/// ```
/// use stratasim_workload::goal::{Operation, ScheduleBuilder, strata};
///
/// let mut builder = ScheduleBuilder::new(1000);
/// for rank in 0..1000 {
///     builder.push(Operation::send(1024, (rank + 1) % 1000, 0));
///     builder.push(Operation::receive(1024, (rank + 999) % 1000, 0));
///     builder.close_rank().unwrap();
/// }
/// let mut bytes = Vec::new();
/// strata::write(&builder.build().unwrap(), &mut bytes).unwrap();
/// assert!(bytes.len() < 250);
///
/// let mut reader = strata::Reader::new(std::io::Cursor::new(bytes)).unwrap();
/// assert_eq!((reader.ranks(), reader.operations()), (1000, 2000));
/// reader.seek(998).unwrap();
/// while let Some(rank) = reader.next_rank().unwrap() {
///     assert_eq!(rank.operation(0).peer, (rank.number() + 1) % 1000);
/// }
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    totals: Totals,
    shapes: Vec<Shape>,
    /// What was read so far; equal to `totals` at the end, unless parts were left out.
    seen: Totals,
    partial: bool,
    ended: bool,
    /// Whether what the file claims was compared with its length.
    sized: bool,
    /// Checksum over the headers so far.
    headers: crc32fast::Hasher,
    /// Blocks of ranks: those read so far, or all of them when parts were left out.
    blocks: Vec<Entry>,
    stored: Vec<u8>,
    raw: Vec<u8>,
    /// The block in hand, without shapes.
    block: Schedule,
    /// Its first rank.
    first: u32,
    /// The next rank, counted from there.
    next: u32,
}

impl<R: Read> Reader<R> {
    /// Reads the header and the shapes.
    ///
    /// # Errors
    /// As [`Self::next_rank`].
    pub fn new(source: R) -> Result<Self, ReadError> {
        Self::open(source, None)
    }

    /// As [`Self::new`], for a file of `length` bytes: one that claims more than it can hold is refused at once.
    ///
    /// # Errors
    /// As [`Self::next_rank`].
    pub fn with_length(source: R, length: u64) -> Result<Self, ReadError> {
        Self::open(source, Some(length))
    }

    fn open(source: R, length: Option<u64>) -> Result<Self, ReadError> {
        let mut source = Source::new(source);
        let (totals, header) = Totals::read(&mut source, length)?;
        let mut headers = crc32fast::Hasher::new();
        headers.update(&header);
        let mut reader = Self {
            source,
            totals,
            shapes: Vec::new(),
            seen: Totals::default(),
            partial: false,
            ended: false,
            sized: length.is_some(),
            headers,
            blocks: Vec::new(),
            stored: Vec::new(),
            raw: Vec::new(),
            block: Schedule::without_ranks(),
            first: 0,
            next: 0,
        };
        while reader.shapes.len() < totals.shapes as usize {
            let (at, block) = reader.take_block()?;
            let wrong = |reason| wrong_at(at, reason);
            let missing = totals.shapes - reader.shapes.len() as u32;
            if block.kind != Kind::Shapes || !(1..=missing).contains(&block.count) {
                return Err(wrong(format!(
                    "a block of {} {}; one of shapes expected, of which {missing} are missing",
                    block.count,
                    block.kind.what()
                )));
            }
            shapes::decode(&reader.raw, block.count, totals.ranks, &mut reader.shapes).map_err(wrong)?;
        }
        reader.seen.shapes = totals.shapes;
        Ok(reader)
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.totals.ranks
    }

    /// Operations of all ranks.
    pub fn operations(&self) -> u32 {
        self.totals.operations
    }

    /// Dependencies of all ranks.
    pub fn edge_count(&self) -> u32 {
        self.totals.edges
    }

    /// All shapes.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// The next rank, until there are no more; the end of the file is checked behind the last one.
    ///
    /// # Errors
    /// What is wrong, with the byte where the block stands: damage anywhere, an end that comes too early or too
    /// late, counts that contradict one another, shapes and operations that do not exist.
    pub fn next_rank(&mut self) -> Result<Option<Rank<'_>>, ReadError> {
        while self.next == self.block.ranks() {
            self.first += self.next;
            if !self.load_block()? {
                return Ok(None);
            }
        }
        let place = self.next;
        self.next += 1;
        let number = self.first + place;
        Ok(Some(Rank { number, ranks: self.totals.ranks, shapes: &self.shapes, block: &self.block, place }))
    }

    /// Replaces the block in hand by the next one; false at the end.
    fn load_block(&mut self) -> Result<bool, ReadError> {
        let mut block = std::mem::take(&mut self.block);
        block.clear_ranks();
        self.next = 0;
        let more = self.read_block(&mut block);
        self.block = if more.is_ok() { block } else { Schedule::without_ranks() };
        more
    }

    /// Reads all ranks at once, into a schedule.
    ///
    /// # Errors
    /// As [`Self::next_rank`].
    ///
    /// # Panics
    /// If ranks were read before.
    pub fn read_all(mut self) -> Result<Schedule, ReadError> {
        assert!(self.blocks.is_empty(), "ranks were read before");
        let mut schedule = Schedule::without_ranks();
        if self.sized {
            // the file is long enough for what it claims
            let Totals { ranks, operations, edges, .. } = self.totals;
            let whole = [ranks, operations, edges].map(|size| size as usize);
            schedule.make_room(whole, whole);
        }
        while self.read_block(&mut schedule)? {}
        schedule.shapes = self.shapes;
        Ok(schedule)
    }

    /// Reads the next block into `raw`; where it stands, and what it is.
    fn take_block(&mut self) -> Result<(u64, Block), ReadError> {
        let at = self.source.at();
        let (block, header) = Block::read(&mut self.source, &mut self.stored, &mut self.raw)?;
        self.headers.update(&header);
        Ok((at, block))
    }

    /// Appends the next block of ranks with its labels to `schedule`; false at the end of the file.
    fn read_block(&mut self, schedule: &mut Schedule) -> Result<bool, ReadError> {
        if self.ended {
            return Ok(false);
        }
        let (at, block) = self.take_block()?;
        let wrong = |reason| wrong_at(at, reason);
        match block.kind {
            Kind::Ranks => {}
            Kind::Index => {
                self.check_end(at, block)?;
                self.ended = true;
                return Ok(false);
            }
            Kind::Shapes | Kind::Labels => {
                return Err(wrong(format!(
                    "a block of {}; one of ranks expected, or the index",
                    block.kind.what()
                )));
            }
        }
        let sizes = [block.count, block.operations, block.edges];
        let Totals { ranks, operations, edges, .. } = self.totals;
        let whole = [ranks, operations, edges];
        if !self.partial {
            self.blocks.push(Entry { at, ranks: block.count });
            let seen = [&mut self.seen.ranks, &mut self.seen.operations, &mut self.seen.edges];
            for ((seen, size), whole) in seen.into_iter().zip(sizes).zip(whole) {
                *seen = seen.checked_add(size).filter(|&seen| seen <= whole).ok_or_else(|| {
                    let [ranks, operations, edges] = sizes;
                    wrong(format!(
                        "a block of {ranks} ranks, {operations} operations and {edges} dependencies: more than the header says in all"
                    ))
                })?;
            }
        }
        let first = schedule.len();
        ranks::decode(&self.raw, sizes, whole, self.totals.shapes, schedule).map_err(wrong)?;
        if self.source.peek(1)? == [Kind::Labels as u8] {
            let (at, block) = self.take_block()?;
            let operations = (first, schedule.len());
            labels::decode(&self.raw, block.count, block.operations, operations, &mut schedule.labels)
                .map_err(|reason| wrong_at(at, reason))?;
            self.seen.labels = self.seen.labels.wrapping_add(block.count);
            self.seen.label_bytes = self.seen.label_bytes.wrapping_add(block.operations);
        }
        Ok(true)
    }

    /// Compares the index, the trailer and what was read with one another.
    fn check_end(&mut self, at: u64, block: Block) -> Result<(), ReadError> {
        let wrong = |at, reason: String| Err(wrong_at(at, reason));
        let headers = self.headers.clone().finalize();
        let entries = decode_index(&self.raw, block.count).map_err(|reason| wrong_at(at, reason))?;
        if entries != self.blocks {
            return wrong(at, "the index names other blocks of ranks than the file has".to_owned());
        }
        let trailer_at = self.source.at();
        let trailer = Trailer::read(&mut self.source)?;
        let end = self.source.at();
        if trailer.index != at || trailer.length != end {
            let reason = format!(
                "the trailer of {} bytes with the index at {}; {end} and {at} expected",
                trailer.length, trailer.index
            );
            return wrong(trailer_at, reason);
        }
        if !self.source.peek(1)?.is_empty() {
            return wrong(end, "more bytes; the file is expected to end with its trailer".to_owned());
        }
        if self.partial {
            return Ok(());
        }
        if trailer.headers != headers {
            let reason = format!(
                "blocks with checksum {headers:08x}; {:08x} expected: some are not of this file",
                trailer.headers
            );
            return wrong(trailer_at, reason);
        }
        if self.seen != self.totals {
            let reason = format!("{}; {} expected, as the header says", self.seen, self.totals);
            return wrong(at, reason);
        }
        Ok(())
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Goes to `rank`, which is the next to be read; only the index and its block are read. From here on,
    /// blocks are checked each for itself.
    ///
    /// # Errors
    /// No such rank; as [`Self::next_rank`]; what the system says.
    pub fn seek(&mut self, rank: u32) -> Result<(), ReadError> {
        if rank >= self.totals.ranks {
            let reason = format!("rank {rank}; less than {} expected", self.totals.ranks);
            return Err(FormatError::new(Place::File, reason).into());
        }
        if !self.partial {
            self.go(SeekFrom::End(-(TRAILER as i64)))?;
            let at = self.source.at();
            let trailer = Trailer::read(&mut self.source)?;
            if trailer.length != self.source.at() {
                let reason =
                    format!("the trailer of {} bytes; {} expected", trailer.length, self.source.at());
                return Err(wrong_at(at, reason));
            }
            self.go(SeekFrom::Start(trailer.index))?;
            let (at, block) = self.take_block()?;
            let wrong = |reason: String| wrong_at(at, reason);
            if block.kind != Kind::Index {
                return Err(wrong(format!("a block of {}; the index expected", block.kind.what())));
            }
            let blocks = decode_index(&self.raw, block.count).map_err(wrong)?;
            let ranks: u64 = blocks.iter().map(|block| u64::from(block.ranks)).sum();
            if ranks != u64::from(self.totals.ranks) {
                return Err(wrong(format!("blocks of {ranks} ranks; {} expected", self.totals.ranks)));
            }
            (self.blocks, self.partial) = (blocks, true);
        }
        let mut first = 0;
        let entry = self.blocks.iter().find(|block| {
            let here = rank - first < block.ranks;
            first += if here { 0 } else { block.ranks };
            here
        });
        let Entry { at, ranks } = *entry.expect("the blocks have all ranks");
        self.go(SeekFrom::Start(at))?;
        self.ended = false;
        self.first = first;
        if !self.load_block()? || self.block.ranks() != ranks {
            let reason = format!("another block than the index says; {ranks} ranks from {first} on expected");
            return Err(wrong_at(at, reason));
        }
        self.next = rank - first;
        Ok(())
    }

    fn go(&mut self, to: SeekFrom) -> Result<(), ReadError> {
        let at = self.source.inner().seek(to)?;
        self.source.restart(at);
        Ok(())
    }
}

/// A block of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    at: u64,
    ranks: u32,
}

/// The blocks of ranks, each as the distance to the one before and its number of ranks.
fn decode_index(raw: &[u8], count: u32) -> Result<Vec<Entry>, String> {
    let mut numbers = Numbers::new(raw);
    let mut at = 0u64;
    let mut entries = Vec::new();
    for _ in 0..count {
        let (distance, ranks) = (numbers.next(), numbers.next().map(u32::try_from));
        let (Some(next), Some(Ok(ranks))) = (distance.and_then(|distance| at.checked_add(distance)), ranks)
        else {
            return Err("the index is shorter than its blocks, or leads outside".to_owned());
        };
        at = next;
        entries.push(Entry { at, ranks });
    }
    if numbers.is_empty() { Ok(entries) } else { Err("the index is longer than its blocks".to_owned()) }
}

/// A rank of a file.
#[derive(Debug, Clone, Copy)]
pub struct Rank<'a> {
    number: u32,
    ranks: u32,
    shapes: &'a [Shape],
    block: &'a Schedule,
    /// Its place in the block.
    place: u32,
}

impl<'a> Rank<'a> {
    /// The rank's number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Number of its operations.
    #[expect(clippy::len_without_is_empty, reason = "a rank that does nothing is not special")]
    pub fn len(&self) -> u32 {
        self.block.of_rank(self.place).len() as u32
    }

    /// The rank's operation `place`, counted from 0.
    ///
    /// # Panics
    /// If the rank has fewer operations.
    pub fn operation(&self, place: u32) -> Operation {
        self.shapes[self.block.shape_of(self.at(place)) as usize].on(self.number, self.ranks)
    }

    /// What waits for the rank's operation `place`: for its end first, then for its start.
    ///
    /// # Panics
    /// If the rank has fewer operations.
    pub fn edges(&self, place: u32) -> &'a [Edge] {
        self.block.edges(self.at(place))
    }

    /// The label of the rank's operation `place`, if it is not the usual `l1`, `l2`, ...
    ///
    /// # Panics
    /// If the rank has fewer operations.
    pub fn own_label(&self, place: u32) -> Option<&'a str> {
        self.block.own_label(self.at(place))
    }

    fn at(&self, place: u32) -> u32 {
        let operations = self.block.of_rank(self.place);
        assert!(place < operations.end - operations.start, "rank {} has no operation {place}", self.number);
        operations.start + place
    }
}
