//! The fast kernel: the input-queued router with one-cycle stages, iSLIP and private buffers.
//!
//! A router is a few words and bytes in the columns of its block (`fast/router.rs`), a flit is one word (`fast/flit.rs`).
//! Routers are served in blocks that stay in the nearest cache, a stage at a time through all of the block
//! (`fast/stages.rs`): long loops over lists of what there is to do, which a calendar (`fast/wheel.rs`) and the
//! stages themselves fill. Where nothing needs to get anywhere for some cycles, a block runs them at once.
//! Routers, sources and cycles without work cost nothing.

mod build;
mod choices;
mod crossing;
mod edge;
mod flit;
mod guide;
mod inspect;
mod link;
mod list;
mod mask;
mod order;
mod packets;
mod part;
mod pool;
mod ready;
mod router;
mod source;
mod stages;
mod switch;
mod threads;
mod wheel;

use std::ops::Range;
use std::sync::Arc;

use stratasim_core::BuildError;

use self::flit::Flit;
use self::link::Link;
use self::mask::{Count, Mask, Shallow, Wide};
use self::part::Part;
use self::pool::Index;
use self::wheel::BLOCK;
use super::fabric::{Channel, Fabric};
use super::kernel::{Kernel, Wait};
use super::router::{AllocatorKind, AllocatorSpec, Arbiter, BufferPolicy, RouterSpec, Speculation};
use super::routing::FlitRouting;
use super::terminals::Terminals;

/// The fast kernel.
pub struct Fast {
    fabric: Arc<Fabric>,
    routing: Arc<dyn FlitRouting>,
    shape: Shape,
}

/// Ports and virtual channels, rounded up: one compiled kernel for each; of the usual sizes, one for deeper buffers, too.
enum Shape {
    P8V4(Vec<Part<8, 4, 32, Shallow<u32>>>),
    P8V4Deep(Vec<Part<8, 4, 32, u32>>),
    P8V8(Vec<Part<8, 8, 64, u64>>),
    P16V4(Vec<Part<16, 4, 64, u64>>),
    P8V16(Vec<Part<8, 16, 128, Wide<2>>>),
    P16V8(Vec<Part<16, 8, 128, Wide<2>>>),
    P32V4(Vec<Part<32, 4, 128, Shallow<Wide<2>>>>),
    P32V4Deep(Vec<Part<32, 4, 128, Wide<2>>>),
    P64V2(Vec<Part<64, 2, 128, Wide<2>>>),
    P32V8(Vec<Part<32, 8, 256, Wide<4>>>),
    P64V4(Vec<Part<64, 4, 256, Wide<4>>>),
}

macro_rules! each {
    ($shape:expr, $part:ident => $do:expr) => {
        match $shape {
            Shape::P8V4($part) => $do,
            Shape::P8V4Deep($part) => $do,
            Shape::P8V8($part) => $do,
            Shape::P16V4($part) => $do,
            Shape::P8V16($part) => $do,
            Shape::P16V8($part) => $do,
            Shape::P32V4($part) => $do,
            Shape::P32V4Deep($part) => $do,
            Shape::P64V2($part) => $do,
            Shape::P32V8($part) => $do,
            Shape::P64V4($part) => $do,
        }
    };
}

/// Longest latency of a channel in cycles that the calendar is made for,
const MOST_LATENCY: u32 = 1 << 12;
/// and the longest time that what waits for a narrow one takes to pass it.
const MOST_BACKLOG: u64 = 1 << 14;

impl Fast {
    /// What a reader of a result is told where this kernel does not know `what`.
    pub fn note(what: &str) -> String {
        format!(
            "the full kernel moves the flits, which takes several times as long: the fast one does not know {what}"
        )
    }

