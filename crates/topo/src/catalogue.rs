//! Compute types by name.
//!
//! The entries are in `catalogue/entries.json`, each with its source. Rates are peaks of dense
//! arithmetic in operations per second and core: fp64 and fp32 of the vector units, the narrower
//! formats of the matrix units. A format without a rate cannot be computed in.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::error::nearest;
use stratasim_core::{Bandwidth, BuildError, Bytes, ComputeRate, Precision};

use crate::graph::{ComputeType, KernelCosts};

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
                kernels: KernelCosts::default(),
                forwards: true,
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
    let names: Vec<&str> = entries().iter().flat_map(Entry::names).collect();
    // names are typed from memory: H100-pcie, mi300x
    let hint = names
        .iter()
        .copied()
        .find(|known| known.eq_ignore_ascii_case(name))
        .or_else(|| nearest(name, names.iter().copied()))
        .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    BuildError::new(
        "",
        format!(
            "unknown compute type `{name}`{hint} (known: {}; or a table such as {{ name = \"mine\", fp32 = \"10 TFLOP/s\" }})",
            names.join(", ")
        ),
    )
}

/// One compute type of the catalogue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Other names for it.
    pub also: Vec<String>,
    /// Its properties.
    pub compute: CustomCompute,
    /// Data sheet with its date, and how a figure was derived where none is printed.
    pub source: String,
    /// Where the source is.
    pub url: String,
    /// What else a user should know.
    #[serde(default)]
    pub note: Option<String>,
}

impl Entry {
    /// Its name, then the others.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.also.iter().map(String::as_str))
    }
}

/// The whole catalogue.
///
/// # Panics
/// When the embedded file is broken, which a test excludes.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        serde_json::from_str(include_str!("catalogue/entries.json")).expect("the catalogue is well formed")
    })
}

/// The catalogue entry called `name`, under that name.
pub fn named(name: &str) -> Option<ComputeType> {
    let entry = entries().iter().find(|entry| entry.names().any(|known| known == name))?;
    let compute = entry.compute.resolve().expect("the catalogue is well formed");
    Some(ComputeType { name: name.to_owned(), ..compute })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn rate(name: &str, precision: Precision) -> f64 {
        named(name).expect(name).rate_flop_per_s[precision.index()]
    }

    #[test]
    fn every_entry_is_sourced_and_can_compute() {
        let mut names = BTreeSet::new();
        for entry in entries() {
            assert!(entry.names().all(|name| names.insert(name)), "{} has a name twice", entry.name);
            assert!(entry.url.starts_with("https://"), "{}", entry.name);
            // a source without a year cannot be looked up
            assert!(["(20", ", 20"].iter().any(|year| entry.source.contains(year)), "{}", entry.name);
            let compute = named(&entry.name).unwrap();
            assert!(compute.rate_flop_per_s.iter().any(|&rate| rate > 0.0), "{}", entry.name);
            assert!(compute.memory_bytes.is_some() && compute.memory_bandwidth.is_some(), "{}", entry.name);
        }
    }

    #[test]
    fn the_hcsim_experiments_find_their_accelerators() {
        for (name, tflop_per_s) in [("H100", 51.2), ("A100", 19.5), ("V100", 14.0), ("V100-SXM", 15.7)] {
            assert_eq!(rate(name, Precision::Fp32), tflop_per_s * 1e12, "{name}");
            assert_eq!(named(name).unwrap().name, name);
        }
        for name in ["FPGA", "ASIC"] {
            assert!(rate(name, Precision::Fp32) > 0.0, "{name}");
        }
    }

    #[test]
    fn peaks_follow_from_units_and_clocks() {
        // lanes x 2 operations x clock; data sheets round to three digits
        let close = |rate: f64, expected: f64| (rate / expected - 1.0).abs() < 0.005;
        assert!(close(rate("H100", Precision::Fp32), 114.0 * 128.0 * 2.0 * 1.755e9));
        assert!(close(rate("H100-SXM", Precision::Fp32), 132.0 * 128.0 * 2.0 * 1.98e9));
        assert!(close(rate("A100", Precision::Fp32), 108.0 * 64.0 * 2.0 * 1.41e9));
        assert!(close(rate("V100-SXM", Precision::Fp32), 80.0 * 64.0 * 2.0 * 1.53e9));
        assert!(close(rate("MI300X", Precision::Fp32), 304.0 * 256.0 * 2.1e9));
        assert!(close(rate("VCK5000", Precision::Fp32), 400.0 * 8.0 * 2.0 * 1.25e9));
        assert!(close(rate("Xeon-8168", Precision::Fp64), 2.7e9 * 2.0 * 8.0 * 2.0));
    }

    #[test]
    fn an_unknown_name_gets_its_neighbour_and_the_list() {
        let message = |name: &str| ComputeChoice::Named(name.to_owned()).resolve().unwrap_err().to_string();
        assert!(message("H1000").contains("unknown compute type `H1000`, did you mean `H100`?"));
        assert!(message("mi300x").contains("did you mean `MI300X`?"));
        assert!(message("abacus").contains("(known: H100-PCIe, H100, H100-SXM,"));
    }

    #[test]
    fn a_table_overrides_its_base_and_cannot_have_zero_cores() {
        let choice = |json: &str| serde_json::from_str::<ComputeChoice>(json).unwrap().resolve();
        let half = choice(r#"{"base": "H100", "name": "half", "fp32": "25.6 TFLOP/s"}"#).unwrap();
        assert_eq!(half.rate_flop_per_s[Precision::Fp32.index()], 25.6e12);
        assert_eq!(half.rate_flop_per_s[Precision::Fp64.index()], 25.6e12);
        assert_eq!((half.name.as_str(), half.memory_bytes), ("half", Some(80_000_000_000)));
        assert_eq!(choice(r#"{"cores": 0}"#).unwrap_err().field, "cores");
        assert_eq!(choice(r#"{"base": "H1000"}"#).unwrap_err().field, "base");
    }
}
