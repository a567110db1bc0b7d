//! Connections: messages of a pair of nodes that go one after the other.
//!
//! A message takes bandwidth when it has paid its latency and the one before it has left. Latencies overlap, as they do on a
//! connection whose sender goes on while the last bytes are under way.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use stratasim_core::model::Transfer;
use stratasim_core::{NodeId, Time};

use super::network::FlowNetwork;
use super::system::NONE;

/// Where a message stands: its line, or `NONE`, and since when.
pub(super) type Stand = (u32, Time);

/// A connection.
#[derive(Debug, Default)]
struct Line {
    busy: bool,
    /// Messages behind the one that is under way, and since when.
    waiting: VecDeque<(Transfer, Time)>,
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Their numbers, by nodes, NIC and [`Transfer::line`].
    numbers: FxHashMap<(NodeId, NodeId, u16, u16), u32>,
    lines: Vec<Line>,
    /// Those whose message has left, or could not start.
    freed: Vec<u32>,
}

impl Lines {
    /// A message comes at `now`: the line on which it goes at once, `NONE` of what only announces one; `None` where it waits for
    /// others.
    pub(super) fn enter(&mut self, transfer: &Transfer, now: Time) -> Option<u32> {
        if transfer.handshake {
            return Some(NONE);
        }
        let name = (transfer.src, transfer.dst, transfer.nic, transfer.line);
        let next = self.lines.len() as u32;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.lines.push(Line::default());
        }
        let line = &mut self.lines[number as usize];
        if line.busy {
            line.waiting.push_back((*transfer, now));
            return None;
        }
        line.busy = true;
        Some(number)
    }

    /// The message of a line is over.
    pub(super) fn leave(&mut self, number: u32) {
        if number != NONE {
            self.freed.push(number);
        }
    }

    /// Whether some line may go on.
    pub(super) fn is_due(&self) -> bool {
        !self.freed.is_empty()
    }

    /// The next message of a line that may go on, if there is one.
    fn next(&mut self) -> Option<(Transfer, Stand)> {
        while let Some(number) = self.freed.pop() {
            let line = &mut self.lines[number as usize];
            match line.waiting.pop_front() {
                Some((transfer, since)) => return Some((transfer, (number, since))),
                None => line.busy = false,
            }
        }
        None
    }
}

impl FlowNetwork {
    /// Lines whose message has left go on with the next one.
    pub(super) fn go_on_lines(&mut self) {
        while let Some((transfer, stand)) = self.lines.as_mut().and_then(Lines::next) {
            self.start(&transfer, stand);
        }
    }
}
