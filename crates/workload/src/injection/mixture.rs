//! Several processes at once.

use rand::seq::SliceRandom as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Stream;

use super::{Injection, InjectionSpec, Lane};

/// Some sources, or some of the packets of every source, follow one process and the others another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mixture {
    /// What the fractions are of.
    #[serde(default)]
    pub of: Of,
    /// The processes.
    #[serde(default = "halves")]
    pub parts: Vec<Part>,
}

/// What a mixture divides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The sources, drawn once: each follows one process at the full load.
    #[default]
    Nodes,
    /// The packets: each source follows all processes, each at its part of the load.
    Packets,
}

/// A process and its part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Part {
    /// Its part; all parts together are 1.
    pub fraction: f64,
    /// The process.
    pub injection: InjectionSpec,
}

fn halves() -> Vec<Part> {
    let part = |injection| Part { fraction: 0.5, injection };
    vec![part(InjectionSpec::default()), part(InjectionSpec::Poisson(super::poisson::Poisson {}))]
}

impl Default for Mixture {
    fn default() -> Self {
        Self { of: Of::default(), parts: halves() }
    }
}

impl Injection for Mixture {
    fn lanes(&self, rate: f64, sources: u32, random: &mut Stream) -> Result<Vec<Lane>, BuildError> {
        for (number, Part { fraction, .. }) in self.parts.iter().enumerate() {
            if !(0.0..=1.0).contains(fraction) {
                let field = format!("parts.{number}.fraction");
                return Err(BuildError::new(&field, format!("{fraction}; 0 to 1 are possible")));
            }
        }
        let sum = self.parts.iter().fold(0.0, |sum, part| sum + part.fraction);
        if (sum - 1.0).abs() > 1e-9 {
            return Err(BuildError::new("parts", format!("the fractions make {sum}; together they are 1")));
        }
        let mut order: Vec<u32> = (0..sources).collect();
        order.shuffle(random);
        let mut lanes = Vec::new();
        let (mut until, mut first) = (0.0, 0);
        for (number, part) in self.parts.iter().enumerate() {
            until += part.fraction;
            let last = ((until * f64::from(sources)).round() as usize).min(order.len());
            let share = if self.of == Of::Packets { part.fraction } else { 1.0 };
            let own = part.injection.plugin().lanes(rate * share, sources, random);
            let mut own = own.map_err(|error| error.within(&format!("parts.{number}.injection")))?;
            if self.of == Of::Nodes {
                let mut chosen = vec![false; sources as usize];
                order[first..last].iter().for_each(|&source| chosen[source as usize] = true);
                for lane in &mut own {
                    let both =
                        |(at, &here): (usize, &bool)| here && lane.sources.as_ref().is_none_or(|all| all[at]);
                    lane.sources = Some(chosen.iter().enumerate().map(both).collect());
                }
            }
            lanes.append(&mut own);
            first = last;
        }
        Ok(lanes)
    }
}
