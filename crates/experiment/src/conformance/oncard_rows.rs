//! The value of a row of the SW-IntraCC paper, from its inputs by the models of the card.
//!
//! What a row asks for is told by its formula (blanks left out) or, where that is only words, by the equation or figure
//! that it names. Inputs that a row leaves out are the paper's constants, or those of the row that it refers to.

use stratasim_core::{Bandwidth, Bytes, Duration};
use stratasim_device::card::closed_form::{
    Tiers, crossover_bytes, large_vector_gain, small_vector_gain, utilisation,
};
use stratasim_device::card::{Card, HostCopy, Operation, Schedule, task_graph};
use stratasim_workload::training::volume::layer_bytes;

use super::oncard::Row;
use crate::card::bench::algorithm;

/// What a row's value is, in base units (seconds, bytes, bytes per second, shares).
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) value: f64,
    /// The same by another model, or what the row sets beside it.
    pub(super) second: Option<f64>,
    /// Whether the two are seconds that must differ.
    pub(super) must_differ: bool,
}

impl From<f64> for Found {
    fn from(value: f64) -> Self {
        Self { value, second: None, must_differ: false }
    }
}

/// Base units per unit of a row.
pub(super) fn unit_scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "" | "x" | "frac" | "tokens" | "cards" | "s" | "B" => 1.0,
        "%" => 0.01,
        "us" => 1e-6,
        "d" => 86_400.0,
        "GB/s" | "GB" => 1e9,
        "MB" => 1e6,
        "GiB" | "GiB/layer" => f64::from(1 << 30),
        _ => return None,
    })
}

/// What is missing or wrong.
type Reason = String;

impl Row {
    fn number(&self, key: &str) -> Result<f64, Reason> {
        let value = self.inputs.get(key).ok_or_else(|| format!("the input `{key}` is missing"))?;
        let number = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| format!("input `{key}`: a number from 0 on is expected, found {value}"))
    }

    fn number_or(&self, key: &str, otherwise: f64) -> Result<f64, Reason> {
        if self.inputs.contains_key(key) { self.number(key) } else { Ok(otherwise) }
    }

    /// The length of the vector in bytes.
    fn vector(&self) -> Result<f64, Reason> {
        if self.inputs.contains_key("kb") { Ok(1024.0 * self.number("kb")?) } else { self.number("V_B") }
    }

    /// A card with the paper's constants where the row has none. Local memory limits nothing: the paper's
    /// equations 3 to 8 do not have it.
    fn card(&self) -> Result<Card, Reason> {
        let mut card = shipped("sw-ai")?;
        let groups = self.number_or("N", 4.0)?;
        if groups.fract() != 0.0 || !(1.0..=64.0).contains(&groups) {
            return Err(format!("input `N`: 1 to 64 groups are expected, found {groups}"));
        }
        card.core_groups = groups as u32;
        card.memory.per_group = Bytes(1 << 52);
        card = card.with_local(Bytes(1 << 51)).map_err(|error| error.to_string())?;
        let us =
            |key, otherwise| Ok::<_, Reason>(Duration::from_secs_f64(1e-6 * self.number_or(key, otherwise)?));
        card.cost.launch = us("t_launch_us", 25.0)?;
        card.cost.sync = us("t_sync_us", 15.0)?;
        let step = us("t_others_us", 5.0)?;
        (card.cost.ring_step, card.cost.csc_step) = (step, step);
        card.bandwidth.ring = Bandwidth(1e9 * self.number_or("bw_ring_GBps", 100.0)?);
        card.bandwidth.global = Bandwidth(1e9 * self.number_or("bw_global_GBps", 100.0)?);
        card.bandwidth.local = Bandwidth(1e18);
        card.check().map_err(|error| error.to_string())?;
        Ok(card)
    }

    fn tiers(&self) -> Result<Tiers, Reason> {
        let (local, global) = (1e9 * self.number("L")?, 1e9 * self.number("G")?);
        if local == 0.0 || global == 0.0 {
            return Err("inputs `L` and `G`: bandwidths above 0 are expected".to_owned());
        }
        Ok(Tiers {
            groups: self.number_or("N", 4.0)?,
            local,
            global,
            launch_s: 1e-6 * self.number_or("tl_us", 25.0)?,
        })
    }
}

fn shipped(name: &str) -> Result<Card, Reason> {
    crate::card::load(name, &[]).map_err(|error| error.to_string())
}

