//! What each operator of a decoder computes, moves and keeps, by formula.
//!
//! With batch `b`, sequence `s`, hidden size `h`, feed-forward size `f`, `a` heads, storage width `w`
//! (bytes per number) and `P` parameters of the operator:
//!
//! | operator | forward FLOP | forward bytes | backward bytes |
//! |---|---|---|---|
//! | linear `i -> o` | `2 b s i o` | `w P + w b s i` | `S P + 2 w b s (i + o)` |
//! | attention | `4 b s² h` | `w b s (h + 2 kv) + (2 w + 1) b a s²` | `2 w b s (h + 2 kv)` |
//! | norm | 0 | `w P + w b s h` | `S P + 4 w b s h` |
//! | dropout | 0 | `b s h` (mask) | `b s h` |
//! | add | 0 | `2 w b s h` | `w b s h` |
//! | GeLU | 0 | `w b s f` | `w b s f` |
//! | SwiGLU | 0 | `2 w b s f` | `2 w b s f` |
//!
//! Backward FLOP are twice the forward ones (gradients of inputs and of weights). Forward bytes are
//! the weights and what the operator keeps for the backward pass (Korthikanti et al., "Reducing
//! activation recomputation in large transformer models", 2022, section 4.1: 16-bit numbers, one
//! byte per dropout mask element, the score matrix with softmax, its mask and its dropout).
//! Backward bytes are the state of the parameters, `S = 16` bytes each with Adam (weight, gradient,
//! master copy and two moments; Rajbhandari et al., "ZeRO", 2020, section 3.1), and inputs and
//! outputs with their gradients; the score matrix is recomputed there block by block and counts
//! neither time nor bytes. Element-wise operations are left out of FLOP, as are biases and rotary
//! embeddings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Precision};

use super::shape::{Activation, Norm, Shape};

/// How attention treats its score matrix of `sequence` x `sequence` numbers per head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Written to memory and kept, as the HCSim paper counts it.
    #[default]
    Materialised,
    /// Never leaves the chip (FlashAttention, Dao et al., 2022).
    Fused,
}

/// What the optimiser keeps for each parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// Two moments of 4 bytes each.
    #[default]
    Adam,
    /// One momentum of 4 bytes.
    Momentum,
    /// Nothing.
    Sgd,
}

/// Number formats and algorithms that costs depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Format of weights and activations in memory.
    pub storage: Precision,
    /// What the optimiser keeps.
    pub optimizer: Optimizer,
    /// What attention keeps.
    pub attention: Attention,
}

impl Numbers {
    /// Bytes that training keeps for one parameter: weight, gradient, a master copy in 4 bytes
    /// where the weight has fewer, and the optimiser's state.
    pub const fn state_bytes(&self) -> u64 {
        let width = self.storage.bytes();
        let master = if width < 4 { 4 } else { 0 };
        let moments = match self.optimizer {
            Optimizer::Adam => 8,
            Optimizer::Momentum => 4,
            Optimizer::Sgd => 0,
        };
        2 * width + master + moments
    }
}

/// Cost of one pass through an operator.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes accessed.
    pub bytes: u64,
}

/// An operator of a decoder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operator {
    /// Its name within the decoder.
    pub name: &'static str,
    /// Forward pass.
    pub forward: Cost,
    /// Backward pass.
    pub backward: Cost,
    /// Parameters.
    pub parameters: u64,
    /// Bytes that stay in memory for it from forward to backward pass, besides the parameters.
    pub kept_bytes: u64,
}

/// The operators of one decoder in forward order, for `batch` sequences per rank.
///
/// # Errors
/// A batch of zero, or so large that its bytes cannot be counted.
pub fn operators(shape: &Shape, numbers: &Numbers, batch: u32) -> Result<Vec<Operator>, BuildError> {
    let scores = u128::from(batch) * u128::from(shape.heads) * u128::from(shape.sequence).pow(2);
    let widest = u128::from(batch)
        * u128::from(shape.sequence)
        * u128::from(shape.hidden.max(shape.feed_forward) + shape.hidden);
    if batch == 0 {
        return Err(BuildError::new("batch", "a batch of 0 sequences trains nothing; give at least 1"));
    }
    if scores.max(widest) > 1 << 53 {
        let reason = format!("{batch} sequences of {} tokens are more than can be counted", shape.sequence);
        return Err(BuildError::new("batch", reason));
    }
    let list = Decoder { shape: *shape, numbers: *numbers, batch: u64::from(batch) };
    Ok(list.operators())
}

