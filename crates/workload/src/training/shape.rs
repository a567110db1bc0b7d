//! Sizes of a decoder-only transformer, given one by one or by the name of a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

/// A model that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Model {
    /// Llama 2 7B: 32 layers of hidden size 4,096.
    #[serde(rename = "llama2-7b")]
    Llama2With7B,
    /// Llama 2 13B: 40 layers of hidden size 5,120.
    #[serde(rename = "llama2-13b")]
    Llama2With13B,
    /// Llama 2 70B: 80 layers of hidden size 8,192, 8 key/value heads.
    #[serde(rename = "llama2-70b")]
    Llama2With70B,
    /// GPT-3 175B: 96 layers of hidden size 12,288.
    #[serde(rename = "gpt3-175b")]
    Gpt3With175B,
    /// GPT-NeoX 20B: 44 layers of hidden size 6,144.
    #[serde(rename = "gpt-neox-20b")]
    GptNeoXWith20B,
}

/// What lies between the linear layers of the feed-forward part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// One linear layer up, GeLU, one down.
    #[default]
    Gelu,
    /// Two linear layers up, of which one gates the other through SiLU, one down.
    Swiglu,
}

/// How activations are normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Layer normalisation, with a scale and a shift per hidden unit.
    #[default]
    LayerNorm,
    /// Root mean square, with a scale only.
    RmsNorm,
}

/// Sizes of a model. Embedding and output layer are not part of it: the paper and this builder
/// count decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Decoders.
    pub layers: u32,
    /// Hidden size.
    pub hidden: u64,
    /// Query heads.
    pub heads: u64,
    /// Key and value heads; fewer than `heads` in grouped-query attention.
    pub kv_heads: u64,
    /// Inner size of the feed-forward part.
    pub feed_forward: u64,
    /// Tokens per sequence.
    pub sequence: u64,
    /// Kind of the feed-forward part.
    pub activation: Activation,
    /// Kind of normalisation.
    pub norm: Norm,
    /// Whether attention and both residual branches pass a dropout.
    pub dropout: bool,
}

impl Model {
    /// Its sizes.
    ///
    /// Llama 2: Touvron et al., "Llama 2: open foundation and fine-tuned chat models", 2023, table 1
    /// (sequence, grouped-query attention), and the published model configurations (hidden,
    /// intermediate size, heads, layers). GPT-3: Brown et al., "Language models are few-shot
    /// learners", 2020, table 2.1 and section 2.1 (feed-forward of four times the hidden size). GPT-NeoX: Black
    /// et al., "GPT-NeoX-20B: an open-source autoregressive language model", 2022, section 3 and the published
    /// configuration (64 heads, sequence, no dropout).
    pub fn shape(self) -> Shape {
        let llama = |layers, hidden, heads, kv_heads, feed_forward| Shape {
            layers,
            hidden,
            heads,
            kv_heads,
            feed_forward,
            sequence: 4096,
            activation: Activation::Swiglu,
            norm: Norm::RmsNorm,
            dropout: false,
        };
        match self {
            Self::Llama2With7B => llama(32, 4096, 32, 32, 11_008),
            Self::Llama2With13B => llama(40, 5120, 40, 40, 13_824),
            Self::Llama2With70B => llama(80, 8192, 64, 8, 28_672),
            Self::Gpt3With175B => Shape {
                layers: 96,
                hidden: 12_288,
                heads: 96,
                kv_heads: 96,
                feed_forward: 4 * 12_288,
                sequence: 2048,
                activation: Activation::Gelu,
                norm: Norm::LayerNorm,
                dropout: true,
            },
            Self::GptNeoXWith20B => Shape {
                layers: 44,
                hidden: 6144,
                heads: 64,
                kv_heads: 64,
                feed_forward: 4 * 6144,
                sequence: 2048,
                activation: Activation::Gelu,
                norm: Norm::LayerNorm,
                dropout: false,
            },
        }
    }
}

