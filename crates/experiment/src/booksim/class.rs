//! Classes of traffic: rates, sizes, patterns, priorities, thresholds.

use stratasim_net::flit::booksim::knuth::{Chance, Knuth};

use super::config::Config;
use super::text::{TextError, call, entries};
use super::traffic::{Pattern, Process};

/// Messages of a class that uses requests and replies; their numbers are those of the ranges of virtual
/// channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// A packet that asks for nothing.
    Any,
    /// Asks for data,
    ReadRequest,
    /// brings them,
    WriteRequest,
    /// and what comes back
    ReadReply,
    /// for either.
    WriteReply,
}

impl Message {
    /// The message of a number.
    pub fn of(number: u32) -> Self {
        match number {
            1 => Self::ReadRequest,
            2 => Self::WriteRequest,
            3 => Self::ReadReply,
            4 => Self::WriteReply,
            _ => Self::Any,
        }
    }
}

/// Requests and replies of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadWrite {
    /// Chance that a request writes; in batches it is a half.
    pub write: f64,
    /// Flits by [`Message`].
    pub flits: [u16; 5],
}

/// The priority that packets bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// The same for all.
    Same(i32),
    /// Higher for those that their node made earlier.
    Sequence,
}

/// A class of traffic.
#[derive(Debug, Clone)]
pub struct Class {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// When.
    pub process: Process,
    /// Flits, and the weights up to and including this one.
    pub sizes: Vec<(u16, u32)>,
    /// Priority of its packets.
    pub priority: Priority,
    /// Whether it counts.
    pub measured: bool,
    /// Requests and replies.
    pub read_write: Option<ReadWrite>,
    /// Mean latency at which a simulation is given up; negative: never.
    pub latency_threshold: f64,
    /// Largest relative change of latency, and of accepted load, that ends the warm-up.
    pub warm_up_thresholds: (f64, f64),
    /// The same for a period that counts as converged.
    pub stopping_thresholds: (f64, f64),
}

/// Most classes.
pub const MOST_CLASSES: i64 = 32;

/// What classes need to know of the network.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Terminals.
    pub nodes: u32,
    /// Extent of a dimension, or arity.
    pub k: u32,
    /// Dimensions, or levels.
    pub n: u32,
}

/// Reads all classes. Patterns and processes draw their random parts from the simulator's default stream,
/// for they are made before it is seeded.
///
/// # Errors
/// Values that make no traffic on this network.
pub fn read(config: &Config, extent: Extent) -> Result<Vec<Class>, TextError> {
    let count = config.integer("classes", 1, MOST_CLASSES)? as usize;
    let mut unseeded = Knuth::new(314_159);
    (0..count).map(|class| one(config, extent, class, &mut unseeded)).collect()
}

fn one(config: &Config, extent: Extent, class: usize, unseeded: &mut Knuth) -> Result<Class, TextError> {
    let integer = |name| config.integers(name).map(|list| Config::of_class(&list, class));
    let number = |name| config.numbers(name).map(|list| Config::of_class(&list, class));
    let read_write = read_write(config, class)?;
    let sizes = match read_write {
        Some(ReadWrite { flits, .. }) => {
            let all: u32 = flits.iter().map(|&flits| u32::from(flits)).sum();
            vec![((all / 2).max(1) as u16, 1)]
        }
        None => sizes(config, class)?,
    };
    let rate = number("injection_rate")?;
    let per_packet = if config.flag("injection_rate_uses_flits")? { rate / mean_size(&sizes) } else { rate };
    let batch = config.word("sim_type") == "batch";
    if !batch && !(0.0..=1.0).contains(&per_packet) {
        let reason = format!("{per_packet} packets per node and cycle; 0 to 1 are possible");
        return Err(config.refuse("injection_rate", reason));
    }
    Ok(Class {
        pattern: pattern(config, extent, class, unseeded)?,
        process: process(config, extent, class, per_packet, unseeded)?,
        sizes,
        priority: match config.word("priority") {
            "class" => Priority::Same(
                i32::try_from(integer("class_priority")?)
                    .map_err(|_| config.refuse("class_priority", "a priority has 32 bits"))?,
            ),
            "sequence" => Priority::Sequence,
            // what else decides is found out in the network
            _ => Priority::Same(0),
        },
        measured: integer("measure_stats")? != 0,
        read_write,
        latency_threshold: number("latency_thres")?,
        warm_up_thresholds: (number("warmup_thres")?, number("acc_warmup_thres")?),
        stopping_thresholds: (number("stopping_thres")?, number("acc_stopping_thres")?),
    })
}

