//! The form of `ref/packet`: a case, its fat tree and what htsim's arguments say of queues.

use std::path::PathBuf;

use serde::Deserialize;
use stratasim_core::{Bandwidth, Bytes};
use stratasim_net::packet::{
    BalancingSpec, Completion, DropTail, Ecn, LeastQueue, Lossless, Packet, QueueSpec, RoundRobin, Trimming,
};
use stratasim_topo::TopologySpec;
use stratasim_transport::{CongestionSpec, TransportSpec, presets};

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

/// The value behind an option in htsim's arguments; the last one counts.
fn argument<'a>(args: &'a str, option: &str) -> Option<&'a str> {
    let words = args.split_whitespace();
    words.clone().zip(words.skip(1)).filter(|(word, _)| *word == option).last().map(|(_, value)| value)
}

fn number(args: &str, option: &str) -> Option<u64> {
    argument(args, option)?.parse().ok()
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
        if let (Some(asked), Some(links)) = (number(args, "-linkspeed"), self.link_gbps)
            && asked as f64 != 1e3 * links
        {
            return Err(format!("`-linkspeed {asked}`, and links of {links} Gb/s"));
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
        let spec = match number(args, "-failed").unwrap_or(0) {
            0 => tree,
            1 => serde_json::json!({
                "kind": "degraded", "factor": 0.25, "of": tree,
                "links": ["core-0->aggregation-0"],
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
        let of_text = || setting(self.text.as_deref()?, "Downlink_speed_Gbps");
        bandwidth(self.link_gbps.or_else(of_text).unwrap_or(100.0))
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
    }
    Ok(serde_json::json!({
        "kind": "fat-tree", "down": down, "up": up, "bandwidth": rates[0], "latency": delays[0],
        "level-bandwidth": rates, "level-latency": delays,
    }))
}

/// Options that say nothing of the network, or that [`Machine`], [`network`] or the name of the transport take up.
const KNOWN: [&str; 27] = [
    "-tm",
    "-nodes",
    "-end",
    "-seed",
    "-strat",
    "-paths",
    "-cwnd",
    "-q",
    "-mtu",
    "-linkspeed",
    "-sender_cc_only",
    "-receiver_cc_only",
    "-sender_cc_algo",
    "-load_balancing_algo",
    "-disable_trim",
    "-sleek",
    "-topo",
    "-goal",
    "-lgs_flow_stats",
    "-algorithm",
    "-failed",
    "-flowsize",
    "-pfc_thresholds",
    "-dcqcn",
    "-max_queue_size",
    "-log",
    "-o",
];

/// Refuses arguments that would make another run of the case than what its transport is taken for.
fn check(protocol: &str, args: &str) -> Result<(), String> {
    let is_option = |word: &&str| word.starts_with('-') && word.len() > 1 && word.parse::<f64>().is_err();
    let mut options = args.split_whitespace().filter(is_option);
    if let Some(word) = options.find(|word| !KNOWN.contains(word)) {
        return Err(format!("htsim's option `{word}` is not known here"));
    }
    let expect = |option: &str, expected: &str| match argument(args, option) {
        Some(found) if found != expected => {
            Err(format!("`{option} {found}`; of `{protocol}` {expected} is expected"))
        }
        _ => Ok(()),
    };
    let Some(variant) = protocol.strip_prefix("uec_") else { return Ok(()) };
    if let Some(packets) = argument(args, "-q") {
        return Err(format!("`-q {packets}`; the queues of `{protocol}` follow from its links"));
    }
    expect("-paths", "64")?;
    let algorithms = [("dctcp", "dctcp"), ("const", "constant")];
    let algorithm = algorithms.into_iter().find(|(name, _)| variant.starts_with(name));
    expect("-sender_cc_algo", algorithm.map_or("nscc", |(_, word)| word))?;
    let balancing = ["bitmap", "oblivious", "reps"].into_iter().find(|name| variant.contains(name));
    expect("-load_balancing_algo", balancing.unwrap_or("mixed"))
}

/// What arguments say of packets and first windows, where a transport of that name has something else.
fn adapt(transport: &mut TransportSpec, protocol: &str, args: &str) -> Result<(), String> {
    if let Some(mtu) = number(args, "-mtu") {
        // these count their headers
        let headers = if protocol.starts_with("uec") || protocol == "eqds" { 64 } else { 0 };
        let payload = u32::try_from(mtu).ok().and_then(|mtu| mtu.checked_sub(headers)).filter(|&it| it > 0);
        transport.packets.payload_bytes = payload.ok_or_else(|| format!("`-mtu {mtu}` is out of range"))?;
    }
    if let Some(window) = number(args, "-cwnd").and_then(|window| u32::try_from(window).ok()) {
        let packet = transport.packets.wire_bytes();
        match &mut transport.congestion {
            CongestionSpec::Ndp(ndp) => ndp.initial_packets = Some(window),
            CongestionSpec::Eqds(eqds) => eqds.max_window = Some(Bytes(u64::from(window) * packet)),
            CongestionSpec::Swift(swift) => swift.initial_packets = f64::from(window),
            _ => {}
        }
    }
    Ok(())
}

/// The network that htsim's arguments describe.
///
/// # Errors
/// Transports that are not known.
pub(super) fn network(protocol: &str, args: &str, machine: &Machine) -> Result<Packet, String> {
    let mut transport = presets::htsim(protocol, machine.rate())
        .ok_or_else(|| format!("no transport is called `{protocol}`"))?;
    check(protocol, args)?;
    adapt(&mut transport, protocol, args)?;
    // where credit alone limits senders, its receivers look at how much the tree can carry
    if let CongestionSpec::Rccc(rccc) = &mut transport.congestion
        && rccc.sender.is_none()
    {
        rccc.oversubscription = machine.oversubscription();
    }
    let mut network = Packet { completion: Some(Completion::Sender), ..Packet::from(transport) };
    match argument(args, "-strat") {
        Some("ecmp_rr") => network.balancing = BalancingSpec::RoundRobin(RoundRobin {}),
        // it compares queues in bands, the narrowest of which is a twentieth of the usual buffer
        Some("ecmp_ar") => {
            network.balancing = BalancingSpec::LeastQueue(LeastQueue { step: Bytes(8922) });
        }
        _ => {}
    }
    let mtu = number(args, "-mtu").unwrap_or(4096);
    let no_marks = Ecn { enabled: false, ..Ecn::default() };
    if protocol.starts_with("uec") {
        network.queue = Some(if args.contains("-disable_trim") {
            QueueSpec::DropTail(DropTail { control_first: true, spares_newcomers: true })
        } else {
            QueueSpec::Trimming(Trimming::default())
        });
        // where receivers give credit, the ports to them do not mark
        network.ecn.last_hop = !(protocol.contains("rccc") || protocol.contains("both"));
        return Ok(network);
    }
    if protocol.starts_with("atlahs") {
        let pulls = protocol.starts_with("atlahs_ndp");
        // only the sender with pulls reads `-q`; the other has what is in flight at 1 us per link
        let own = if pulls { number(args, "-q") } else { number(args, "-max_queue_size") };
        let buffer = own.unwrap_or(216_500);
        network.buffer = Some(Bytes(buffer));
        network.ecn =
            Ecn { min: Some(Bytes(buffer / 5)), max: Some(Bytes(buffer * 4 / 5)), ..Ecn::default() };
        let control_buffer = Some(Bytes(buffer * 20_000));
        network.queue = Some(QueueSpec::Trimming(Trimming { control_buffer, ..Trimming::default() }));
        return Ok(network);
    }
    network.ecn = no_marks;
    let thresholds = args.split("-pfc_thresholds ").nth(1).and_then(|rest| {
        let mut words = rest.split_whitespace().map(str::parse::<u64>);
        Some((words.next()?.ok()?, words.next()?.ok()?))
    });
    network.queue = Some(match (protocol, thresholds) {
        (_, Some((low, high))) => QueueSpec::Lossless(Lossless {
            pause_above: Some(Bytes(high * mtu)),
            resume_below: Some(Bytes(low * mtu)),
            control_first: false,
            headroom: None,
        }),
        ("swift", _) => QueueSpec::DropTail(DropTail { control_first: false, spares_newcomers: false }),
        _ => QueueSpec::Trimming(Trimming::default()),
    });
    // queues that drop nothing have rooms of their own
    if thresholds.is_none() {
        network.buffer = number(args, "-q").map(|packets| Bytes(packets * mtu));
    }
    if let Some(packets) = number(args, "-dcqcn") {
        let step = Some(Bytes(packets * mtu));
        network.ecn = Ecn { enabled: true, min: step, max: step, ..Ecn::default() };
    }
    Ok(network)
}