/// Sizes as the user gives them: a model, single sizes, or a model with changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShapeChoice {
    /// Where absent sizes come from.
    pub model: Option<Model>,
    /// Decoders.
    pub layers: Option<u32>,
    /// Hidden size.
    pub hidden: Option<u32>,
    /// Query heads; 128 hidden units per head when nothing says otherwise.
    pub heads: Option<u32>,
    /// Key and value heads; `heads` when nothing says otherwise.
    pub kv_heads: Option<u32>,
    /// Inner size of the feed-forward part; see [`ShapeChoice::resolve`].
    pub feed_forward: Option<u32>,
    /// Tokens per sequence; 4096 when nothing says otherwise.
    pub sequence: Option<u32>,
    /// Kind of the feed-forward part; GeLU when nothing says otherwise.
    pub activation: Option<Activation>,
    /// Kind of normalisation; layer norm when nothing says otherwise.
    pub norm: Option<Norm>,
    /// Whether there is dropout; yes when nothing says otherwise.
    pub dropout: Option<bool>,
}

/// Larger sizes than these are refused, so that no product of them overflows.
const LARGEST: u32 = 1 << 20;

impl ShapeChoice {
    /// The sizes meant. Without a model and a feed-forward size, GeLU gets four times the hidden
    /// size and SwiGLU two thirds of that, rounded up to a multiple of 256 as in LLaMA (Touvron et
    /// al., 2023).
    ///
    /// # Errors
    /// Sizes that are missing, zero, too large, or do not divide.
    pub fn resolve(&self) -> Result<Shape, BuildError> {
        let model = self.model.map(Model::shape);
        let missing = |field: &str| {
            BuildError::new(field, format!("missing; give `{field}`, or `model` such as \"llama2-13b\""))
        };
        let given = |size: Option<u32>, of_model: fn(&Shape) -> u64| {
            size.map(u64::from).or(model.as_ref().map(of_model))
        };
        let layers = self.layers.or(model.map(|model| model.layers)).ok_or_else(|| missing("layers"))?;
        let hidden = given(self.hidden, |model| model.hidden).ok_or_else(|| missing("hidden"))?;
        // what says the same as the model changes nothing
        let other = |size: Option<u32>, of_model: fn(&Shape) -> u64| {
            size.filter(|&size| model.is_none_or(|model| of_model(&model) != u64::from(size)))
        };
        let other_hidden = other(self.hidden, |model| model.hidden);
        let other_heads = other(self.heads, |model| model.heads).is_some();
        let other_activation =
            self.activation.filter(|&own| model.is_none_or(|model| model.activation != own));
        let heads = match (self.heads, other_hidden, model) {
            (Some(heads), ..) => u64::from(heads),
            (None, None, Some(model)) => model.heads,
            // another hidden size than the model's keeps 128 units per head
            _ if hidden.is_multiple_of(128) => hidden / 128,
            _ if model.is_some() => {
                let reason = format!("missing; heads of 128 units do not make a `hidden` of {hidden}");
                return Err(BuildError::new("heads", reason));
            }
            _ => return Err(missing("heads")),
        };
        let kv_heads = match (self.kv_heads, other_heads, other_hidden, model) {
            (Some(heads), ..) => u64::from(heads),
            (None, false, None, Some(model)) => model.kv_heads,
            _ => heads,
        };
        let activation = self.activation.or(model.map(|model| model.activation)).unwrap_or_default();
        let feed_forward = match (self.feed_forward, other_hidden, other_activation, model) {
            (Some(size), ..) => u64::from(size),
            (None, None, None, Some(model)) => model.feed_forward,
            _ if activation == Activation::Gelu => 4 * hidden,
            _ => (8 * hidden).div_ceil(3).next_multiple_of(256),
        };
        let shape = Shape {
            layers,
            hidden,
            heads,
            kv_heads,
            feed_forward,
            sequence: given(self.sequence, |model| model.sequence).unwrap_or(4096),
            activation,
            norm: self.norm.or(model.map(|model| model.norm)).unwrap_or_default(),
            dropout: self.dropout.or(model.map(|model| model.dropout)).unwrap_or(true),
        };
        shape.check()?;
        Ok(shape)
    }
}

impl Shape {
    fn check(&self) -> Result<(), BuildError> {
        for (field, size, largest) in [
            ("layers", u64::from(self.layers), 1 << 14),
            ("hidden", self.hidden, LARGEST),
            ("heads", self.heads, 1 << 12),
            ("kv-heads", self.kv_heads, 1 << 12),
            ("feed-forward", self.feed_forward, 4 * LARGEST),
            ("sequence", self.sequence, LARGEST),
        ] {
            if !(1..=u64::from(largest)).contains(&size) {
                return Err(BuildError::new(field, format!("{size} is no size here; give 1 to {largest}")));
            }
        }
        if !self.hidden.is_multiple_of(self.heads) {
            let reason = format!("{} heads do not divide a hidden size of {}", self.heads, self.hidden);
            return Err(BuildError::new("heads", reason));
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            let reason =
                format!("{} key/value heads do not divide {} query heads", self.kv_heads, self.heads);
            return Err(BuildError::new("kv-heads", reason));
        }
        Ok(())
    }

