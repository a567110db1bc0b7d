//! Flow level: messages are fluids that share links by max-min fairness.
//!
//! Semantics: `docs/src/concepts/flow-level.md`. The parts: [`rule`] says what a route means for a
//! flow, `system` and `levels` share capacities, `network` moves time, `routes` remembers routes,
//! `pipeline` runs ring collectives without an event per message where nobody else interferes, and
//! [`literal`] is the slow reference that the fast solver is tested against.

mod anew;
mod fill;
mod levels;
mod life;
mod lines;
pub mod literal;
mod network;
mod pipeline;
mod pipelines;
mod profiles;
mod routes;
pub mod rule;
mod system;
mod under_way;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::model::Network;
use stratasim_core::{BuildError, NodeId};
use stratasim_topo::{NodeKind, Topology};

use crate::networks::{NetworkContext, NetworkKind};
use rule::{Rule, RuleOptions};

/// Messages share links as fluids: each change of who sends re-solves the max-min fair rates.
///
/// A message pays its latency first and then takes bandwidth. Without contention it costs
/// latency + bytes / bandwidth. Fast enough for millions of messages on thousands of nodes; it sees
/// no packets, so no queues, losses or congestion control.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Flow {
    /// How flows share links: `max-min`, or SimGrid's `cm02` and `lv08`.
    pub rule: Rule,
    /// Options of the rule.
    #[serde(skip_serializing_if = "is_default")]
    pub options: RuleOptions,
    /// Exact shortcuts; switch one off to see that it changes nothing but the speed.
    #[serde(skip_serializing_if = "is_default")]
    pub shortcuts: FlowShortcuts,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Shortcuts of the flow network. All are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct FlowShortcuts {
    /// Re-solve only what a change touches; otherwise every rate is worked out at every instant.
    pub local_solve: bool,
    /// A flow that is alone on its links has its end date at once; otherwise the end of its latency
    /// is an event and it takes part in every solve.
    pub solo_flows: bool,
    /// Ring collectives advance in windows of time, without an event per message, on links that
    /// nobody else or one flow uses; otherwise every message is a flow of its own.
    pub pipelines: bool,
}

impl Default for FlowShortcuts {
    fn default() -> Self {
        Self { local_solve: true, solo_flows: true, pipelines: true }
    }
}

impl NetworkKind for Flow {
    fn in_short(&self) -> Option<String> {
        let rule = match self.rule {
            Rule::MaxMin => "max-min",
            Rule::Cm02 => "cm02",
            Rule::Lv08 => "lv08",
        };
        Some(rule.to_owned())
    }

    fn tells_link_use(&self) -> bool {
        true
    }

    fn build(&self, context: NetworkContext) -> Result<Box<dyn Network>, BuildError> {
        let numbers = self.options.resolve(self.rule).map_err(|error| error.within("options"))?;
        let several = context.nics > 1 && has_several_nics(&context.topology);
        let mut network = network::FlowNetwork::new(
            context.topology,
            context.routing,
            numbers,
            self.shortcuts,
            context.timing_precision,
            context.in_order,
        );
        if several {
            let note = "messages name their NICs, of which this level knows nothing: each takes the way that the routing gives \
                        from node to node; message, packet and flit level follow the names";
            network.notes.push(note.to_owned());
        }
        Ok(Box::new(network))
    }
}

/// Whether several cables lead from a node that computes to switches.
fn has_several_nics(topology: &Topology) -> bool {
    let is_switch = |node: NodeId| matches!(topology.kind(node), NodeKind::Switch);
    (0..topology.node_count()).map(NodeId::from_index).any(|node| {
        matches!(topology.kind(node), NodeKind::Compute(_))
            && topology.ports(node).iter().filter(|port| is_switch(port.to)).count() > 1
    })
}

#[cfg(test)]
mod forgetting_tests;
#[cfg(test)]
mod patience_tests;
#[cfg(test)]
mod system_tests;
