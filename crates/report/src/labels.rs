//! Names for ids: reports see numbers, people see words.

use stratasim_core::observe::Activity;
use stratasim_core::{Bandwidth, LinkId, NodeId, Rank};

/// The stream number of tasks that run on no stream.
pub const NO_STREAM: u16 = u16::MAX;

/// Turns the ids of events into names. Whoever builds the run implements it; each method has a plain
/// form. Called once per name where a report can remember it.
pub trait Labels: Sync {
    /// A process, such as `rank 17 (xpu-17)`.
    fn rank(&self, rank: Rank) -> String {
        format!("rank {rank}")
    }

    /// The node on which a process runs, such as `xpu-17`; empty when unknown.
    fn node(&self, _rank: Rank) -> String {
        String::new()
    }

    /// A node of the topology, such as `xpu-17`.
    fn place(&self, node: NodeId) -> String {
        format!("node {node}")
    }

    /// What runs on a stream of a rank, such as `compute` or `all-reduce of group 3`.
    fn stream(&self, _rank: Rank, stream: u16, activity: Activity) -> String {
        stream_name(stream, activity)
    }

    /// A task of the program, such as `layer 3 forward attention`.
    fn vertex(&self, vertex: u32) -> String {
        format!("task {vertex}")
    }

    /// A link, such as `xpu-3->cxl-0`.
    fn link(&self, link: LinkId) -> String {
        format!("link {link}")
    }

    /// The rate of a link; `None` when it has none of its own.
    fn link_rate(&self, _link: LinkId) -> Option<Bandwidth> {
        None
    }
}

/// Numbers instead of names.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Labels for Plain {}

/// The name of an activity, in lower case.
pub const fn activity_name(activity: Activity) -> &'static str {
    match activity {
        Activity::Compute => "compute",
        Activity::Memory => "memory",
        Activity::Communication => "communication",
    }
}

/// The activity, and the number of the stream where that is not the usual one for it.
pub fn stream_name(stream: u16, activity: Activity) -> String {
    let name = activity_name(activity);
    // computation and its memory access run on stream 0, communication on 1, unless told otherwise
    let usual = match activity {
        Activity::Compute | Activity::Memory => 0,
        Activity::Communication => 1,
    };
    if stream == usual || stream == NO_STREAM { name.to_owned() } else { format!("{name} stream {stream}") }
}