    /// Width of the keys and of the values of one token.
    pub const fn kv_size(&self) -> u64 {
        self.hidden / self.heads * self.kv_heads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_the_parameters_in_their_names() {
        // embedding and output (untied in Llama 2, tied in GPT-3) are added here, the shape has none
        for (model, embeddings, billions) in [
            (Model::Llama2With7B, 2 * 32_000 * 4096, 6.74),
            (Model::Llama2With13B, 2 * 32_000 * 5120, 13.02),
            (Model::Llama2With70B, 2 * 32_000 * 8192, 68.98),
            (Model::Gpt3With175B, (50_257 + 2048) * 12_288, 174.6),
            // untied, a vocabulary padded to 50,432
            (Model::GptNeoXWith20B, 2 * 50_432 * 6144, 20.55),
        ] {
            let shape = model.shape();
            let up = if shape.activation == Activation::Swiglu { 2 } else { 1 };
            let attention = 2 * shape.hidden * (shape.hidden + shape.kv_size());
            let decoder = attention + (up + 1) * shape.hidden * shape.feed_forward;
            let parameters = u64::from(shape.layers) * decoder + embeddings;
            assert!((parameters as f64 / 1e9 / billions - 1.0).abs() < 2e-3, "{model:?}: {parameters}");
        }
    }

    #[test]
    fn a_model_is_reproduced_by_the_rules_that_fill_absent_sizes() {
        for model in [Model::Llama2With7B, Model::Llama2With13B, Model::Gpt3With175B] {
            let named = model.shape();
            let choice = ShapeChoice {
                layers: Some(named.layers),
                hidden: Some(named.hidden as u32),
                sequence: Some(named.sequence as u32),
                activation: Some(named.activation),
                norm: Some(named.norm),
                dropout: Some(named.dropout),
                ..ShapeChoice::default()
            };
            assert_eq!(choice.resolve(), Ok(named));
            assert_eq!(ShapeChoice { model: Some(model), ..ShapeChoice::default() }.resolve(), Ok(named));
        }
    }

    #[test]
    fn what_a_model_says_changes_nothing_when_it_is_said_again() {
        for model in [
            Model::Llama2With7B,
            Model::Llama2With13B,
            Model::Llama2With70B,
            Model::Gpt3With175B,
            Model::GptNeoXWith20B,
        ] {
            let named = model.shape();
            let alone = ShapeChoice { model: Some(model), ..ShapeChoice::default() };
            for again in [
                ShapeChoice { hidden: Some(named.hidden as u32), ..alone },
                ShapeChoice { heads: Some(named.heads as u32), ..alone },
                ShapeChoice { activation: Some(named.activation), ..alone },
                ShapeChoice { layers: Some(named.layers), norm: Some(named.norm), ..alone },
            ] {
                assert_eq!(again.resolve(), Ok(named), "{again:?}");
            }
            // another hidden size: what follows from it
            let half = ShapeChoice { hidden: Some(2048), ..alone }.resolve().unwrap();
            assert_eq!((half.heads, half.kv_heads), (16, 16));
            assert!(half.feed_forward < named.feed_forward);
        }
    }

    #[test]
    fn sizes_that_make_no_model_are_named() {
        let error = |choice: ShapeChoice| choice.resolve().unwrap_err().to_string();
        let llama = ShapeChoice { model: Some(Model::Llama2With13B), ..ShapeChoice::default() };
        assert!(error(ShapeChoice::default()).starts_with("layers: missing; give `layers`, or `model`"));
        assert!(
            error(ShapeChoice { layers: Some(1), ..ShapeChoice::default() }).starts_with("hidden: missing")
        );
        assert!(error(ShapeChoice { heads: Some(7), ..llama }).starts_with("heads: 7 heads do not divide"));
        assert!(error(ShapeChoice { kv_heads: Some(7), ..llama }).starts_with("kv-heads: 7 key/value heads"));
        assert!(error(ShapeChoice { sequence: Some(0), ..llama }).starts_with("sequence: 0 is no size"));
        assert!(error(ShapeChoice { layers: Some(u32::MAX), ..llama }).starts_with("layers: 4294967295"));
    }
}
