//! Times of ways on an empty network.

mod shapes;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use stratasim_core::Duration;

use self::shapes::{Group, Layer, Shapes};
use super::landing::ANY;
use super::port::{Beyond, Port};
use super::routes::{Next, Routes};

/// So many times are remembered.
const MOST_KNOWN: usize = 1 << 16;

/// Times over all shortest ways.
#[derive(Debug)]
pub(super) struct Ways {
    /// Whether all shortest ways between two hosts take as long, so that one is enough.
    uniform: bool,
    header_bytes: u32,
    shapes: Shapes,
    /// Times of messages and links, by the number of a shape.
    known: FxHashMap<(u32, Alone, Pick), (u64, u32)>,
}

/// Where ways lead: to a NIC of a host, or to whichever is nearest ([`ANY`]).
#[derive(Debug, Clone, Copy)]
pub(super) struct Goal {
    pub(super) host: u32,
    pub(super) nic: u16,
}

impl Goal {
    /// To a host.
    pub(super) const fn host(host: u32) -> Self {
        Self { host, nic: ANY }
    }

    /// How packets go on from a node.
    fn toward(self, routes: &Routes, node: u32) -> Next {
        match self.nic {
            ANY => routes.toward(node, self.host),
            nic => routes.toward_nic(node, self.host, nic.into()),
        }
    }
}

/// Which of the shortest ways, those of the fewest links, is meant where they take differently long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Pick {
    Fastest,
    Slowest,
}

impl Pick {
    /// Whether `new` is rather meant than `known`.
    fn prefers(self, new: u64, known: u64) -> bool {
        match self {
            Self::Fastest => new < known,
            Self::Slowest => new > known,
        }
    }
}

/// A message that is alone on the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Alone {
    /// Its packets, at least one,
    pub(super) packets: u64,
    /// of so many bytes on the wire,
    pub(super) full: u32,
    /// and the last one.
    pub(super) last: u32,
    /// Whether its packets may go different ways, where each of them finds a link free.
    pub(super) spread: bool,
    /// Whether others may hold it up on the way: a packet that comes later may find a link free at which it would be stored otherwise
    /// (cut-through). Then the time is one that nothing beats, and not that of the message alone.
    pub(super) held_up: bool,
}

/// From the start of a packet on one link to its start on the next, where nothing is before it, and where it has to be stored.
#[derive(Debug, Clone, Copy)]
struct Step {
    free: u64,
    stored: u64,
}

impl Step {
    /// When a packet starts that has started at `start` on the link before, and finds the link free from `free` on. Where others may
    /// have `held_up` the packet, its header comes no sooner than when the link is free, and it need not be stored.
    fn start(self, start: u64, free: u64, held_up: bool) -> u64 {
        let soonest = start.saturating_add(self.free);
        match free {
            _ if free <= soonest => soonest,
            _ if held_up => free,
            _ => start.saturating_add(self.stored).max(free),
        }
    }
}

/// Its packets on one link of the way.
#[derive(Debug, Clone, Copy)]
struct Stream {
    /// When the first packet starts,
    first: u64,
    /// the second one, behind which all others but the last one are `apart`,
    second: u64,
    /// and the last one.
    last: u64,
    /// Time between two full packets from the second one on: that of the slowest link so far.
    apart: u64,
    /// Whether all have come the same way, in order.
    together: bool,
}

/// What comes to a port by different ways, and may be meant.
type Streams = SmallVec<[Stream; 1]>;

/// More streams of a port than so many become one that is not behind any of them.
const MOST_STREAMS: usize = 8;

impl Stream {
    /// Where two ways meet: of the slowest one the latest last packet counts. Of the fastest one those are kept that no other
    /// one is ahead of in everything; packets that are spread take the best of all ways, each its own.
    fn join(self, known: &mut Streams, pick: Pick) {
        match (pick, known.first_mut()) {
            (Pick::Slowest, Some(other)) => {
                if pick.prefers(self.last, other.last) {
                    *other = self;
                }
            }
            (Pick::Fastest, Some(other)) if !self.together => *other = other.least(self),
            (Pick::Fastest, Some(_)) => {
                if known.iter().any(|other| other.is_ahead_of(self)) {
                    return;
                }
                known.retain(|other| !self.is_ahead_of(*other));
                known.push(self);
                if known.len() > MOST_STREAMS {
                    let least = known.iter().copied().reduce(Self::least).unwrap_or(self);
                    known.clear();
                    known.push(least);
                }
            }
            (_, None) => known.push(self),
        }
    }

