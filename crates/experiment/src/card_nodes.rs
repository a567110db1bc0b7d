//! Cards as parts of a machine: what a topology needs of a card's file, and what collectives need of the machine.

use std::path::Path;

use stratasim_core::{Bandwidth, BuildError, Bytes, ComputeRate, KernelCosts, NodeId, Precision};
use stratasim_device::card::Card;
use stratasim_engine::Place;
use stratasim_topo::generators::cards::{CardChoice, CardParts};
use stratasim_topo::graph::{LinkType, NO_GROUP};
use stratasim_topo::{ComputeType, Topology};
use stratasim_workload::program::{Collective, Program};

use crate::card;

/// The parts of a card; paths of files start from `base`.
///
/// # Errors
/// As [`card::chosen`].
pub(crate) fn parts(choice: &CardChoice, base: &Path) -> Result<CardParts, BuildError> {
    card::chosen(choice, base).map(|card| of(&card))
}

/// A card as nodes and links. Without a rate of its own a core group computes in no number format.
fn of(card: &Card) -> CardParts {
    let rate = card.compute.rate.map_or(0.0, ComputeRate::flop_per_s);
    let rates = &card.bandwidth;
    CardParts {
        groups: card.core_groups,
        group: ComputeType {
            name: card.name.clone(),
            rate_flop_per_s: [rate; Precision::ALL.len()],
            cores: 1,
            memory_bytes: Some(card.memory.local.count()),
            memory_bandwidth: Some(rates.local),
            kernels: KernelCosts {
                launch: card.cost.launch + card.cost.kernel,
                synchronise: card.cost.sync,
                ring_step: card.cost.ring_step,
                kernel_step: card.cost.csc_step,
                ring_add: rates.reduce_ring,
                kernel_add: rates.reduce_csc,
            },
            forwards: true,
        },
        ring: rates.ring,
        global: global_link(card),
        ring_total: rates.ring_total,
        global_bytes: card.memory.global.count(),
        host: LinkType::new(card.host.link, card.host.copy),
    }
}

/// What a group gets of Global memory when all access it: all but one of N bytes cross a ring that may be a bus.
fn global_link(card: &Card) -> Bandwidth {
    let groups = f64::from(card.core_groups);
    let share = card.bandwidth.ring_total.map(|total| total.bytes_per_s() / (groups - 1.0).max(1.0));
    Bandwidth(share.map_or(f64::INFINITY, |share| share).min(card.bandwidth.global.bytes_per_s()))
}

/// A collective of kernels needs members that are core groups of one card, and room in its Global memory.
///
/// # Errors
/// Members without a common memory, or too small a one.
pub(crate) fn check(
    topology: &Topology,
    program: &Program,
    places: &[Place],
    collective: &Collective,
) -> Result<(), BuildError> {
    let Some(shared) = collective.plan.shared().filter(|shared| shared.members > 1) else { return Ok(()) };
    let name = |node: NodeId| topology.node_name(node);
    let card_of = |place: &Place| {
        let card = topology.grouping("card").map(|cards| cards[place.node.index()]);
        card.filter(|&card| card != NO_GROUP && place.home_memory.is_some())
    };
    let cards = |group: u32| program.groups()[group as usize].chunks(shared.members as usize);
    for card in collective.groups().flat_map(cards) {
        let first = &places[card[0].index()];
        for place in card.iter().map(|rank| &places[rank.index()]) {
            let wrong = match (card_of(first), card_of(place)) {
                (Some(a), Some(b)) if a == b => continue,
                (Some(_), Some(_)) => {
                    format!("{} and {} are on different cards", name(first.node), name(place.node))
                }
                (None, _) => format!("{} is none", name(first.node)),
                (_, None) => format!("{} is none", name(place.node)),
            };
            let reason = format!(
                "its algorithm is for core groups of one card, and {wrong}; use the topology `cards`, with as many members as core groups, or `hierarchical` over several cards"
            );
            return Err(BuildError::new("", reason));
        }
        // the vector lies in each, whatever the algorithm
        let room_of = |node: NodeId| topology.compute_type(node).and_then(|group| group.memory_bytes);
        let least = card.iter().filter_map(|rank| room_of(places[rank.index()].node)).min();
        if let Some(room) = least.filter(|&room| room < shared.own_bytes) {
            let reason = format!(
                "its vector needs {} of Local memory, the card has {}; give more of it to Local memory, or send less at once",
                Bytes(shared.own_bytes),
                Bytes(room)
            );
            return Err(BuildError::new("", reason));
        }
        // each group has an equal part of Global memory
        let part = |rank: &stratasim_core::Rank| {
            let memory = places[rank.index()].home_memory.and_then(|memory| topology.memory_type(memory));
            memory.and_then(|memory| memory.capacity_bytes).unwrap_or(u64::MAX)
        };
        let room = card.iter().map(part).fold(0_u64, u64::saturating_add);
        if room < shared.bytes {
            let reason = format!(
                "its algorithm needs {} of Global memory, the card has {}; leave less of it to Local memory, or use `card-ring`",
                Bytes(shared.bytes),
                Bytes(room)
            );
            return Err(BuildError::new("", reason));
        }
    }
    Ok(())
}
