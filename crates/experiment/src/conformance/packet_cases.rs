//! The form of `ref/packet`: a case and its fat tree.

use std::path::PathBuf;

use serde::Deserialize;
use stratasim_core::Bandwidth;
use stratasim_topo::TopologySpec;

use super::packet_options::number;

/// A file of `ref/packet`.
#[derive(Deserialize, Clone)]
pub(super) struct File {
    /// Name of the case.
    pub(super) id: String,
    /// Name of the transport.
    pub(super) protocol: String,
    /// What the case is, with the schedule that it runs where it runs one.
    #[serde(default, rename = "protocol_description")]
    pub(super) description: String,
    /// Where the file lies.
    #[serde(skip)]
    pub(super) folder: PathBuf,
    /// The machine.
    pub(super) topology: Machine,
    /// Its runs.
    pub(super) runs: Vec<Run>,
}

/// The machine of a case.
#[derive(Deserialize, Clone)]
pub(super) struct Machine {
    kind: String,
    #[serde(default, rename = "K")]
    ports: Option<u32>,
    #[serde(default)]
    link_gbps: Option<f64>,
    #[serde(default)]
    hop_latency_us: Option<f64>,
    #[serde(default)]
    switch_latency_us: f64,
    /// Of a full tree: 1.
    #[serde(default)]
    oversub: Option<f64>,
    /// A topology file of htsim.
    #[serde(default)]
    text: Option<String>,
}

/// A run of the reference simulator.
#[derive(Deserialize, Clone)]
pub(super) struct Run {
    /// Its seed.
    #[serde(default)]
    pub(super) seed: u64,
    /// Which of several draws of ours is compared with it.
    #[serde(skip)]
    pub(super) draw: u64,
    /// Its arguments.
    #[serde(default)]
    pub(super) args: String,
    /// Counts of the whole run.
    #[serde(default)]
    pub(super) counters: Counters,
    /// CPU seconds of the process.
    #[serde(default)]
    pub(super) cpu_user_s: f64,
    /// Number, source, destination, bytes, start and finish in microseconds; no finish where there was none.
    pub(super) flows: Vec<[Option<f64>; 6]>,
}

/// Counts of a run.
#[derive(Deserialize, Default, Clone, Copy)]
pub(super) struct Counters {
    /// Data packets that left a port.
    #[serde(default)]
    pub(super) svc_data: u64,
    /// Packets without room.
    #[serde(default)]
    pub(super) drops: u64,
    /// Packets that lost their payload.
    #[serde(default)]
    pub(super) trims: u64,
}

impl File {
    /// The case with every run so many times, each with draws of its own.
    pub(super) fn drawn(&self, draws: u64) -> Self {
        let of_run = |run: &Run| (0..draws).map(|draw| Run { draw, ..run.clone() }).collect::<Vec<_>>();
        Self { runs: self.runs.iter().flat_map(of_run).collect(), ..self.clone() }
    }
}

/// A flow of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    /// Number of the sending host.
    pub(super) src: usize,
    /// Number of the receiving host.
    pub(super) dst: usize,
    /// Payload.
    pub(super) bytes: u64,
    /// When it starts, picoseconds.
    pub(super) start_ps: u64,
    /// When the reference ended it, microseconds.
    pub(super) finish_us: Option<f64>,
}

impl Run {
    /// The flows, in order of their start.
    ///
    /// # Errors
    /// Values that are missing, or out of range for `hosts` hosts.
    pub(super) fn flows(&self, hosts: usize) -> Result<Vec<Flow>, String> {
        let flow = |(row, columns): (usize, &[Option<f64>; 6])| {
            let [_, Some(src), Some(dst), Some(bytes), Some(start_us), finish_us] = *columns else {
                return Err(format!("flow {row}: source, destination, bytes and start are needed"));
            };
            let host = |number: f64| {
                let fits = number >= 0.0 && number < hosts as f64;
                if fits {
                    Ok(number as usize)
                } else {
                    Err(format!("flow {row}: no host {number} of {hosts}"))
                }
            };
            if !(0.0..1e9).contains(&start_us) || !(0.0..1e15).contains(&bytes) {
                return Err(format!("flow {row}: {bytes} bytes at {start_us} us are out of range"));
            }
            let start_ps = (start_us * 1e6).round() as u64;
            Ok(Flow { src: host(src)?, dst: host(dst)?, bytes: bytes as u64, start_ps, finish_us })
        };
        let mut flows: Vec<Flow> = self.flows.iter().enumerate().map(flow).collect::<Result<_, _>>()?;
        flows.sort_by_key(|flow| flow.start_ps);
        Ok(flows)
    }
}

