//! What the attributes of a node make of it.

use serde::Deserialize as _;
use serde_json::Value;
use stratasim_core::error::nearest;
use stratasim_core::{Bandwidth, BuildError, Bytes, ComputeRate, Duration, Precision};

use super::{Attributes, UNBOUNDED, UNLIMITED, get, quantity, shown, text, wrong};
use crate::catalogue::{self, ComputeChoice};
use crate::graph::{ComputeType, KernelCosts, MemoryType, NodeKind, TopologyBuilder};

/// The kind of the node called `name`.
pub(super) fn node_kind(
    name: &str,
    attributes: &Attributes,
    builder: &mut TopologyBuilder,
) -> Result<NodeKind, BuildError> {
    let whose = format!("node `{name}`");
    let computes = [
        "compute",
        "fp64",
        "fp32",
        "tf32",
        "bf16",
        "fp16",
        "fp8",
        "int8",
        "cores",
        "memory",
        "memory_bandwidth",
        "home_memory",
        "forwards",
    ];
    let first = |keys: &[&'static str]| keys.iter().copied().find(|key| get(attributes, key).is_some());
    let kind = match text(&whose, attributes, "kind", "switch")? {
        Some(kind) => kind,
        None if first(&computes[..9]).is_some() => "compute",
        None if first(&["capacity"]).is_some() => "memory",
        None => {
            return Err(wrong(
                &whose,
                "kind",
                "the attribute is missing; write \"switch\", \"compute\" or \"memory\"",
            ));
        }
    };
    let refuse = |keys: &[&'static str], instead: &str| match first(keys) {
        Some(key) => {
            Err(wrong(&whose, key, format!("a node of kind \"{kind}\" has no such attribute; {instead}")))
        }
        None => Ok(()),
    };
    match kind {
        "switch" => {
            refuse(&computes, "write kind = \"compute\"")?;
            refuse(&["capacity", "bandwidth"], "write kind = \"memory\"")?;
            Ok(NodeKind::Switch)
        }
        "memory" => {
            refuse(&computes, "a memory has `capacity` and `bandwidth`")?;
            let capacity = match text(&whose, attributes, "capacity", "1 TiB")? {
                None | Some(UNBOUNDED) => None,
                Some(_) => quantity::<Bytes>(&whose, attributes, "capacity", "1 TiB")?.map(Bytes::count),
            };
            let bandwidth = quantity(&whose, attributes, "bandwidth", "128 GB/s")?;
            Ok(NodeKind::Memory(builder.memory_type(MemoryType { capacity_bytes: capacity, bandwidth })))
        }
        "compute" => {
            refuse(&["capacity"], "write `memory`")?;
            let compute = compute_type(&whose, attributes)?;
            Ok(NodeKind::Compute(builder.compute_type(compute)))
        }
        other => {
            let hint = nearest(other, ["switch", "compute", "memory"])
                .map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"));
            Err(wrong(
                &whose,
                "kind",
                format!("found \"{other}\"{hint}; write \"switch\", \"compute\" or \"memory\""),
            ))
        }
    }
}

fn compute_type(whose: &str, attributes: &Attributes) -> Result<ComputeType, BuildError> {
    let mut rates = [None; Precision::ALL.len()];
    for precision in Precision::ALL {
        rates[precision.index()] =
            quantity::<ComputeRate>(whose, attributes, precision.name(), "51.2 TFLOP/s")?;
    }
    let rated = rates.iter().any(Option::is_some);
    let mut compute = match get(attributes, "compute") {
        Some(Value::String(name)) => match catalogue::named(name) {
            Some(known) => known,
            // with rates it is a type of the user's own
            None if rated => blank(name),
            None => {
                let choice = ComputeChoice::Named(name.clone());
                choice.resolve().map_err(|error| wrong(whose, "compute", error.reason))?
            }
        },
        Some(table @ Value::Object(_)) => ComputeChoice::deserialize(table)
            .map_err(|error| wrong(whose, "compute", error))?
            .resolve()
            .map_err(|error| wrong(whose, "compute", error))?,
        Some(other) => {
            return Err(wrong(
                whose,
                "compute",
                format!("found {}, write the name of a compute type such as \"H100\"", shown(other)),
            ));
        }
        None if rated => blank("custom"),
        None => {
            return Err(wrong(
                whose,
                "compute",
                "the attribute is missing; write a compute type such as \"H100\", or rates such as fp32 = \"10 TFLOP/s\"",
            ));
        }
    };
    for (rate, given) in compute.rate_flop_per_s.iter_mut().zip(rates) {
        if let Some(given) = given {
            *rate = given.flop_per_s();
        }
    }
    if let Some(cores) = get(attributes, "cores") {
        let count = cores.as_u64().and_then(|cores| u32::try_from(cores).ok()).filter(|&cores| cores > 0);
        compute.cores = count.ok_or_else(|| {
            wrong(whose, "cores", format!("found {}, write a whole number above zero", shown(cores)))
        })?;
    }
    match text(whose, attributes, "memory", "80 GB")? {
        None => {}
        Some(UNBOUNDED) => compute.memory_bytes = None,
        Some(_) => {
            compute.memory_bytes = quantity::<Bytes>(whose, attributes, "memory", "80 GB")?.map(Bytes::count)
        }
    }
    for key in ["memory_bandwidth", "bandwidth"] {
        match text(whose, attributes, key, "3.35 TB/s")? {
            None => {}
            Some(UNLIMITED) => compute.memory_bandwidth = None,
            Some(_) => compute.memory_bandwidth = quantity::<Bandwidth>(whose, attributes, key, "3.35 TB/s")?,
        }
    }
    if let Some(forwards) = get(attributes, "forwards") {
        let flag = match forwards {
            Value::Bool(flag) => Some(*flag),
            // as GraphML without types writes it
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        compute.forwards = flag.ok_or_else(|| {
            wrong(whose, "forwards", format!("found {}, write true or false", shown(forwards)))
        })?;
    }
    for (key, cost) in compute.kernels.durations() {
        *cost = quantity::<Duration>(whose, attributes, key, "25 us")?.unwrap_or(*cost);
    }
    for (key, rate) in compute.kernels.rates() {
        *rate = quantity::<Bandwidth>(whose, attributes, key, "50 GB/s")?.or(*rate);
    }
    Ok(compute)
}

/// A compute type that computes nothing yet.
fn blank(name: &str) -> ComputeType {
    ComputeType {
        name: name.to_owned(),
        rate_flop_per_s: [0.0; Precision::ALL.len()],
        cores: 1,
        memory_bytes: None,
        memory_bandwidth: None,
        kernels: KernelCosts::default(),
        forwards: true,
    }
}
