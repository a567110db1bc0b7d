//! Writes the form.

use std::hash::{Hash, Hasher};
use std::io::Write;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHasher};

use super::super::error::WriteError;
use super::super::schedule::{Edge, Schedule};
use super::block::{Block, HEADER, Kind, TRAILER, Totals, Trailer};
use super::ranks::{Lists, OWN, SAME, SAME_EDGES, SAME_SHAPES};
use super::varint::put;
use super::{ITEMS, labels, shapes};

/// Writes `schedule` as `.strata`. Equal schedules give equal bytes. Beside the schedule it takes memory for one
/// block: some megabytes, or 10 bytes per operation of the largest rank.
///
/// # Errors
/// A shape that [`Shape::of`](crate::goal::Shape::of) does not give, a rank of more than 4 GiB; what the
/// system says about `out`.
pub fn write(schedule: &Schedule, out: &mut impl Write) -> Result<(), WriteError> {
    let totals = Totals {
        ranks: schedule.ranks(),
        operations: schedule.len(),
        edges: schedule.edge_count(),
        shapes: schedule.shapes.len() as u32,
        labels: schedule.labels.ends.len() as u32,
        label_bytes: schedule.labels.text.len() as u32,
    };
    let header = totals.encode();
    out.write_all(&header)?;
    let mut writer = Writer {
        out,
        at: HEADER as u64,
        headers: crc32fast::Hasher::new(),
        raw: Vec::new(),
        scratch: Vec::new(),
        bytes: Vec::new(),
    };
    writer.headers.update(&header);
    for shapes in schedule.shapes.chunks(shapes::MOST) {
        for shape in shapes {
            shape.check(totals.ranks).map_err(WriteError::Form)?;
        }
        shapes::encode(shapes, &mut writer.raw);
        let count = shapes.len() as u32;
        writer.block(Block { kind: Kind::Shapes, count, operations: 0, edges: 0 })?;
    }
    writer.ranks(schedule)
}

struct Writer<'a, W> {
    out: &'a mut W,
    at: u64,
    headers: crc32fast::Hasher,
    raw: Vec<u8>,
    scratch: Vec<u8>,
    bytes: Vec<u8>,
}

impl<W: Write> Writer<'_, W> {
    /// Writes a block around `raw`, which is empty then.
    fn block(&mut self, block: Block) -> Result<(), WriteError> {
        self.bytes.clear();
        let header = block.encode(&self.raw, &mut self.scratch, &mut self.bytes).map_err(|bytes| {
            WriteError::Form(format!("a rank takes {bytes} bytes; at most 4 GiB can be held"))
        })?;
        self.raw.clear();
        self.headers.update(&header);
        self.at += self.bytes.len() as u64;
        Ok(self.out.write_all(&self.bytes)?)
    }

    fn ranks(mut self, schedule: &Schedule) -> Result<(), WriteError> {
        let mut lists = Lists::default();
        let mut seen = Seen::default();
        let mut index = Vec::new();
        let (mut blocks, mut last_at, mut next_label) = (0, 0, 0);
        let mut rank = 0;
        while rank < schedule.ranks() {
            let ranks = rank..block_end(schedule, rank);
            encode(schedule, ranks.clone(), &mut seen, &mut lists);
            lists.join(&mut self.raw);
            put(&mut index, self.at - last_at);
            put(&mut index, ranks.len() as u64);
            (blocks, last_at) = (blocks + 1, self.at);
            let operations = schedule.first[rank as usize]..schedule.first[ranks.end as usize];
            let edges =
                schedule.first_edge[operations.end as usize] - schedule.first_edge[operations.start as usize];
            self.block(Block {
                kind: Kind::Ranks,
                count: ranks.len() as u32,
                operations: operations.len() as u32,
                edges,
            })?;
            let (count, bytes) = labels::encode(
                &schedule.labels,
                &mut next_label,
                operations.start,
                operations.end,
                &mut self.raw,
            );
            if count > 0 {
                self.block(Block { kind: Kind::Labels, count, operations: bytes, edges: 0 })?;
            }
            rank = ranks.end;
        }
        let index_at = self.at;
        self.raw = index;
        self.block(Block { kind: Kind::Index, count: blocks, operations: 0, edges: 0 })?;
        let trailer =
            Trailer { index: index_at, length: self.at + TRAILER as u64, headers: self.headers.finalize() };
        self.out.write_all(&trailer.encode())?;
        Ok(self.out.flush()?)
    }
}

/// Where the block ends that begins with `rank`.
fn block_end(schedule: &Schedule, rank: u32) -> u32 {
    let size = |rank: u32| {
        let operations = schedule.of_rank(rank);
        1 + operations.len() + dependants(schedule, &operations).len()
    };
    let (mut end, mut items) = (rank + 1, size(rank));
    while end < schedule.ranks() {
        items += size(end);
        if items > ITEMS {
            break;
        }
        end += 1;
    }
    end
}