    /// Why this kernel cannot run it with so many [`queues`](Terminals::queues) per terminal; `None` when it
    /// can.
    pub fn refuses(
        fabric: &Fabric,
        spec: &RouterSpec,
        routing: &dyn FlitRouting,
        queues: u8,
    ) -> Option<&'static str> {
        let one_iteration = |allocator: &AllocatorSpec| match allocator.kind {
            AllocatorKind::Islip => allocator.iterations.0 == 1,
            // the same matching, proposed in other words
            AllocatorKind::SeparableOutputFirst => allocator.arbiter == Arbiter::RoundRobin,
            _ => false,
        };
        let stages = [
            spec.routing_delay,
            spec.vc_allocation_delay,
            spec.switch_allocation_delay,
            spec.traversal_delay,
        ];
        let extremes = fabric.extremes();
        let narrowest = Channel { spacing: extremes.most_spacing, ..Channel::default() };
        if queues != 1 {
            Some("several queues per terminal, which priorities and replies need")
        } else if stages != [1; 4] || spec.credit_delay != 0 {
            Some("stages of other than one cycle")
        } else if spec.speculation != Speculation::None {
            Some("speculation")
        } else if spec.buffers != BufferPolicy::Private {
            Some("shared buffers")
        } else if spec.wait_for_tail_credit || spec.hold_switch || spec.virtual_cut_through {
            Some("its flow control")
        } else if (spec.input_speedup, spec.output_speedup) != (1, 1) || spec.internal_speedup != 1.0 {
            Some("speedups")
        } else if spec.output_buffer_flits.is_some() {
            Some("output buffers with a limit")
        } else if !one_iteration(&spec.vc_allocator) || !one_iteration(&spec.switch_allocator) {
            Some("its allocators")
        } else if !spec.requests.is_default() {
            Some("its rules of requests")
        } else if !routing.single() && !routing.prefers() {
            Some("routing with several candidates of which none is preferred")
        } else if routing.restarts() {
            Some("routing that starts anew while it waits")
        } else if Self::slots(fabric, spec).is_none() {
            Some("so many ports and virtual channels (8 and 16, 16 and 8, 32 and 8, 64 and 4 at most)")
        } else if extremes.most_latency > MOST_LATENCY
            || narrowest.backlog(spec.virtual_channels, spec.buffer_flits.into()) > MOST_BACKLOG
        {
            Some("channels so long or so narrow")
        } else if fabric.terminals().len() > Flit::TERMINALS || fabric.router_count() > Link::NUMBERS / 256 {
            Some("so many terminals")
        } else if fabric.channels().len() * spec.virtual_channels as usize * spec.buffer_flits as usize
            > Flit::PACKETS / 2
        {
            Some("so many places for flits")
        } else {
            None
        }
    }

    /// Whether a network can be built.
    ///
    /// # Errors
    /// What [`Fast::refuses`] says, or what [`RouterSpec::check`] and [`Fabric::check`] refuse.
    pub fn check(fabric: &Fabric, spec: &RouterSpec, routing: &dyn FlitRouting) -> Result<(), BuildError> {
        spec.check()?;
        fabric.check()?;
        match Self::refuses(fabric, spec, routing, 1) {
            Some(what) => Err(BuildError::new("", format!("the fast kernel does not know {what}"))),
            None => Ok(()),
        }
    }

    /// Ports and virtual channels as compiled.
    fn slots(fabric: &Fabric, spec: &RouterSpec) -> Option<(usize, usize)> {
        let sizes = [(8, 4), (8, 8), (16, 4), (8, 16), (16, 8), (32, 4), (64, 2), (32, 8), (64, 4)];
        let fits = |&(ports, vcs): &(usize, usize)| {
            let most = match ports * vcs {
                32 => <u32 as Mask>::Count::MOST,
                64 => <u64 as Mask>::Count::MOST,
                128 => <Wide<2> as Mask>::Count::MOST,
                _ => <Wide<4> as Mask>::Count::MOST,
            };
            fabric.stride() <= ports && spec.virtual_channels as usize <= vcs && spec.buffer_flits <= most
        };
        sizes.into_iter().find(fits)
    }

    /// An empty network.
    ///
    /// # Errors
    /// As [`Fast::check`].
    pub fn new(
        fabric: Arc<Fabric>,
        spec: &RouterSpec,
        routing: Arc<dyn FlitRouting>,
        seed: u64,
    ) -> Result<Self, BuildError> {
        Self::with_parts(fabric, spec, routing, seed, 1)
    }

    /// An empty network cut into at most `parts` parts, each of which runs on a thread of its own
    /// ([`Fast::run_parts`]). There are fewer where the fabric has fewer routers, and one where terminals
    /// do not stand in the order of their routers.
    ///
    /// # Errors
    /// As [`Fast::new`].
    pub fn with_parts(
        fabric: Arc<Fabric>,
        spec: &RouterSpec,
        routing: Arc<dyn FlitRouting>,
        seed: u64,
        parts: usize,
    ) -> Result<Self, BuildError> {
        Self::check(&fabric, spec, &*routing)?;
        let cuts = cuts(&fabric, parts);
        let part_of: Vec<u8> = cuts
            .iter()
            .enumerate()
            .flat_map(|(part, routers)| routers.clone().map(move |_| part as u8))
            .collect();
        macro_rules! shape {
            ($name:ident) => {{
                let build = |routers: &Range<u32>| {
                    Part::new(&fabric, spec, &*routing, seed, routers.clone(), &part_of)
                };
                let mut parts: Vec<_> = cuts.iter().map(build).collect();
                let lookahead = parts.iter().map(|part| part.lookahead).min().unwrap_or(1);
                parts.iter_mut().for_each(|part| part.lookahead = lookahead);
                Shape::$name(parts)
            }};
        }
        let slots = Self::slots(&fabric, spec).expect("checked above");
        let places = BLOCK * slots.0 * slots.1 * usize::from(spec.buffer_flits);
        let is_shallow = places <= <Shallow<u32> as Mask>::Index::PLACES;
        let shape = match slots {
            (8, 4) if is_shallow => shape!(P8V4),
            (8, 4) => shape!(P8V4Deep),
            (8, 8) => shape!(P8V8),
            (16, 4) => shape!(P16V4),
            (8, 16) => shape!(P8V16),
            (16, 8) => shape!(P16V8),
            (32, 4) if is_shallow => shape!(P32V4),
            (32, 4) => shape!(P32V4Deep),
            (64, 2) => shape!(P64V2),
            (32, 8) => shape!(P32V8),
            _ => shape!(P64V4),
        };
        Ok(Self { fabric, routing, shape })
    }

    /// Parts that the network is cut into.
    pub fn parts(&self) -> usize {
        each!(&self.shape, parts => parts.len())
    }

    /// The terminals of each part, in order.
    pub fn terminals_of_parts(&self) -> Vec<Range<u32>> {
        each!(&self.shape, parts => parts.iter().map(Part::terminals).collect())
    }

    /// Runs all parts until `until` is the next cycle, on one thread each. `terminals[i]` are those of part
    /// `i`: it is asked for and given only what concerns them, with the numbers of the fabric. The results
    /// are those of one part, bit for bit. Terminals cannot end the run early.
    ///
    /// # Panics
    /// When there are not as many `terminals` as parts.
    pub fn run_parts<T: Terminals + Send>(&mut self, until: u64, terminals: &mut [T]) {
        assert_eq!(self.parts(), terminals.len(), "each part has its terminals");
        let routing = &*self.routing;
        each!(&mut self.shape, parts => match &mut parts[..] {
            [part] => part.run(routing, until, &mut terminals[0]),
            parts => threads::run(parts, routing, until, terminals),
        });
    }

    /// Draws are asked for in the order in which a list-based router asks: for terminals whose draws
    /// come from one stream.
    pub fn keep_order(&mut self) {
        assert_eq!(self.parts(), 1, "draws in order come from one thread");
        each!(&mut self.shape, parts => parts[0].keep_order());
    }
}