/// Seconds of a collective by its closed form, and by its task graph where chunks are whole and equal.
fn seconds(card: &Card, name: &str, operation: Operation, bytes: f64) -> Result<(f64, Option<f64>), Reason> {
    let it = algorithm(name)?;
    let none = || format!("{name} has no {}", operation.name());
    let closed = it.plugin().closed_form_s(operation, card, bytes).ok_or_else(none)?;
    let whole = bytes % f64::from(card.core_groups) == 0.0 && bytes < (1_u64 << 50) as f64;
    let run = |schedule: Schedule| task_graph::run(card, &schedule).total_s;
    let graph =
        if whole { it.plugin().schedule(operation, card.core_groups, bytes as u64).map(run) } else { None };
    Ok((closed, graph))
}

/// Bandwidth of a collective by both models.
fn bandwidth(card: &Card, name: &str, operation: Operation, bytes: f64) -> Result<Found, Reason> {
    let (closed, graph) = seconds(card, name, operation, bytes)?;
    let rate = |seconds: f64| if seconds > 0.0 { bytes / seconds } else { 0.0 };
    Ok(Found { value: rate(closed), second: graph.map(rate), must_differ: false })
}

/// How many times as long one collective takes as another, by both models.
fn gain(slow: (f64, Option<f64>), fast: (f64, Option<f64>)) -> Found {
    let second = slow.1.zip(fast.1).map(|(slow, fast)| slow / fast);
    Found { value: slow.0 / fast.0, second, must_differ: false }
}

/// The step that a ring all-gather of `bytes` with the measured bandwidth needs, all else given.
fn ring_step_s(card: &Card, bytes: f64, measured: f64) -> Result<f64, Reason> {
    if measured <= 0.0 {
        return Err("a measured bandwidth above 0 is expected".to_owned());
    }
    let mut free = card.clone();
    free.cost.ring_step = Duration::ZERO;
    let without_s = seconds(&free, "ring", Operation::AllGather, bytes)?.0;
    Ok((bytes / measured - without_s) / f64::from(card.core_groups - 1).max(1.0))
}

/// The numbers in a text, in order.
fn literals(text: &str) -> Vec<f64> {
    let part = |c: char| !(c.is_ascii_digit() || c == '.');
    text.split(part).filter_map(|word| word.parse().ok()).collect()
}

/// Whether a formula is a fixed time and a rate, such as `9.9us+V/93.9GB/s`.
fn kernel_line(formula: &str) -> Option<(f64, f64)> {
    let (fixed, rest) = formula.split_once("us+V/")?;
    let (rate, _) = rest.split_once("GB/s")?;
    let (fixed, rate) = (fixed.parse::<f64>().ok()?, rate.parse::<f64>().ok()?);
    (fixed >= 0.0 && rate > 0.0).then_some((1e-6 * fixed, 1e9 * rate))
}

/// The time of a kernel with that fixed time and rate: CSC with its PUT phase on a card without launch and
/// synchronisation, so that N shards go through Global.
fn kernel_s(row: &Row, fixed_s: f64, rate: f64) -> Result<Found, Reason> {
    let mut card = row.card()?;
    (card.cost.launch, card.cost.sync) = (Duration::ZERO, Duration::ZERO);
    card.cost.csc_step = Duration::ZERO;
    card.cost.kernel = Duration::from_secs_f64(fixed_s);
    card.bandwidth.global = Bandwidth(rate);
    let (value, second) = seconds(&card, "csc", Operation::AllGather, row.vector()?)?;
    Ok(Found { value, second, must_differ: false })
}

/// The row of the same file with that id.
fn sibling<'a>(all: &'a [Row], id: &str) -> Result<&'a Row, Reason> {
    all.iter()
        .find(|row| row.id == id)
        .ok_or_else(|| format!("it refers to row `{id}`, which is not in this file"))
}

/// What the paper prints in the row whose id ends in `last` instead.
fn printed_beside(row: &Row, all: &[Row], last: &str) -> Result<f64, Reason> {
    let stem = row.id.rsplit_once('.').map_or(row.id.as_str(), |(stem, _)| stem);
    let id = format!("{stem}.{last}");
    let beside = sibling(all, &id)?;
    let paper = beside.paper.ok_or_else(|| format!("row `{id}` has no `paper`"))?;
    let scale = unit_scale(&beside.unit)
        .ok_or_else(|| format!("unit `{}` of row `{id}` is not understood", beside.unit))?;
    Ok(paper * scale)
}