struct Decoder {
    shape: Shape,
    numbers: Numbers,
    batch: u64,
}

impl Decoder {
    fn operators(&self) -> Vec<Operator> {
        let Shape { hidden, feed_forward, activation, dropout, .. } = self.shape;
        let kv = self.shape.kv_size();
        let mut list = vec![
            self.norm("norm-1"),
            self.linear("linear-k", hidden, kv),
            // the three projections share their input: it is kept once
            Operator { kept_bytes: 0, ..self.linear("linear-q", hidden, hidden) },
            Operator { kept_bytes: 0, ..self.linear("linear-v", hidden, kv) },
            self.attention(),
            self.linear("linear-o", hidden, hidden),
        ];
        list.extend(dropout.then(|| self.dropout("dropout-1")));
        list.extend([self.add("add-1"), self.norm("norm-2")]);
        if activation == Activation::Swiglu {
            list.push(self.linear("linear-gate", hidden, feed_forward));
            let up = self.linear("linear-up", hidden, feed_forward);
            list.extend([Operator { kept_bytes: 0, ..up }, self.elementwise("swiglu", 2 * feed_forward)]);
        } else {
            list.push(self.linear("linear-up", hidden, feed_forward));
            list.push(self.elementwise("gelu", feed_forward));
        }
        list.push(self.linear("linear-down", feed_forward, hidden));
        list.extend(dropout.then(|| self.dropout("dropout-2")));
        list.push(self.add("add-2"));
        list
    }

    /// Tokens of the batch.
    fn tokens(&self) -> u64 {
        self.batch * self.shape.sequence
    }

    fn width(&self) -> u64 {
        self.numbers.storage.bytes()
    }

    fn linear(&self, name: &'static str, from: u64, to: u64) -> Operator {
        let parameters = from * to;
        let flops = 2.0 * self.tokens() as f64 * parameters as f64;
        self.weighted(name, parameters, flops, from, to)
    }

    fn norm(&self, name: &'static str) -> Operator {
        let vectors = if self.shape.norm == Norm::LayerNorm { 2 } else { 1 };
        self.weighted(name, vectors * self.shape.hidden, 0.0, self.shape.hidden, self.shape.hidden)
    }

    /// An operator with parameters that turns `from` numbers of a token into `to`.
    fn weighted(&self, name: &'static str, parameters: u64, flops: f64, from: u64, to: u64) -> Operator {
        let (width, tokens) = (self.width(), self.tokens());
        let kept_bytes = width * tokens * from;
        let gradients = 2 * width * tokens * (from + to);
        Operator {
            name,
            forward: Cost { flops, bytes: width * parameters + kept_bytes },
            backward: Cost { flops: 2.0 * flops, bytes: self.numbers.state_bytes() * parameters + gradients },
            parameters,
            kept_bytes,
        }
    }

    fn attention(&self) -> Operator {
        let Shape { hidden, heads, sequence, dropout, .. } = self.shape;
        let (width, tokens) = (self.width(), self.tokens());
        // queries times keys, and weights times values
        let flops = 4.0 * tokens as f64 * sequence as f64 * hidden as f64;
        let inputs = width * tokens * (hidden + 2 * self.shape.kv_size());
        // softmax; with dropout its result and one byte of mask as well
        let per_score = if dropout { 2 * width + 1 } else { width };
        let scores = match self.numbers.attention {
            Attention::Materialised => per_score * heads * tokens * sequence,
            Attention::Fused => 0,
        };
        Operator {
            name: "attention",
            forward: Cost { flops, bytes: inputs + scores },
            backward: Cost { flops: 2.0 * flops, bytes: 2 * inputs },
            parameters: 0,
            kept_bytes: inputs + scores,
        }
    }

