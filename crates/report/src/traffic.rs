//! What open-loop traffic at flit level gives: latencies, loads, fairness, channels.

use serde::{Deserialize, Serialize};

use crate::style::{Style, hanging};
use crate::table::{Cell, Table};
use crate::units::Unit;

/// Statistics of one run of open-loop traffic. Cycles are those of the network's clock; loads are flits per
/// cycle and terminal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficResult {
    /// Terminals that send and receive.
    pub terminals: u32,
    /// Cycles per second of the clock; 0 where a cycle has no length (a configuration of BookSim2).
    pub clock_hz: f64,
    /// Bytes of a flit; 0 where it has no size.
    pub flit_bytes: u32,
    /// Load that was asked for, over all classes without probes.
    pub load_flits_per_cycle: f64,
    /// Load that came into being in the sample.
    pub offered_flits_per_cycle: f64,
    /// Load that entered the network in the sample.
    pub injected_flits_per_cycle: f64,
    /// Load that arrived in the sample.
    pub accepted_flits_per_cycle: f64,
    /// Half of the 95 % confidence interval of the accepted load, from batch means; absent for fewer than two batches.
    pub accepted_half_width: Option<f64>,
    /// Whether the network could not carry the load; latencies are then those of packets that arrived. Absent where that is not
    /// known: the verdict says why.
    pub saturated: Option<bool>,
    /// The verdict in words, with what it rests on.
    pub verdict: String,
    /// Cycles before the sample.
    pub warm_up_cycles: u64,
    /// Whether the warm-up ended because the network had settled, not because it had taken long enough.
    pub settled: bool,
    /// Cycles of the sample.
    pub sample_cycles: u64,
    /// Batches that the sample is divided into.
    pub batches: u64,
    /// Cycles after the sample until all of its packets had arrived.
    pub drain_cycles: u64,
    /// From coming into being to the arrival of the tail.
    pub packet_latency_cycles: Distribution,
    /// From entering the network to the arrival of the tail.
    pub network_latency_cycles: Distribution,
    /// From entering the network to arrival, of every flit.
    pub flit_latency_cycles: Distribution,
    /// Routers on the way.
    pub hops: Distribution,
    /// Cycles between the arrivals of head and tail beyond those that the flits take themselves.
    pub fragmentation_cycles: Distribution,
    /// The classes, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassResult>,
    /// What the terminals got.
    pub fairness: Fairness,
    /// What the channels between routers carried.
    pub channels: ChannelSummary,
    /// Windows of time, from the beginning of the run to the end of the sample.
    pub series: Vec<Window>,
    /// Latencies of probes, by pair.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeResult>,
    /// The batch that every terminal had to send, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchResult>,
    /// The load at which the network saturates, where it was looked for; all other numbers are those of the largest load that it
    /// carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation: Option<SaturationResult>,
    /// What BookSim2 counts and prints, where its semantics were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booksim2: Option<BookSimResult>,
}

/// What a search for the load at which the network saturates found; loads are flits per cycle and terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SaturationResult {
    /// The largest load up to which all were carried, beside that of classes with a load of their own; 0 where none was.
    pub carried_flits_per_cycle: f64,
    /// The first one above that was not; absent where the terminals or their sources make no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_flits_per_cycle: Option<f64>,
    /// Whether that one saturates the network. Of others what was measured does not tell.
    pub known: bool,
    /// Loads that were run.
    pub loads: u64,
}

/// What BookSim2 gives for the same configuration, number for number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BookSimResult {
    /// The configuration, as BookSim2 reads it.
    pub configuration: String,
    /// How the simulation ended: `stable`, `unstable`, `unstable-while-draining` or `deadlocked`.
    pub verdict: String,
    /// Cycles until network and credits were empty; absent where it was given up before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cycles: Option<u64>,
    /// Cycle in which the warm-up ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_end_cycle: Option<u64>,
    /// Sample periods, those of the warm-up among them.
    pub sample_periods: u64,
    /// Warnings of a deadlock.
    pub deadlock_warnings: u64,
    /// Flits that routers sent, in all cycles.
    pub flit_hops: u64,
    /// Cycles of each batch, in a simulation of batches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batch_cycles: Vec<u64>,
    /// The classes.
    pub classes: Vec<BookSimClass>,
}

