//! Messages and queues one by one, as tables.

use crate::flows::FlowsResult;
use crate::result::RunResult;
use crate::table::{Cell, Table};
use crate::units::Unit;

fn count(number: u64) -> Cell {
    Cell::Number(number as f64, Unit::Count)
}

/// The slowest messages of a run, slowest first.
pub fn slowest_messages(flows: &FlowsResult) -> Table {
    let mut table = Table::new([
        "from",
        "to",
        "payload",
        "start",
        "took",
        "slow-down",
        "sent again",
        "time-outs",
        "trims",
        "marks",
    ]);
    for flow in &flows.slowest {
        table.push([
            flow.from.clone().into(),
            flow.to.clone().into(),
            Cell::Number(flow.bytes as f64, Unit::Bytes),
            Cell::Number(flow.start_s, Unit::Seconds),
            Cell::Number(flow.end_s - flow.start_s, Unit::Seconds),
            Cell::Number(flow.slowdown, Unit::Factor),
            count(flow.retransmissions.into()),
            count(flow.timeouts.into()),
            count(flow.trims.into()),
            count(flow.marks.into()),
        ]);
    }
    table
}

/// The longest queues of a run, at most `most`, longest first.
pub fn longest_queues(result: &RunResult, most: usize) -> Table {
    let mut table = Table::new(["queue of link", "room", "most waited", "drops", "trims", "marks", "pauses"]);
    for queue in result.queues.iter().take(most) {
        let room = queue.capacity_bytes.map(|bytes| (bytes as f64, Unit::Bytes));
        table.push([
            queue.place().into(),
            room.into(),
            Cell::Number(queue.most_bytes as f64, Unit::Bytes),
            count(queue.drops),
            count(queue.trims),
            count(queue.marks),
            count(queue.pauses),
        ]);
    }
    table
}
