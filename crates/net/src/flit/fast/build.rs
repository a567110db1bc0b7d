//! The building of a part from the fabric.

use std::ops::Range;

use stratasim_core::memory::large_vec;

use super::choices::Choices;
use super::flit::Flit;
use super::guide::channels;
use super::inspect::ADDS_UP_AFTER;
use super::link::{Link, Links};
use super::list::List;
use super::mask::Mask;
use super::packets::Packets;
use super::part::{Ahead, MOST_LOOKAHEAD, Part, Scratch};
use super::pool::Pool;
use super::router::Routers;
use super::source::Source;
use super::threads::Outbox;
use super::wheel::{BLOCK, Wheel};
use crate::flit::fabric::{Channel, End, FULL_WIDTH, Fabric, Feeder};
use crate::flit::router::RouterSpec;
use crate::flit::routing::FlitRouting;
use crate::flit::routing::places::part;

/// Bytes of routers that stay in the nearer caches of a core, beside their flits and packets, which take as much again.
const LARGE: usize = 1 << 19;

/// Puts an empty block behind others. On its own, so that a thread's stack holds one while it is made, and none else: blocks of
/// the largest routers have half a megabyte.
#[inline(never)]
fn add_block<const P: usize, const VS: usize, const N: usize, M: Mask>(
    blocks: &mut Vec<Routers<P, VS, N, M>>,
    vcs: u8,
    buffer: u16,
) {
    blocks.push(Routers::new(vcs, buffer));
}