fn read_write(config: &Config, class: usize) -> Result<Option<ReadWrite>, TextError> {
    if Config::of_class(&config.integers("use_read_write")?, class) == 0 {
        return Ok(None);
    }
    let write = Config::of_class(&config.numbers("write_fraction")?, class);
    let mut flits = [0; 5];
    let names = ["read_request_size", "write_request_size", "read_reply_size", "write_reply_size"];
    for (slot, name) in flits[1..].iter_mut().zip(names) {
        *slot = size(config, name, Config::of_class(&config.integers(name)?, class))?;
    }
    Ok(Some(ReadWrite { write, flits }))
}

/// Flits of a packet: 1 to 16,384.
fn size(config: &Config, name: &str, flits: i64) -> Result<u16, TextError> {
    match flits {
        1..=16_384 => Ok(flits as u16),
        _ => Err(config.refuse(name, format!("found {flits}, expected 1 to 16,384 flits"))),
    }
}

fn sizes(config: &Config, class: usize) -> Result<Vec<(u16, u32)>, TextError> {
    let list = |name: &'static str| -> Result<Vec<i64>, TextError> {
        let of_class = Config::of_class(&config.words(name)?, class);
        let words = entries(&of_class).map_err(|reason| config.refuse(name, reason))?;
        let number = |word: &&str| {
            word.parse().map_err(|_| config.refuse(name, format!("found `{word}`, expected a whole number")))
        };
        words.iter().map(number).collect()
    };
    let (flits, mut weights) = (list("packet_size")?, list("packet_size_rate")?);
    let last = weights[weights.len() - 1];
    weights.resize(flits.len().max(weights.len()), last);
    let mut sum = 0u32;
    let mut sizes = Vec::new();
    for (&flits, &weight) in flits.iter().zip(&weights) {
        let total = u32::try_from(weight).ok().and_then(|weight| sum.checked_add(weight));
        sum = total.filter(|&sum| sum < 1 << 30).ok_or_else(|| {
            config.refuse("packet_size_rate", format!("a weight of {weight}; their sum is 0 to 2^30"))
        })?;
        sizes.push((size(config, "packet_size", flits)?, sum));
    }
    if sum == 0 {
        return Err(config.refuse("packet_size_rate", "all weights are 0"));
    }
    Ok(sizes)
}

/// Mean flits of a packet, of sizes with cumulated weights.
pub(super) fn mean_size(sizes: &[(u16, u32)]) -> f64 {
    let (mut sum, mut before) = (0u64, 0);
    for &(flits, upto) in sizes {
        sum += u64::from(flits) * u64::from(upto - before);
        before = upto;
    }
    if let [(flits, _)] = sizes { f64::from(*flits) } else { sum as f64 / f64::from(before) }
}

