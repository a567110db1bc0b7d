//! By which NICs of its two hosts a message goes.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use stratasim_core::random::mix;

use super::engine::Engine;
use super::given::Way;
use super::landing::{ANY, Landing};
use super::network::PacketNetwork;
use super::routes::{Members, Routes};

/// Whose turn it is where nobody names a NIC.
#[derive(Debug)]
pub(super) struct Turns {
    /// Messages name their NICs.
    named: bool,
    /// By host and the NICs (or ports) that take turns: messages that it has sent, and those that it was sent. Not all messages
    /// have the same choice, and each choice has a count of its own, so that all of it is used alike.
    sent: FxHashMap<(u32, Choice), u32>,
    coming: FxHashMap<(u32, Choice), u32>,
    /// The turns of pairs of hosts whose messages share a connection, at the sender and at the receiver.
    of_pairs: FxHashMap<(u32, u32), [Option<u32>; 2]>,
}

/// NICs of a host, or its ports, from the first.
type Choice = SmallVec<[u32; 4]>;

/// At which end of a message a turn is taken.
#[derive(Clone, Copy)]
enum Side {
    Sender,
    Receiver,
}

impl Turns {
    /// Nobody has sent anything; NICs are named where the workload has `nics` of them.
    pub(super) fn new(nics: u32) -> Self {
        let (sent, coming) = (FxHashMap::default(), FxHashMap::default());
        Self { named: nics > 1, sent, coming, of_pairs: FxHashMap::default() }
    }

    /// Whose turn of `choice` it is for a message from a host to another, at one of them. `shares`: messages of the two share a
    /// connection, and with it their turn.
    fn next(&mut self, (from, to): (u32, u32), side: Side, choice: &Choice, shares: bool) -> Option<u32> {
        if choice.len() < 2 {
            return choice.first().copied();
        }
        let (counts, host) = match side {
            Side::Sender => (&mut self.sent, from),
            Side::Receiver => (&mut self.coming, to),
        };
        let mut take = || {
            let count = counts.entry((host, choice.clone())).or_insert(0);
            std::mem::replace(count, count.wrapping_add(1))
        };
        let turn = if shares {
            *self.of_pairs.entry((from, to)).or_default()[side as usize].get_or_insert_with(take)
        } else {
            take()
        };
        choice.get(turn as usize % choice.len()).copied()
    }
}

/// Which NIC of a host a message asks for.
#[derive(Clone, Copy)]
enum Wish {
    /// This one; NICs are counted round.
    Named(u32),
    /// Those on shortest ways in turn, the fastest ones.
    Turn(Side),
}

impl PacketNetwork {
    /// The ports of the two hosts of a message, and where its packets arrive; none where no way leads there or back. Ways there
    /// and back are taken where they are given.
    ///
    /// Where the workload names NICs, data leaves by that of its sender and arrives at the one of the same number. Otherwise
    /// each host takes its own in turn, message by message; connections that are kept have one for good.
    pub(super) fn interfaces(
        &mut self,
        from: u32,
        to: u32,
        nic: u16,
        name: u64,
        [way_there, way_back]: [Option<Way>; 2],
    ) -> Option<(u32, u32, Landing)> {
        let Engine { routes, rules, .. } = self.parts.any();
        let shares = rules.keeps_connections && routes.have_nics();
        let named = self.turns.named;
        let wish = if named { Wish::Named(nic.into()) } else { Wish::Turn(Side::Sender) };
        let port = match way_there {
            Some(way) => self.parts.any().landings.ways.first(way),
            None => self.port((from, to), wish, mix(name), shares)?,
        };
        let routes = &self.parts.any().routes;
        let count = routes.nics_of(to);
        let there = if named {
            (count > 0).then(|| u32::from(nic) % count).filter(|&nic| routes.lands(port, to, nic))
        } else {
            // those that are slower than others only where nothing else ends there
            let rates: SmallVec<[f64; 4]> = (0..count)
                .map(|nic| routes.entry(to, nic).map_or(0.0, |port| self.bytes_per_s(port)))
                .collect();
            let fastest = rates.iter().copied().fold(0.0, f64::max);
            let all: Choice = (0..count).filter(|&nic| routes.lands(port, to, nic)).collect();
            let fast: Choice = all.iter().copied().filter(|&nic| rates[nic as usize] >= fastest).collect();
            let choice = if fast.is_empty() { all } else { fast };
            self.turns.next((from, to), Side::Receiver, &choice, shares)
        };
        let wish = match there {
            Some(nic) => Wish::Named(nic),
            None if named => wish,
            None => Wish::Turn(Side::Receiver),
        };
        let back = match way_back {
            Some(way) => self.parts.any().landings.ways.first(way),
            None => self.port((to, from), wish, mix(!name), shares)?,
        };
        let routes = &self.parts.any().routes;
        let own = port - routes.ports_of(routes.node_of(from)).start;
        let returns = own < routes.nics_of(from) && routes.lands(back, from, own);
        let number = |nic: Option<u32>| nic.and_then(|nic| u16::try_from(nic).ok()).unwrap_or(ANY);
        let (there, returns) = (number(there), number(returns.then_some(own)));
        Some((port, back, Landing { there, back: returns, way_there, way_back }))
    }