/// The share that overlapping saves, as tables 3 and 4 have it.
fn saved_share(row: &Row) -> Result<f64, Reason> {
    Ok(row.number("saved_us")? / row.number("comm_us")?)
}

/// The value of a row.
///
/// # Errors
/// What is missing, or that the row is not understood.
pub(super) fn evaluate(row: &Row, all: &[Row]) -> Result<Found, Reason> {
    let formula: String = row.formula.chars().filter(|c| !c.is_whitespace()).collect();
    let found = value(row, all, &formula)?;
    if found.value.is_finite() { Ok(found) } else { Err(format!("its inputs give {}", found.value)) }
}

fn value(row: &Row, all: &[Row], formula: &str) -> Result<Found, Reason> {
    use Operation::{AllGather, ReduceScatter};
    let place = row.place.as_str();
    let has = |key: &str| row.inputs.contains_key(key);
    if ["k", "fp", "bs", "dp", "s", "h", "l", "pp"].into_iter().all(has) {
        return activations(row, formula).map(Found::from);
    }
    if let Some((fixed_s, rate)) = kernel_line(formula) {
        return kernel_s(row, fixed_s, rate);
    }
    Ok(match formula {
        "V/(3*(tl+ts+V/(4*BW)+to))" => bandwidth(&row.card()?, "ring", AllGather, row.vector()?)?,
        "V/(tl+ts+3*(V/(4*BW)+to))" => bandwidth(&row.card()?, "csc-equation", AllGather, row.vector()?)?,
        "V/(tl+ts+3*(V/(4*BW)+to)+V/(4*BW))" => bandwidth(&row.card()?, "csc", AllGather, row.vector()?)?,
        "3*(tl+ts+to)/(tl+ts+3*to)" => {
            let it = row.card()?;
            let cost = [it.cost.launch, it.cost.sync, it.cost.ring_step].map(Duration::as_secs_f64);
            small_vector_gain(f64::from(it.core_groups), cost[0], cost[1], cost[2]).into()
        }
        "V->inf" => {
            let it = row.card()?;
            let rates = [it.bandwidth.ring, it.bandwidth.global].map(Bandwidth::bytes_per_s);
            large_vector_gain(f64::from(it.core_groups), rates[0], rates[1], false).into()
        }
        "ring(V)=csc_put(V)" => crossover(&row.card()?)?,
        "ring/csc" if place.starts_with("eq") => {
            let (card, bytes) = (row.card()?, row.vector()?);
            gain(seconds(&card, "ring", AllGather, bytes)?, seconds(&card, "csc-equation", AllGather, bytes)?)
        }
        "ring/csc" => {
            // measured: the ring with the step that the measured bandwidth at 8 MB needs, CSC with its PUT phase
            let (mut card, bytes) = (row.card()?, row.vector()?);
            card.cost.ring_step = Duration::from_secs_f64(ring_step_s(&card, 8e6, 34.1e9)?);
            gain(seconds(&card, "ring", AllGather, bytes)?, seconds(&card, "csc", AllGather, bytes)?)
        }
        "ringRS/cscRS" => {
            let (card, bytes) = (shipped("sw-ai-figure-15-reduce-scatter")?, row.vector()?);
            gain(
                seconds(&card, "ring", ReduceScatter, bytes)?,
                seconds(&card, "csc-equation", ReduceScatter, bytes)?,
            )
        }
        "V/BW" if row.id.contains("RS") => {
            bandwidth(&shipped("sw-ai-measured-reduce-scatter")?, "ring", ReduceScatter, row.vector()?)?
        }
        "V/BW" => bandwidth(&shipped("sw-ai-measured-all-gather")?, "ring", AllGather, row.vector()?)?,
        "(V/34.1e9)/3-tl-ts-V/(4BW)" => {
            ring_step_s(&row.card()?, row.vector()?, 1e9 * row.number("bw")?)?.into()
        }
        "ringutilisationatsmallsizes" => {
            let (card, bytes) =
                (row.card()?, if has("V_B") || has("kb") { row.vector()? } else { f64::from(1 << 22) });
            let groups = f64::from(card.core_groups);
            let data_s = (groups - 1.0) * bytes / groups / card.bandwidth.ring.bytes_per_s();
            utilisation(seconds(&card, "ring", AllGather, bytes)?.0, data_s).into()
        }
        "4/P/(1/P+4/G)" => host_gain(1e9 * row.number("P_GBps")?, 1e9 * row.number("G_GBps")?)?.into(),
        "" if place == "contribution 1" => {
            let card = shipped("sw-ai")?;
            host_gain(card.host.link.bytes_per_s(), card.bandwidth.global.bytes_per_s())?.into()
        }
        "G=4*(15-L)" => switch(row)?.into(),
        "(4/L)/(1/L+1/G+3/G+4/L)" => row.tiers()?.fusion_gain().into(),
        "V/L+4V/G+4V/L+3tl" => row.tiers()?.unfused_s(row.number("V_shard_B")?).into(),
        "4V/G+V/L+2tl" => row.tiers()?.fused_s(row.number("V_shard_B")?).into(),
        "T1-T2=4V/L+tl" => {
            let it = if has("L") { row } else { sibling(all, "eq9")? };
            let (tiers, shard) = (it.tiers()?, it.number("V_shard_B")?);
            let by_terms = tiers.groups * shard / tiers.local + tiers.launch_s;
            Found {
                value: tiers.unfused_s(shard) - tiers.fused_s(shard),
                second: Some(by_terms),
                must_differ: false,
            }
        }
        "saved/comm" => saved_share(row)?.into(),
        "maxpct" => {
            let of_table =
                all.iter().filter(|other| other.place == row.place && other.formula == "saved/comm");
            // the paper's own contradictions do not count
            let shares: Result<Vec<f64>, Reason> = of_table.map(saved_share).collect();
            shares?
                .into_iter()
                .reduce(f64::max)
                .ok_or_else(|| format!("no row of {place} has saved/comm"))?
                .into()
        }
        "(40+631)usvs509us" => table_4_against_figure_15(row)?,
        "1-4/12" => launches(row)?.into(),
        _ if formula.starts_with("v/") && has("v_GB") => layer(row, formula)?.into(),
        "layer*layers/pp" => {
            let layer_s =
                if has("layer_s") { row.number("layer_s")? } else { printed_beside(row, all, "layer")? };
            (layer_s * row.number("layers")?).into()
        }
        "iter*iters/86400" => {
            let iter_s =
                if has("iter_s") { row.number("iter_s")? } else { printed_beside(row, all, "iter")? };
            (iter_s * row.number("iters")?).into()
        }
        "ring-csc" => (printed_beside(row, all, "ring.days")? - printed_beside(row, all, "csc.days")?).into(),
        "150000*1538*2048" => {
            let per_step: f64 = literals(formula)[1..].iter().product();
            (row.number("steps")? * per_step).into()
        }
        _ if row.kind == "ratio" && has("alg") && has("ring") => {
            (row.number("alg")? / row.number("ring")?).into()
        }
        _ if has("servers") && has("cards") => (row.number("servers")? * row.number("cards")?).into(),
        _ if formula.starts_with("coarsebitmap") => blocks(formula)?,
        _ => return Err(format!("not understood: {} `{}` of {place}", row.kind, row.formula)),
    })
}

