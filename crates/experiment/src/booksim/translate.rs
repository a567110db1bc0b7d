//! An experiment of ours as a configuration of BookSim2, where it has a meaning there.

use std::fmt::Write as _;

use stratasim_core::BuildError;
use stratasim_net::flit::fabric::{End, FULL_WIDTH};
use stratasim_net::flit::router::{
    AllocatorKind, AllocatorSpec, Arbiter, Guess, PlainArbiter, RouterSpec, Speculation, Stages,
};
use stratasim_net::flit::routing::FlitRoutingSpec;
use stratasim_topo::TopologySpec;
use stratasim_topo::generators::Duplex;
use stratasim_workload::injection::InjectionSpec;
use stratasim_workload::pattern::PatternSpec;

use super::buffers;
use super::routers::PRECEDENCES;
use crate::traffic::Traffic;
use crate::traffic::spec::{Lengths, MeasureSpec, TrafficSpec};

type Refused<T> = Result<T, BuildError>;

fn refuse<T>(field: &str, reason: impl Into<String>) -> Refused<T> {
    Err(BuildError::new(field, reason.into()))
}

/// The configuration text. Keys of errors begin at the top of the experiment.
pub(super) fn translate(traffic: &Traffic) -> Refused<String> {
    let mut text = String::new();
    let mut set = |name: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(text, "{name} = {value};");
    };
    let shape = shape(traffic)?;
    set("topology", &shape.name);
    set("k", &shape.k);
    set("n", &shape.n);
    set("use_noc_latency", &u8::from(latency(traffic, &shape)? == 2));
    set("routing_function", &routing(traffic, &shape)?);
    for (name, value) in router(&traffic.network().router)? {
        set(name, &value);
    }
    let spec = traffic.traffic();
    for (given, key) in [
        (!spec.classes.is_empty(), "class"),
        (spec.probes.is_some(), "probes"),
        (spec.batch.is_some(), "batch"),
    ] {
        if given {
            let reason = "this is not translated to BookSim2; give the command a configuration of its own";
            return refuse(&format!("traffic.{key}"), reason);
        }
    }
    set("traffic", &pattern(spec, &shape)?);
    set("injection_process", &injection(&spec.injection)?);
    let (sizes, weights) = match &spec.flits {
        Lengths::Fixed(flits) => (flits.to_string(), "1".to_owned()),
        Lengths::Weighted(list) => (
            braces(list.iter().map(|length| u32::from(length.flits))),
            braces(list.iter().map(|length| length.weight)),
        ),
    };
    set("packet_size", &sizes);
    set("packet_size_rate", &weights);
    set("injection_rate_uses_flits", &1);
    set("sim_type", &"latency");
    for (name, value) in measure(&spec.measure)? {
        set(name, &value);
    }
    set("injection_rate", &traffic.load());
    set("seed", &traffic.spec.seed);
    Ok(text)
}

/// A list of one class's values, which has two pairs of braces.
fn braces(values: impl Iterator<Item = u32>) -> String {
    let list: Vec<String> = values.map(|value| value.to_string()).collect();
    format!("{{{{{}}}}}", list.join(","))
}

/// A topology that both have.
struct Shape {
    name: &'static str,
    /// Ours.
    kind: &'static str,
    k: u32,
    n: u32,
}

fn shape(traffic: &Traffic) -> Refused<Shape> {
    let spec = &traffic.spec.topology;
    let kind = spec.kind();
    let cube = |name, dimensions: &[u32], hosts: Option<u32>, duplex: Duplex| -> Refused<Shape> {
        let Some(&k) = dimensions.first().filter(|&first| dimensions.iter().all(|extent| extent == first))
        else {
            let reason = format!("{dimensions:?}; BookSim2 has the same extent in every dimension");
            return refuse("topology.dimensions", reason);
        };
        if hosts.is_some() {
            return refuse(
                "topology.hosts-per-switch",
                "in BookSim2 every router has one terminal beside it",
            );
        }
        if name == "torus" && k == 2 {
            let reason = "2: in BookSim2 two routers of a ring have two cables, one for each way round; here they have one";
            return refuse("topology.dimensions", reason);
        }
        check_duplex(duplex)?;
        Ok(Shape { name, kind, k, n: dimensions.len() as u32 })
    };
    match spec {
        TopologySpec::Mesh(mesh) => cube("mesh", &mesh.dimensions, mesh.hosts_per_switch, mesh.duplex),
        TopologySpec::Torus(torus) => cube("torus", &torus.dimensions, torus.hosts_per_switch, torus.duplex),
        TopologySpec::KAryNTree(tree) => {
            check_duplex(tree.duplex)?;
            Ok(Shape { name: "fattree", kind, k: tree.k, n: tree.n })
        }
        TopologySpec::KAryNFly(fly) => Ok(Shape { name: "fly", kind, k: fly.k, n: fly.n }),
        _ => refuse(
            "topology.kind",
            format!(
                "`{kind}`; of BookSim2's networks `mesh`, `torus`, `k-ary-n-tree` and `k-ary-n-fly` are offered"
            ),
        ),
    }
}

