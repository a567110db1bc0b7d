//! Packets that vanish, alone and in bursts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::Draws;

use super::{Fault, Wires, scaled, share};

/// Packets of any kind vanish on links.
///
/// ```toml
/// [network]
/// kind = "packet"
/// congestion = { kind = "nscc" }
/// loss = { probability = 0.01, burst = 5.0 }
/// ```
/// Source: Gilbert, "Capacity of a burst-noise channel" (1960).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Loss {
    /// Share of packets that vanish on each link, from 0 to below 1.
    pub probability: f64,
    /// Mean number of packets that vanish in a row; at least 1. Absent: each packet by a draw of its own. A burst goes on with
    /// packets, however far apart: a link on which nobody sends stays in it. At the start, links are in one as often as later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<f64>,
    /// Names of links; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,
}

/// A link that loses packets or does not; probabilities are shares of 2^64.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Lossy {
    /// That a packet is lost after one that was not, and after one that was.
    after_good: u64,
    after_lost: u64,
    lost: bool,
    draws: Draws,
}

impl Lossy {
    /// A link that has been at work for long: a burst is under way at the start as often as at any other time.
    const fn new(probability: f64, after_good: f64, after_lost: f64, key: u64) -> Self {
        let mut draws = Draws::new(key);
        let lost = draws.bits() < scaled(probability);
        Self { after_good: scaled(after_good), after_lost: scaled(after_lost), lost, draws }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub(in super::super) const fn loses(&mut self) -> bool {
        if self.after_good == 0 {
            return false;
        }
        self.lost = self.draws.bits() < if self.lost { self.after_lost } else { self.after_good };
        self.lost
    }
}

impl Default for Lossy {
    fn default() -> Self {
        Self::new(0.0, 0.0, 0.0, 0)
    }
}

impl Lossy {
    /// Share of packets that vanish, and how many do in a row on average.
    pub(in super::super) fn share_and_burst(&self) -> (f64, f64) {
        let [enters, stays] = [self.after_good, self.after_lost].map(|share| share as f64 / 2_f64.powi(64));
        (enters / (1.0 - stays + enters), 1.0 / (1.0 - stays))
    }
}

impl Fault for Loss {
    fn apply(&self, wires: &mut Wires<'_>) -> Result<(), BuildError> {
        let probability = self.probability;
        share(probability)?;
        let (after_good, after_lost) = match self.burst {
            None => (probability, probability),
            Some(burst) => {
                let enters = probability / (burst * (1.0 - probability));
                if !(burst >= 1.0 && burst.is_finite() && enters < 1.0) {
                    let reason = format!(
                        "{burst} packets in a row; at least 1 are needed, and more than {} where {probability} of all vanish",
                        probability / (1.0 - probability)
                    );
                    return Err(BuildError::new("burst", reason));
                }
                (enters, 1.0 - 1.0 / burst)
            }
        };
        // what never ends well is refused above, so that both are shares
        wires.each(self.links.as_deref(), |faults, key| {
            faults.lossy = Lossy::new(probability, after_good, after_lost, key);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_as_many_and_as_long_as_asked() {
        for (probability, burst) in [(0.01, None), (0.1, None), (0.02, Some(5.0)), (0.3, Some(3.0))] {
            let enters = burst.map_or(probability, |burst| probability / (burst * (1.0 - probability)));
            let stays = burst.map_or(probability, |burst| 1.0 - 1.0 / burst);
            let mut lossy = Lossy::new(probability, enters, stays, 3);
            let (mut lost, mut bursts, mut before) = (0_u32, 0_u32, false);
            for _ in 0..1_000_000 {
                let now = lossy.loses();
                lost += u32::from(now);
                bursts += u32::from(now && !before);
                before = now;
            }
            let length = burst.unwrap_or(1.0 / (1.0 - probability));
            let found = (f64::from(lost) * 1e-6, f64::from(lost) / f64::from(bursts));
            assert!((found.0 / probability - 1.0).abs() < 0.06, "{found:?} for {probability}");
            assert!((found.1 / length - 1.0).abs() < 0.06, "{found:?} for {length}");
        }
    }

    /// The first packet of each link vanishes as often as any other.
    #[test]
    fn bursts_are_under_way_at_the_start() {
        let (probability, burst) = (0.1, 5.0);
        let enters = probability / (burst * (1.0 - probability));
        let firsts =
            (0..20_000).filter(|&link| Lossy::new(probability, enters, 1.0 - 1.0 / burst, link).loses());
        let share = firsts.count() as f64 / 20_000.0;
        assert!((share - probability).abs() < 0.01, "{share}");
    }
}