fn process(
    config: &Config,
    extent: Extent,
    class: usize,
    rate: f64,
    unseeded: &mut Knuth,
) -> Result<Process, TextError> {
    const NAME: &str = "injection_process";
    let refuse = |reason: String| config.refuse(NAME, reason);
    let text = Config::of_class(&config.words(NAME)?, class);
    let (name, arguments) = call(&text).map_err(refuse)?;
    match name {
        "bernoulli" if arguments.is_empty() => Ok(Process::Bernoulli(Chance::new(rate))),
        "on_off" => {
            let value = |index: usize, option: &'static str| match arguments.get(index) {
                Some(word) => {
                    word.parse::<f64>().map_err(|_| refuse(format!("found `{word}`, expected a number")))
                }
                None => Ok(Config::of_class(&config.numbers(option)?, class)),
            };
            let (alpha, beta, packet) =
                (value(0, "burst_alpha")?, value(1, "burst_beta")?, value(2, "burst_r1")?);
            // exactly one follows from the load
            let (alpha, beta, packet) = match (alpha < 0.0, beta < 0.0, packet < 0.0) {
                (true, false, false) => (beta * rate / (packet - rate), beta, packet),
                (false, true, false) => (alpha, alpha * (packet - rate) / rate, packet),
                (false, false, true) => (alpha, beta, rate * (alpha + beta) / alpha),
                _ => {
                    let reason = format!(
                        "alpha {alpha}, beta {beta}, r1 {packet}; the load gives one of them, which is negative"
                    );
                    return Err(refuse(reason));
                }
            };
            let initial: Vec<bool> = (0..extent.nodes).map(|_| unseeded.integer_below(2) == 1).collect();
            Ok(Process::OnOff {
                alpha: Chance::new(alpha),
                beta: Chance::new(beta),
                packet: Chance::new(packet),
                on: initial.clone(),
                initial,
            })
        }
        _ => Err(refuse(format!("found `{text}`; expected `bernoulli` or `on_off({{alpha,beta,r1}})`"))),
    }
}

const PATTERNS: &str = "uniform, background, bitcomp, transpose, bitrev, shuffle, tornado, neighbor, randperm, \
                        diagonal, asymmetric, taper64, bad_dragon, badperm_yarc and hotspot";

