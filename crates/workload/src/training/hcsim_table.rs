//! Table 4 of the HCSim paper: operations and bytes of each layer of a LLaMA2-13B decoder.
//!
//! The numbers stand here as printed, for hidden size 5,120 and sequence 4,096, so that the paper's
//! experiments can be run on exactly its own account. An entry of `g` GFLOP counts `g * 10^9 * b`
//! operations, one of `c + p b` GB counts `floor((c + p b) * 2^30)` bytes. Where a printed entry
//! carries no `b` it does not grow with the batch here either. The row "concat" costs nothing and
//! is left out. `docs/src/concepts/transformer-costs.md` says what rule gives each entry.

use super::costs::Cost;
use super::shape::{Activation, Norm, Shape};

/// One entry of bytes: `fixed + per_batch * b`, in GB of 2^30 bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gigabytes {
    /// Part that does not grow with the batch.
    pub fixed: f64,
    /// Part per sequence of the batch.
    pub per_batch: f64,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Name of the operator in this program.
    pub name: &'static str,
    /// The paper's name of the row.
    pub printed: &'static str,
    /// Forward operations per sequence, in GFLOP; 0 where the paper says negligible.
    pub forward_gflop: f64,
    /// Forward bytes.
    pub forward: Gigabytes,
    /// Backward operations per sequence, in GFLOP.
    pub backward_gflop: f64,
    /// Backward bytes.
    pub backward: Gigabytes,
}

const fn row(
    name: &'static str,
    printed: &'static str,
    forward: (f64, f64, f64),
    backward: (f64, f64, f64),
) -> Row {
    Row {
        name,
        printed,
        forward_gflop: forward.0,
        forward: Gigabytes { fixed: forward.1, per_batch: forward.2 },
        backward_gflop: backward.0,
        backward: Gigabytes { fixed: backward.1, per_batch: backward.2 },
    }
}

/// The table, in forward order.
pub const ROWS: [Row; 14] = [
    row("norm-1", "layer norm", (0.0, 0.00002, 0.039), (0.0, 0.00015, 0.156)),
    row("linear-k", "linear (K)", (195.0, 0.0488, 0.039), (390.0, 0.39, 0.156)),
    row("linear-q", "linear (Q)", (195.0, 0.0488, 0.039), (390.0, 0.39, 0.156)),
    row("linear-v", "linear (V)", (195.0, 0.0488, 0.039), (390.0, 0.39, 0.156)),
    row("attention", "self-attention", (312.5, 0.0, 3.242), (625.0, 0.0, 0.234)),
    row("linear-o", "linear", (195.0, 0.0488, 0.039), (390.0, 0.39, 0.156)),
    row("dropout-1", "dropout", (0.0, 0.0, 0.0195), (0.0, 0.0195, 0.0)),
    row("add-1", "add", (0.0, 0.0, 0.078), (0.0, 0.039, 0.0)),
    row("norm-2", "layer norm", (0.0, 0.00002, 0.039), (0.0, 0.00015, 0.156)),
    row("linear-up", "linear", (780.0, 0.195, 0.039), (1560.0, 1.562, 0.39)),
    row("gelu", "GeLU", (0.0, 0.0, 0.156), (0.0, 0.078, 0.0)),
    row("linear-down", "linear", (780.0, 0.195, 0.156), (1560.0, 1.562, 0.39)),
    row("dropout-2", "dropout", (0.0, 0.0, 0.0195), (0.0, 0.0195, 0.0)),
    row("add-2", "add", (0.0, 0.0, 0.078), (0.0, 0.156, 0.0)),
];

/// The model that the table describes: LLaMA2-13B's hidden size, heads and depth, with the
/// feed-forward part of a GPT (four times the hidden size, GeLU, layer norm, dropout).
pub const SHAPE: Shape = Shape {
    layers: 40,
    hidden: 5120,
    heads: 40,
    kv_heads: 40,
    feed_forward: 4 * 5120,
    sequence: 4096,
    activation: Activation::Gelu,
    norm: Norm::LayerNorm,
    dropout: true,
};

impl Gigabytes {
    fn bytes(self, batch: f64) -> u64 {
        ((self.fixed + self.per_batch * batch) * (1_u64 << 30) as f64).floor() as u64
    }
}

impl Row {
    /// Cost of the forward pass for `batch` sequences.
    pub fn forward_cost(&self, batch: u32) -> Cost {
        let batch = f64::from(batch);
        Cost { flops: self.forward_gflop * batch * 1e9, bytes: self.forward.bytes(batch) }
    }

    /// Cost of the backward pass for `batch` sequences.
    pub fn backward_cost(&self, batch: u32) -> Cost {
        let batch = f64::from(batch);
        Cost { flops: self.backward_gflop * batch * 1e9, bytes: self.backward.bytes(batch) }
    }
}