/// Spacing of the outputs of routers, and the first moment at which each is free.
fn spacing<const P: usize>(fabric: &Fabric, routers: Range<u32>) -> Vec<[(u32, u64); P]> {
    let of_router = |router| {
        let mut of_outputs = [(FULL_WIDTH, 0); P];
        for (output, (spacing, _)) in (0..fabric.output_count(router)).zip(&mut of_outputs) {
            *spacing = fabric.channel(router, output).spacing;
        }
        of_outputs
    };
    routers.map(of_router).collect()
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Part<P, VS, N, M> {
    /// The routers `routers` of the fabric, with their terminals, empty. `part_of` says to which part
    /// each router belongs.
    #[inline(never)]
    pub(super) fn new(
        fabric: &Fabric,
        spec: &RouterSpec,
        routing: &dyn FlitRouting,
        seed: u64,
        routers: Range<u32>,
        part_of: &[u8],
    ) -> Self {
        let buffer = spec.buffer_flits;
        let count = routers.len();
        let inside = |router: u32| routers.contains(&router);
        let number = |router: u32, port: u16| router * N as u32 + u32::from(port) * VS as u32;
        let mine: Vec<u32> = (0..fabric.terminals().len() as u32)
            .filter(|&terminal| inside(fabric.terminal(terminal).router))
            .collect();
        let first_terminal = mine.first().copied().unwrap_or(0);
        let link = |router: u32, port: u16, delay: u32| {
            if inside(router) {
                let first = number(router - routers.start, port) as usize;
                Link::near(first / (BLOCK * N), first % (BLOCK * N), delay)
            } else {
                Link::remote(number(router, port), delay)
            }
        };
        let terminal_link = |terminal: u32, delay: u32| {
            let (block, first) =
                Self::place_of_terminal(count.div_ceil(BLOCK), (terminal - first_terminal) as usize);
            Link::near(block, first, delay)
        };
        let farthest = |channel: &Channel| {
            u64::from(channel.latency + 2) + channel.backlog(spec.virtual_channels, buffer.into())
        };
        let mut ejection = vec![Link::NOTHING; mine.len()];
        let (mut longest, mut lookahead) = (0_u64, MOST_LOOKAHEAD);
        let mut blocks = large_vec(count.div_ceil(BLOCK));
        (0..count.div_ceil(BLOCK)).for_each(|_| add_block(&mut blocks, spec.virtual_channels, buffer));
        let mut narrow = false;
        let (mut flit_links, mut credit_links) = (Links::default(), Links::default());
        for router in routers.clone() {
            let local = (router - routers.start) as usize;
            for output in 0..fabric.output_count(router) {
                let channel = fabric.channel(router, output);
                narrow |= channel.spacing != FULL_WIDTH;
                let (delay, back) = (channel.latency + 2, channel.credit_latency + 1);
                longest = longest.max(farthest(channel)).max(u64::from(back));
                lookahead = lookahead.min(delay).min(back);
                let to = match channel.end {
                    End::Nothing => Link::NOTHING,
                    End::Router { router: to, port } => link(to, port, delay),
                    End::Terminal(terminal) => {
                        ejection[(terminal - first_terminal) as usize] = link(router, output, back);
                        terminal_link(terminal, delay)
                    }
                };
                let to = if channel.spacing == FULL_WIDTH { to } else { to.narrow() };
                blocks[local / BLOCK].join(local % BLOCK, output as usize, flit_links.shorten(to, VS));
            }
            for input in 0..fabric.input_count(router) {
                let from = match fabric.feeder(router, input) {
                    Feeder::Nothing => Link::NOTHING,
                    Feeder::Router { router: from, port } => {
                        // it may come from another part
                        longest = longest.max(farthest(fabric.channel(from, port)));
                        link(from, port, fabric.channel(from, port).credit_latency + 1)
                    }
                    Feeder::Terminal(terminal) => {
                        let delay = fabric.terminal(terminal).injection.credit_latency + 1;
                        lookahead = lookahead.min(delay);
                        terminal_link(terminal, delay)
                    }
                };
                blocks[local / BLOCK].feed(local % BLOCK, input as usize, credit_links.shorten(from, VS));
            }
        }
        let injection: Vec<Link> = mine
            .iter()
            .map(|&terminal| {
                let terminal = fabric.terminal(terminal);
                let (router, input) = terminal.entry();
                let channel = &terminal.injection;
                longest = longest.max(u64::from(channel.latency.max(channel.credit_latency)) + 1);
                lookahead = lookahead.min(channel.latency + 1);
                link(router, input, channel.latency + 1)
            })
            .collect();
        let narrow_by_source: Vec<u32> =
            mine.iter().map(|&terminal| fabric.terminal(terminal).injection.spacing).collect();
        let narrow_sources = narrow_by_source.iter().any(|&spacing| spacing != FULL_WIDTH);
        let ranges: Vec<(u8, u8)> =
            (0..spec.ranges.len().max(1)).map(|range| spec.range(range as u8)).collect();
        let halves = ranges
            .iter()
            .map(|&range| {
                let word = |(first, last)| channels(first, last);
                // of a single channel only the whole is used
                let half = |index| if range.0 == range.1 { range } else { part(range, 2, index) };
                [word(half(0)), word(half(1)), word(range), word(range)]
            })
            .collect();
        let divides = |&(first, last): &(u8, u8)| first == last || (last - first) % 2 == 1;
        let packs = routing.packed().is_some_and(|packed| !packed.halves() || ranges.iter().all(divides));
        let blocks_and_terminals = blocks.len() + mine.len().div_ceil(BLOCK * P);
        let parts = part_of.iter().copied().max().map_or(1, |part| part as usize + 1);
        Self {
            first_router: routers.start,
            first_terminal,
            now: 0,
            lookahead,
            vcs: spec.virtual_channels,
            buffer,
            ranges,
            halves,
            packs,
            seed,
            knows_source: routing.knows_source(),
            busy: vec![0; blocks.len().div_ceil(64)],
            active: Vec::with_capacity(blocks.len()),
            blocks,
            router_count: count,
            is_large: count.div_ceil(BLOCK) * size_of::<Routers<P, VS, N, M>>() > LARGE,
            sent: Vec::new(),
            adds_up_at: ADDS_UP_AFTER,
            ahead: Ahead::default(),
            pools: vec![Pool::new(); count.div_ceil(BLOCK)],
            is_wide: false,
            spacing: if narrow { spacing(fabric, routers.clone()) } else { Vec::new() },
            flit_links,
            credit_links,
            wheel: Wheel::new(blocks_and_terminals, BLOCK * P, longest + u64::from(lookahead)),
            fresh: vec![List::default(); count.div_ceil(BLOCK)],
            scratch: Scratch::new(mine.len().min(BLOCK * P)),
            packets: Packets::new(routing.memory_bits() > Flit::MEMORY_BITS, routing.draws(), mine.len()),
            sources: vec![Source::new(buffer); mine.len()],
            injection,
            ejection,
            narrow: if narrow_sources { narrow_by_source } else { Vec::new() },
            sending: vec![0; mine.len().div_ceil(64)],
            asked: Vec::new(),
            due: Vec::new(),
            offers: Vec::new(),
            order: None,
            choices: (!routing.single()).then(|| {
                let inputs = routers.map(|router| fabric.input_count(router)).collect();
                Choices::new(inputs, N, routing.has_escape())
            }),
            in_flight: 0,
            last_progress: 0,
            outbox: (0..parts).map(|_| Outbox::default()).collect(),
            part_of: if parts > 1 { part_of.to_vec() } else { Vec::new() },
            crossing: if parts > 1 { vec![0; count * N] } else { Vec::new() },
        }
    }
}