/// The histograms of a class: pairs of a value and how often it came, those that came. Values of
/// latencies from 999, of fragmentation from 99 and of hops from 19 are one, as in BookSim2.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BookSimClass {
    /// Packet latency, cycles.
    pub packet_latency: Vec<[u64; 2]>,
    /// Network latency, cycles.
    pub network_latency: Vec<[u64; 2]>,
    /// Flit latency, cycles.
    pub flit_latency: Vec<[u64; 2]>,
    /// Fragmentation, cycles.
    pub fragmentation: Vec<[u64; 2]>,
    /// Routers on the way.
    pub hops: Vec<[u64; 2]>,
}

/// A distribution of whole numbers. Percentiles are exact up to 2,047 and within 0.1 % beyond. Where nothing was measured, all
/// but the count are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// How many were measured.
    pub count: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Half of the 95 % confidence interval of the mean, from batch means, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// Least.
    pub min: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 95 of 100 are no larger.
    pub p95: Option<u64>,
    /// 99 of 100 are no larger.
    pub p99: Option<u64>,
    /// 999 of 1,000 are no larger.
    pub p99_9: Option<u64>,
    /// Largest.
    pub max: Option<u64>,
}

/// One class of packets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassResult {
    /// Its name.
    pub name: String,
    /// Load that came into being in the sample.
    pub offered_flits_per_cycle: f64,
    /// Load that arrived in the sample.
    pub accepted_flits_per_cycle: f64,
    /// As of all classes.
    pub packet_latency_cycles: Distribution,
    /// As of all classes.
    pub network_latency_cycles: Distribution,
    /// As of all classes.
    pub hops: Distribution,
}

/// How evenly the terminals were served in the sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Least load that a terminal could inject.
    pub injected_min: f64,
    /// The first terminal that could inject no more than that.
    #[serde(default)]
    pub injected_min_at: u32,
    /// Largest.
    pub injected_max: f64,
    /// The first terminal with that.
    #[serde(default)]
    pub injected_max_at: u32,
    /// Jain's index of the injected loads: 1 when all are equal, 1/n when one has everything.
    pub injected_jain: f64,
    /// Least load that arrived at a terminal.
    pub accepted_min: f64,
    /// The first terminal at which no more arrived.
    #[serde(default)]
    pub accepted_min_at: u32,
    /// Largest.
    pub accepted_max: f64,
    /// The first terminal with that.
    #[serde(default)]
    pub accepted_max_at: u32,
    /// Jain's index of the loads that arrived.
    pub accepted_jain: f64,
    /// Load that each terminal injected, and load that arrived there. Empty for more than 1,024 terminals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_terminal: Vec<[f32; 2]>,
}

impl TrafficResult {
    /// Whether BookSim2's rules found that nothing moves any more; other networks end with an error then.
    pub fn is_deadlocked(&self) -> bool {
        self.booksim2.as_ref().is_some_and(|made| made.verdict == "deadlocked")
    }
}

/// The channels between routers in the sample; 1 is a flit in every cycle that the channel's width allows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChannelSummary {
    /// Channels between routers.
    pub count: u64,
    /// Mean utilisation; absent where there are none.
    pub mean_utilisation: Option<f64>,
    /// Largest utilisation; absent where there are none.
    pub max_utilisation: Option<f64>,
    /// The busiest channels, busiest first.
    pub busiest: Vec<ChannelResult>,
    /// What the columns of `by_router` are: directions where the topology has some, numbers of output ports elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Utilisation by router (rows) and direction or output port (columns), terminals' ports left out; -1 where there is
    /// no channel. Empty for more than 1,024 routers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_router: Vec<Vec<f32>>,
    /// Names of the rows of `by_router`, where routers have names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routers: Vec<String>,
}