/// Equations 1 and 2: the whole iteration, or one layer of it.
fn activations(row: &Row, formula: &str) -> Result<f64, Reason> {
    let samples = row.number("bs")? / row.number("dp")?;
    let layer = layer_bytes(row.number("k")?, row.number("fp")?, samples, row.number("s")?, row.number("h")?);
    let layers_per_stage = row.number("l")? / row.number("pp")?;
    if formula.starts_with("k*fp*(bs/dp)*s*h*(l/pp)") || formula == "same" {
        return Ok(layer * layers_per_stage);
    }
    if row.unit.ends_with("/layer") && formula.starts_with("same/") {
        return Ok(layer);
    }
    Err(format!("not understood: `{}`", row.formula))
}

/// Where the ring overtakes CSC: the closed form, and that both take the same time there.
fn crossover(card: &Card) -> Result<Found, Reason> {
    let cost = [card.cost.launch, card.cost.sync, card.cost.ring_step, card.cost.csc_step]
        .map(Duration::as_secs_f64);
    let rates = [card.bandwidth.ring, card.bandwidth.global].map(Bandwidth::bytes_per_s);
    let groups = f64::from(card.core_groups);
    let bytes = crossover_bytes(groups, cost[0], cost[1], [cost[2], cost[3]], rates[0], rates[1])
        .ok_or("one of the two is always faster")?;
    let [ring, csc] = ["ring", "csc"].map(|name| seconds(card, name, Operation::AllGather, bytes));
    Ok(Found { value: bytes, second: Some(bytes * ring?.0 / csc?.0), must_differ: false })
}

