//! Nodes that are near each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Duration, TimePerByte};

/// Parameters between nodes of one group, such as a node and itself, or the nodes of a rack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Near {
    /// `node` for messages of a node to itself (between ranks that share it), which then do not pass a
    /// NIC; or a grouping of the topology, such as `rack` or `server`.
    pub within: String,
    /// L.
    pub latency: Duration,
    /// g.
    #[serde(default)]
    pub gap: Duration,
    /// G.
    pub gap_per_byte: TimePerByte,
}

impl Near {
    /// Whether it is about messages of a node to itself.
    pub fn within_node(&self) -> bool {
        self.within == "node"
    }
}
