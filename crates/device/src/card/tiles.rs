//! F2: copies as tiles that go through the scratch-pads.
//!
//! A copy is a row of tiles as large as the scratch-pads of the group allow (half of that with two buffers).
//! Each is fetched (GET), added where the copy adds, and written (PUT) by DMA commands of all elements of the
//! group. Commands are issued one after the other; an element has at most `queue` of them in flight; GETs and
//! PUTs are done in order. A command of n bytes per element takes the port as long as n + half-efficiency
//! bytes would. Links of the ring and the groups' parts of the interleaved Global memory are ports as well.
//!
//! With two buffers, ever smaller tiles and free commands this is F1, where links are wide enough.

use stratasim_core::BuildError;

use super::description::{Buffering, Card};
use super::fluid::{self, Job};
use super::ports::{Ports, Uses};
use super::schedule::{Copy, Schedule, Work};
use super::task_graph::{Timeline, job, step_s};

/// Most tiles of a schedule that are simulated.
const MOST_TILES: u64 = 500_000;

/// Runs a schedule on a card, tile by tile.
///
/// # Errors
/// Scratch-pads so small that there are too many tiles.
///
/// # Panics
/// When the schedule is for another number of groups.
pub fn run(card: &Card, schedule: &Schedule) -> Result<Timeline, BuildError> {
    assert_eq!(card.core_groups, schedule.groups, "a schedule of this card");
    let tile = tile_bytes(card);
    let copies = schedule.tasks.iter().filter_map(|task| match &task.work {
        Work::Copy(copy) => Some(copy.bytes.div_ceil(tile)),
        _ => None,
    });
    let tiles: u64 = copies.sum();
    if tiles > MOST_TILES {
        let reason = format!(
            "{tiles} tiles of {tile} bytes would have to be simulated; larger scratch-pads or a smaller vector are \
             expected (at most {MOST_TILES} tiles)"
        );
        return Err(BuildError::new("compute.ldm", reason));
    }
    let ports = Ports::new(card, schedule.family);
    let mut jobs: Vec<Job> = Vec::new();
    // of each task, its first and its last job
    let mut ranges: Vec<(u32, u32)> = Vec::with_capacity(schedule.tasks.len());
    for task in &schedule.tasks {
        let mut whole = job(card, schedule.family, &ports, task);
        whole.after.iter_mut().for_each(|before| *before = ranges[*before as usize].1);
        let first = jobs.len() as u32;
        match &task.work {
            Work::Copy(copy) if copy.bytes > 0 => {
                let step_s = if copy.step { step_s(card, schedule.family) } else { 0.0 };
                Pipeline { card, ports: &ports, copy, tile }.write(step_s, whole.after, &mut jobs);
            }
            _ => jobs.push(whole),
        }
        ranges.push((first, jobs.len() as u32 - 1));
    }
    let spans = fluid::run(&jobs, ports.capacities());
    Ok(Timeline::of(ranges.into_iter().map(|(first, last)| fluid::Span {
        start_s: spans[first as usize].start_s,
        end_s: spans[last as usize].end_s,
    })))
}

/// Bytes of a tile: what all elements of a group hold together.
pub fn tile_bytes(card: &Card) -> u64 {
    let all = u64::from(card.compute.elements).saturating_mul(card.compute.ldm.count());
    match card.dma.buffering {
        Buffering::Single => all,
        Buffering::Double => (all / 2).max(1),
    }
}

/// One copy as a pipeline of tiles.
struct Pipeline<'a> {
    card: &'a Card,
    ports: &'a Ports,
    copy: &'a Copy,
    tile: u64,
}

/// The jobs of a tile.
#[derive(Clone, Copy, Default)]
struct Tile {
    get: Option<u32>,
    /// When the fetched bytes may be written: after the GET or the addition.
    ready: Option<u32>,
    put: Option<u32>,
}

impl Tile {
    /// Its last job: the buffer is free after it.
    fn last(&self) -> Option<u32> {
        self.put.or(self.ready)
    }
}

impl Pipeline<'_> {
    /// Adds the jobs; the last one ends the copy.
    fn write(&self, step_s: f64, after: Vec<u32>, jobs: &mut Vec<Job>) {
        let sides = self.ports.sides(self.copy);
        let adder = if self.copy.add { self.ports.add(self.copy.group) } else { Vec::new() };
        let buffers = match self.card.dma.buffering {
            Buffering::Single => 1,
            Buffering::Double => 2,
        };
        let count = self.copy.bytes.div_ceil(self.tile) as usize;
        let mut commands =
            Commands { card: self.card, begin: push(jobs, step_s, after), done: Vec::new(), issued: None };
        let mut tiles: Vec<Tile> = vec![Tile::default(); count];
        // tile `at` is fetched, then the one for which that leaves no more buffers is written
        for at in 0..count + buffers - 1 {
            if let (Some(get), true) = (&sides.get, at < count) {
                let free = at.checked_sub(buffers).and_then(|before| tiles[before].last());
                let inline = at.checked_sub(1).and_then(|before| tiles[before].get);
                let get = commands.push(jobs, self.bytes(at), get, [free, inline]);
                tiles[at].get = Some(get);
                tiles[at].ready = Some(get);
                if !adder.is_empty() {
                    let inline = at.checked_sub(1).and_then(|before| tiles[before].ready);
                    let after = [Some(get), inline].into_iter().flatten().collect();
                    let bytes = self.bytes(at) as f64;
                    jobs.push(Job { latency_s: 0.0, bytes, uses: adder.clone(), after });
                    tiles[at].ready = Some(jobs.len() as u32 - 1);
                }
            }
            let Some(at) = (at + 1).checked_sub(buffers).filter(|&at| at < count) else { continue };
            if let Some(put) = &sides.put {
                let inline = at.checked_sub(1).and_then(|before| tiles[before].put);
                tiles[at].put = Some(commands.push(jobs, self.bytes(at), put, [tiles[at].ready, inline]));
            }
        }
        let last = tiles.last().and_then(Tile::last);
        push(jobs, 0.0, last.into_iter().collect());
    }

    fn bytes(&self, at: usize) -> u64 {
        self.tile.min(self.copy.bytes - at as u64 * self.tile)
    }
}

/// A job that only takes time; returns its index.
fn push(jobs: &mut Vec<Job>, latency_s: f64, after: Vec<u32>) -> u32 {
    jobs.push(Job { latency_s, after, ..Job::default() });
    jobs.len() as u32 - 1
}

/// The DMA commands of a copy.
struct Commands<'a> {
    card: &'a Card,
    begin: u32,
    /// When each was done.
    done: Vec<u32>,
    /// When the last was issued.
    issued: Option<u32>,
}

impl Commands<'_> {
    /// A command for `bytes` through `uses`, after others; returns when it is done.
    fn push(&mut self, jobs: &mut Vec<Job>, bytes: u64, uses: &Uses, after: [Option<u32>; 2]) -> u32 {
        let full = self.done.len().checked_sub(self.card.dma.queue as usize).map(|at| self.done[at]);
        let before = [Some(self.begin), self.issued, full, after[0]];
        let issued = push(jobs, self.card.dma.command.as_secs_f64(), before.into_iter().flatten().collect());
        self.issued = Some(issued);
        let lost = f64::from(self.card.compute.elements) * self.card.dma.half_efficiency.count() as f64;
        let after = [Some(issued), after[1]].into_iter().flatten().collect();
        jobs.push(Job { latency_s: 0.0, bytes: bytes as f64 + lost, uses: uses.clone(), after });
        let done = jobs.len() as u32 - 1;
        self.done.push(done);
        done
    }
}