/// The gain of a copy through Global memory.
fn host_gain(link: f64, global: f64) -> Result<f64, Reason> {
    let mut card = shipped("sw-ai")?;
    card.host.link = Bandwidth(link);
    (card.bandwidth.global, card.bandwidth.local) = (Bandwidth(global), Bandwidth(1e18));
    card.check().map_err(|error| error.to_string())?;
    let bytes = 1 << 30;
    Ok(HostCopy::TwoTiers.seconds(&card, bytes) / HostCopy::ThreeTiersInTurn.seconds(&card, bytes))
}

/// The most Global memory of the given positions of the switch, in GB.
fn switch(row: &Row) -> Result<f64, Reason> {
    let card = shipped("sw-ai")?;
    let positions = match row.inputs.get("L") {
        Some(serde_json::Value::Array(list)) => list.iter().map(serde_json::Value::as_f64).collect(),
        Some(one) => vec![one.as_f64()],
        None => return Err("the input `L` is missing".to_owned()),
    };
    let mut most = None;
    for position in positions {
        let gb = position.filter(|gb| *gb >= 0.0).ok_or("input `L`: GB from 0 on are expected")?;
        let set = card.with_local(Bytes((1e9 * gb).round() as u64)).map_err(|error| error.to_string())?;
        set.check().map_err(|error| error.to_string())?;
        most = most.max(Some(set.memory.global.count()));
    }
    Ok(most.ok_or("input `L` is empty")? as f64)
}

/// Launches of CSC as a share of those of the ring, counted in the schedules.
fn launches(row: &Row) -> Result<f64, Reason> {
    let card = row.card()?;
    let steps = row.number_or("steps", f64::from(card.core_groups - 1))?;
    let count = |name| {
        Ok::<_, Reason>(algorithm(name)?.plugin().all_gather(card.core_groups, 1 << 20).barriers().0 as f64)
    };
    let ring = count("ring")?;
    if ring != steps {
        return Err(format!("a ring of {} groups takes {ring} steps, the row has {steps}", card.core_groups));
    }
    Ok(1.0 - count("csc")? / ring)
}

/// Seconds of the collectives of a layer at the bandwidths in the formula (GB/s), all-gather and
/// reduce-scatter: `v/34.1+v/54.9`, `v/69.6+v/(1.2*54.9)`.
fn layer(row: &Row, formula: &str) -> Result<f64, Reason> {
    let volume = row.number("v_GB")?;
    let bandwidth = |term: &str| {
        let rate = term.strip_prefix("v/")?.trim_matches(['(', ')']);
        rate.split('*').map(|factor| factor.parse::<f64>().ok()).product::<Option<f64>>()
    };
    let rates: Option<Vec<f64>> = formula.split('+').map(bandwidth).collect();
    let rates = rates.ok_or_else(|| format!("not understood: `{formula}`"))?;
    Ok(rates.into_iter().map(|rate| volume / rate).sum())
}

/// The same vector by what table 4 and what figure 15 measured.
fn table_4_against_figure_15(row: &Row) -> Result<Found, Reason> {
    let bytes = row.vector()?;
    let table =
        seconds(&shipped("sw-ai-measured-reduce-scatter")?, "csc", Operation::ReduceScatter, bytes)?.0;
    let figure_15 = shipped("sw-ai-figure-15-reduce-scatter")?;
    let figure = seconds(&figure_15, "csc-equation", Operation::ReduceScatter, bytes)?.0;
    Ok(Found { value: table, second: Some(figure), must_differ: true })
}

/// The granularities of the shipped card, in bytes, against those of the text.
fn blocks(formula: &str) -> Result<Found, Reason> {
    let memory = shipped("sw-ai")?.memory;
    let before = |unit: &str| {
        let (text, _) = formula.split_once(unit)?;
        literals(text).last().copied()
    };
    let (Some(page), Some(segment)) = (before("KB"), before("MB")) else {
        return Err(format!("not understood: `{formula}`"));
    };
    let ours = [memory.page.count() as f64, memory.segment.count() as f64];
    let theirs = [1024.0 * page, 1024.0 * 1024.0 * segment];
    if ours[1] != theirs[1] {
        return Err(format!("segments of {} bytes, the row has {}", ours[1], theirs[1]));
    }
    Ok(Found { value: ours[0], second: Some(theirs[0]), must_differ: false })
}
