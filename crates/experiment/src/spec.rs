//! The experiment as a typed value: one section per noun.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bytes, Duration};
use stratasim_net::NetworkSpec;
use stratasim_net::networks::Connections;
use stratasim_topo::{RoutingSpec, TopologySpec};
use stratasim_workload::WorkloadSpec;

use crate::jobs::{JobSpec, JobsSpec};
use crate::noise::NoiseSpec;
use crate::placement::PlacementSpec;
use crate::traffic::TrafficSpec;

/// One workload on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spec {
    /// Name in titles; the file's name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the experiment is about, for readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Seed of all random streams.
    #[serde(default = "one")]
    pub seed: u64,
    /// The machine.
    pub topology: TopologySpec,
    /// Where messages go.
    #[serde(default)]
    pub routing: RoutingSpec,
    /// Which rank runs where.
    #[serde(default)]
    pub placement: PlacementSpec,
    /// What the machine is asked to do. Absent where there are jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadSpec>,
    /// Several jobs that share the machine, instead of one workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub job: Vec<JobSpec>,
    /// How they share it.
    #[serde(default, skip_serializing_if = "JobsSpec::is_default")]
    pub jobs: JobsSpec,
    /// Open-loop traffic at flit level, instead of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficSpec>,
    /// Level of detail of the network.
    #[serde(default)]
    pub network: NetworkSpec,
    /// How tasks use nodes and memories.
    #[serde(default)]
    pub execution: Execution,
}

const fn one() -> u64 {
    1
}

/// How remote memory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryAccess {
    /// Coherent: access and computation overlap; the task ends when both have.
    #[default]
    Coherent,
    /// Not coherent: remote data is moved to local memory first, then the computation runs.
    MoveThenCompute,
}

/// How tasks use nodes and memories.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Execution {
    /// How remote memory is used: `coherent` or `move-then-compute`.
    pub memory: MemoryAccess,
    /// A computation takes no less than its local bytes at the node's memory bandwidth.
    pub roofline: bool,
    /// Events closer than this to the clock happen at the clock, as with SimGrid's
    /// `precision/timing` (1 ns there). Zero, the default, is exact.
    pub timing_precision: Duration,
    /// Sends of more bytes wait for their receive (rendezvous), which messages of collectives do not have. Absent: none do
    /// (eager).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager_limit: Option<Bytes>,
    /// Messages from one node to another go one after the other, as on a queue pair (`per-pair`: one for each NIC, and each
    /// processor of a schedule), or each on its own, so that those under way share the way (`per-message`). Absent: `per-pair`
    /// where all that runs are schedules that are generated (`nccl` and `pattern` of the workload `goal`): their pipelines count on it. At message
    /// level a NIC sends one after the other in any case; at packet level `network.connections` goes before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// What the system takes from the streams of a schedule (GOAL).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseSpec>,
}

/// The JSON Schema of an experiment file, for editors.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Spec);
    let sweep = schemars::schema_for!(crate::sweep::SweepSpec);
    crate::schema::add_section(&mut schema, "sweep", sweep);
    // a forecast stands in place of a machine
    let forecast = schemars::schema_for!(crate::forecast::ForecastSpec);
    crate::schema::add_section(&mut schema, "forecast", forecast);
    schema.remove("required");
    let either = [["topology"], ["forecast"]].map(|required| serde_json::json!({ "required": required }));
    schema.insert("anyOf".to_owned(), serde_json::json!(either));
    schema.to_value()
}