impl Kernel for Fast {
    fn now(&self) -> u64 {
        each!(&self.shape, parts => parts[0].now)
    }

    fn run<T: Terminals>(&mut self, until: u64, terminals: &mut T) {
        assert_eq!(self.parts(), 1, "several parts have terminals each: see `run_parts`");
        each!(&mut self.shape, parts => parts[0].run(&*self.routing, until, terminals));
    }

    fn in_flight(&self) -> u64 {
        each!(&self.shape, parts => parts.iter().map(|part| part.in_flight).sum())
    }

    fn is_settled(&self) -> bool {
        each!(&self.shape, parts => parts.iter().all(Part::is_settled))
    }

    fn channel_flits(&self) -> Vec<u64> {
        let mut out = vec![0; self.fabric.channels().len()];
        each!(&self.shape, parts => parts.iter().for_each(|part| part.channel_flits(&self.fabric, &mut out)));
        out
    }

    fn last_progress(&self) -> u64 {
        each!(&self.shape, parts => parts.iter().map(|part| part.last_progress).max().unwrap_or(0))
    }

    fn waiting(&self) -> Vec<Wait> {
        let mut out = Vec::new();
        each!(&self.shape, parts => parts.iter().for_each(|part| part.waiting(&mut out)));
        out
    }

    fn violations(&self) -> Vec<String> {
        let (mut out, at_rest) = (Vec::new(), self.is_settled());
        each!(&self.shape, parts => parts.iter().for_each(|part| part.violations(at_rest, &mut out)));
        out
    }
}

