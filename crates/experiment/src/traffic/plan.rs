//! What the sources of a run do: classes with everything filled in, and the lanes on which their packets come.

use stratasim_core::random::{Draws, Streams, Trials, key};
use stratasim_core::{Bandwidth, BuildError};
use stratasim_net::flit::dependency::forbids_priorities;
use stratasim_net::flit::router::RouterSpec;
use stratasim_net::flit::terminals::Offer;
use stratasim_workload::injection::periodic::scattered;
use stratasim_workload::injection::{Clock, Process};
use stratasim_workload::pattern::{Anywhere, Destinations, Layout};

use super::joined::Joined;
use super::spec::{BatchSpec, ClassSpec, Lengths, Load, ProbeSpec, TrafficSpec};

/// The class of probes.
const PROBES: &str = "probes";

/// What a packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Load.
    Load,
    /// The answer to a request.
    Reply,
    /// A measurement.
    Probe,
}

/// Where the packets of a class go.
#[derive(Debug)]
enum Goal {
    /// Where others came from, or to those that are probed.
    Known,
    /// To any terminal, which takes no call for each packet.
    Anywhere(Anywhere),
    /// Where a pattern says.
    Pattern(Box<dyn Destinations>),
}

impl Goal {
    fn of(pattern: Box<dyn Destinations>) -> Self {
        pattern.anywhere().map_or(Self::Pattern(pattern), Self::Anywhere)
    }

    /// What draws destinations, where they are drawn.
    fn pattern(&self) -> Option<&dyn Destinations> {
        match self {
            Self::Known => None,
            Self::Anywhere(anywhere) => Some(anywhere),
            Self::Pattern(pattern) => Some(&**pattern),
        }
    }
}

/// A class of packets.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) purpose: Purpose,
    /// Load that was asked for, flits per cycle and terminal; 0 of replies and probes.
    pub(super) load: f64,
    lengths: LengthTable,
    goal: Goal,
    to_self: bool,
    pub(super) priority: i32,
    pub(super) range: u8,
    /// The class of the answers.
    pub(super) reply: Option<u8>,
}

impl Class {
    /// Destination and flits of a packet of `source`.
    #[inline(always)]
    fn draw(&self, source: u32, packet_key: u64) -> Option<(u32, u16)> {
        let mut draws = Draws::new(packet_key);
        let flits = self.lengths.draw(&mut draws);
        let dest = match &self.goal {
            Goal::Anywhere(anywhere) => anywhere.destination(source, self.to_self, &mut draws)?,
            other => other.pattern()?.destination(source, self.to_self, &mut draws)?,
        };
        Some((dest, flits))
    }

    /// A packet of it, of class `number`, that came into being then.
    #[inline(always)]
    pub(super) fn offer(&self, number: u8, dest: u32, flits: u16, created: u64, waited: bool) -> Offer {
        let (range, priority, tag) = (self.range, self.priority, number.into());
        Offer { dest, flits, range, priority, created, waited, tag, measured: false }
    }

    /// Mean flits of a packet.
    pub(super) fn mean_flits(&self) -> f64 {
        self.lengths.mean
    }

    /// Flits of a packet.
    pub(super) fn draw_length(&self, packet_key: u64) -> u16 {
        self.lengths.draw(&mut Draws::new(packet_key))
    }
}

/// Lengths with cumulated weights.
#[derive(Debug)]
struct LengthTable {
    flits: Vec<u16>,
    limits: Vec<u32>,
    mean: f64,
    most: u16,
}

