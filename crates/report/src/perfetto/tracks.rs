//! Which track a task is drawn on: one process per rank, one thread per stream and lane.
//!
//! Slices on one track must nest. Tasks of one stream that overlap therefore get lanes, as few as a
//! first-fit gives; a lane is free again when its last slice has ended.

use stratasim_core::Rank;
use stratasim_core::observe::Activity;

use super::packet::Kind;
use super::wire::Wire;
use crate::labels::Labels;

/// What a thread of a rank shows. The order is that of the tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Row {
    /// Tasks of a stream.
    Tasks(Activity, u16),
    /// Messages on their way from the rank.
    Sent,
    /// Arrivals of messages at the rank.
    Received,
}

/// One thread.
struct Lane {
    row: Row,
    uuid: u64,
    busy_until: u64,
}

#[derive(Default)]
struct Process {
    pid: i32,
    lanes: Vec<Lane>,
}

/// All tracks so far.
pub(super) struct Tracks {
    /// By rank.
    processes: Vec<Option<Process>>,
    next_uuid: u64,
    /// Process and thread numbers that fit no scheme, handed out downwards.
    next_spare: i32,
}

/// Process numbers are `100 rank + 1`: a reader recognises the rank. Its threads have the 99 numbers
/// that follow; none has that of the process, which would make it the main thread and show it first.
const NUMBERS_PER_PROCESS: u32 = 100;

impl Tracks {
    pub(super) fn new() -> Self {
        // 0 is the root track
        Self { processes: Vec::new(), next_uuid: 1, next_spare: i32::MAX }
    }

    pub(super) fn uuid(&mut self) -> u64 {
        self.next_uuid += 1;
        self.next_uuid - 1
    }

    fn spare(&mut self) -> i32 {
        self.next_spare -= 1;
        self.next_spare + 1
    }

    /// The track for a slice from `start` to `end` (in picoseconds), which is written to `wire` when it is new.
    #[inline]
    pub(super) fn lane(
        &mut self,
        wire: &mut Wire<Vec<u8>>,
        labels: &dyn Labels,
        rank: Rank,
        row: Row,
        start: u64,
        end: u64,
    ) -> u64 {
        if let Some(Some(process)) = self.processes.get_mut(rank.index()) {
            let free = |lane: &&mut Lane| lane.row == row && lane.busy_until <= start;
            if let Some(lane) = process.lanes.iter_mut().find(free) {
                lane.busy_until = end;
                return lane.uuid;
            }
        }
        self.open(wire, labels, rank, row, end)
    }

    /// A new lane, and a new process where the rank has none.
    #[cold]
    fn open(&mut self, wire: &mut Wire<Vec<u8>>, labels: &dyn Labels, rank: Rank, row: Row, end: u64) -> u64 {
        if rank.index() >= self.processes.len() {
            self.processes.resize_with(rank.index() + 1, || None);
        }
        let order = i32::try_from(rank.0).unwrap_or(i32::MAX);
        if self.processes[rank.index()].is_none() {
            let regular = u64::from(rank.0) * u64::from(NUMBERS_PER_PROCESS) + 1;
            // the upper half is for spare numbers
            let pid = if regular < 1 << 30 { regular as i32 } else { self.spare() };
            let uuid = self.uuid();
            wire.track(uuid, &Kind::Process { pid }, &labels.rank(rank), order);
            self.processes[rank.index()] = Some(Process { pid, lanes: Vec::new() });
        }
        let process = self.processes[rank.index()].as_ref().expect("just opened");
        let (pid, count) = (process.pid, process.lanes.len());
        let number = process.lanes.iter().filter(|lane| lane.row == row).count();
        let regular = count + 1 < NUMBERS_PER_PROCESS as usize && pid < 1 << 30;
        let tid = if regular { pid + 1 + count as i32 } else { self.spare() };
        let name = match row {
            Row::Tasks(activity, stream) => labels.stream(rank, stream, activity),
            Row::Sent => "messages sent".to_owned(),
            Row::Received => "messages received".to_owned(),
        };
        let name = if number == 0 { name } else { format!("{name} ({})", number + 1) };
        let uuid = self.uuid();
        wire.track(uuid, &Kind::Thread { pid, tid }, &name, position(row, number));
        let process = self.processes[rank.index()].as_mut().expect("just opened");
        process.lanes.push(Lane { row, uuid, busy_until: end });
        uuid
    }
}

/// Where a row and its lanes stand in a process.
fn position(row: Row, lane: usize) -> i32 {
    let major = match row {
        Row::Tasks(activity, stream) => (activity as i32) << 16 | i32::from(stream),
        Row::Sent => 3 << 16,
        Row::Received => 4 << 16,
    };
    // 19 bits for rows, 12 for lanes; lanes beyond share the last place
    major << 12 | lane.min(0xfff) as i32
}