/// Ranges of routers with about as many ports each. Terminals of a range have consecutive numbers, send
/// to and hear routers of the range; where that cannot be, there is one range.
fn cuts(fabric: &Fabric, parts: usize) -> Vec<Range<u32>> {
    let count = fabric.router_count() as u32;
    let in_order = fabric.terminals().is_sorted_by_key(|terminal| terminal.router)
        && fabric.terminals().iter().all(|terminal| terminal.entry().0 == terminal.router);
    let parts = if in_order { parts.clamp(1, count.min(64) as usize) } else { 1 };
    let weight = |router| u64::from(fabric.input_count(router));
    let total: u64 = (0..count).map(weight).sum();
    let mut cuts = Vec::new();
    let (mut start, mut sum) = (0, 0);
    for router in 0..count {
        sum += weight(router);
        // routers without cables, at the end, are in the last one
        let is_full = cuts.len() + 1 < parts && sum * parts as u64 >= total * (cuts.len() as u64 + 1);
        if is_full || router + 1 == count {
            cuts.push(start..router + 1);
            start = router + 1;
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flit::Flit;
    use crate::packet::testing::machine;

    /// A switch that nothing leads to is no part of its own.
    #[test]
    fn there_are_no_more_parts_than_were_asked_for() {
        let spec = r#"{"kind": "graph", "nodes": [{"name": "a"}, {"name": "b"}, {"name": "s", "kind": "switch"}],
                       "links": [{"from": "a", "to": "b", "bandwidth": "16 GB/s", "latency": "2 ns"}]}"#;
        let prepared = serde_json::from_str::<Flit>("{}").unwrap().prepare(&machine(spec)).unwrap();
        for parts in [1, 2] {
            let (fabric, routing) = (prepared.fabric.clone(), prepared.routing.clone());
            let fast = Fast::with_parts(fabric, &prepared.router, routing, 1, parts).unwrap();
            assert_eq!(fast.parts(), parts);
        }
    }

    /// Whatever is taken from a network at rest behind its back is missed.
    #[test]
    fn credits_and_flits_that_are_gone_are_told_of() {
        let spec = r#"{"kind": "mesh", "dimensions": [3], "bandwidth": "16 GB/s", "latency": "2 ns"}"#;
        let prepared = serde_json::from_str::<Flit>("{}").unwrap().prepare(&machine(spec)).unwrap();
        let kernel = || {
            let (fabric, routing) = (prepared.fabric.clone(), prepared.routing.clone());
            Fast::new(fabric, &prepared.router, routing, 1).unwrap()
        };
        let after = |change: fn(&mut Part<8, 4, 32, Shallow<u32>>)| {
            let mut fast = kernel();
            let Shape::P8V4(parts) = &mut fast.shape else { panic!("it is small") };
            change(&mut parts[0]);
            fast.violations().join("; ")
        };
        assert_eq!(after(|_| {}), "");
        assert!(after(|part| part.sources[1].credits[0] -= 1).contains("terminal 1 lacks credits"));
        assert!(after(|part| part.sources[1].credits[0] += 1).contains("terminal 1 has more credits"));
        // the way to the right of the first router
        let taken = after(|part| {
            part.blocks[0].pass(0, 1, 4);
        });
        assert!(taken.contains("router 0 lacks credits"), "{taken}");
        let mut fast = kernel();
        let Shape::P8V4(parts) = &mut fast.shape else { panic!("it is small") };
        parts[0].in_flight += 1;
        let look = std::panic::AssertUnwindSafe(|| parts[0].look_at_everything());
        assert!(std::panic::catch_unwind(look).is_err(), "a flit is in flight and nowhere");
    }
}