    /// Whether nothing of it comes later than with `other`.
    const fn is_ahead_of(self, other: Self) -> bool {
        self.first <= other.first
            && self.second <= other.second
            && self.last <= other.last
            && self.apart <= other.apart
    }

    /// What is ahead of both.
    fn least(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            second: self.second.min(other.second),
            last: self.last.min(other.last),
            apart: self.apart.min(other.apart),
            together: self.together,
        }
    }
}

impl Alone {
    /// One packet.
    pub(super) const fn packet(bytes: u32) -> Self {
        Self { packets: 1, full: bytes, last: bytes, spread: false, held_up: false }
    }

    /// On the first link, at once.
    fn start(&self, port: &Port) -> Stream {
        let apart = port.time_of(self.full);
        let last = (self.packets - 1).saturating_mul(apart);
        Stream { first: 0, second: apart, last, apart, together: true }
    }

    /// When the last full packet has left `port`; 0 where there is none.
    fn full_end(&self, stream: Stream, port: &Port) -> u64 {
        match self.packets {
            1 => 0,
            2 => stream.first.saturating_add(port.time_of(self.full)),
            packets => (packets - 3)
                .saturating_mul(stream.apart)
                .saturating_add(stream.second.saturating_add(port.time_of(self.full))),
        }
    }

    /// On the link `to`, where a packet can start so long after its start on the link before. Whether there is no
    /// other link beside it; whether packets on all of them meet here.
    fn follow(
        &self,
        stream: Stream,
        step: impl Fn(u32) -> Step,
        to: &Port,
        only: bool,
        meet: bool,
    ) -> Stream {
        let together = stream.together && (only || !self.spread);
        let time = to.time_of(self.full);
        let apart = if together || meet { stream.apart.max(time) } else { stream.apart };
        let (full, last) = (step(self.full), step(self.last));
        let first = full.start(stream.first, 0, self.held_up);
        if !together {
            let second = first.saturating_add(apart);
            return Stream { first, second, last: last.start(stream.last, 0, self.held_up), apart, together };
        }
        // each waits for the one before it, and is stored if it has to; those behind the second one come no sooner than it can
        // send them on
        let second = full.start(stream.second, first.saturating_add(time), self.held_up);
        let next = Stream { first, second, last: 0, apart, together };
        Stream { last: last.start(stream.last, self.full_end(next, to), self.held_up), ..next }
    }

    /// Its packets go over so many links of these kinds beside each other: the last of them comes no sooner than all links
    /// together have carried the message.
    fn share<'a>(
        &self,
        links: impl Iterator<Item = (&'a Port, u32)>,
        streams: impl Iterator<Item = &'a mut Stream>,
    ) {
        let (mut rate, mut longest) = (0.0, 0);
        for (port, count) in links {
            rate += f64::from(count) * port.kind.rate.bytes_per_s();
            longest = longest.max(port.time_of(self.full));
        }
        let bytes = (self.packets - 1) as f64 * f64::from(self.full) + f64::from(self.last);
        // none of the packets is served faster by more than what is rounded
        let all = ((bytes / rate * 1e12) as u64).saturating_sub(self.packets);
        let mut streams: SmallVec<[&mut Stream; 8]> = streams.collect();
        // the last packet may be a small one that overtakes all others
        let first = streams.iter().map(|stream| stream.first.min(stream.last)).min().unwrap_or(0);
        // the last to end is one that has begun as long before as a packet takes at most
        let last = first.saturating_add(all).saturating_sub(longest);
        streams.iter_mut().for_each(|stream| stream.last = stream.last.max(last));
    }

