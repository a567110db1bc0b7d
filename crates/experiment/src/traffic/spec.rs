//! The section `[traffic]`.

use std::fmt;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use stratasim_core::{Bandwidth, BuildError};
use stratasim_workload::injection::InjectionSpec;
use stratasim_workload::pattern::PatternSpec;

/// Open-loop traffic on a network at flit level: every terminal makes packets at its rate, whatever the network
/// does with them. Each NIC of a compute or a memory node is a terminal: first the compute nodes in their order by their first
/// NIC, then those that have a second one by that, and so on, then the memory nodes. A random destination that no way leads
/// to is drawn again, and one that is asked for is refused.
///
/// ```toml
/// [traffic]
/// load = 0.3
/// flits = 16
/// pattern = { kind = "uniform-random" }
/// injection = { kind = "poisson" }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TrafficSpec {
    /// Load of every terminal: flits per cycle, 0 to 1, or a rate such as "40 Gbps" (with the clock and the
    /// flits of the network the two say the same). With "saturation" the run looks for the largest load that the network
    /// carries, by halving, and its result is that of this load.
    pub load: Load,
    /// With `load = "saturation"`: how near to it, in flits per cycle and terminal; 0.01 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation_precision: Option<f64>,
    /// Who sends to whom.
    pub pattern: PatternSpec,
    /// When packets come into being.
    pub injection: InjectionSpec,
    /// Flits of a packet: a number, or a list of lengths with weights.
    pub flits: Lengths,
    /// Whether a pattern that has it so sends packets to their own terminal; otherwise such a destination is drawn again, and
    /// a terminal that has no other one is silent.
    pub to_self: bool,
    /// Classes of packets, in place of one that is like the above. What a class does not say is as above.
    #[serde(rename = "class", skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassSpec>,
    /// Single packets now and then between chosen pairs, whose latencies are reported by pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbeSpec>,
    /// A number of packets per terminal in place of a load; the result is how long it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchSpec>,
    /// Warm-up, sample and drain.
    pub measure: MeasureSpec,
    /// Which of the two implementations of routers runs; results are the same.
    pub kernel: KernelChoice,
}

/// An implementation of routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelChoice {
    /// The fast one where it knows the routers, else the full one.
    #[default]
    Auto,
    /// The fast one: input-queued routers with stages of one cycle, iSLIP and private buffers.
    Fast,
    /// The full one: every option of routers.
    Full,
}

impl Default for TrafficSpec {
    fn default() -> Self {
        Self {
            load: Load::FlitsPerCycle(0.1),
            saturation_precision: None,
            pattern: PatternSpec::default(),
            injection: InjectionSpec::default(),
            flits: Lengths::default(),
            to_self: false,
            classes: Vec::new(),
            probes: None,
            batch: None,
            measure: MeasureSpec::default(),
            kernel: KernelChoice::default(),
        }
    }
}

/// A load per terminal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected flits per cycle and terminal, such as 0.3, a rate, such as \"40 Gbps\", or \"saturation\""
)]
pub enum Load {
    /// Flits per cycle.
    FlitsPerCycle(f64),
    /// Bits per second.
    Rate(Bandwidth),
    /// One that the run looks for.
    Searched(Searched),
}

/// A load per terminal that a class has of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected flits per cycle and terminal, such as 0.3, or a rate, such as \"40 Gbps\"; `\"saturation\"` is looked for \
                 with all classes together, as `traffic.load`"
)]
pub enum ClassLoad {
    /// Flits per cycle.
    FlitsPerCycle(f64),
    /// Bits per second.
    Rate(Bandwidth),
}

impl From<ClassLoad> for Load {
    fn from(load: ClassLoad) -> Self {
        match load {
            ClassLoad::FlitsPerCycle(load) => Self::FlitsPerCycle(load),
            ClassLoad::Rate(rate) => Self::Rate(rate),
        }
    }
}

/// A load that a run looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Searched {
    /// The largest one that the network carries.
    Saturation,
}