impl LengthTable {
    fn new(lengths: &Lengths) -> Result<Self, BuildError> {
        let list: Vec<(u16, u32)> = match lengths {
            Lengths::Fixed(flits) => vec![(*flits, 1)],
            Lengths::Weighted(list) => list.iter().map(|it| (it.flits, it.weight)).collect(),
        };
        if list.iter().any(|(flits, _)| *flits == 0) {
            return Err(BuildError::new("flits", "a packet has at least one flit"));
        }
        let mut sum = 0_u64;
        let mut limits = Vec::with_capacity(list.len());
        for (_, weight) in &list {
            sum += u64::from(*weight);
            limits
                .push(u32::try_from(sum).map_err(|_| BuildError::new("flits", "the weights are too large"))?);
        }
        if sum == 0 {
            return Err(BuildError::new("flits", "the weights of the lengths sum to 0"));
        }
        let mean = list.iter().map(|(flits, weight)| f64::from(*flits) * f64::from(*weight)).sum::<f64>()
            / sum as f64;
        let most = list.iter().filter(|(_, weight)| *weight > 0).map(|(flits, _)| *flits).max().unwrap_or(1);
        Ok(Self { flits: list.into_iter().map(|(flits, _)| flits).collect(), limits, mean, most })
    }

    #[inline]
    fn draw(&self, draws: &mut Draws) -> u16 {
        if self.flits.len() == 1 {
            return self.most;
        }
        let drawn = draws.below(self.limits[self.limits.len() - 1]);
        self.flits[self.limits.partition_point(|&limit| limit <= drawn)]
    }
}

/// Packets of one class that come by one process.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) class: u8,
    pub(super) process: Box<dyn Process>,
    /// The process, where it is trials and nothing else.
    trials: Option<Trials>,
    /// Whether each terminal takes part; all do when `None`.
    pub(super) sources: Option<Vec<bool>>,
    gaps: u64,
    packets: u64,
}

impl Lane {
    /// Moves the clock of a source from a packet to the next one.
    #[inline(always)]
    pub(super) fn next(&self, clock: &mut Clock, draws: &mut Draws) {
        match &self.trials {
            Some(trials) => trials.next(clock, draws),
            None => self.process.next(clock, draws),
        }
    }

    /// What the draws of a source begin with.
    pub(super) fn keys(&self, source: u32) -> Keys {
        Keys { gaps: key(self.gaps, source.into()), packets: key(self.packets, source.into()) }
    }
}

/// Keys of a source on a lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    gaps: u64,
    packets: u64,
}

impl Keys {
    /// The draws for the time of packet `number`.
    #[inline]
    pub(super) fn gap(&self, number: u64) -> Draws {
        Draws::new(key(self.gaps, number))
    }
}

/// Everything that is fixed before a run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) terminals: u32,
    pub(super) classes: Vec<Class>,
    pub(super) lanes: Vec<Lane>,
    /// Lanes of each queue; the queue of replies, if there is one, is the last and has none.
    pub(super) queues: Vec<Vec<usize>>,
    pub(super) reply_queue: Option<u8>,
    /// Key of the lengths of replies.
    pub(super) replies: u64,
    pub(super) batch: Option<BatchSpec>,
    /// Pairs that are probed, in order; every terminal probes all others when `None`.
    pub(super) probe_pairs: Option<Vec<[u32; 2]>>,
    /// Who reaches whom, where not all reach each other.
    joined: Option<Joined>,
}

/// What the network says about itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground<'a> {
    /// Of a terminal that injects a flit in every cycle.
    pub(super) flit_rate: Bandwidth,
    pub(super) router: &'a RouterSpec,
    /// Whether what can stand still for good is refused.
    pub(super) is_checked: bool,
}

impl Ground<'_> {
    /// Flits that a packet may have at most (virtual cut-through).
    fn most_flits(self) -> Option<u16> {
        self.router.virtual_cut_through.then_some(self.router.buffer_flits)
    }
}