    /// When all of it has arrived behind `port`, beside which, where it is the `only` one, no link leads there.
    fn end(&self, stream: Stream, port: &Port, only: bool) -> u64 {
        let last = stream.last.saturating_add(port.time_of(self.last));
        let mut end = last.max(self.full_end(stream, port));
        // packets that came by different ways pass it one after the other, whichever is first; only a small one that is ahead of
        // all others holds nobody up
        if only && !stream.together && stream.first <= stream.last {
            let full = (self.packets - 1).saturating_mul(port.time_of(self.full));
            let all = full.saturating_add(port.time_of(self.last));
            end = end.max(stream.first.saturating_add(all));
        }
        end.saturating_add(port.kind.delay)
    }
}

impl Ways {
    /// For these ports; packets begin with `header_bytes`.
    pub(super) fn new(ports: &[Port], routes: &Routes, header_bytes: u32) -> Self {
        let same = |a: &Port, b: &Port| a.kind.rate == b.kind.rate && a.kind.delay == b.kind.delay;
        let same = ports.windows(2).all(|pair| same(&pair[0], &pair[1]));
        // hosts on the way store what switches may not
        let stores_alike = ports.iter().all(|port| port.beyond != Beyond::Header)
            || ports.iter().all(|port| !port.last_hop || !routes.forwards(port.to));
        Self {
            uniform: same && stores_alike,
            header_bytes,
            shapes: Shapes::new(ports),
            known: FxHashMap::default(),
        }
    }

    /// Whether all links are alike.
    pub(super) const fn have_equal_links(&self) -> bool {
        self.uniform
    }

    /// The time of a message from its start at `port` until it is at `goal` on the way that is meant, and the number of links;
    /// none where the port does not lead there. Packet after packet is on each link of the way, stored and forwarded or cut
    /// through: exact on one way, a lower bound where packets are spread over several and the fastest is meant.
    pub(super) fn alone(
        &mut self,
        (routes, ports): (&Routes, &[Port]),
        port: u32,
        goal: Goal,
        message: Alone,
        pick: Pick,
    ) -> Option<(u64, u32)> {
        let number = self.number(routes, port, goal)?;
        if let Some(&known) = self.known.get(&(number, message, pick)) {
            return Some(known);
        }
        let found = self.on_layers(ports, self.shapes.shape(number), message, pick)?;
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert((number, message, pick), found);
        Some(found)
    }

    /// The number of the shape of ways. What was known of others by their numbers is, until there are too many.
    fn number(&mut self, routes: &Routes, port: u32, goal: Goal) -> Option<u32> {
        if self.shapes.are_many() {
            self.shapes.forget();
            self.known.clear();
        }
        self.shapes.number(routes, port, goal, self.uniform)
    }

    /// The same, of a shape.
    fn on_layers(&self, ports: &[Port], layers: &[Layer], message: Alone, pick: Pick) -> Option<(u64, u32)> {
        let mut streams: SmallVec<[Streams; 1]> = SmallVec::new();
        let mut before: &[Group] = &[];
        for (links, layer) in (1..).zip(layers) {
            let mut next: SmallVec<[Streams; 1]> = SmallVec::new();
            for group in &layer.groups {
                let at = self.shapes.sample(group, ports);
                let mut own = Streams::new();
                if before.is_empty() {
                    own.push(message.start(at));
                }
                for &from in &group.from {
                    let port = self.shapes.sample(&before[from as usize], ports);
                    let step = |bytes| self.step(port, at, bytes);
                    for &stream in &streams[from as usize] {
                        message.follow(stream, step, at, layer.only, layer.only).join(&mut own, pick);
                    }
                }
                next.push(own);
            }
            // of links that are all alike the first one carries the message no faster, and one of a layer stands for all
            if message.spread && !layer.only && !self.uniform && matches!(pick, Pick::Fastest) {
                let links = layer.groups.iter().zip(&layer.counts);
                let links = links.map(|(group, &count)| (self.shapes.sample(group, ports), count));
                message.share(links, next.iter_mut().flatten());
            }
            let there = layer.groups.iter().zip(&next).filter(|(group, _)| group.ends);
            let ends = there.flat_map(|(group, streams)| {
                let at = self.shapes.sample(group, ports);
                streams.iter().map(|&stream| message.end(stream, at, layer.only_to_host))
            });
            if let Some(time) = ends.reduce(|known, new| if pick.prefers(new, known) { new } else { known }) {
                return Some((time, links));
            }
            (streams, before) = (next, &layer.groups);
        }
        None
    }