impl Load {
    /// In flits per cycle. `flit_rate` is the rate of one flit per cycle; `None` of what has no clock.
    ///
    /// # Errors
    /// A load that is no load, or above one flit per cycle: no terminal can inject that. A rate where there is no clock.
    pub fn flits_per_cycle(&self, flit_rate: Option<Bandwidth>) -> Result<f64, BuildError> {
        let refuse = |reason: String| Err(BuildError::new("load", reason));
        let (load, written) = match (self, flit_rate) {
            (Self::FlitsPerCycle(load), _) => (*load, load.to_string()),
            (Self::Rate(rate), Some(most)) => (rate.bytes_per_s() / most.bytes_per_s(), rate.to_string()),
            (Self::Searched(_), _) => {
                return refuse("the search for `saturation` has not begun".to_owned());
            }
            (Self::Rate(rate), None) => {
                return refuse(format!(
                    "{rate} is a rate, and what runs has no clock: flits per cycle are expected, such as 0.3"
                ));
            }
        };
        if (0.0..=1.0).contains(&load) {
            return Ok(load);
        }
        let most = flit_rate.map_or_else(String::new, |most| format!(", which is {most} here"));
        refuse(format!("{written} is expected to lie between 0 and 1 flit per cycle{most}"))
    }
}

/// Lengths of packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Lengths {
    /// All of one length, in flits.
    Fixed(u16),
    /// Drawn for each packet.
    Weighted(Vec<Length>),
}

/// By hand, so that what is wrong in a list is named.
impl<'de> Deserialize<'de> for Lengths {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Lengths;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(
                    "a number of flits from 1 to 65,535, or a list such as [{ flits = 1, weight = 3 }]",
                )
            }

            fn visit_u64<E: de::Error>(self, flits: u64) -> Result<Lengths, E> {
                let unknown = || E::invalid_value(de::Unexpected::Unsigned(flits), &self);
                u16::try_from(flits).map(Lengths::Fixed).map_err(|_| unknown())
            }

            fn visit_i64<E: de::Error>(self, flits: i64) -> Result<Lengths, E> {
                let unknown = || E::invalid_value(de::Unexpected::Signed(flits), &self);
                u16::try_from(flits).map(Lengths::Fixed).map_err(|_| unknown())
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Lengths, A::Error> {
                Deserialize::deserialize(de::value::SeqAccessDeserializer::new(list)).map(Lengths::Weighted)
            }
        }

        reader.deserialize_any(Either)
    }
}

impl Default for Lengths {
    fn default() -> Self {
        Self::Fixed(1)
    }
}

/// A length of packets and how often it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Length {
    /// Flits.
    pub flits: u16,
    /// Packets of this length for each of weight 1.
    pub weight: u32,
}

/// One class of packets. What it does not say is as in `[traffic]`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ClassSpec {
    /// Name in results; `class-0`, `class-1`, ... when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its own load, whatever `traffic.load` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<ClassLoad>,
    /// Its part of `traffic.load`, against the parts of the other classes without a load of their own; 1 when
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Who sends to whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<PatternSpec>,
    /// When packets come into being.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection: Option<InjectionSpec>,
    /// Flits of a packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flits: Option<Lengths>,
    /// Whether a terminal may send to itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_self: Option<bool>,
    /// Higher goes first: at the source, and in allocators that heed it. Classes of different priorities wait in
    /// queues of their own.
    pub priority: i32,
    /// The range of virtual channels that its packets use: a position in `network.router.ranges`.
    pub range: u8,
    /// Its packets are requests: each is answered when it has arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<ReplySpec>,
}

/// The answer to a request. Replies go before all other packets of a terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReplySpec {
    /// Flits of a reply.
    #[serde(default)]
    pub flits: Lengths,
    /// The range of virtual channels that replies use, other ones than requests, so that the two cannot block
    /// each other: a position in `network.router.ranges`.
    #[serde(default)]
    pub range: u8,
}

/// Probes: a packet now and then between two terminals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ProbeSpec {
    /// Sender and receiver of each pair. Absent: every terminal probes all others in turn, and `run --csv` writes each probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Vec<[u32; 2]>>,
    /// Cycles between two probes of a terminal.
    pub interval: u32,
    /// Flits of a probe. The load that probes add, `flits / interval`, is at most 1 %.
    pub flits: u16,
}

impl Default for ProbeSpec {
    fn default() -> Self {
        Self { pairs: None, interval: 1000, flits: 1 }
    }
}

/// A number of packets per terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BatchSpec {
    /// Packets that every terminal sends; those that its pattern leaves out count.
    pub packets: u32,
    /// Packets of a terminal that may be under way at once (until they have arrived, requests until they are
    /// answered); no limit when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<u32>,
}

