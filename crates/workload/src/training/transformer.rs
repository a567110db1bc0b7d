//! The builder `transformer`: data-parallel training of a decoder-only model.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes, Precision};

use super::costs::{Attention, Cost, Numbers, Operator, Optimizer, operators};
use super::hcsim_table;
use super::placement::{MemoryPolicy, Share, place};
use super::shape::{Activation, Model, Norm, Shape, ShapeChoice};
use crate::builders::{WorkloadContext, WorkloadGenerator};
use crate::collective::coarse_ring::CoarseRing;
use crate::collective::{CollectiveKind, CollectiveSpec, Plan};
use crate::program::{
    Collective, Compute, Gate, MemoryPlace, Op, Program, ProgramBuilder, Scope, Stream, VertexId,
};

/// Data-parallel training of a decoder-only transformer, one replica per rank.
///
/// ```toml
/// [workload]
/// kind = "transformer"
/// model = "llama2-13b"
/// precision = "bf16"
/// batch = 1
/// ```
/// Each decoder's operators run one after another, forward through all decoders and backward in
/// reverse; an operator is one task with its operations and the bytes that it accesses. When the
/// backward pass leaves a decoder, that decoder's gradients are summed over all ranks while the
/// backward pass goes on (figure 7 of the HCSim paper). The next iteration's forward pass waits for
/// all sums of its rank. Tasks are called `fwd.12.attention`, `bwd.39.linear-k`, `sync.39`.
///
/// Embedding, output layer and the optimiser's own operations are not modelled; the optimiser's
/// bytes are, in the backward pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TransformerWorkload {
    /// Model from which sizes come that are not given: `llama2-7b`, `llama2-13b`, `llama2-70b`,
    /// `gpt3-175b`, `gpt-neox-20b`. With another hidden size or activation than its own, heads and feed-forward size follow
    /// from those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Number of decoders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u32>,
    /// Hidden size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<u32>,
    /// Query heads; one per 128 hidden units when nothing says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<u32>,
    /// Key and value heads; as many as query heads when nothing says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv_heads: Option<u32>,
    /// Inner size of the feed-forward part. When nothing says otherwise, four times the hidden size
    /// for `gelu`, two thirds of that for `swiglu` (rounded up to a multiple of 256).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed_forward: Option<u32>,
    /// Tokens per sequence; 4096 when nothing says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u32>,
    /// Feed-forward part: `gelu` (when nothing says otherwise) or `swiglu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// Normalisation: `layer-norm` (when nothing says otherwise) or `rms-norm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norm: Option<Norm>,
    /// Whether there is dropout; yes when nothing says otherwise, no for Llama models and GPT-NeoX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropout: Option<bool>,
    /// Sequences per rank and iteration.
    #[serde(default = "one")]
    pub batch: u32,
    /// Number format of the computation, which chooses the rate of the compute nodes. Gradients are
    /// exchanged in it, too.
    #[serde(default = "bf16")]
    pub precision: Precision,
    /// Number format of weights and activations in memory, which the formula counts. 16 bits
    /// whatever the computation, as in mixed-precision training and as the HCSim paper counts;
    /// say `fp32` for training that keeps everything in 32 bits.
    #[serde(default = "bf16")]
    pub storage: Precision,
    /// Whether attention writes its score matrix to memory: `materialised` or `fused`.
    #[serde(default)]
    pub attention: Attention,
    /// What the optimiser keeps per parameter: `adam`, `momentum` or `sgd`.
    #[serde(default)]
    pub optimizer: Optimizer,
    /// Where operations and bytes come from: `formula`, or `hcsim-table-4`, the numbers as the HCSim
    /// paper prints them for its LLaMA2-13B.
    #[serde(default)]
    pub costs: Costs,
    /// Where the accessed data are: `auto` (local memory as far as it goes, in layer order, then the
    /// home memory node), `local` or `home`.
    #[serde(default)]
    pub memory: MemoryPolicy,
    /// When gradients are summed: `per-layer` (during the backward pass), `at-end` (once, after
    /// it) or `none`.
    #[serde(default)]
    pub synchronise: Synchronise,
    /// Algorithm of the sums.
    #[serde(default)]
    pub algorithm: CollectiveSpec,
    /// Short for the algorithm `coarse-ring`: one message per rank and sum with all bytes that a ring
    /// sends.
    #[serde(default)]
    pub coarse: bool,
    /// Gradient of one decoder; its parameters in `precision` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_bytes: Option<Bytes>,
    /// Training steps.
    #[serde(default = "one")]
    pub iterations: u32,
}

/// Where operations and bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Costs {
    /// From the sizes of the model.
    #[default]
    Formula,
    /// From table 4 of the HCSim paper, as printed.
    #[serde(rename = "hcsim-table-4")]
    HcsimTable4,
}