/// One channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChannelResult {
    /// Name of its link.
    pub name: String,
    /// The router that it leaves.
    pub router: u32,
    /// By which output port.
    pub port: u16,
    /// Flits in the sample.
    pub flits: u64,
    /// Share of what it could carry.
    pub utilisation: f64,
}

/// A window of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its last cycle and one.
    pub end_cycle: u64,
    /// Load that entered the network.
    pub injected_flits_per_cycle: f64,
    /// Load that arrived.
    pub accepted_flits_per_cycle: f64,
    /// Mean latency of the packets that arrived; absent when none did.
    pub packet_latency_cycles: Option<f64>,
    /// How long the packets at the heads of the source queues have been waiting at the end, on average.
    pub source_wait_cycles: f64,
}

/// Probes of one pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeResult {
    /// Terminal that sends.
    pub source: u32,
    /// Terminal that receives.
    pub dest: u32,
    /// Probes that were measured.
    pub count: u64,
    /// Mean latency, from coming into being to arrival.
    pub mean_cycles: f64,
    /// Standard deviation of the latency.
    pub deviation_cycles: f64,
    /// Least.
    pub min_cycles: u64,
    /// Largest.
    pub max_cycles: u64,
}

/// A batch: every terminal sends so many packets as fast as it may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchResult {
    /// Packets of each terminal.
    pub packets: u64,
    /// Cycles until the last one (or its reply) had arrived.
    pub duration_cycles: u64,
    /// Cycles until the first terminal was done.
    pub first_done_cycles: u64,
}

impl ClassResult {
    /// The number called `name` in [`CLASS_METRICS`]; `None` for other names.
    pub fn number(&self, name: &str) -> Option<f64> {
        match name {
            "offered_flits_per_cycle" => Some(self.offered_flits_per_cycle),
            "accepted_flits_per_cycle" => Some(self.accepted_flits_per_cycle),
            "packet_latency_cycles" => self.packet_latency_cycles.mean,
            "packet_latency_p99_cycles" => self.packet_latency_cycles.p99.map(|value| value as f64),
            "network_latency_cycles" => self.network_latency_cycles.mean,
            "hops" => self.hops.mean,
            _ => None,
        }
    }
}

/// The names that [`ClassResult::number`] knows, with title and unit.
pub const CLASS_METRICS: &[(&str, &str, Unit)] = &[
    ("offered_flits_per_cycle", "offered", Unit::Count),
    ("accepted_flits_per_cycle", "accepted", Unit::Count),
    ("packet_latency_cycles", "latency", Unit::Count),
    ("packet_latency_p99_cycles", "p99", Unit::Count),
    ("network_latency_cycles", "in network", Unit::Count),
    ("hops", "hops", Unit::Count),
];

