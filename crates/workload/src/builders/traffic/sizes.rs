//! How large messages are.

mod empirical;

use std::path::Path;

use rand::RngExt as _;
use rand_distr::{Distribution as _, Exp1};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::{Deserialize, Deserializer, Serialize, de};
use stratasim_core::random::Stream;
use stratasim_core::{BuildError, Bytes, registry};

pub use self::empirical::{Empirical, WebSearch};

/// A distribution of message sizes, as it is asked for.
pub trait SizeDistribution: std::fmt::Debug {
    /// What sizes are drawn from. Relative paths start from `base`.
    ///
    /// # Errors
    /// A parameter that makes no distribution; a file that cannot be read.
    fn sizes(&self, base: &Path) -> Result<Box<dyn Sizes>, BuildError>;
}

/// What sizes are drawn from.
pub trait Sizes: std::fmt::Debug {
    /// Mean in bytes.
    fn mean_bytes(&self) -> f64;

    /// Bytes of the next message.
    fn draw(&self, random: &mut Stream) -> u64;
}

registry! {
    /// Every size distribution, by its `kind`.
    pub enum SizeSpec: dyn SizeDistribution {
        "fixed" | "constant" => Fixed(Fixed),
        "exponential" => Exponential(Exponential),
        "uniform" => Uniform(Uniform),
        "empirical" | "cdf" => Empirical(Empirical),
        "web-search" => WebSearch(WebSearch),
    }
}

/// Reads a size alone, such as `"1 MB"`, as that of every message, and anything else as a distribution.
///
/// # Errors
/// What is neither.
pub(super) fn size_or_distribution<'de, D: Deserializer<'de>>(reader: D) -> Result<SizeSpec, D::Error> {
    struct Either;

    impl<'de> de::Visitor<'de> for Either {
        type Value = SizeSpec;

        fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str("a size such as \"1 MB\", or a distribution as a table with a `kind`,")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<SizeSpec, E> {
            if text.trim_start().starts_with(|first: char| first.is_ascii_digit() || first == '.') {
                let bytes = text.parse().map_err(E::custom)?;
                return Ok(SizeSpec::Fixed(Fixed { bytes }));
            }
            SizeSpec::deserialize(StrDeserializer::new(text))
        }

        fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<SizeSpec, A::Error> {
            SizeSpec::deserialize(MapAccessDeserializer::new(map))
        }
    }

    reader.deserialize_any(Either)
}

/// The schema of what [`size_or_distribution`] reads.
pub(super) fn size_or_distribution_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [generator.subschema_for::<Bytes>(), generator.subschema_for::<SizeSpec>()],
    })
}

/// Every message has the same size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fixed {
    /// Its size.
    pub bytes: Bytes,
}

impl SizeDistribution for Fixed {
    fn sizes(&self, _: &Path) -> Result<Box<dyn Sizes>, BuildError> {
        Ok(Box::new(self.clone()))
    }
}

impl Sizes for Fixed {
    fn mean_bytes(&self) -> f64 {
        self.bytes.count() as f64
    }

    fn draw(&self, _: &mut Stream) -> u64 {
        self.bytes.count()
    }
}

/// Exponentially distributed sizes, rounded to whole bytes, at least one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Exponential {
    /// Mean size.
    pub mean: Bytes,
}

impl SizeDistribution for Exponential {
    fn sizes(&self, _: &Path) -> Result<Box<dyn Sizes>, BuildError> {
        if self.mean.count() == 0 {
            return Err(BuildError::new("mean", "a mean of 0 bytes; give at least 1 B"));
        }
        Ok(Box::new(self.clone()))
    }
}

impl Sizes for Exponential {
    fn mean_bytes(&self) -> f64 {
        self.mean.count() as f64
    }

    fn draw(&self, random: &mut Stream) -> u64 {
        let units: f64 = Exp1.sample(random);
        ((units * self.mean_bytes()).round() as u64).max(1)
    }
}

/// Sizes from a range, each as likely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Uniform {
    /// Smallest size.
    pub min: Bytes,
    /// Largest size.
    pub max: Bytes,
}

impl SizeDistribution for Uniform {
    fn sizes(&self, _: &Path) -> Result<Box<dyn Sizes>, BuildError> {
        if self.min > self.max {
            let reason = format!("the smallest size, {}, is above the largest, {}", self.min, self.max);
            return Err(BuildError::new("min", reason));
        }
        Ok(Box::new(self.clone()))
    }
}

impl Sizes for Uniform {
    fn mean_bytes(&self) -> f64 {
        (self.min.count() as f64 + self.max.count() as f64) / 2.0
    }

    fn draw(&self, random: &mut Stream) -> u64 {
        random.random_range(self.min.count()..=self.max.count())
    }
}