    /// Rate of a port.
    fn bytes_per_s(&self, port: u32) -> f64 {
        self.parts.any().ports[port as usize].kind.rate.bytes_per_s()
    }

    /// Rate of a port, or of the NICs of a host that it leads to where that is lower.
    fn bytes_per_s_to(&self, port: u32, host: u32) -> f64 {
        let routes = &self.parts.any().routes;
        let rate = |nic: u32| routes.entry(host, nic).map_or(0.0, |port| self.bytes_per_s(port));
        let own = self.bytes_per_s(port);
        let nics = 0..routes.nics_of(host);
        if nics.clone().all(|nic| rate(nic) >= own) {
            return own;
        }
        let reached = nics.filter(|&nic| routes.lands(port, host, nic)).map(rate).fold(0.0, f64::max);
        if reached > 0.0 { own.min(reached) } else { own }
    }

    /// The port by which `from` sends to `to`: that of the NIC that is asked for where a shortest way begins there, otherwise one
    /// of those where it does, drawn by `draw`. NICs that are slower than others have no turn.
    fn port(&mut self, (from, to): (u32, u32), wish: Wish, draw: u64, shares: bool) -> Option<u32> {
        let Engine { routes, detours, .. } = self.parts.any_mut();
        let node = routes.node_of(from);
        let choices = routes.choices(node, to);
        let choices: SmallVec<[u32; 4]> = if detours.are_needed() {
            detours.usable(routes, Members::of(&choices), to).ports().collect()
        } else {
            choices
        };
        let (&first, count) = (choices.first()?, choices.len() as u128);
        // hosts that forward use all their ports; others the NIC that was asked for
        if !routes.forwards(node) {
            match wish {
                Wish::Named(nic) => {
                    let usual = nth_port(routes, node, nic);
                    if choices.contains(&usual) {
                        return Some(usual);
                    }
                }
                Wish::Turn(side) => {
                    let rates: SmallVec<[f64; 4]> =
                        choices.iter().map(|&port| self.bytes_per_s_to(port, to)).collect();
                    let fastest = rates.iter().copied().fold(0.0, f64::max);
                    let fast = choices.iter().zip(&rates).filter(|(_, rate)| **rate >= fastest);
                    let fast: Choice = fast.map(|(&port, _)| port).collect();
                    // word of a message goes back
                    let message = match side {
                        Side::Sender => (from, to),
                        Side::Receiver => (to, from),
                    };
                    return self.turns.next(message, side, &fast, shares);
                }
            }
        }
        let drawn = ((u128::from(draw) * count) >> 64) as usize;
        Some(choices.get(drawn).copied().unwrap_or(first))
    }
}

/// The port of NIC `nic` of a node; NICs are counted round.
fn nth_port(routes: &Routes, node: u32, nic: u32) -> u32 {
    let all = routes.ports_of(node);
    all.start + nic % all.len().max(1) as u32
}