    fn dropout(&self, name: &'static str) -> Operator {
        let mask = self.tokens() * self.shape.hidden;
        let cost = Cost { flops: 0.0, bytes: mask };
        Operator { name, forward: cost, backward: cost, parameters: 0, kept_bytes: mask }
    }

    fn add(&self, name: &'static str) -> Operator {
        let one = self.width() * self.tokens() * self.shape.hidden;
        Operator {
            name,
            forward: Cost { flops: 0.0, bytes: 2 * one },
            // the gradient goes to both summands unchanged
            backward: Cost { flops: 0.0, bytes: one },
            parameters: 0,
            kept_bytes: 0,
        }
    }

    /// An element-wise function of `inputs` numbers of a token.
    fn elementwise(&self, name: &'static str, inputs: u64) -> Operator {
        let bytes = self.width() * self.tokens() * inputs;
        let cost = Cost { flops: 0.0, bytes };
        Operator { name, forward: cost, backward: cost, parameters: 0, kept_bytes: bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::Model;
    use super::*;

    const MIXED: Numbers =
        Numbers { storage: Precision::Bf16, optimizer: Optimizer::Adam, attention: Attention::Materialised };

    #[test]
    fn a_gpt_decoder_keeps_what_korthikanti_counts() {
        // equation 1: s b h (34 + 5 a s / h) bytes per layer
        let shape = Model::Gpt3With175B.shape();
        for batch in [1, 2, 5] {
            let kept: u64 = operators(&shape, &MIXED, batch).unwrap().iter().map(|op| op.kept_bytes).sum();
            let tokens = u64::from(batch) * shape.sequence;
            assert_eq!(kept, tokens * (34 * shape.hidden + 5 * shape.heads * shape.sequence));
        }
    }

    #[test]
    fn a_training_step_is_six_operations_per_parameter_and_token_plus_attention() {
        for model in [Model::Llama2With7B, Model::Llama2With70B, Model::Gpt3With175B] {
            let shape = model.shape();
            let list = operators(&shape, &MIXED, 1).unwrap();
            let total: f64 = list.iter().map(|op| op.forward.flops + op.backward.flops).sum();
            // norms have parameters but count no operations
            let weights: u64 = list.iter().filter(|op| op.forward.flops > 0.0).map(|op| op.parameters).sum();
            let tokens = shape.sequence as f64;
            let expected = 6.0 * weights as f64 * tokens + 12.0 * tokens * tokens * shape.hidden as f64;
            assert_eq!(total, expected);
        }
    }

    #[test]
    fn grouped_queries_shrink_keys_and_values_only() {
        let shape = Model::Llama2With70B.shape();
        let list = operators(&shape, &MIXED, 1).unwrap();
        let parameters = |name| list.iter().find(|op| op.name == name).unwrap().parameters;
        assert_eq!(parameters("linear-q"), 8192 * 8192);
        assert_eq!(parameters("linear-k"), 8192 * 1024);
        assert_eq!(parameters("linear-v"), 8192 * 1024);
        assert_eq!(parameters("linear-gate"), 8192 * 28_672);
    }

    #[test]
    fn state_is_sixteen_bytes_with_adam_in_sixteen_and_in_thirty_two_bits() {
        assert_eq!(MIXED.state_bytes(), 16);
        assert_eq!(Numbers { storage: Precision::Fp32, ..MIXED }.state_bytes(), 16);
        assert_eq!(Numbers { optimizer: Optimizer::Sgd, ..MIXED }.state_bytes(), 8);
    }

    #[test]
    fn a_batch_that_cannot_be_counted_is_refused() {
        let shape = Model::Gpt3With175B.shape();
        assert!(operators(&shape, &MIXED, 0).unwrap_err().to_string().contains("batch of 0"));
        assert!(operators(&shape, &MIXED, u32::MAX).is_err());
    }
}