fn check_duplex(duplex: Duplex) -> Refused<()> {
    match duplex {
        Duplex::Full => Ok(()),
        Duplex::Half => refuse("topology.duplex", "both directions of a channel have their own in BookSim2"),
    }
}

/// Cycles of the channels between routers, which BookSim2 has fixed; those of terminals take one cycle.
fn latency(traffic: &Traffic, shape: &Shape) -> Refused<u32> {
    let fabric = &traffic.network().fabric;
    let possible: &[u32] = if shape.name == "torus" { &[1, 2] } else { &[1] };
    let cycles = |list: &[u32]| list.iter().map(u32::to_string).collect::<Vec<_>>().join(" or ");
    let mut common = None;
    for channel in fabric.channels() {
        let (key, expected) = match channel.end {
            End::Nothing => continue,
            End::Router { .. } => ("topology.latency", possible),
            End::Terminal(_) if matches!(shape.name, "mesh" | "torus") => {
                ("network.terminal-latency", &[1][..])
            }
            End::Terminal(_) => ("topology.latency", &[1][..]),
        };
        if !expected.contains(&channel.latency) || channel.credit_latency != channel.latency {
            let reason = format!("{} cycles of the clock; {} in BookSim2", channel.latency, cycles(expected));
            return refuse(key, reason);
        }
        if channel.spacing != FULL_WIDTH {
            return refuse("network.clock", "channels carry one flit in each cycle in BookSim2");
        }
        if matches!(channel.end, End::Router { .. })
            && *common.get_or_insert(channel.latency) != channel.latency
        {
            return refuse("topology.latency", "channels differ, which those of BookSim2 do not");
        }
    }
    Ok(common.unwrap_or(1))
}

fn routing(traffic: &Traffic, shape: &Shape) -> Refused<&'static str> {
    let stratasim_net::NetworkSpec::Flit(flit) = &traffic.spec.network else {
        return refuse("network.kind", "`flit` is expected");
    };
    let spec = &flit.routing;
    let found = match (shape.name, spec) {
        ("mesh", FlitRoutingSpec::Auto(_)) => Some("dor"),
        ("mesh", FlitRoutingSpec::DimensionOrder(order)) if !order.balanced => Some("dor"),
        ("mesh", FlitRoutingSpec::XyYx(xy)) => Some(if xy.adaptive { "adaptive_xy_yx" } else { "xy_yx" }),
        ("mesh", FlitRoutingSpec::Romm(_)) => Some("romm"),
        ("mesh", FlitRoutingSpec::Valiant(_)) => Some("valiant"),
        ("torus", FlitRoutingSpec::Auto(_)) => Some("dim_order"),
        ("torus", FlitRoutingSpec::DimensionOrder(order)) => {
            Some(if order.balanced { "dim_order_bal" } else { "dim_order" })
        }
        ("mesh" | "torus", FlitRoutingSpec::MinimalAdaptive(_)) => Some("min_adapt"),
        ("fattree", FlitRoutingSpec::Auto(_)) => Some("nca"),
        ("fattree", FlitRoutingSpec::NearestCommonAncestor(nearest)) => {
            Some(if nearest.adaptive { "anca" } else { "nca" })
        }
        ("fly", FlitRoutingSpec::Auto(_) | FlitRoutingSpec::DestinationTag(_)) => Some("dest_tag"),
        _ => None,
    };
    let reason = || {
        match (shape.name, spec) {
        ("torus", FlitRoutingSpec::Valiant(_)) => {
            "BookSim2's `valiant` of a torus reads a variable that it never set; there is nothing to reproduce".into()
        }
        ("mesh", FlitRoutingSpec::DimensionOrder(_)) => "`balanced` is for rings in BookSim2".to_owned(),
        _ => format!("BookSim2 has no `{}` for a `{}`", spec.kind(), shape.kind),
    }
    };
    found.map_or_else(|| refuse("network.routing", reason()), Ok)
}