fn pattern(
    config: &Config,
    extent: Extent,
    class: usize,
    unseeded: &mut Knuth,
) -> Result<Pattern, TextError> {
    const NAME: &str = "traffic";
    let refuse = |reason: String| config.refuse(NAME, reason);
    let text = Config::of_class(&config.words(NAME)?, class);
    let (name, arguments) = call(&text).map_err(refuse)?;
    let Extent { nodes, k, n } = extent;
    let bits = nodes.trailing_zeros();
    let power_of_two = || {
        let reason = format!("{name} needs a power of two, the network has {nodes} nodes");
        if nodes.is_power_of_two() { Ok(()) } else { Err(refuse(reason)) }
    };
    let table = |dest: &dyn Fn(u32) -> u32| Pattern::Table((0..nodes).map(dest).collect());
    let numbers = |text: &str| -> Result<Vec<u32>, TextError> {
        let words = entries(text).map_err(refuse)?;
        let number = |word: &&str| match word.parse::<u32>() {
            Ok(value) if value < 1 << 30 => Ok(value),
            _ => Err(refuse(format!("found `{word}`, expected a whole number below 2^30"))),
        };
        words.iter().map(number).collect()
    };
    let nodes_of = |text: &str| -> Result<Vec<u32>, TextError> {
        let list = numbers(text)?;
        match list.iter().find(|&&node| node >= nodes) {
            Some(node) => Err(refuse(format!("node {node}; the network has nodes 0 to {}", nodes - 1))),
            None => Ok(list),
        }
    };
    let argument = |index: usize| -> Result<Option<u32>, TextError> {
        arguments.get(index).map(|text| numbers(text).map(|list| list[0])).transpose()
    };
    // extent of a digit, and number of digits: `name({k,n,xr})`, or the options of the same names
    let digits = || -> Result<(u32, u32), TextError> {
        let xr = match argument(2)? {
            Some(xr) => xr,
            None => config.integer("xr", 1, 1 << 10)? as u32,
        };
        let (k, n) = (argument(0)?.unwrap_or(k), argument(1)?.unwrap_or(n));
        match k.checked_mul(xr) {
            Some(extent) if extent > 0 && n <= 64 => Ok((extent, n)),
            _ => Err(refuse(format!("{n} digits of {k} times {xr} values; at most 64 of 2^32 are possible"))),
        }
    };
    let within = |pattern: Pattern| match &pattern {
        Pattern::Table(table) if table.iter().any(|&dest| dest >= nodes) => Err(refuse(format!(
            "{name} leads out of the network: its digits give other numbers than its {nodes} nodes have"
        ))),
        _ => Ok(pattern),
    };
    Ok(match name {
        "uniform" => Pattern::Uniform,
        "background" => {
            let mut excluded = match arguments.first() {
                Some(text) => nodes_of(text)?,
                None => return Err(refuse("expected `background({{nodes,...}})`".into())),
            };
            excluded.sort_unstable();
            excluded.dedup();
            if excluded.len() == nodes as usize {
                return Err(refuse("background excludes every node".into()));
            }
            Pattern::Background(excluded)
        }
        "bitcomp" => power_of_two().map(|()| table(&|source| !source & (nodes - 1)))?,
        "transpose" => {
            power_of_two()?;
            if !bits.is_multiple_of(2) {
                return Err(refuse(format!(
                    "transpose needs a power of four, the network has {nodes} nodes"
                )));
            }
            let (half, low) = (bits / 2, (1 << (bits / 2)) - 1);
            table(&|source| source >> half & low | (source & low) << half)
        }
        "bitrev" => power_of_two()
            .map(|()| table(&|source| source.reverse_bits().checked_shr(32 - bits).unwrap_or_default()))?,
        "shuffle" => power_of_two()
            .map(|()| table(&|source| source << 1 & (nodes - 1) | (source >> (bits.max(1) - 1)) & 1))?,
        "tornado" => {
            let (extent, n) = digits()?;
            within(Pattern::digits_moved(nodes, extent, n, extent.div_ceil(2) - 1))?
        }
        "neighbor" => {
            let (extent, n) = digits()?;
            within(Pattern::digits_moved(nodes, extent, n, 1))?
        }
        "randperm" => {
            let seed = match arguments.first() {
                Some(text) => numbers(text)?[0],
                None => config.integer("perm_seed", 0, i64::from(u32::MAX))? as u32,
            };
            Pattern::random_permutation(nodes, seed)
        }
        "diagonal" => Pattern::Diagonal,
        "asymmetric" if nodes > 1 => Pattern::Asymmetric,
        "taper64" if nodes == 64 => Pattern::Taper64,
        "taper64" => return Err(refuse(format!("taper64 needs 64 nodes, the network has {nodes}"))),
        "bad_dragon" => {
            let k = argument(0)?.unwrap_or(k);
            if !(1..=1 << 14).contains(&k) {
                return Err(refuse(format!("groups of 2 {k}^2 terminals; k is 1 to 16,384")));
            }
            Pattern::BadDragonfly { group: 2 * k * k }
        }
        "badperm_yarc" => match digits()? {
            (row, _) if u64::from(row).pow(2) == u64::from(nodes) => Pattern::BadPermutationYarc { row },
            (row, _) => {
                return Err(refuse(format!(
                    "badperm_yarc needs {row} rows of {row}, the network has {nodes} nodes"
                )));
            }
        },
        "hotspot" => {
            let spots = match arguments.first() {
                None => vec![unseeded.integer_below(nodes)],
                Some(text) => {
                    let spot = |word: &str| match word {
                        // drawn
                        "-1" => Ok(vec![unseeded.integer_below(nodes)]),
                        word => nodes_of(word),
                    };
                    let words = entries(text).map_err(refuse)?;
                    words.into_iter().map(spot).collect::<Result<Vec<_>, _>>()?.concat()
                }
            };
            let mut weights = match arguments.get(1) {
                None => vec![1],
                Some(text) => numbers(text)?,
            };
            let last = weights[weights.len() - 1];
            weights.resize(spots.len().max(weights.len()), last);
            let weights: Vec<(u32, u32)> = spots.into_iter().zip(weights).collect();
            let total: u64 = weights.iter().map(|&(_, weight)| u64::from(weight)).sum();
            if !(1..1 << 30).contains(&total) {
                return Err(refuse(format!("weights sum to {total}; 1 to 2^30 are possible")));
            }
            Pattern::HotSpot { weights, total: total as u32 }
        }
        _ => return Err(refuse(format!("found `{text}`; patterns are {PATTERNS}"))),
    })
}
