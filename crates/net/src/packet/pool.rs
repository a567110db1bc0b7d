//! Buffers that the ports of a switch share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::words::three_digits;
use stratasim_core::{BuildError, Bytes, NodeId};
use stratasim_topo::Topology;

use super::engine::Engine;

/// The ports of a switch share their buffers, and a queue may hold at most `alpha` times what is free of them.
///
/// With n busy queues, each holds alpha / (1 + n alpha) of all, and 1 / (1 + n alpha) stays free for others.
/// Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches" (1998).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct BufferSharing {
    /// Bytes that a queue may hold for each that is free; above 0.
    pub alpha: f64,
}

impl Default for BufferSharing {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl BufferSharing {
    pub(super) fn check(&self) -> Result<(), BuildError> {
        if self.alpha > 0.0 && self.alpha.is_finite() {
            return Ok(());
        }
        Err(BuildError::new("alpha", format!("{}; it must be above 0", self.alpha)))
    }
}

/// The buffer of one switch.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    pub(super) total_bytes: u64,
    used_bytes: u64,
    /// When packets that are on their way out will have left, and how large they are: what leaves at an instant is gone before
    /// what arrives then, whichever port it leaves by.
    leaving: BinaryHeap<Reverse<(u64, u32)>>,
    alpha: f64,
}

impl Pool {
    pub(super) const fn new(sharing: BufferSharing) -> Self {
        Self { total_bytes: 0, used_bytes: 0, leaving: BinaryHeap::new(), alpha: sharing.alpha }
    }

    /// What a queue may hold at most, where all others are empty.
    pub(super) fn longest_queue(&self) -> u64 {
        (self.total_bytes as f64 * (self.alpha / (1.0 + self.alpha))) as u64
    }

    /// Data takes room.
    pub(super) fn take(&mut self, bytes: u32) {
        self.used_bytes += u64::from(bytes);
    }

    /// Data gives its room back.
    pub(super) fn give_back(&mut self, bytes: u32) {
        self.used_bytes -= u64::from(bytes);
    }

    /// Data that has room begins to leave, and will have left at `end`.
    pub(super) fn leave(&mut self, end: u64, bytes: u32) {
        if bytes > 0 {
            self.leaving.push(Reverse((end, bytes)));
        }
    }

    /// Bytes in it at `now`.
    pub(super) fn used_bytes(&mut self, now: u64) -> u64 {
        while let Some(&Reverse((end, bytes))) = self.leaving.peek()
            && end <= now
        {
            self.leaving.pop();
            self.used_bytes -= u64::from(bytes);
        }
        self.used_bytes
    }

    /// Bytes in it that are not on their way out.
    pub(super) fn waiting_bytes(&self) -> u64 {
        self.used_bytes - self.leaving.iter().map(|Reverse((_, bytes))| u64::from(*bytes)).sum::<u64>()
    }

    /// Whether no more is in it than there is room for.
    pub(super) const fn is_within(&self) -> bool {
        self.used_bytes <= self.total_bytes
    }

    /// Whether a queue that holds `held` bytes at `now` may take `bytes` more.
    pub(super) fn admits(&mut self, now: u64, held: u64, bytes: u64) -> bool {
        self.used_bytes(now);
        let free = self.total_bytes - self.used_bytes;
        // shares of less than 2^53 bytes are exact enough, and the same everywhere
        bytes <= free && ((held + bytes) as f64) <= self.alpha * free as f64
    }
}

/// A buffer of which one queue may not hold a single packet, be it empty otherwise.
#[derive(Debug)]
pub(super) struct TooSmall {
    node: u32,
    total_bytes: u64,
    packet_bytes: u64,
}

impl TooSmall {
    pub(super) fn error(&self, sharing: BufferSharing, topology: &Topology) -> BuildError {
        let Self { node, total_bytes, packet_bytes } = *self;
        let reason = format!(
            "{}; of the empty buffer of {}, {}, a queue may then hold {} B, and no packet of {packet_bytes} B ever gets in: \
             above {} is needed",
            sharing.alpha,
            topology.node_name(NodeId(node)),
            Bytes(total_bytes),
            three_digits(sharing.alpha * total_bytes as f64),
            // rounded up
            three_digits(packet_bytes as f64 / total_bytes as f64 * 1.005),
        );
        BuildError::new("alpha", reason)
    }
}

impl Engine {
    /// The ports of each switch give their buffers to all of them.
    ///
    /// # Errors
    /// Shares that let no packet into an empty buffer.
    pub(super) fn share_buffers(&mut self, sharing: BufferSharing) -> Result<(), TooSmall> {
        for node in 0..self.routes.nodes() {
            if self.routes.host_of(NodeId(node)).is_some() {
                continue;
            }
            let (mut pool, ports) = (Pool::new(sharing), self.routes.ports_of(node));
            for port in ports.clone() {
                pool.total_bytes += self.ports[port as usize].kind.capacity;
            }
            let full = u64::from(self.rules.full_bytes);
            if !ports.is_empty() && !pool.admits(0, 0, full) {
                return Err(TooSmall { node, total_bytes: pool.total_bytes, packet_bytes: full });
            }
            for port in ports {
                self.ports[port as usize].pool = self.pools.len() as u32;
                self.ports[port as usize].kind.capacity = pool.total_bytes;
            }
            self.pools.push(pool);
        }
        Ok(())
    }
}