fn router(spec: &RouterSpec) -> Refused<Vec<(&'static str, String)>> {
    let at = |key: &str| format!("network.router.{key}");
    if !spec.ranges.is_empty() {
        return refuse(&at("ranges"), "BookSim2 has them for requests and replies only");
    }
    if spec.virtual_cut_through {
        return refuse(&at("virtual-cut-through"), "BookSim2 has wormhole switching only");
    }
    let stages =
        [spec.routing_delay, spec.vc_allocation_delay, spec.switch_allocation_delay, spec.traversal_delay];
    if spec.stages == Stages::Pipelined && stages.iter().any(|&cycles| cycles > 1) {
        let reason = "a stage of several cycles takes new work when it is through in BookSim2: `batches`";
        return refuse(&at("stages"), reason);
    }
    let flag = |on: bool| u8::from(on).to_string();
    let switch_allocator = allocator(&spec.switch_allocator);
    let rules = &spec.requests;
    let speculative = match spec.speculation {
        Speculation::Separate => {
            rules.guess_allocator.as_ref().map_or_else(|| switch_allocator.clone(), allocator)
        }
        Speculation::None | Speculation::Prioritised => "prio".to_owned(),
    };
    // packets bring none here, which is the first name of that
    let priority = PRECEDENCES.iter().find(|(_, precedence)| *precedence == rules.precedence);
    let (priority, _) = priority.expect("all have a name");
    let buffers = buffers::translate(spec).or_else(|reason| refuse(&at("shared-buffer"), reason))?;
    let others = [
        ("num_vcs", spec.virtual_channels.to_string()),
        ("routing_delay", spec.routing_delay.to_string()),
        ("vc_alloc_delay", spec.vc_allocation_delay.to_string()),
        ("sw_alloc_delay", spec.switch_allocation_delay.to_string()),
        ("st_prepare_delay", "0".to_owned()),
        ("st_final_delay", spec.traversal_delay.to_string()),
        ("credit_delay", spec.credit_delay.to_string()),
        ("speculative", flag(spec.speculation != Speculation::None)),
        ("spec_sw_allocator", speculative),
        ("spec_check_elig", flag(matches!(rules.guess, Guess::Credit | Guess::Free))),
        ("spec_check_cred", flag(matches!(rules.guess, Guess::Credit | Guess::Never))),
        ("spec_mask_by_reqs", flag(rules.yield_to_requests)),
        ("vc_busy_when_full", flag(rules.with_credit)),
        ("vc_prioritize_empty", flag(rules.empty_first)),
        ("vc_shuffle_requests", flag(rules.by_channel)),
        ("wait_for_tail_credit", flag(spec.wait_for_tail_credit)),
        ("hold_switch_for_packet", flag(spec.hold_switch)),
        ("input_speedup", spec.input_speedup.to_string()),
        ("output_speedup", spec.output_speedup.to_string()),
        ("internal_speedup", format!("{:?}", spec.internal_speedup)),
        ("output_buffer_size", spec.output_buffer_flits.map_or(-1, i32::from).to_string()),
        (
            "vc_allocator",
            match rules.combined_allocation {
                true => "piggyback".to_owned(),
                false => allocator(&spec.vc_allocator),
            },
        ),
        ("noq", flag(rules.next_output_queues)),
        ("priority", (*priority).to_owned()),
        ("vc_priority_donation", flag(rules.donation)),
        ("sw_allocator", switch_allocator),
    ];
    Ok(buffers.into_iter().chain(others).collect())
}

fn allocator(spec: &AllocatorSpec) -> String {
    let iterated = |name: &str| match spec.iterations.0 {
        1 => name.to_owned(),
        count => format!("{name}({count})"),
    };
    let plain = |arbiter: PlainArbiter| match arbiter {
        PlainArbiter::RoundRobin => "round_robin",
        PlainArbiter::Matrix => "matrix",
    };
    let arbiter = match spec.arbiter {
        Arbiter::RoundRobin => plain(PlainArbiter::RoundRobin).to_owned(),
        Arbiter::Matrix => plain(PlainArbiter::Matrix).to_owned(),
        Arbiter::Tree(tree) => format!("tree({},{})", tree.groups, plain(tree.arbiters)),
    };
    match spec.kind {
        AllocatorKind::Islip => iterated("islip"),
        AllocatorKind::Select => iterated("select"),
        AllocatorKind::Pim => iterated("pim"),
        AllocatorKind::SeparableInputFirst => format!("separable_input_first({arbiter})"),
        AllocatorKind::SeparableOutputFirst => format!("separable_output_first({arbiter})"),
        AllocatorKind::Wavefront => "wavefront".to_owned(),
        AllocatorKind::WavefrontRoundRobin => "rr_wavefront".to_owned(),
        AllocatorKind::LonelyOutput => "loa".to_owned(),
        AllocatorKind::MaximumSize => "max_size".to_owned(),
    }
}