impl TrafficResult {
    /// The number called `name` in sweeps and tables; `None` for other names.
    pub fn number(&self, name: &str) -> Option<f64> {
        let whole = |value: Option<u64>| value.map(|value| value as f64);
        match name {
            "offered_flits_per_cycle" => Some(self.offered_flits_per_cycle),
            "injected_flits_per_cycle" => Some(self.injected_flits_per_cycle),
            "accepted_flits_per_cycle" => Some(self.accepted_flits_per_cycle),
            "packet_latency_cycles" => self.packet_latency_cycles.mean,
            "packet_latency_cycles_half_width" => self.packet_latency_cycles.half_width,
            "packet_latency_p50_cycles" => whole(self.packet_latency_cycles.p50),
            "packet_latency_p95_cycles" => whole(self.packet_latency_cycles.p95),
            "packet_latency_p99_cycles" => whole(self.packet_latency_cycles.p99),
            "packet_latency_p99_9_cycles" => whole(self.packet_latency_cycles.p99_9),
            "packet_latency_max_cycles" => whole(self.packet_latency_cycles.max),
            "network_latency_cycles" => self.network_latency_cycles.mean,
            "flit_latency_cycles" => self.flit_latency_cycles.mean,
            "hops" => self.hops.mean,
            "fragmentation_cycles" => self.fragmentation_cycles.mean,
            "saturated" => self.saturated.map(|saturated| f64::from(u8::from(saturated))),
            "injected_jain" => Some(self.fairness.injected_jain),
            "accepted_jain" => Some(self.fairness.accepted_jain),
            "max_channel_utilisation" => self.channels.max_utilisation,
            "mean_channel_utilisation" => self.channels.mean_utilisation,
            "saturation_load_flits_per_cycle" => {
                self.saturation.filter(|found| found.known).map(|found| found.carried_flits_per_cycle)
            }
            "batch_duration_cycles" => self.batch.map(|batch| batch.duration_cycles as f64),
            _ => None,
        }
    }
}

/// The names that [`TrafficResult::number`] knows, with title and unit.
pub const TRAFFIC_METRICS: &[(&str, &str, Unit)] = &[
    ("offered_flits_per_cycle", "offered", Unit::Count),
    ("injected_flits_per_cycle", "injected", Unit::Count),
    ("accepted_flits_per_cycle", "accepted", Unit::Count),
    ("packet_latency_cycles", "packet latency", Unit::Count),
    ("packet_latency_cycles_half_width", "± 95 %", Unit::Count),
    ("packet_latency_p50_cycles", "p50", Unit::Count),
    ("packet_latency_p95_cycles", "p95", Unit::Count),
    ("packet_latency_p99_cycles", "p99", Unit::Count),
    ("packet_latency_p99_9_cycles", "p99.9", Unit::Count),
    ("packet_latency_max_cycles", "largest latency", Unit::Count),
    ("network_latency_cycles", "network latency", Unit::Count),
    ("flit_latency_cycles", "flit latency", Unit::Count),
    ("hops", "hops", Unit::Count),
    ("fragmentation_cycles", "fragmentation", Unit::Count),
    ("saturated", "saturated", Unit::Count),
    ("injected_jain", "fairness of injection", Unit::Count),
    ("accepted_jain", "fairness of acceptance", Unit::Count),
    ("max_channel_utilisation", "fullest channel", Unit::Share),
    ("mean_channel_utilisation", "mean channel", Unit::Share),
    ("batch_duration_cycles", "batch duration", Unit::Count),
    ("saturation_load_flits_per_cycle", "saturation load", Unit::Count),
];

