//! Compute types by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Bytes, ComputeRate, Precision};

use crate::graph::ComputeType;

/// A compute type: a name of the catalogue, or a table of properties.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ComputeChoice {
    /// A name such as `"H100"`.
    Named(String),
    /// Properties, optionally starting from a catalogue entry.
    Custom(Box<CustomCompute>),
}

/// Properties of a compute node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CustomCompute {
    /// Catalogue entry to start from; its values hold where none is given here.
    pub base: Option<String>,
    /// Name in reports.
    pub name: Option<String>,
    /// Rate in fp64.
    pub fp64: Option<ComputeRate>,
    /// Rate in fp32.
    pub fp32: Option<ComputeRate>,
    /// Rate in tf32.
    pub tf32: Option<ComputeRate>,
    /// Rate in bf16.
    pub bf16: Option<ComputeRate>,
    /// Rate in fp16.
    pub fp16: Option<ComputeRate>,
    /// Rate in fp8.
    pub fp8: Option<ComputeRate>,
    /// Rate in int8, in operations per second.
    pub int8: Option<ComputeRate>,
    /// Independent cores with those rates each.
    pub cores: Option<u32>,
    /// Local memory; unbounded when absent everywhere.
    pub memory: Option<Bytes>,
    /// Local memory bandwidth; unlimited when absent everywhere.
    pub memory_bandwidth: Option<Bandwidth>,
}

impl Default for ComputeChoice {
    fn default() -> Self {
        Self::Named("H100".to_owned())
    }
}

impl<'de> Deserialize<'de> for ComputeChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Choice;
        impl<'de> serde::de::Visitor<'de> for Choice {
            type Value = ComputeChoice;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of a compute type such as \"H100\", or a table of its properties")
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<ComputeChoice, E> {
                Ok(ComputeChoice::Named(name.to_owned()))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<ComputeChoice, A::Error> {
                CustomCompute::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    .map(|custom| ComputeChoice::Custom(Box::new(custom)))
            }
        }
        deserializer.deserialize_any(Choice)
    }
}

impl ComputeChoice {
    /// The compute type meant.
    ///
    /// # Errors
    /// An unknown name, a rate of zero cores.
    pub fn resolve(&self) -> Result<ComputeType, BuildError> {
        match self {
            Self::Named(name) => named(name).ok_or_else(|| unknown(name)),
            Self::Custom(custom) => custom.resolve(),
        }
    }
}

impl CustomCompute {
    fn resolve(&self) -> Result<ComputeType, BuildError> {
        let mut compute = match &self.base {
            Some(base) => named(base).ok_or_else(|| unknown(base).within("base"))?,
            None => ComputeType {
                name: "custom".to_owned(),
                rate_flop_per_s: [0.0; Precision::ALL.len()],
                cores: 1,
                memory_bytes: None,
                memory_bandwidth: None,
            },
        };
        let given = [self.fp64, self.fp32, self.tf32, self.bf16, self.fp16, self.fp8, self.int8];
        for (rate, given) in compute.rate_flop_per_s.iter_mut().zip(given) {
            if let Some(given) = given {
                *rate = given.flop_per_s();
            }
        }
        if let Some(name) = &self.name {
            compute.name.clone_from(name);
        }
        compute.cores = self.cores.unwrap_or(compute.cores);
        compute.memory_bytes = self.memory.map(Bytes::count).or(compute.memory_bytes);
        compute.memory_bandwidth = self.memory_bandwidth.or(compute.memory_bandwidth);
        if compute.cores == 0 {
            return Err(BuildError::new("cores", "a compute node needs at least one core"));
        }
        Ok(compute)
    }
}

fn unknown(name: &str) -> BuildError {
    BuildError::new("", format!("unknown compute type `{name}`"))
}

/// The catalogue entry called `name`.
pub fn named(name: &str) -> Option<ComputeType> {
    // rates in FLOP/s: fp64, fp32, tf32, bf16, fp16, fp8, int8
    let (rates, memory, bandwidth) = match name {
        "H100" => ([33.5e12, 66.9e12, 494.7e12, 989.4e12, 989.4e12, 1978.9e12, 1978.9e12], 80e9, 3.35e12),
        _ => return None,
    };
    Some(ComputeType {
        name: name.to_owned(),
        rate_flop_per_s: rates,
        cores: 1,
        memory_bytes: Some(memory as u64),
        memory_bandwidth: Some(Bandwidth(bandwidth)),
    })
}
