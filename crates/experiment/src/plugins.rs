//! Every list of plug-ins, by noun: what `list` and `explain` show.

use stratasim_core::registry::Entry;
use stratasim_device::card::{AlgorithmSpec, Card};
use stratasim_net::NetworkSpec;
use stratasim_net::flit::routing::FlitRoutingSpec;
use stratasim_net::packet::{BalancingSpec, QueueSpec};
use stratasim_topo::{RoutingSpec, TopologySpec};
use stratasim_transport::{CongestionSpec, EntropySpec, RecoverySpec};
use stratasim_workload::WorkloadSpec;
use stratasim_workload::builders::traffic::arrivals::ArrivalSpec;
use stratasim_workload::builders::traffic::sizes::SizeSpec;
use stratasim_workload::collective::CollectiveSpec;
use stratasim_workload::goal::generate::GenerateSpec;
use stratasim_workload::goal::merge::placement::JobPlacementSpec;
use stratasim_workload::goal::nccl::NcclSpec;
use stratasim_workload::injection::InjectionSpec;
use stratasim_workload::pattern::PatternSpec;

use crate::forecast::ForecastSpec;
use crate::jobs::{JobSpec, JobsSpec};
use crate::noise::NoiseSpec;
use crate::placement::PlacementSpec;
use crate::spec::{Execution, Spec};
use crate::sweep::SweepSpec;
use crate::traffic::TrafficSpec;
use crate::traffic::spec::{BatchSpec, ClassSpec, MeasureSpec, ProbeSpec, ReplySpec};

/// A list of plug-ins.
pub struct Noun {
    /// Its name in the plural, such as `topologies`.
    pub name: &'static str,
    /// One of them, such as `topology`.
    pub singular: &'static str,
    /// Where a `kind` of this list stands in an experiment, such as `topology.kind`.
    pub place: &'static str,
    /// What they do.
    pub about: &'static str,
    /// The plug-ins.
    pub entries: &'static [Entry],
}

impl Noun {
    /// Whether one of them is called `kind`.
    fn has(&self, kind: &str) -> bool {
        self.entries.iter().any(|entry| entry.kind == kind)
    }
}

