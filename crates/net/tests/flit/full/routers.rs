//! Whatever the router: nothing is lost, nothing takes a detour.

use proptest::prelude::*;
use stratasim_net::flit::fabric::Channel;
use stratasim_net::flit::kernel::Kernel;
use stratasim_net::flit::router::{
    AllocatorKind, AllocatorSpec, Arbiter, BufferPolicy, Guess, Iterations, Precedence, RequestRules,
    RouterSpec, SharedBuffer, Speculation, Stages,
};

use super::bench::{GridRouting, List, grid, kernel, settle, traffic};

fn allocators() -> impl Strategy<Value = AllocatorSpec> {
    let kinds = prop::sample::select(vec![
        AllocatorKind::Islip,
        AllocatorKind::SeparableInputFirst,
        AllocatorKind::SeparableOutputFirst,
        AllocatorKind::Wavefront,
        AllocatorKind::WavefrontRoundRobin,
        AllocatorKind::Pim,
        AllocatorKind::LonelyOutput,
        AllocatorKind::Select,
        AllocatorKind::MaximumSize,
    ]);
    let chooses =
        |kind| matches!(kind, AllocatorKind::SeparableInputFirst | AllocatorKind::SeparableOutputFirst);
    let iterates = |kind| matches!(kind, AllocatorKind::Islip | AllocatorKind::Pim | AllocatorKind::Select);
    (kinds, any::<bool>(), 1_u8..3).prop_map(move |(kind, matrix, iterations)| AllocatorSpec {
        kind,
        arbiter: if matrix && chooses(kind) { Arbiter::Matrix } else { Arbiter::RoundRobin },
        iterations: Iterations(if iterates(kind) { iterations } else { 1 }),
    })
}

/// Ways to share a buffer in which every virtual channel has a place of its own.
fn buffers() -> impl Strategy<Value = (BufferPolicy, SharedBuffer)> {
    let policies = prop::sample::select(vec![
        BufferPolicy::Private,
        BufferPolicy::Shared,
        BufferPolicy::Limited,
        BufferPolicy::Dynamic,
        BufferPolicy::Shifting,
        BufferPolicy::Feedback,
        BufferPolicy::SimpleFeedback,
    ]);
    let rest =
        (prop::option::of(11_u32..50), prop::option::of(1_u32..9), prop::option::of(0_u8..4), -20_i32..20);
    (policies, rest).prop_map(|(policy, (flits, most_held, aging, offset))| {
        let feedback = matches!(policy, BufferPolicy::Feedback | BufferPolicy::SimpleFeedback);
        let shared = SharedBuffer {
            flits: flits.filter(|_| policy != BufferPolicy::Private),
            parts: None,
            most_held: most_held.filter(|_| policy == BufferPolicy::Limited),
            feedback_aging: aging.filter(|_| feedback),
            feedback_offset: if feedback { offset } else { 0 },
        };
        (policy, shared)
    })
}