impl Machine {
    /// The machine as a topology; where a cable between the first switch of level 2 and its first parent has `failed`, what it
    /// carries downwards has a quarter of its rate. htsim's trees of three levels leave the way up as it is.
    ///
    /// # Errors
    /// What is missing or not known.
    pub(super) fn topology(&self, args: &str) -> Result<TopologySpec, String> {
        if self.switch_latency_us != 0.0 {
            return Err(format!(
                "`switch_latency_us` {}; switches without delay are expected",
                self.switch_latency_us
            ));
        }
        if let (Some(asked), Some(links)) = (number(args, "-linkspeed")?, self.gbps())
            && asked as f64 != 1e3 * links
        {
            return Err(format!("`-linkspeed {asked}`, and links of {links} Gb/s"));
        }
        if let (Some(oversub), "fat_tree_3tier_full") = (self.oversub, self.kind.as_str())
            && oversub != 1.0
        {
            return Err(format!("`oversub` {oversub} of a full tree; 1 is expected"));
        }
        let tree = match self.kind.as_str() {
            "fat_tree_3tier_full" => {
                let missing = |what: &str| format!("the topology has no `{what}`");
                serde_json::json!({
                    "kind": "fat-tree",
                    "k": self.ports.ok_or_else(|| missing("K"))?,
                    "bandwidth": text_of(bandwidth(self.link_gbps.ok_or_else(|| missing("link_gbps"))?)),
                    "latency": format!("{} us", self.hop_latency_us.ok_or_else(|| missing("hop_latency_us"))?),
                })
            }
            "topo_file" => of_text(self.text.as_deref().ok_or("the topology has no `text`")?)?,
            other => return Err(format!("topology `{other}` is not known")),
        };
        let spec = match number(args, "-failed")?.unwrap_or(0) {
            0 => tree,
            1 => serde_json::json!({
                "kind": "degraded", "factor": 0.25, "of": tree,
                "links": [if self.has_two_tiers() { "spine-0->leaf-0" } else { "core-0->aggregation-0" }],
            }),
            other => return Err(format!("`-failed {other}`; 0 and 1 are known")),
        };
        serde_json::from_value(spec).map_err(|error| error.to_string())
    }

    /// How many times less the links above the hosts carry than those of the hosts.
    pub(super) fn oversubscription(&self) -> f64 {
        let of_tier = |line: &str| line.trim().strip_prefix("Oversubscribed")?.trim().parse::<f64>().ok();
        let product: f64 = self.text.iter().flat_map(|text| text.lines()).filter_map(of_tier).product();
        product.clamp(1.0, 1e6)
    }

    /// Rate of the hosts' links.
    pub(super) fn rate(&self) -> Bandwidth {
        bandwidth(self.gbps().unwrap_or(100.0))
    }

    fn gbps(&self) -> Option<f64> {
        self.link_gbps.or_else(|| setting(self.text.as_deref()?, "Downlink_speed_Gbps"))
    }

    fn has_two_tiers(&self) -> bool {
        self.text.as_deref().is_some_and(|text| text.split("\nTier ").count() == 3)
    }
}

/// A rate as htsim has it, whose bytes take whole picoseconds.
fn bandwidth(gbps: f64) -> Bandwidth {
    Bandwidth(1e12 / (8e3 / gbps).floor().max(1.0))
}

/// A rate to its last digit.
fn text_of(rate: Bandwidth) -> String {
    format!("{} B/s", rate.bytes_per_s())
}

/// The first value of a key in a topology file.
fn setting(text: &str, key: &str) -> Option<f64> {
    text.lines().find_map(|line| line.trim().strip_prefix(key)?.trim().parse().ok())
}

/// A topology file of htsim, as an extended generalised fat tree.
fn of_text(text: &str) -> Result<serde_json::Value, String> {
    let tiers: Vec<&str> = text.split("\nTier ").skip(1).collect();
    let get = |tier: usize, key: &str| {
        setting(tiers[tier], key).ok_or_else(|| format!("tier {tier} of the topology has no `{key}`"))
    };
    if !(2..=3).contains(&tiers.len()) {
        return Err(format!("a topology of {} tiers; 2 and 3 are known", tiers.len()));
    }
    let (mut down, mut up, mut rates, mut delays) = (Vec::new(), vec![1], Vec::new(), Vec::new());
    for tier in 0..tiers.len() {
        down.push(get(tier, "Radix_Down")? as u32);
        if tier + 1 < tiers.len() {
            up.push(get(tier, "Radix_Up")? as u32);
        }
        rates.push(text_of(bandwidth(get(tier, "Downlink_speed_Gbps")?)));
        delays.push(format!("{} ns", get(tier, "Downlink_Latency_ns")?));
        if setting(tiers[tier], "Switch_Latency_ns").unwrap_or(0.0) != 0.0 {
            return Err(format!("tier {tier} of the topology has a switch latency, which is not modelled"));
        }
        if setting(tiers[tier], "Bundle").unwrap_or(1.0) != 1.0 {
            return Err(format!("tier {tier} of the topology has bundles of cables, which are not modelled"));
        }
        if let Some(key) = ["Queue_Up", "Queue_Down"].iter().find(|key| setting(tiers[tier], key).is_some()) {
            return Err(format!(
                "tier {tier} of the topology has `{key}`; queues are expected among the arguments"
            ));
        }
        if let (Some(said), Some(next)) = (setting(tiers[tier], "Oversubscribed"), tiers.get(tier + 1)) {
            let above = setting(next, "Downlink_speed_Gbps").unwrap_or(f64::NAN) * get(tier, "Radix_Up")?;
            let is = get(tier, "Radix_Down")? * get(tier, "Downlink_speed_Gbps")? / above;
            if (said - is).abs() > 1e-9 {
                return Err(format!(
                    "tier {tier} of the topology says `Oversubscribed {said}`, and is {is} times"
                ));
            }
        }
    }
    Ok(serde_json::json!({
        "kind": "fat-tree", "down": down, "up": up, "bandwidth": rates[0], "latency": delays[0],
        "level-bandwidth": rates, "level-latency": delays,
    }))
}