/// Every list.
pub const NOUNS: &[Noun] = &[
    Noun {
        name: "topologies",
        singular: "topology",
        place: "topology.kind",
        about: "what the machine looks like",
        entries: TopologySpec::ENTRIES,
    },
    Noun {
        name: "routings",
        singular: "routing",
        place: "routing.kind",
        about: "which way messages take",
        entries: RoutingSpec::ENTRIES,
    },
    Noun {
        name: "placements",
        singular: "placement",
        place: "placement.kind",
        about: "which rank runs on which node",
        entries: PlacementSpec::ENTRIES,
    },
    Noun {
        name: "workloads",
        singular: "workload",
        place: "workload.kind",
        about: "what the machine is asked to do",
        entries: WorkloadSpec::ENTRIES,
    },
    Noun {
        name: "collectives",
        singular: "collective",
        place: "workload.algorithm.kind",
        about: "algorithms of collective operations",
        entries: CollectiveSpec::ENTRIES,
    },
    Noun {
        name: "patterns",
        singular: "pattern",
        place: "workload.pattern.kind",
        about: "who sends to whom in synthetic traffic",
        entries: PatternSpec::ENTRIES,
    },
    Noun {
        name: "injections",
        singular: "injection",
        place: "traffic.injection.kind",
        about: "when the sources of open-loop traffic make packets",
        entries: InjectionSpec::ENTRIES,
    },
    Noun {
        name: "sizes",
        singular: "size",
        place: "workload.size.kind",
        about: "how large messages of synthetic traffic are",
        entries: SizeSpec::ENTRIES,
    },
    Noun {
        name: "arrivals",
        singular: "arrival",
        place: "workload.arrivals.kind",
        about: "when messages of synthetic traffic are sent",
        entries: ArrivalSpec::ENTRIES,
    },
    Noun {
        name: "goal-patterns",
        singular: "goal-pattern",
        place: "workload.pattern.kind",
        about: "schedules that workload `goal` generates",
        entries: GenerateSpec::ENTRIES,
    },
    Noun {
        name: "job-placements",
        singular: "job-placement",
        place: "jobs.placement.kind",
        about: "which nodes each of several jobs runs on",
        entries: JobPlacementSpec::ENTRIES,
    },
    Noun {
        name: "networks",
        singular: "network",
        place: "network.kind",
        about: "levels of detail of the network",
        entries: NetworkSpec::ENTRIES,
    },
    Noun {
        name: "flit-routings",
        singular: "flit-routing",
        place: "network.routing.kind",
        about: "which way packets take at flit level",
        entries: FlitRoutingSpec::ENTRIES,
    },
    Noun {
        name: "transports",
        singular: "transport",
        place: "network.congestion.kind",
        about: "congestion controls of the packet level, each with the recovery and paths that go with it (`stratasim explain KIND` names them)",
        entries: CongestionSpec::ENTRIES,
    },
    Noun {
        name: "recoveries",
        singular: "recovery",
        place: "network.recovery.kind",
        about: "what senders at packet level send again, and when",
        entries: RecoverySpec::ENTRIES,
    },
    Noun {
        name: "entropies",
        singular: "entropy",
        place: "network.entropy.kind",
        about: "which paths senders at packet level choose",
        entries: EntropySpec::ENTRIES,
    },
    Noun {
        name: "queues",
        singular: "queue",
        place: "network.queue.kind",
        about: "what happens to packets that find no room",
        entries: QueueSpec::ENTRIES,
    },
    Noun {
        name: "balancings",
        singular: "balancing",
        place: "network.balancing.kind",
        about: "which of several ways switches choose for a packet",
        entries: BalancingSpec::ENTRIES,
    },
    Noun {
        name: "card-algorithms",
        singular: "card-algorithm",
        place: "forecast.method.algorithm",
        about: "collectives between the core groups of a card as `stratasim card` and forecasts time them; `card-ring` and the others among the collectives run them in a machine",
        entries: AlgorithmSpec::ENTRIES,
    },
];

/// The list called `name`, in the plural or the singular.
pub fn noun(name: &str) -> Option<&'static Noun> {
    NOUNS.iter().find(|noun| noun.name == name || noun.singular == name)
}

/// Whether some list has a plug-in of this name.
pub(crate) fn is_kind(name: &str) -> bool {
    NOUNS.iter().any(|noun| noun.has(name))
}

/// What to add to the message that a kind is unknown where another list has it, and nothing looks like it here; empty otherwise.
pub(crate) fn elsewhere(message: &str) -> String {
    let unknown = message.strip_prefix("unknown kind `").and_then(|rest| rest.split_once("` (known: "));
    let Some((kind, _)) = unknown else { return String::new() };
    let named = |noun: &Noun| {
        let entry = noun.entries.iter().find(|entry| entry.is_called(kind))?;
        Some(format!("`{} = \"{}\"`", noun.place, entry.kind))
    };
    let places: Vec<String> = NOUNS.iter().filter_map(named).collect();
    if places.is_empty() { String::new() } else { format!("; there is {}", places.join(" and ")) }
}

/// Sections of an experiment that are no plug-ins.
pub const SECTIONS: &[Entry] = &[
    Entry::of::<Spec>("experiment"),
    Entry::of::<Execution>("execution"),
    Entry::of::<NoiseSpec>("noise"),
    Entry::of::<JobSpec>("job"),
    Entry::of::<JobsSpec>("jobs"),
    Entry::of::<NcclSpec>("nccl"),
    Entry::of::<TrafficSpec>("traffic"),
    Entry::of::<ClassSpec>("traffic-class"),
    Entry::of::<ReplySpec>("traffic-reply"),
    Entry::of::<ProbeSpec>("traffic-probes"),
    Entry::of::<BatchSpec>("traffic-batch"),
    Entry::of::<MeasureSpec>("traffic-measure"),
    Entry::of::<Card>("card"),
    Entry::of::<ForecastSpec>("forecast"),
    Entry::of::<SweepSpec>("sweep"),
];
