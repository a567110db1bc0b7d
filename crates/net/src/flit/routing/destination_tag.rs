//! Butterflies: the digits of the destination say the way.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_topo::geometry::Geometry;

use super::places::any;
use super::{Candidate, FlitRouting, FlitRoutingAlgorithm, Head, Place, Surroundings};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::fabric::{End, Fabric};
use crate::flit::router::RouterSpec;

/// The only way through a k-ary n-fly: stage `s` leaves by digit `s` of the destination, the most significant first.
///
/// Source: Dally, Towles (2004), section 8.4.1.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DestinationTagSpec {}

impl FlitRoutingAlgorithm for DestinationTagSpec {
    fn build(&self, wiring: &Wiring, _: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError> {
        Ok(Arc::new(DestinationTag::new(wiring)?))
    }
}

/// Destination tag, ready for one fabric.
#[derive(Debug, Clone)]
pub struct DestinationTag {
    k: usize,
    /// Stage of every router.
    stage: Vec<u8>,
    /// Output of every router by digit: `outputs[router * k + digit]`.
    outputs: Vec<u16>,
    /// `digits[stage * terminals + terminal]`.
    digits: Vec<u16>,
    terminals: usize,
}

impl DestinationTag {
    /// Destination tag on `wiring`.
    ///
    /// # Errors
    /// No k-ary n-fly, or one in which links are missing.
    pub fn new(wiring: &Wiring) -> Result<Self, BuildError> {
        let refuse = |reason: &str| Err(BuildError::new("routing.kind", reason));
        let Some(Geometry::Butterfly(fly)) = &wiring.geometry else {
            return refuse("`destination-tag` needs a k-ary n-fly; use `auto`");
        };
        let (fabric, k) = (&wiring.fabric, fly.k as usize);
        let hosts: Option<Vec<u32>> =
            fabric.terminals().iter().map(|terminal| Some(terminal.node?.0)).collect();
        let Some(hosts) = hosts.filter(|hosts| hosts.iter().all(|&host| host < fly.first_switch)) else {
            return refuse(
                "`destination-tag`: a terminal is no host of the k-ary n-fly; use `shortest-path`",
            );
        };
        let width = fly.first_switch / fly.k;
        let mut map =
            Self { k, stage: Vec::new(), outputs: Vec::new(), digits: Vec::new(), terminals: hosts.len() };
        for (router, node) in (0..).zip(&wiring.nodes) {
            let switch = node.0.checked_sub(fly.first_switch).filter(|&switch| switch < width * fly.stages);
            let Some(switch) = switch else {
                return refuse(
                    "`destination-tag`: a router is no switch of the k-ary n-fly; use `shortest-path`",
                );
            };
            let (stage, index) = (switch / width, switch % width);
            map.stage.push(stage as u8);
            for digit in 0..fly.k {
                let Some(output) = map.output(wiring, fabric, router, (stage, index, digit), fly) else {
                    return refuse(
                        "`destination-tag`: links of the k-ary n-fly are missing; use `shortest-path`",
                    );
                };
                map.outputs.push(output);
            }
        }
        let mut weight = fly.first_switch;
        for _ in 0..fly.stages {
            weight /= fly.k;
            map.digits.extend(hosts.iter().map(|host| (host / weight % fly.k) as u16));
        }
        Ok(map)
    }

    /// The output of switch `index` of `stage` that sets `digit`.
    fn output(
        &self,
        wiring: &Wiring,
        fabric: &Fabric,
        router: u32,
        (stage, index, digit): (u32, u32, u32),
        fly: &stratasim_topo::geometry::Butterfly,
    ) -> Option<u16> {
        let width = fly.first_switch / fly.k;
        let wanted = if stage + 1 == fly.stages {
            index * fly.k + digit
        } else {
            let weight = fly.k.pow(fly.stages - 2 - stage);
            fly.first_switch + (stage + 1) * width + index - index / weight % fly.k * weight + digit * weight
        };
        (0..fabric.output_count(router)).find(|&output| match fabric.channel(router, output).end {
            End::Terminal(terminal) => fabric.terminal(terminal).node.is_some_and(|node| node.0 == wanted),
            End::Router { router, .. } => wiring.nodes[router as usize].0 == wanted,
            End::Nothing => false,
        })
    }
}

impl FlitRouting for DestinationTag {
    fn only(&self, place: Place, head: &mut Head, _: &mut dyn Surroundings) -> Candidate {
        let stage = usize::from(self.stage[place.router as usize]);
        let digit = self.digits[stage * self.terminals + head.dest as usize];
        any(self.outputs[place.router as usize * self.k + usize::from(digit)], head.range)
    }

    fn looks_at_input(&self) -> bool {
        false
    }

    fn looks_at_vc(&self) -> bool {
        false
    }

    fn knows_source(&self) -> bool {
        false
    }

    fn memory_bits(&self) -> u32 {
        0
    }
}