fn specs() -> impl Strategy<Value = RouterSpec> {
    let sizes = (1_u8..6, 1_u16..10, buffers());
    let delays = (0_u16..4, 1_u16..4, 1_u16..4, 1_u16..4, 0_u16..3);
    let switches = (any::<bool>(), 0_u8..3, any::<bool>(), any::<bool>(), any::<bool>());
    let rules = (
        any::<[bool; 6]>(),
        prop::sample::select(vec![Guess::Credit, Guess::Free, Guess::Always, Guess::Never]),
        prop::option::of(allocators()),
        prop::sample::select(vec![
            Precedence::Given,
            Precedence::Age,
            Precedence::NetworkAge,
            Precedence::LocalAge,
            Precedence::QueueLength,
            Precedence::Hops,
        ]),
    );
    let rules = rules.prop_map(|(flags, guess, guess_allocator, precedence)| RequestRules {
        with_credit: flags[0],
        empty_first: flags[1],
        by_channel: flags[2],
        yield_to_requests: flags[3],
        guess,
        guess_allocator,
        combined_allocation: flags[4] && guess != Guess::Never,
        donation: flags[5],
        precedence,
        next_output_queues: false,
    });
    let speedups = (1_u8..4, 1_u8..4, prop::sample::select(vec![1.0, 1.5, 1.1, 3.0]), 0_u16..4);
    let parts = (sizes, delays, switches, speedups, allocators(), allocators(), rules);
    parts.prop_map(|(sizes, delays, switches, speedups, vc_allocator, switch_allocator, mut requests)| {
        requests.combined_allocation &= switches.1 != 0;
        RouterSpec {
            virtual_channels: sizes.0,
            buffer_flits: sizes.1,
            buffers: sizes.2.0,
            shared_buffer: sizes.2.1,
            routing_delay: delays.0,
            vc_allocation_delay: delays.1,
            switch_allocation_delay: delays.2,
            traversal_delay: delays.3,
            credit_delay: delays.4,
            stages: if switches.0 { Stages::Pipelined } else { Stages::Batches },
            speculation: [Speculation::None, Speculation::Separate, Speculation::Prioritised]
                [switches.1 as usize],
            wait_for_tail_credit: switches.2,
            hold_switch: switches.3,
            virtual_cut_through: switches.4 && sizes.2.0 == BufferPolicy::Private,
            input_speedup: speedups.0,
            output_speedup: speedups.1,
            internal_speedup: speedups.2,
            output_buffer_flits: (speedups.3 > 0).then_some(speedups.3),
            vc_allocator,
            switch_allocator,
            requests,
            ranges: Vec::new(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn whatever_the_router_every_packet_arrives_once_by_a_shortest_way(
        spec in specs(), adaptive in any::<bool>(), queues in 1_u8..3, spacing in 256_u32..700,
        latency in 1_u32..4, credit_latency in 1_u32..4, aside in any::<bool>(),
    ) {
        let (mut spec, mut adaptive) = (spec, adaptive);
        // with `batches`, a head that cannot have all of its outputs hears of none
        let deaf = spec.requests.combined_allocation && spec.stages == Stages::Batches;
        adaptive &= !deaf;
        if aside {
            adaptive = false;
            spec.requests.next_output_queues = true;
            spec.routing_delay = 0;
            spec.virtual_channels += 5;
            if spec.speculation == Speculation::Prioritised {
                // guesses for the one virtual channel that another has win a switch that is blind to priorities for ever
                spec.requests.guess = Guess::Credit;
            }
        }
        if spec.speculation == Speculation::Prioritised
            && spec.requests.guess == Guess::Always
            && spec.switch_allocator.kind == AllocatorKind::MaximumSize
        {
            // as said there, in vain and for ever
            spec.requests.guess = Guess::Free;
        }
        let link = Channel { latency, credit_latency, spacing, ..Channel::default() };
        let edge = Channel { latency: credit_latency, spacing, ..Channel::default() };
        let mut kernel = kernel(grid(3, 3, link, edge), &spec, GridRouting { width: 3, adaptive });
        let longest = if spec.virtual_cut_through { spec.buffer_flits } else { 7 };
        let packets = traffic(150, 9, queues, longest, 120);
        let mut list = List::new(&packets);
        if let Err(what) = settle(&mut kernel, &mut list, 100_000) {
            prop_assert!(false, "{}", what);
        }
        let arrived = list.by_tag();
        prop_assert_eq!(list.arrivals.len(), packets.len());
        prop_assert_eq!(arrived.len(), packets.len());
        let mut crossed = 0;
        for (tag, &(created, source, _, dest, flits)) in packets.iter().enumerate() {
            let found = arrived[&(tag as u32)];
            prop_assert_eq!((found.created, found.source, found.dest), (created, source, dest));
            prop_assert_eq!(found.flits, flits);
            let hops = (source % 3).abs_diff(dest % 3) + (source / 3).abs_diff(dest / 3) + 1;
            prop_assert_eq!(u32::from(found.hops), hops);
            prop_assert!(found.entered >= created && found.head_arrived > found.entered);
            prop_assert!(found.arrived >= found.head_arrived + u64::from(flits) - 1);
            crossed += u64::from(hops) * u64::from(flits);
        }
        let flits: u64 = packets.iter().map(|packet| u64::from(packet.4)).sum();
        prop_assert_eq!((list.entered, list.flits), (flits, flits));
        prop_assert_eq!(kernel.channel_flits().iter().sum::<u64>(), crossed);
    }
}