/// The statistics as text for the terminal.
pub fn traffic_summary(result: &TrafficResult, style: &Style) -> String {
    let mut out = String::new();
    let number = |value: f64| Cell::Number(value, Unit::Count);
    if let Some(batch) = &result.batch {
        out += &format!(
            "  {} packets per terminal took {} cycles; the first terminal was done after {}\n\n",
            Unit::Count.format(batch.packets as f64),
            Unit::Count.format(batch.duration_cycles as f64),
            Unit::Count.format(batch.first_done_cycles as f64)
        );
    } else {
        let mut line = |text: String| out += &format!("  {}\n", hanging(&text, style.width, 2));
        line(result.verdict.clone());
        line(format!(
            "load in flits per cycle and terminal: asked {}, offered {}, injected {}, accepted {}{}",
            short(result.load_flits_per_cycle),
            short(result.offered_flits_per_cycle),
            short(result.injected_flits_per_cycle),
            short(result.accepted_flits_per_cycle),
            result.accepted_half_width.map(|half| format!(" ± {}", short(half))).unwrap_or_default()
        ));
        line(format!(
            "{} cycles warm-up{}, {} measured in {} batches, {} to drain",
            Unit::Count.format(result.warm_up_cycles as f64),
            if result.settled { "" } else { " (not settled by then)" },
            Unit::Count.format(result.sample_cycles as f64),
            result.batches,
            Unit::Count.format(result.drain_cycles as f64)
        ));
        out.push('\n');
    }
    let style = &Style { width: style.width - 2, ..*style };
    let mut table =
        Table::new(["cycles", "mean", "± 95 %", "min", "p50", "p95", "p99", "p99.9", "max", "count"]);
    let mut push = |name: String, it: &Distribution| {
        let cell = |value: Option<f64>| Cell::from(value.map(|value| (value, Unit::Count)));
        let whole = |value: Option<u64>| cell(value.map(|value| value as f64));
        table.push([
            name.into(),
            cell(it.mean),
            cell(it.half_width),
            whole(it.min),
            whole(it.p50),
            whole(it.p95),
            whole(it.p99),
            whole(it.p99_9),
            whole(it.max),
            number(it.count as f64),
        ]);
    };
    push("packet latency".to_owned(), &result.packet_latency_cycles);
    push("network latency".to_owned(), &result.network_latency_cycles);
    push("flit latency".to_owned(), &result.flit_latency_cycles);
    push("fragmentation".to_owned(), &result.fragmentation_cycles);
    push("hops (routers)".to_owned(), &result.hops);
    for class in &result.classes {
        push(format!("packet latency, {}", class.name), &class.packet_latency_cycles);
    }
    out += &indented(&table.to_text(style));
    if result.saturated == Some(true) && result.batch.is_none() {
        let text = "latencies are those of packets that came into being in the sample and have arrived: the network is \
                    saturated, those still on their way take longer, and a longer sample would say more";
        out += &format!("  {}\n", hanging(text, style.width, 2));
    }
    let fairness = &result.fairness;
    out += "\n";
    let terminals = format!(
        "terminals: injected {} to {} (Jain {}), accepted {} to {} (Jain {})",
        at_terminal(fairness.injected_min, fairness.injected_min_at),
        at_terminal(fairness.injected_max, fairness.injected_max_at),
        short(fairness.injected_jain),
        at_terminal(fairness.accepted_min, fairness.accepted_min_at),
        at_terminal(fairness.accepted_max, fairness.accepted_max_at),
        short(fairness.accepted_jain)
    );
    let channels = &result.channels;
    let mut between = match channels.mean_utilisation.zip(channels.max_utilisation) {
        Some((mean, most)) => format!(
            "{} channels between routers: {} full on average, {} at most",
            Unit::Count.format(channels.count as f64),
            Unit::Share.format(mean),
            Unit::Share.format(most)
        ),
        None => "no channels between routers".to_owned(),
    };
    if let Some(busiest) = channels.busiest.first() {
        between += &format!(" ({})", busiest.name);
    }
    for line in [terminals, between] {
        out += &format!("  {}\n", hanging(&line, style.width, 2));
    }
    if !result.probes.is_empty() {
        let mut table =
            Table::new(["probe from", "to", "mean", "deviation", "min", "max", "count"]).keyed_by(2);
        for probe in result.probes.iter().take(PROBES_SHOWN) {
            table.push([
                number(probe.source.into()),
                number(probe.dest.into()),
                number(probe.mean_cycles),
                number(probe.deviation_cycles),
                number(probe.min_cycles as f64),
                number(probe.max_cycles as f64),
                number(probe.count as f64),
            ]);
        }
        out += &format!("\n{}", indented(&table.to_text(style)));
        if result.probes.len() > PROBES_SHOWN {
            out += &format!("  and {} more pairs in the result\n", result.probes.len() - PROBES_SHOWN);
        }
    }
    out
}

/// A load, and the terminal that has it.
fn at_terminal(load: f64, terminal: u32) -> String {
    format!("{} at {terminal}", short(load))
}

/// Every line two columns to the right.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Pairs of probes in the summary.
const PROBES_SHOWN: usize = 20;

/// Four decimals at most.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