/// When gradients are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Synchronise {
    /// Each decoder's when the backward pass leaves it.
    #[default]
    PerLayer,
    /// All together when the backward pass is done.
    AtEnd,
    /// Never: independent replicas.
    None,
}

fn one() -> u32 {
    1
}

fn bf16() -> Precision {
    Precision::Bf16
}

impl WorkloadGenerator for TransformerWorkload {
    fn build(&self, context: &WorkloadContext<'_>) -> Result<Program, BuildError> {
        let shape = self.shape()?;
        let numbers = Numbers { storage: self.storage, optimizer: self.optimizer, attention: self.attention };
        let mut list = operators(&shape, &numbers, self.batch)?;
        if self.costs == Costs::HcsimTable4 {
            for (operator, row) in list.iter_mut().zip(&hcsim_table::ROWS) {
                operator.forward = row.forward_cost(self.batch);
                operator.backward = row.backward_cost(self.batch);
            }
        }
        let capacity = context.local_memory_bytes;
        let (shares, memory) = place(self.memory, &list, shape.layers, numbers.state_bytes(), capacity)?;

        let mut builder = ProgramBuilder::new(context.ranks).dimensions(&context.dimensions);
        let summary = builder.summary();
        summary.batches_per_iteration = Some(f64::from(context.ranks) * f64::from(self.batch));
        summary.memory = Some(memory);
        summary.notes.push(note(&shape, &list));
        self.write(&mut builder, context, &shape, &list, &shares)?;
        builder.iterations(self.iterations).build()
    }
}

impl TransformerWorkload {
    /// The sizes of the model.
    ///
    /// # Errors
    /// Sizes that make no model, or another one than the table's when costs come from the table.
    pub fn shape(&self) -> Result<Shape, BuildError> {
        let mut choice = ShapeChoice {
            model: self.model,
            layers: self.layers,
            hidden: self.hidden,
            heads: self.heads,
            kv_heads: self.kv_heads,
            feed_forward: self.feed_forward,
            sequence: self.sequence,
            activation: self.activation,
            norm: self.norm,
            dropout: self.dropout,
        };
        if self.costs == Costs::Formula {
            return choice.resolve();
        }
        // the paper's LLaMA2-13B has another feed-forward part than the published model
        if choice.model.is_some_and(|model| model != Model::Llama2With13B) {
            return Err(BuildError::new(
                "model",
                "table 4 describes llama2-13b only; use `costs = \"formula\"`",
            ));
        }
        let table = hcsim_table::SHAPE;
        choice.model = None;
        choice.layers = choice.layers.or(Some(table.layers));
        choice.hidden = choice.hidden.or(Some(table.hidden as u32));
        let shape = choice.resolve()?;
        for (field, same) in [
            ("hidden", shape.hidden == table.hidden),
            ("heads", shape.heads == table.heads),
            ("kv-heads", shape.kv_heads == table.kv_heads),
            ("feed-forward", shape.feed_forward == table.feed_forward),
            ("sequence", shape.sequence == table.sequence),
            ("activation", shape.activation == table.activation),
            ("norm", shape.norm == table.norm),
            ("dropout", shape.dropout == table.dropout),
        ] {
            if !same {
                return Err(BuildError::new(
                    field,
                    "table 4 is for hidden 5120, 40 heads, feed-forward 20480, sequence 4096, gelu, layer-norm and dropout; leave this out or use `costs = \"formula\"`",
                ));
            }
        }
        Ok(shape)
    }

    /// Adds tasks, sums and dependencies.
    fn write(
        &self,
        builder: &mut ProgramBuilder,
        context: &WorkloadContext<'_>,
        shape: &Shape,
        list: &[Operator],
        shares: &[Share],
    ) -> Result<(), BuildError> {
        let gradient = match self.gradient_bytes {
            Some(bytes) => bytes.count(),
            None => list.iter().map(|operator| operator.parameters).sum::<u64>() * self.precision.bytes(),
        };
        // a rank on its own has nothing to sum
        let synchronise = if context.ranks > 1 { self.synchronise } else { Synchronise::None };
        let per_layer = match synchronise {
            Synchronise::PerLayer => Some((self.plan(context, gradient)?, gradient)),
            Synchronise::AtEnd | Synchronise::None => None,
        };
        let mut chain = Chain { builder, precision: self.precision, first: None, last: None };
        let share = |layer: u32, index: usize| shares[layer as usize * list.len() + index];
        for layer in 0..shape.layers {
            for (index, operator) in list.iter().enumerate() {
                chain.add("fwd", layer, operator.name, operator.forward, share(layer, index));
            }
        }
        let mut sums = Vec::new();
        for layer in (0..shape.layers).rev() {
            for (index, operator) in list.iter().enumerate().rev() {
                chain.add("bwd", layer, operator.name, operator.backward, share(layer, index));
            }
            if let Some((plan, bytes)) = &per_layer {
                sums.push(chain.sum(format_args!("sync.{layer}"), plan, *bytes));
            }
        }
        if synchronise == Synchronise::AtEnd {
            let total = gradient.checked_mul(u64::from(shape.layers)).ok_or_else(|| {
                BuildError::new("gradient-bytes", "the gradients of all layers are more than 2^64 bytes")
            })?;
            let plan = self.plan(context, total)?;
            sums.push(chain.sum(format_args!("sync"), &plan, total));
        }
        let Chain { first, last, .. } = chain;
        let (first, last) = first.zip(last).expect("a decoder has operators that cost something");
        builder.edge(last, first, 1);
        for sum in sums {
            builder.edge(sum, first, 1);
        }
        Ok(())
    }

