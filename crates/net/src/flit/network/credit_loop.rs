//! How long a place of a buffer is away: from the flit that takes it to the credit that gives it back, and to the next flit.

use stratasim_topo::Topology;

use crate::flit::fabric::from_topology::Wiring;
use crate::flit::fabric::{Channel, End, FULL_WIDTH};
use crate::flit::router::RouterSpec;

/// Least cycles from the use of a place behind a channel to its next use: out, through the router there, and back.
fn cycles(channel: &Channel, router: &RouterSpec) -> u64 {
    let own = u64::from(router.traversal_delay) + u64::from(router.credit_delay) + 2;
    u64::from(channel.latency) + u64::from(channel.credit_latency) + own
}

/// Flits that a channel carries in so many cycles; a narrow one sends less.
fn flits(cycles: u64, channel: &Channel) -> u64 {
    (cycles * u64::from(FULL_WIDTH)).div_ceil(u64::from(channel.spacing))
}

/// Flits that a virtual channel must hold so that one stream fills the longest channel: those of the cycles from the use of a
/// place to its next use; at least the usual eight, at most what routers can have.
pub(super) fn usual_buffer(wiring: &Wiring) -> u16 {
    let usual = RouterSpec::default();
    // the flits of a packet stay as far behind those of the one before as its head was held up
    let held_up = u64::from(usual.routing_delay) + u64::from(usual.vc_allocation_delay);
    let all = wiring.fabric.channels().iter().chain(injections(wiring));
    let longest = all.map(|channel| flits(cycles(channel, &usual) + held_up, channel));
    longest.max().unwrap_or(0).clamp(u64::from(usual.buffer_flits), 4096) as u16
}

/// Channels from terminals to routers.
fn injections(wiring: &Wiring) -> impl Iterator<Item = &Channel> {
    wiring.fabric.terminals().iter().map(|terminal| &terminal.injection)
}

/// What is said where all virtual channels together hold less than a channel that leads to a router carries until the first credit
/// is back, of the channel that this slows down most.
pub(super) fn short_buffers(wiring: &Wiring, router: &RouterSpec, topology: &Topology) -> Option<String> {
    let channels = u64::from(router.virtual_channels);
    let places = u64::from(router.shared_buffer.places(router.virtual_channels, router.buffer_flits));
    let between = wiring.fabric.channels().iter().filter(|it| matches!(it.end, End::Router { .. }));
    let slowest =
        between.chain(injections(wiring)).max_by_key(|channel| flits(cycles(channel, router), channel))?;
    let away = cycles(slowest, router);
    let needed = flits(away, slowest);
    if places >= needed {
        return None;
    }
    let link = slowest.link.map_or_else(|| "the longest link".to_owned(), |link| topology.link_name(link));
    Some(format!(
        "Buffers of {places} flits for each link fill no long one: the credit of a flit takes {away} cycles on {link}, which \
         carries at most {:.2} % of its rate, therefore. `router.buffer-flits = {}`, or no `router`, would fill it.",
        100.0 * places as f64 / needed as f64,
        needed.div_ceil(channels)
    ))
}
