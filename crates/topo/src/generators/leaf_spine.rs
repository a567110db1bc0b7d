//! Leaf-spine: two levels of switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration};

use super::cables::Duplex;
use super::tree::{self, Level};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkType, Topology};

/// Leaf switches with hosts, every leaf joined to every spine switch.
///
/// ```text
///     spine-0   spine-1            uplinks: uplink-bandwidth or oversubscription
///     |  \  /  |
///     |  /  \  |
///     leaf-0   leaf-1   ...
///     / | \     / | \
///     host-0 ...
/// ```
/// The uplinks of a leaf run at `uplink-bandwidth`, or at the rate that makes the sum of its host
/// rates `oversubscription` times the sum of its uplink rates, or at the hosts' rate. Destinations
/// are spread over the spines by their number (D-mod-K, see `fat-tree`). Group: `rack`, a leaf with its
/// hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LeafSpine {
    /// Number of leaf switches.
    pub leaves: u32,
    /// Number of spine switches.
    pub spines: u32,
    /// Hosts on each leaf.
    pub hosts_per_leaf: u32,
    /// Cables between each leaf and each spine; 1 when absent.
    #[serde(default = "super::one")]
    pub parallel: u32,
    /// Rate of each host's cable, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each host's cable.
    pub latency: Duration,
    /// Rate of each uplink, per direction; not together with `oversubscription`.
    #[serde(default)]
    pub uplink_bandwidth: Option<Bandwidth>,
    /// Sum of host rates over sum of uplink rates of a leaf; sets the rate of the uplinks.
    #[serde(default)]
    pub oversubscription: Option<f64>,
    /// Propagation delay of each uplink; `latency` when absent.
    #[serde(default)]
    pub uplink_latency: Option<Duration>,
    /// Type of the hosts: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
    /// Whether the two directions of a cable have a capacity each.
    #[serde(default)]
    pub duplex: Duplex,
}

impl LeafSpine {
    fn uplink_rate(&self) -> Result<Bandwidth, BuildError> {
        match (self.uplink_bandwidth, self.oversubscription) {
            (Some(_), Some(_)) => Err(BuildError::new(
                "oversubscription",
                "`uplink-bandwidth` says the rate already; give one of the two",
            )),
            (Some(rate), None) => Ok(rate),
            (None, None) => Ok(self.bandwidth),
            (None, Some(ratio)) if ratio > 0.0 && ratio.is_finite() => {
                let hosts = f64::from(self.hosts_per_leaf) * self.bandwidth.bytes_per_s();
                let uplinks = f64::from(self.spines) * f64::from(self.parallel);
                Ok(Bandwidth(hosts / (uplinks * ratio)))
            }
            (None, Some(ratio)) => {
                Err(BuildError::new("oversubscription", format!("must be more than zero, got {ratio}")))
            }
        }
    }
}

impl Generator for LeafSpine {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        let counts = [
            ("parallel", self.parallel),
            ("hosts-per-leaf", self.hosts_per_leaf),
            ("spines", self.spines),
            ("leaves", self.leaves),
        ];
        for (field, count) in counts {
            if count == 0 {
                return Err(BuildError::new(field, "must be at least 1"));
            }
        }
        let down = LinkType::new(self.bandwidth, self.latency);
        let up = LinkType::new(self.uplink_rate()?, self.uplink_latency.unwrap_or(self.latency));
        let levels = [
            Level { children: self.hosts_per_leaf, parents: 1, parallel: 1, link: down },
            Level { children: self.leaves, parents: self.spines, parallel: self.parallel, link: up },
        ];
        // what makes it too large, if it is
        let largest = counts.iter().max_by_key(|(_, count)| count).map_or("leaves", |(field, _)| field);
        tree::build(largest, &levels, &self.compute, self.duplex)
    }
}