impl Plan {
    /// Fills in a spec for the terminals of a network.
    pub(super) fn new(
        spec: &TrafficSpec,
        layout: &Layout,
        ground: Ground<'_>,
        joined: Option<Joined>,
        streams: Streams,
    ) -> Result<Self, BuildError> {
        let own = [ClassSpec::default()];
        let given: &[ClassSpec] = if spec.classes.is_empty() { &own } else { &spec.classes };
        let field = |number: usize, rest: &str| match (spec.classes.is_empty(), rest.is_empty()) {
            (true, _) => rest.to_owned(),
            (false, true) => format!("class.{number}"),
            (false, false) => format!("class.{number}.{rest}"),
        };
        if given.len() > 64 {
            return Err(BuildError::new("class", format!("{} classes; 64 are possible", given.len())));
        }
        if spec.batch.is_some() && given.len() > 1 {
            return Err(BuildError::new("batch", "a batch is of one class of packets"));
        }
        for (key, found) in [
            ("batch.packets", spec.batch.map(|batch| batch.packets)),
            ("batch.outstanding", spec.batch.and_then(|batch| batch.outstanding)),
        ] {
            if found == Some(0) {
                return Err(BuildError::new(key, "at least one packet is expected, found 0"));
            }
        }
        let shares: f64 = given.iter().filter(|it| it.load.is_none()).map(|it| it.share.unwrap_or(1.0)).sum();
        let mut plan = Self {
            terminals: layout.ranks,
            classes: Vec::new(),
            lanes: Vec::new(),
            queues: Vec::new(),
            reply_queue: None,
            replies: streams.key("traffic.replies"),
            batch: spec.batch,
            probe_pairs: None,
            joined,
        };
        // a queue for each priority, in the order of the classes that have them
        let mut priorities: Vec<i32> = Vec::new();
        for class in given {
            if !priorities.contains(&class.priority) {
                priorities.push(class.priority);
            }
        }
        plan.queues = vec![Vec::new(); priorities.len()];
        let mut total = 0.0;
        for (number, class) in given.iter().enumerate() {
            let at = |error: BuildError| BuildError::new(field(number, &error.field), error.reason);
            let part = match (class.load, class.share) {
                (Some(_), Some(_)) => {
                    return Err(BuildError::new(
                        field(number, "share"),
                        "`load` and `share` exclude each other",
                    ));
                }
                (Some(_), None) => 1.0,
                (None, share) => share.unwrap_or(1.0) / shares,
            };
            if let Some(share) = class.share.filter(|share| !(*share > 0.0 && share.is_finite())) {
                return Err(BuildError::new(field(number, "share"), format!("{share}; shares are positive")));
            }
            let whole = class.load.map_or(spec.load, Load::from);
            let load = if spec.batch.is_some() {
                0.0
            } else {
                part * whole.flits_per_cycle(Some(ground.flit_rate)).map_err(|error| {
                    // the load of all classes stands above them
                    if class.load.is_some() { at(error) } else { error }
                })?
            };
            total += load;
            let queue = priorities.iter().position(|&priority| priority == class.priority).unwrap_or(0);
            plan.class(spec, class, number, load, queue as u8, layout, ground, streams).map_err(at)?;
        }
        if total > 1.0
            && let Some((terminal, most)) = plan.most_loaded().filter(|&(_, most)| most > 1.0)
        {
            let whose = if most == total { String::new() } else { format!(" {terminal}") };
            return Err(BuildError::new(
                "load",
                format!(
                    "the classes make {most} flits per cycle and terminal{whose}; a terminal can inject one"
                ),
            ));
        }
        if let Some(probes) = &spec.probes {
            check_length(probes.flits, ground)
                .and_then(|()| plan.probe(probes, streams))
                .map_err(|error| error.within("probes"))?;
        }
        plan.answer(given, ground)
            .map_err(|(number, error)| BuildError::new(field(number, &error.field), error.reason))?;
        if ground.is_checked && forbids_priorities(ground.router) {
            let first = plan.classes[0].priority;
            let other = |class: &ClassSpec| class.priority != first || class.reply.is_some();
            if let Some(number) = given.iter().position(other) {
                let what = if given[number].priority == first { "reply" } else { "priority" };
                let reason = "a class goes before another one, and `network.router.requests` has `combined-allocation` with a \
                              `guess` that asks for the switch without a virtual channel: a head of the class gets it in every \
                              cycle, and those that it waits for never do. Use `guess = \"credit\"`, or the same priority";
                return Err(BuildError::new(field(number, what), reason));
            }
        }
        Ok(plan)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one class")]
    fn class(
        &mut self,
        spec: &TrafficSpec,
        class: &ClassSpec,
        number: usize,
        load: f64,
        queue: u8,
        layout: &Layout,
        ground: Ground<'_>,
        streams: Streams,
    ) -> Result<(), BuildError> {
        let lengths = LengthTable::new(class.flits.as_ref().unwrap_or(&spec.flits))?;
        check_length(lengths.most, ground)?;
        check_range(class.range, ground)?;
        let mut random = streams.indexed("traffic.pattern", number as u64);
        let pattern = class.pattern.as_ref().unwrap_or(&spec.pattern).plugin();
        let destinations =
            pattern.destinations(layout, &mut random).map_err(|error| error.within("pattern"))?;
        let destinations = match &self.joined {
            Some(joined) => joined.limit(destinations, layout.ranks, class.reply.is_some())?,
            None => destinations,
        };
        let mut random = streams.indexed("traffic.injection", number as u64);
        let injection = class.injection.as_ref().unwrap_or(&spec.injection).plugin();
        let lanes = injection.lanes(load / lengths.mean, layout.ranks, &mut random);
        for lane in lanes.map_err(|error| error.within("injection"))? {
            self.lane(number as u8, lane.process, lane.sources, queue, streams);
        }
        let name = class.name.clone().unwrap_or_else(|| format!("class-{number}"));
        if let Some(other) = self.classes.iter().position(|other| other.name == name) {
            return Err(BuildError::new("name", format!("class {other} has the name `{name}`, too")));
        }
        if name == PROBES && spec.probes.is_some() {
            return Err(BuildError::new("name", format!("the probes have the name `{name}`")));
        }
        self.classes.push(Class {
            name,
            purpose: Purpose::Load,
            load,
            lengths,
            goal: Goal::of(destinations),
            to_self: class.to_self.unwrap_or(spec.to_self),
            priority: class.priority,
            range: class.range,
            reply: None,
        });
        Ok(())
    }

    fn lane(
        &mut self,
        class: u8,
        process: Box<dyn Process>,
        sources: Option<Vec<bool>>,
        queue: u8,
        streams: Streams,
    ) {
        let number = self.lanes.len() as u64;
        let (gaps, packets) = (streams.key("traffic.gaps"), streams.key("traffic.packets"));
        self.queues[queue as usize].push(self.lanes.len());
        self.lanes.push(Lane {
            class,
            trials: process.trials().cloned(),
            process,
            sources,
            gaps: key(gaps, number),
            packets: key(packets, number),
        });
    }

    /// The terminal for which all classes together make most, and how many flits per cycle that is: those of a class that are in no
    /// pair of its pattern make none of its load.
    fn most_loaded(&self) -> Option<(u32, f64)> {
        let of_class = |class: usize| self.lanes.iter().position(|lane| usize::from(lane.class) == class);
        let lanes: Vec<(usize, f64)> = self
            .classes
            .iter()
            .enumerate()
            .filter_map(|(number, class)| Some((of_class(number)?, class.load)))
            .collect();
        let of_terminal = |terminal: u32| -> f64 {
            lanes.iter().map(|&(lane, load)| load * self.share(lane, terminal)).sum()
        };
        (0..self.terminals)
            .map(|terminal| (terminal, of_terminal(terminal)))
            .reduce(|most, next| if next.1 > most.1 { next } else { most })
    }

    /// The lane of probes, which share the first queue.
    fn probe(&mut self, spec: &ProbeSpec, streams: Streams) -> Result<(), BuildError> {
        let load = f64::from(spec.flits) / f64::from(spec.interval);
        if spec.flits == 0 {
            return Err(BuildError::new("flits", "0; a probe is a packet of one flit at least"));
        }
        if load.is_nan() || load > 0.01 {
            let reason = format!(
                "probes of {} flits every {} cycles are a load of {load}; at most 0.01 hardly disturbs the network",
                spec.flits, spec.interval
            );
            return Err(BuildError::new("interval", reason));
        }
        if spec.pairs.as_ref().is_some_and(Vec::is_empty) {
            return Err(BuildError::new("pairs", "the list is empty: nobody would be probed"));
        }
        let sources = spec.pairs.as_ref().map(|pairs| {
            let mut sources = vec![false; self.terminals as usize];
            for (number, &[source, dest]) in pairs.iter().enumerate() {
                if source.max(dest) >= self.terminals || source == dest {
                    let last = self.terminals - 1;
                    let reason =
                        format!("[{source}, {dest}] is no pair of different terminals from 0 to {last}");
                    return Err(BuildError::new(format!("pairs.{number}"), reason));
                }
                if let Some(joined) = self.joined.as_ref().filter(|it| !it.reaches(source, dest, false)) {
                    return Err(joined.refuse(format!("pairs.{number}"), source, dest));
                }
                sources[source as usize] = true;
            }
            Ok(sources)
        });
        let sources = sources.transpose()?;
        self.probe_pairs = spec.pairs.clone();
        if let Some(pairs) = &mut self.probe_pairs {
            pairs.sort_unstable();
            pairs.dedup();
        }
        let class = self.classes.len() as u8;
        self.lane(class, scattered(spec.interval), sources, 0, streams);
        self.classes.push(Class {
            name: PROBES.to_owned(),
            purpose: Purpose::Probe,
            load: 0.0,
            lengths: LengthTable::new(&Lengths::Fixed(spec.flits))?,
            goal: Goal::Known,
            to_self: false,
            priority: self.classes[0].priority,
            range: self.classes[0].range,
            reply: None,
        });
        Ok(())
    }

    /// The classes of answers.
    fn answer(&mut self, given: &[ClassSpec], ground: Ground<'_>) -> Result<(), (usize, BuildError)> {
        let asking =
            given.iter().enumerate().filter_map(|(number, class)| Some((number, class.reply.as_ref()?)));
        let most = given.iter().map(|class| class.priority).max().unwrap_or(0);
        for (number, reply) in asking {
            let lengths = LengthTable::new(&reply.flits).map_err(|error| (number, error.within("reply")))?;
            check_length(lengths.most, ground).map_err(|error| (number, error.within("reply")))?;
            check_range(reply.range, ground).map_err(|error| (number, error.within("reply")))?;
            let [asked, answered] =
                [given[number].range, reply.range].map(|range| ground.router.range(range));
            if ground.is_checked && asked.0.max(answered.0) <= asked.1.min(answered.1) {
                let reason = format!(
                    "requests use virtual channels {} to {}, replies {} to {}: in those that they share they block each other \
                     for good wherever a terminal takes no request until it can answer; give the two `range`s without common \
                     channels in `network.router.ranges`, or set `network.deadlock-check = false`: terminals here take all",
                    asked.0, asked.1, answered.0, answered.1
                );
                return Err((number, BuildError::new("reply.range", reason)));
            }
            let name = format!("replies to {}", self.classes[number].name);
            if let Some(other) = given.iter().position(|other| other.name.as_ref() == Some(&name)) {
                return Err((
                    other,
                    BuildError::new("name", format!("`{name}` is what class {number} gets back")),
                ));
            }
            self.reply_queue.get_or_insert(self.queues.len() as u8);
            self.classes[number].reply = Some(self.classes.len() as u8);
            self.classes.push(Class {
                name,
                purpose: Purpose::Reply,
                load: 0.0,
                lengths,
                goal: Goal::Known,
                to_self: true,
                priority: most.saturating_add(1),
                range: reply.range,
                reply: None,
            });
        }
        if self.reply_queue.is_some() {
            self.queues.push(Vec::new());
        }
        Ok(())
    }

    /// Where probe `number` of `source` goes: to its partners of the list, or to all others, in turn.
    fn probe_dest(&self, source: u32, number: u64) -> Option<u32> {
        let Some(pairs) = &self.probe_pairs else {
            let others = u64::from(self.terminals.checked_sub(1).filter(|&others| others > 0)?);
            let terminals = u64::from(self.terminals);
            let dest = |number: u64| ((u64::from(source) + 1 + number % others) % terminals) as u32;
            let Some(joined) = &self.joined else { return Some(dest(number)) };
            // the next one that it reaches
            return (number..number + others).map(dest).find(|&dest| joined.reaches(source, dest, false));
        };
        let start = pairs.partition_point(|pair| pair[0] < source);
        let count = pairs[start..].partition_point(|pair| pair[0] == source) as u64;
        (count > 0).then(|| pairs[start + (number % count) as usize][1])
    }

    /// Terminals of which a part of the packets goes somewhere, and the rest nowhere: of a class, or of all of them.
    pub(super) fn partial_senders(&self) -> u64 {
        let is_partial = |terminal: &u32| {
            let (mut least, mut most) = (1.0_f64, 0.0_f64);
            for (number, lane) in self.lanes.iter().enumerate() {
                let takes_part = lane.sources.as_ref().is_none_or(|sources| sources[*terminal as usize]);
                if takes_part && self.classes[lane.class as usize].purpose == Purpose::Load {
                    let share = self.share(number, *terminal);
                    (least, most) = (least.min(share), most.max(share));
                }
            }
            most > 0.0 && least < 1.0 - 1e-9
        };
        (0..self.terminals).filter(is_partial).count() as u64
    }

    /// A packet of a class that came into being then.
    pub(super) fn offer(&self, class: u8, dest: u32, flits: u16, created: u64, waited: bool) -> Offer {
        self.classes[class as usize].offer(class, dest, flits, created, waited)
    }

    /// Whether there is one class of packets, to which nobody replies, and no batch.
    pub(super) fn is_plain(&self) -> bool {
        let is_load = |class: &Class| class.purpose == Purpose::Load && class.reply.is_none();
        self.classes.len() == 1 && is_load(&self.classes[0]) && self.batch.is_none()
    }

    /// The first lane and its class, where that is the only one.
    pub(super) fn only_lane(&self) -> (&Lane, &Class) {
        let lane = &self.lanes[0];
        (lane, &self.classes[lane.class as usize])
    }

    /// The share of the packets of a lane and source that go somewhere.
    pub(super) fn share(&self, lane: usize, source: u32) -> f64 {
        let class = &self.classes[self.lanes[lane].class as usize];
        match (class.purpose, class.goal.pattern()) {
            (Purpose::Probe, _) => f64::from(u8::from(self.probe_dest(source, 0).is_some())),
            (_, Some(pattern)) => pattern.share(source, class.to_self),
            (_, None) => 0.0,
        }
    }

    /// Destination and flits of packet `number` of a lane and source; `None` where it goes nowhere.
    pub(super) fn packet(&self, lane: usize, source: u32, number: u64) -> Option<(u32, u16)> {
        let lane = &self.lanes[lane];
        let class = &self.classes[lane.class as usize];
        self.packet_of(class, lane.keys(source), source, number)
    }

    /// The same of a source of a class whose keys are known.
    #[inline(always)]
    pub(super) fn packet_of(
        &self,
        class: &Class,
        keys: Keys,
        source: u32,
        number: u64,
    ) -> Option<(u32, u16)> {
        match class.purpose {
            Purpose::Probe => Some((self.probe_dest(source, number)?, class.lengths.most)),
            _ => class.draw(source, key(keys.packets, number)),
        }
    }

    /// Packets per cycle and terminal that were asked for.
    pub(super) fn packets_per_cycle(&self) -> f64 {
        self.classes.iter().map(|class| class.load / class.mean_flits()).sum()
    }

    /// The load that was asked for, flits per cycle and terminal.
    pub(super) fn load(&self) -> f64 {
        self.classes.iter().map(|class| class.load).sum()
    }
}

fn check_length(most: u16, ground: Ground<'_>) -> Result<(), BuildError> {
    match ground.most_flits() {
        Some(room) if most > room => Err(BuildError::new(
            "flits",
            format!(
                "a packet of {most} flits does not fit into a buffer of {room}, which virtual cut-through asks for"
            ),
        )),
        _ => Ok(()),
    }
}

fn check_range(range: u8, ground: Ground<'_>) -> Result<(), BuildError> {
    let count = ground.router.ranges.len();
    if range == 0 || usize::from(range) < count {
        return Ok(());
    }
    let reason = format!("range {range} of virtual channels; `network.router.ranges` has {count}");
    Err(BuildError::new("range", reason))
}