fn dependants<'a>(schedule: &'a Schedule, operations: &Range<u32>) -> &'a [Edge] {
    let first = &schedule.first_edge;
    &schedule.edges[first[operations.start as usize] as usize..first[operations.end as usize] as usize]
}

/// Ranks of the block in hand by what they do; those in a run are not among them.
#[derive(Debug, Default)]
struct Seen {
    shapes: FxHashMap<u64, u32>,
    edges: FxHashMap<u64, u32>,
    both: FxHashMap<(u64, u64), u32>,
}

/// Puts the ranks of a block into `lists`.
fn encode(schedule: &Schedule, ranks: Range<u32>, seen: &mut Seen, lists: &mut Lists) {
    lists.clear();
    seen.shapes.clear();
    seen.edges.clear();
    seen.both.clear();
    // ranks like earlier ones that are not written yet: how many, and the distance
    let mut run = (0u64, 0);
    for rank in ranks.clone() {
        let content = Content::of(schedule, rank);
        let like =
            |before: u32| before <= rank - ranks.start && content == Content::of(schedule, rank - before);
        // a run that goes on, or the rank before; else it is looked up
        let near = [run.1, 1].into_iter().find(|&distance| distance > 0 && like(distance));
        let distance = near.map_or_else(|| seen.find(schedule, rank, &content), Ok);
        match distance {
            Ok(distance) if run.0 > 0 && run.1 == distance => run.0 += 1,
            Ok(distance) => {
                end_run(&mut run, lists);
                run = (1, distance);
            }
            Err(head) => {
                end_run(&mut run, lists);
                put(&mut lists.heads, head);
                if head & 3 != SAME_SHAPES {
                    lists.put_shapes(content.shapes);
                }
                if head & 3 != SAME_EDGES {
                    lists.put_edges(content.first, content.edges);
                }
            }
        }
    }
    end_run(&mut run, lists);
}

fn end_run(run: &mut (u64, u32), lists: &mut Lists) {
    let (count, distance) = std::mem::take(run);
    if let Some(more) = count.checked_sub(1) {
        put(&mut lists.heads, more << 2 | SAME);
        put(&mut lists.heads, distance.into());
    }
}

/// What a rank does.
struct Content<'a> {
    shapes: &'a [u32],
    /// First edge of each operation, then the end.
    first: &'a [u32],
    edges: &'a [Edge],
}

impl<'a> Content<'a> {
    fn of(schedule: &'a Schedule, rank: u32) -> Self {
        let operations = schedule.of_rank(rank);
        let range = operations.start as usize..operations.end as usize;
        Self {
            shapes: &schedule.shape_of[range.clone()],
            first: &schedule.first_edge[range.start..=range.end],
            edges: dependants(schedule, &operations),
        }
    }

    fn same_edges(&self, other: &Self) -> bool {
        let shift = self.first[0].wrapping_sub(other.first[0]);
        self.first.len() == other.first.len()
            && self.edges == other.edges
            && self.first.iter().zip(other.first).all(|(mine, others)| mine.wrapping_sub(*others) == shift)
    }
}

impl PartialEq for Content<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.shapes == other.shapes && self.same_edges(other)
    }
}

impl Seen {
    /// How far before a rank with the same content stands; the head of the rank where there is none.
    fn find(&mut self, schedule: &Schedule, rank: u32, content: &Content<'_>) -> Result<u32, u64> {
        let mut hasher = FxHasher::default();
        content.shapes.hash(&mut hasher);
        let shapes = hasher.finish();
        let mut hasher = FxHasher::default();
        for pair in content.first.windows(2) {
            hasher.write_u32(pair[1] - pair[0]);
        }
        content.edges.hash(&mut hasher);
        let edges = hasher.finish();
        let same = self.both.insert((shapes, edges), rank);
        let same_shapes = self.shapes.insert(shapes, rank);
        let same_edges = self.edges.insert(edges, rank);
        let is = |other: &u32, test: &dyn Fn(&Content<'_>) -> bool| test(&Content::of(schedule, *other));
        let distance = |other: u32| u64::from(rank - other) << 2;
        if let Some(other) = same.filter(|other| is(other, &|other| content == other)) {
            Ok(rank - other)
        } else if let Some(other) =
            same_shapes.filter(|other| is(other, &|other| content.shapes == other.shapes))
        {
            Err(distance(other) | SAME_SHAPES)
        } else if let Some(other) = same_edges.filter(|other| is(other, &|other| content.same_edges(other))) {
            Err(distance(other) | SAME_EDGES)
        } else {
            Err((content.shapes.len() as u64) << 2 | OWN)
        }
    }
}