    /// Bytes per second of the slowest link on any shortest way from `port` to `goal`.
    pub(super) fn slowest_rate(&mut self, (routes, ports): (&Routes, &[Port]), port: u32, goal: Goal) -> f64 {
        let number = self.number(routes, port, goal);
        let layers = number.map_or(&[][..], |number| self.shapes.shape(number));
        let groups = layers.iter().flat_map(|layer| &layer.groups);
        let rates = groups.map(|group| self.shapes.sample(group, ports).kind.rate.bytes_per_s());
        rates.fold(f64::INFINITY, f64::min)
    }

    /// The time on one way that is given by its ports.
    pub(super) fn along(&self, ports: &[Port], way: impl Iterator<Item = u32>, message: Alone) -> (u64, u32) {
        let mut way = way.map(|port| &ports[port as usize]);
        let mut at = way.next().expect("a way has a link");
        let (mut stream, mut links) = (message.start(at), 1);
        for next in way {
            stream = message.follow(stream, |bytes| self.step(at, next, bytes), next, true, false);
            (at, links) = (next, links + 1);
        }
        (message.end(stream, at, true), links)
    }

    /// From the start of a packet on one link to its start on the next.
    fn step(&self, from: &Port, to: &Port, bytes: u32) -> Step {
        let cuts = from.beyond == Beyond::Header && !to.kind.rate.is_faster_than(from.kind.rate);
        let after = |bytes: u32| from.kind.delay + from.time_of(bytes);
        Step { free: after(if cuts { self.header_bytes.min(bytes) } else { bytes }), stored: after(bytes) }
    }

    /// The round trip on the longest way, for a full packet and its acknowledgement, and the most links of such a way.
    pub(super) fn longest_round_trip(
        &mut self,
        routes: &Routes,
        ports: &[Port],
        full: u32,
        control: u32,
    ) -> (Duration, u32) {
        let mut one_way = |from: u32, to: u32, bytes: u32| {
            let choices = routes.choices(routes.node_of(from), to);
            let message = Alone::packet(bytes);
            let time = |port| self.alone((routes, ports), port, Goal::host(to), message, Pick::Slowest);
            choices.into_iter().filter_map(time).max()
        };
        let trips = routes
            .farthest()
            .filter_map(|(from, to)| Some((one_way(from, to, full)?, one_way(to, from, control)?)))
            .map(|((there, links), (back, _))| (there + back, links));
        let (longest, links) =
            trips.fold((0, 0), |(time, most), (next, links)| (time.max(next), most.max(links)));
        (Duration::from_ps(longest), links)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stratasim_core::{Bandwidth, BuildError, Duration};
    use stratasim_topo::graph::LinkType;
    use stratasim_topo::{NodeKind, TopologyBuilder};

    use crate::packet::network::PacketNetwork;
    use crate::packet::testing::network;

    /// Hosts in a row, joined by cables of 1 GB/s and 1 us.
    fn row(hosts: u32, spec: &str) -> Result<PacketNetwork, BuildError> {
        let mut builder = TopologyBuilder::new();
        let compute = builder.compute_type(stratasim_topo::catalogue::named("H100").expect("known"));
        let nodes: Vec<_> =
            (0..hosts).map(|at| builder.node(NodeKind::Compute(compute), format_args!("h{at}"))).collect();
        for pair in nodes.windows(2) {
            builder.duplex(pair[0], pair[1], LinkType::new(Bandwidth(1e9), Duration::from_ns(1000)));
        }
        let topology = Arc::new(builder.build().expect("a machine"));
        network(&topology, spec, 1)
    }

    #[test]
    fn the_round_trip_of_hosts_on_one_cable_is_that_of_the_cable() {
        for hosts in 2..6 {
            let network = row(hosts, "{}").expect("a network");
            // a packet of 4160 bytes and an acknowledgement of 64, from cable to cable
            let cable = Duration::from_ns(4160 + 64 + 2 * 1000);
            assert_eq!(network.transports.network_rtt, cable * u64::from(hosts - 1), "{hosts} hosts");
        }
        assert_eq!(row(1, "{}").expect("a network").transports.network_rtt, Duration::ZERO);
    }
}