/// How long to warm up, to measure and to wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MeasureSpec {
    /// Cycles of a window: the warm-up is judged by windows, and each window of the sample is a batch of the
    /// confidence intervals.
    pub window: u64,
    /// Cycles of warm-up, rounded up to windows. Absent: until the network has settled, which is when leaving
    /// out less than half of the windows so far makes the standard error of the latency least (White 1997,
    /// MSER), after 4 windows at the earliest, and not while more enters the network than arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<u64>,
    /// Windows of warm-up at most; as many as the longest way takes four times where those are more and the network still fills.
    pub most_warm_up_windows: u32,
    /// Windows to measure at least.
    pub windows: u32,
    /// Windows to measure at most, while the confidence interval of the packet latency is wider than `precision`.
    pub most_windows: u32,
    /// Half of the 95 % confidence interval that is good enough, as a part of the mean.
    pub precision: f64,
    /// Cycles to wait for the packets of the sample at most; when absent, ten times the sample, and at least as many as the longest
    /// way takes four times. When some have not arrived then, the network counts as saturated; with 0 nobody waits, and nothing is said of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<u64>,
    /// Keep going when the sample shows saturation, until all of its packets have arrived.
    pub drain_when_saturated: bool,
}

impl Default for MeasureSpec {
    fn default() -> Self {
        Self {
            window: 1000,
            warm_up: None,
            most_warm_up_windows: 20,
            windows: 10,
            most_windows: 30,
            precision: 0.02,
            drain: None,
            drain_when_saturated: false,
        }
    }
}

/// How near to the saturation load a search comes when nothing is said, in flits per cycle and terminal.
const USUAL_PRECISION: f64 = 0.01;

/// What a search can be asked for.
pub const PRECISIONS: RangeInclusive<f64> = 1e-6..=0.5;

impl TrafficSpec {
    /// How near to the saturation load the run has to come, where it looks for that.
    pub fn searched(&self) -> Option<f64> {
        let is_searched = matches!(self.load, Load::Searched(Searched::Saturation));
        is_searched.then(|| self.saturation_precision.unwrap_or(USUAL_PRECISION))
    }

    /// Refuses a search that finds nothing.
    pub(super) fn check_search(&self) -> Result<(), BuildError> {
        let refuse = |field: &str, reason: String| Err(BuildError::new(field, reason));
        match (self.searched(), self.saturation_precision) {
            (None, Some(_)) => {
                refuse("saturation-precision", "only `load = \"saturation\"` looks for that load".to_owned())
            }
            (Some(precision), _) if !PRECISIONS.contains(&precision) => {
                let (least, most) = (PRECISIONS.start(), PRECISIONS.end());
                refuse(
                    "saturation-precision",
                    format!("{precision}; {least} to {most} flits per cycle are possible"),
                )
            }
            (Some(_), _) if self.batch.is_some() => refuse("load", "a batch has no load".to_owned()),
            (Some(_), _) => self.check_common_load(),
            (None, None) => Ok(()),
        }
    }

    /// Refuses classes that no other load changes.
    pub(super) fn check_common_load(&self) -> Result<(), BuildError> {
        if self.classes.is_empty() || self.classes.iter().any(|class| class.load.is_none()) {
            return Ok(());
        }
        let reason = "every class has a `load` of its own, so that no other load changes anything: give some a `share` \
                      of the load instead";
        Err(BuildError::new("class", reason))
    }
}

impl MeasureSpec {
    /// Refuses what measures nothing.
    pub(super) fn check(&self) -> Result<(), BuildError> {
        let refuse = |field: &str, reason: &str| Err(BuildError::new(field, reason));
        if !(10..=1 << 40).contains(&self.window) {
            return refuse("window", "a window of 10 to 2^40 cycles is expected");
        }
        if self.warm_up.is_some_and(|cycles| cycles > 1 << 50)
            || self.drain.is_some_and(|cycles| cycles > 1 << 50)
        {
            return refuse("", "no run lasts that many cycles");
        }
        if self.windows < 2 || self.windows > 100_000 {
            return refuse(
                "windows",
                "2 to 100,000 windows are expected: of fewer there is no confidence interval",
            );
        }
        if self.most_windows > 100_000 {
            return refuse("most-windows", "at most 100,000 windows are expected");
        }
        if self.most_windows < self.windows {
            let reason = format!("{}, above `most-windows`, {}", self.windows, self.most_windows);
            return refuse("windows", &reason);
        }
        if !(0.0..=1.0).contains(&self.precision) {
            return refuse("precision", "a part between 0 and 1 is expected");
        }
        Ok(())
    }
}