fn pattern(spec: &TrafficSpec, shape: &Shape) -> Refused<String> {
    let own_digits = |given: &[u32]| -> Refused<()> {
        if given.is_empty() || given == vec![shape.k; shape.n as usize] {
            return Ok(());
        }
        refuse("traffic.pattern.dimensions", "in BookSim2 they are those of the network")
    };
    let (name, reaches_self) = match &spec.pattern {
        PatternSpec::UniformRandom(_) => ("uniform".to_owned(), true),
        PatternSpec::Background(background) => {
            (format!("background({})", braces(background.excluded.iter().copied())), true)
        }
        PatternSpec::BitComplement(_) => ("bitcomp".to_owned(), false),
        PatternSpec::BitReversal(_) => ("bitrev".to_owned(), true),
        PatternSpec::Transpose(_) => ("transpose".to_owned(), true),
        PatternSpec::Shuffle(_) => ("shuffle".to_owned(), true),
        PatternSpec::Tornado(tornado) => {
            own_digits(&tornado.dimensions)?;
            ("tornado".to_owned(), shape.k < 3)
        }
        PatternSpec::DigitNeighbour(neighbour) => {
            own_digits(&neighbour.dimensions)?;
            ("neighbor".to_owned(), shape.k < 2)
        }
        PatternSpec::Diagonal(_) => ("diagonal".to_owned(), true),
        PatternSpec::Asymmetric(_) => ("asymmetric".to_owned(), true),
        PatternSpec::Taper(_) => ("taper64".to_owned(), true),
        PatternSpec::BadYarc(_) => ("badperm_yarc".to_owned(), true),
        PatternSpec::HotSpots(hot) if hot.fraction == 1.0 => {
            let weights =
                if hot.weights.is_empty() { vec![1; hot.targets.len()] } else { hot.weights.clone() };
            let list = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            (format!("hotspot({{{{{}}},{{{}}}}})", list(&hot.targets), list(&weights)), true)
        }
        PatternSpec::HotSpots(_) => {
            return refuse("traffic.pattern.fraction", "all traffic goes to the hot spots in BookSim2: 1");
        }
        other => {
            return refuse(
                "traffic.pattern",
                format!(
                    "BookSim2 has no `{}`; it has uniform-random, background, bit-complement, bit-reversal, transpose, shuffle, tornado, digit-neighbour, diagonal, asymmetric, taper, bad-yarc and hot-spots",
                    other.kind()
                ),
            );
        }
    };
    if reaches_self && !spec.to_self {
        let reason = "in BookSim2 this pattern also sends to the sender itself: `to-self = true` is expected";
        return refuse("traffic.to-self", reason);
    }
    Ok(name)
}

fn injection(spec: &InjectionSpec) -> Refused<String> {
    match spec {
        InjectionSpec::Bernoulli(_) => Ok("bernoulli".to_owned()),
        InjectionSpec::OnOff(on_off) => {
            // what follows from the load is negative there
            let [alpha, beta, r1] = [on_off.alpha, on_off.beta, on_off.r1].map(|it| it.unwrap_or(-1.0));
            Ok(format!("on_off({{{alpha},{beta},{r1}}})"))
        }
        other => refuse(
            "traffic.injection",
            format!("BookSim2 has no `{}`; it has bernoulli and on-off", other.kind()),
        ),
    }
}

/// Windows are BookSim2's sample periods. What it decides by rules of its own cannot be asked for.
fn measure(spec: &MeasureSpec) -> Refused<Vec<(&'static str, String)>> {
    let usual = MeasureSpec::default();
    let own_rules = [
        ("windows", spec.windows != usual.windows),
        ("most-warm-up-windows", spec.most_warm_up_windows != usual.most_warm_up_windows),
        ("precision", spec.precision != usual.precision),
        ("drain", spec.drain != usual.drain),
        ("drain-when-saturated", spec.drain_when_saturated != usual.drain_when_saturated),
    ];
    if let Some((key, _)) = own_rules.into_iter().find(|(_, changed)| *changed) {
        let reason = "BookSim2 has rules of its own for when to stop; of `measure` it has `window`, `warm-up` and `most-windows`";
        return refuse(&format!("traffic.measure.{key}"), reason);
    }
    let warm_up = match spec.warm_up {
        None => 3,
        Some(cycles) if cycles > 0 => cycles.div_ceil(spec.window),
        Some(_) => return refuse("traffic.measure.warm-up", "0; in BookSim2 at least one period is warm-up"),
    };
    let most =
        if spec.most_windows == usual.most_windows { 10 } else { warm_up + u64::from(spec.most_windows) };
    Ok(vec![
        ("sample_period", spec.window.to_string()),
        ("warmup_periods", warm_up.to_string()),
        ("max_samples", most.to_string()),
        ("latency_thres", "500.0".to_owned()),
    ])
}