    fn plan(&self, context: &WorkloadContext<'_>, bytes: u64) -> Result<Arc<dyn Plan>, BuildError> {
        let kind = CollectiveKind::AllReduce;
        if !self.coarse {
            let algorithm = self.algorithm.plugin();
            let plan = algorithm.plan_on(kind, context.ranks, bytes, &context.dimensions);
            return plan.map(Into::into).map_err(|error| error.within("algorithm"));
        }
        if self.algorithm != CollectiveSpec::default() {
            return Err(BuildError::new(
                "coarse",
                format!(
                    "`coarse` replaces a ring, the algorithm is `{}`; drop one of them",
                    self.algorithm.kind()
                ),
            ));
        }
        let algorithm = CollectiveSpec::CoarseRing(CoarseRing::default());
        Ok(algorithm.plugin().plan(kind, context.ranks, bytes)?.into())
    }
}

/// Tasks of every rank, one after another.
struct Chain<'a> {
    builder: &'a mut ProgramBuilder,
    precision: Precision,
    first: Option<VertexId>,
    last: Option<VertexId>,
}

impl Chain<'_> {
    /// Appends an operator; one that costs nothing is left out.
    fn add(&mut self, pass: &str, layer: u32, name: &str, cost: Cost, share: Share) {
        if cost.flops == 0.0 && cost.bytes == 0 {
            return;
        }
        let remote_bytes = share.remote_part(cost.bytes);
        let compute = Compute {
            local_bytes: cost.bytes - remote_bytes,
            remote_bytes,
            place: if remote_bytes == 0 { MemoryPlace::Local } else { MemoryPlace::Home },
            ..Compute::of(cost.flops, self.precision)
        };
        let name = format_args!("{pass}.{layer}.{name}");
        let vertex = self.builder.vertex(name, Scope::All, Stream::COMPUTE, Op::Compute(compute));
        if let Some(last) = self.last {
            self.builder.edge(last, vertex, 0);
        }
        self.first.get_or_insert(vertex);
        self.last = Some(vertex);
    }

    /// Adds a sum of gradients over all ranks that starts where the chain is now.
    fn sum(&mut self, name: std::fmt::Arguments<'_>, plan: &Arc<dyn Plan>, bytes: u64) -> VertexId {
        let sum = Collective {
            kind: CollectiveKind::AllReduce,
            plan: Arc::clone(plan),
            group: 0,
            subgroups: None,
            bytes,
            gate: Gate::EachMember,
        };
        let vertex = self.builder.vertex(name, Scope::Group(0), Stream::COMMUNICATION, Op::Collective(sum));
        self.builder.edge(self.last.expect("gradients come from a backward pass"), vertex, 0);
        vertex
    }
}

fn note(shape: &Shape, list: &[Operator]) -> String {
    let layers = f64::from(shape.layers);
    let total = |of: fn(&Operator) -> f64| layers * list.iter().map(of).sum::<f64>();
    let parameters = total(|operator| operator.parameters as f64);
    let flops = total(|operator| operator.forward.flops + operator.backward.flops);
    let bytes = total(|operator| (operator.forward.bytes + operator.backward.bytes) as f64);
    // the largest prefix of which there is a tenth
    let short = |value: f64, digits: usize, prefixes: &[(&str, f64)]| {
        let fits = |&&(_, unit): &&(&str, f64)| value >= 0.1 * unit;
        let (prefix, unit) = prefixes.iter().find(fits).copied().unwrap_or(("", 1.0));
        format!("{:.*} {prefix}", if unit == 1.0 { 0 } else { digits }, value / unit)
    };
    let (giga, mega, kilo) = (("G", 1e9), ("M", 1e6), ("k", 1e3));
    format!(
        "{} {}, {}parameters; each rank computes {}FLOP and accesses {}B per iteration",
        shape.layers,
        if shape.layers == 1 { "decoder" } else { "decoders" },
        short(parameters, 2, &[("G ", 1e9), ("M ", 1e6), ("k ", 1e3)]),
        short(flops, 1, &[("T", 1e12), giga, mega, kilo]),
        short(bytes, 1, &[giga, mega, kilo])
    )
}
