//! Closed forms of time, and behaviour at the edges.

use std::sync::Arc;

use stratasim_net::flit::fabric::{Channel, End, Fabric};
use stratasim_net::flit::full::Full;
use stratasim_net::flit::kernel::Kernel;
use stratasim_net::flit::router::{
    AllocatorKind, AllocatorSpec, Arbiter, BufferPolicy, Guess, Iterations, RequestRules, RouterSpec,
    Speculation, Stages,
};

use super::bench::{GridRouting, List, Ring, grid, kernel, settle, traffic};

#[test]
fn a_lone_packet_takes_the_time_of_the_closed_form() {
    let mut cases = 0;
    for stages in [Stages::Pipelined, Stages::Batches] {
        for speculation in [Speculation::None, Speculation::Separate, Speculation::Prioritised] {
            for delays in [[1, 1, 1, 1], [0, 1, 1, 1], [2, 1, 1, 1], [1, 3, 1, 1], [1, 1, 2, 1], [0, 2, 2, 3]]
            {
                let [routing_delay, vc_allocation_delay, switch_allocation_delay, traversal_delay] = delays;
                let spec = RouterSpec {
                    routing_delay,
                    vc_allocation_delay,
                    switch_allocation_delay,
                    traversal_delay,
                    speculation,
                    stages,
                    // More than the credit loop, so that nothing waits for credits.
                    buffer_flits: 20,
                    ..RouterSpec::default()
                };
                let allocation = match speculation {
                    Speculation::None => vc_allocation_delay + switch_allocation_delay,
                    _ => vc_allocation_delay.max(switch_allocation_delay),
                };
                if stages == Stages::Batches && speculation != Speculation::None && delays[1] > 1 {
                    // A batch of guesses ends before the batch of channels that they depend on.
                    continue;
                }
                let depth = u64::from(routing_delay + allocation + traversal_delay);
                for (latency, dest, flits) in [(1, 5, 1), (1, 0, 1), (3, 3, 1), (1, 4, 9), (2, 5, 16)] {
                    if stages == Stages::Batches && flits > 1 && delays.iter().any(|&delay| delay > 1) {
                        // Batches with more than one cycle do not take a flit every cycle.
                        continue;
                    }
                    let link = Channel { latency, credit_latency: latency, ..Channel::default() };
                    let fabric = grid(6, 1, link, Channel::default());
                    let routing = GridRouting { width: 6, adaptive: false };
                    let mut kernel = kernel(fabric, &spec, routing);
                    let mut list = List::new(&[(10, 0, 0, dest, flits)]);
                    settle(&mut kernel, &mut list, 5000).unwrap();
                    let hops = u64::from(dest) + 1;
                    let expected =
                        4 + hops * (depth - 1) + (hops - 1) * u64::from(latency + 1) + u64::from(flits - 1);
                    let arrival = list.arrivals[0];
                    assert_eq!(
                        (arrival.arrived - arrival.entered, arrival.entered, u64::from(arrival.hops)),
                        (expected, 10, hops),
                        "{flits} flits over {hops} routers, links of {latency}, {spec:?}"
                    );
                    cases += 1;
                }
            }
        }
    }
    assert!(cases > 100);
}

#[test]
fn a_virtual_channel_that_comes_with_the_switch_takes_no_time_of_its_own() {
    for (routing_delay, switch_allocation_delay, traversal_delay) in
        [(1, 1, 1), (0, 1, 1), (0, 2, 1), (2, 1, 3)]
    {
        for speculation in [Speculation::Separate, Speculation::Prioritised] {
            let requests = RequestRules { combined_allocation: true, ..RequestRules::default() };
            let spec = RouterSpec {
                routing_delay,
                vc_allocation_delay: 9,
                switch_allocation_delay,
                traversal_delay,
                speculation,
                requests,
                buffer_flits: 20,
                ..RouterSpec::default()
            };
            let depth = u64::from(routing_delay + switch_allocation_delay + traversal_delay);
            for (dest, flits) in [(5, 1), (0, 1), (4, 9)] {
                let fabric = grid(6, 1, Channel::default(), Channel::default());
                let mut kernel = kernel(fabric, &spec, GridRouting { width: 6, adaptive: false });
                let mut list = List::new(&[(10, 0, 0, dest, flits)]);
                settle(&mut kernel, &mut list, 5000).unwrap();
                let hops = u64::from(dest) + 1;
                let expected = 4 + hops * (depth - 1) + (hops - 1) * 2 + u64::from(flits - 1);
                let arrival = list.arrivals[0];
                assert_eq!(arrival.arrived - arrival.entered, expected, "{dest} {flits} {spec:?}");
            }
        }
    }
}

#[test]
fn twice_as_many_steps_per_cycle_halve_the_time_in_routers() {
    let spec = RouterSpec { internal_speedup: 2.0, ..RouterSpec::default() };
    let fabric = grid(4, 1, Channel::default(), Channel::default());
    let mut kernel = kernel(fabric, &spec, GridRouting { width: 4, adaptive: false });
    let mut list = List::new(&[(0, 0, 0, 3, 1)]);
    settle(&mut kernel, &mut list, 1000).unwrap();
    // Four steps are two cycles: a flit that came at r leaves at r + 1.
    assert_eq!(list.arrivals[0].arrived, 4 + 4 + 3 * 2);
}

#[test]
fn a_channel_with_too_few_buffers_streams_at_its_credit_loop() {
    for (traversal_delay, latency, credit_latency, credit_delay) in
        [(1, 1, 1, 0), (1, 2, 2, 0), (2, 1, 3, 0), (1, 1, 1, 4)]
    {
        let credit_loop =
            u64::from(traversal_delay) + u64::from(latency + credit_latency) + 2 + u64::from(credit_delay);
        for buffer_flits in 1..=credit_loop as u16 + 1 {
            let spec = RouterSpec {
                virtual_channels: 1,
                buffer_flits,
                traversal_delay,
                credit_delay,
                ..RouterSpec::default()
            };
            let link = Channel { latency, credit_latency, ..Channel::default() };
            let time = |flits: u16| {
                let fabric = grid(2, 1, link, Channel::default());
                let mut kernel = kernel(fabric, &spec, GridRouting { width: 2, adaptive: false });
                let mut list = List::new(&[(0, 0, 0, 1, flits)]);
                settle(&mut kernel, &mut list, 20_000).unwrap();
                list.arrivals[0].arrived
            };
            // Over a whole number of loops the rate is exact; ejection has the same loop or a shorter one.
            let loops = 20 * u64::from(buffer_flits);
            let first = 10 * buffer_flits;
            let spent = time(first + loops as u16) - time(first);
            // Ejection channels take a cycle each way; the loop of the injection has no crossbar.
            let ejection = u64::from(traversal_delay) + 4 + u64::from(credit_delay);
            let longest = credit_loop.max(ejection);
            assert_eq!(spent, (20 * longest).max(loops), "{buffer_flits} flits, a loop of {credit_loop}");
        }
    }
}

#[test]
fn batches_of_two_cycles_halve_the_throughput_and_a_pipeline_does_not() {
    let time = |stages| {
        let spec = RouterSpec { switch_allocation_delay: 2, stages, ..RouterSpec::default() };
        let fabric = grid(3, 1, Channel::default(), Channel::default());
        let mut kernel = kernel(fabric, &spec, GridRouting { width: 3, adaptive: false });
        let mut list = List::new(&[(0, 0, 0, 2, 400)]);
        settle(&mut kernel, &mut list, 5000).unwrap();
        list.arrivals[0].arrived
    };
    assert!((400..430).contains(&time(Stages::Pipelined)));
    assert!((800..860).contains(&time(Stages::Batches)));
}

#[test]
fn stages_of_one_cycle_are_the_same_as_batches_and_as_a_pipeline() {
    let run = |stages| {
        let spec = RouterSpec { stages, ..RouterSpec::default() };
        let fabric = grid(4, 4, Channel::default(), Channel::default());
        let mut kernel = kernel(fabric, &spec, GridRouting { width: 4, adaptive: true });
        let mut list = List::new(&traffic(2000, 16, 2, 6, 1500));
        settle(&mut kernel, &mut list, 50_000).unwrap();
        list.arrivals
    };
    let (pipelined, batches) = (run(Stages::Pipelined), run(Stages::Batches));
    assert_eq!(pipelined.len(), 2000);
    assert_eq!(pipelined, batches);
}

#[test]
fn skipping_idle_time_changes_nothing() {
    let packets = traffic(300, 9, 1, 5, 30_000);
    let run = |polled: bool, window: u64| {
        let spec = RouterSpec { internal_speedup: 1.3, ..RouterSpec::default() };
        let link = Channel { latency: 7, credit_latency: 9, ..Channel::default() };
        let mut kernel =
            kernel(grid(3, 3, link, Channel::default()), &spec, GridRouting { width: 3, adaptive: true });
        let mut list = List { polled, ..List::new(&packets) };
        while kernel.now() < 31_000 {
            let next = kernel.now() + window;
            kernel.run(next, &mut list);
        }
        assert!(kernel.is_settled());
        (list.arrivals, list.flit_latencies, kernel.channel_flits(), kernel.last_progress())
    };
    let every_cycle = run(true, 31_000);
    assert_eq!(every_cycle.0.len(), 300);
    assert_eq!(run(false, 31_000), every_cycle);
    assert_eq!(run(false, 1), every_cycle);
}

#[test]
fn a_narrow_channel_carries_exactly_its_width() {
    for spacing in [256, 384, 300, 1024] {
        let link = Channel { spacing, ..Channel::default() };
        let fabric = grid(2, 1, link, Channel::default());
        let spec = RouterSpec { buffer_flits: 16, ..RouterSpec::default() };
        let mut kernel = kernel(fabric, &spec, GridRouting { width: 2, adaptive: false });
        let mut list = List::new(&[(0, 0, 0, 1, 1000)]);
        settle(&mut kernel, &mut list, 50_000).unwrap();
        // Two routers, no waiting: 2 + 5 H for the head. The others follow at the channel's width, and those
        // that do not come directly behind it save its routing and its virtual channel in the last router.
        let apart = (999 * u64::from(spacing)).div_ceil(256);
        let expected = 12 + (apart - 2).max(999);
        assert_eq!(list.arrivals[0].arrived, expected, "spacing {spacing}");
    }
}

#[test]
fn a_narrow_way_in_carries_exactly_its_width_over_packets() {
    for spacing in [256, 300, 384, 1000] {
        let edge = Channel { spacing, ..Channel::default() };
        let fabric = grid(1, 1, Channel::default(), edge);
        let mut kernel = kernel(fabric, &RouterSpec::default(), GridRouting { width: 1, adaptive: false });
        let mut list = List::new(&[(5, 0, 0, 0, 1); 500]);
        settle(&mut kernel, &mut list, 50_000).unwrap();
        let entered: Vec<_> = list.arrivals.iter().map(|arrival| arrival.entered).collect();
        let expected: Vec<_> = (0..500).map(|n| 5 + (n * u64::from(spacing)).div_ceil(256)).collect();
        assert_eq!(entered, expected, "spacing {spacing}");
    }
}

#[test]
fn a_ring_without_a_dateline_stops_and_says_who_waits_for_whom() {
    let mut fabric = Fabric::new(vec![(2, 2); 4]);
    for router in 0..4 {
        let end = End::Router { router: (router + 1) % 4, port: 0 };
        fabric.connect((router, 0), Channel { end, ..Channel::default() });
        fabric.attach(router, (1, 1), Channel::default(), Channel::default(), None);
    }
    let spec = RouterSpec { virtual_channels: 1, buffer_flits: 2, ..RouterSpec::default() };
    let mut kernel = kernel(fabric, &spec, Ring);
    let packets: Vec<_> = (0..4).map(|n| (0, n, 0, (n + 2) % 4, 20)).collect();
    let mut list = List::new(&packets);
    kernel.run(2000, &mut list);
    assert!(list.arrivals.is_empty() && kernel.in_flight() > 0 && kernel.last_progress() < 100);
    assert_eq!(kernel.violations(), Vec::<String>::new());
    let on_ring: Vec<_> = kernel.waiting().into_iter().filter(|wait| wait.input == 0).collect();
    assert_eq!(on_ring.iter().map(|wait| wait.router).collect::<Vec<_>>(), [0, 1, 2, 3]);
    for wait in on_ring {
        // Each holds a packet that came from the router before and wants the channel that the next one has.
        assert_eq!((wait.output, wait.output_vc), (0, None), "{wait:?}");
        assert_eq!(wait.dest, (wait.router + 1) % 4);
    }
}

#[test]
fn cutting_through_waits_for_room_for_the_whole_packet() {
    // The last link is slow, so that the second packet meets a buffer that the first one has not left.
    let last_entered = |virtual_cut_through| {
        let mut fabric = Fabric::new(vec![(2, 2); 3]);
        for (router, spacing) in [(0, 256), (1, 256 * 50)] {
            let end = End::Router { router: router + 1, port: 0 };
            fabric.connect((router, 0), Channel { end, spacing, ..Channel::default() });
        }
        for router in 0..3 {
            fabric.attach(router, (1, 1), Channel::default(), Channel::default(), None);
        }
        let spec = RouterSpec {
            virtual_channels: 1,
            buffer_flits: 4,
            virtual_cut_through,
            output_buffer_flits: Some(1),
            ..RouterSpec::default()
        };
        let mut kernel = kernel(fabric, &spec, Ring);
        let mut list = List::new(&[(0, 0, 0, 2, 4), (0, 0, 0, 2, 4)]);
        kernel.run(60, &mut list);
        let second = kernel.waiting().into_iter().find(|wait| wait.router == 0);
        settle(&mut kernel, &mut list, 5000).unwrap();
        assert_eq!(list.arrivals.len(), 2);
        second.map(|wait| wait.output_vc)
    };
    assert_eq!(last_entered(false), Some(Some(0)));
    assert_eq!(last_entered(true), Some(None));
}

#[test]
fn a_packet_longer_than_a_buffer_cannot_cut_through_and_is_reported() {
    let spec = RouterSpec { virtual_cut_through: true, buffer_flits: 4, ..RouterSpec::default() };
    let fabric = grid(2, 1, Channel::default(), Channel::default());
    let mut kernel = kernel(fabric, &spec, GridRouting { width: 2, adaptive: false });
    kernel.run(50, &mut List::new(&[(0, 0, 0, 1, 5)]));
    let said = kernel.violations();
    assert!(said.len() == 1 && said[0].contains("5 flits") && said[0].contains("buffers of 4"), "{said:?}");
}

#[test]
fn what_cannot_work_is_refused_with_the_reason() {
    let refuse = |spec: RouterSpec| {
        let fabric = Arc::new(grid(2, 1, Channel::default(), Channel::default()));
        let built = Full::new(fabric, &spec, Arc::new(GridRouting { width: 2, adaptive: false }), 1);
        built.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let shared =
        RouterSpec { virtual_cut_through: true, buffers: BufferPolicy::Shared, ..RouterSpec::default() };
    assert!(refuse(shared).contains("private buffers"));
    assert!(refuse(RouterSpec { virtual_channels: 0, ..RouterSpec::default() }).contains("1 to 32"));
    let matrix = AllocatorSpec {
        kind: AllocatorKind::SeparableInputFirst,
        arbiter: Arbiter::Matrix,
        ..AllocatorSpec::default()
    };
    let wide = RouterSpec { virtual_channels: 32, vc_allocator: matrix, ..RouterSpec::default() };
    let idle = AllocatorSpec { iterations: Iterations(0), ..AllocatorSpec::default() };
    let refused = refuse(RouterSpec { switch_allocator: idle, ..RouterSpec::default() });
    assert!(refused.starts_with("switch-allocator.iterations: 0"), "{refused}");
    let rules = |requests: RequestRules| refuse(RouterSpec { requests, ..RouterSpec::default() });
    let combined = RequestRules { combined_allocation: true, ..RequestRules::default() };
    assert!(rules(combined.clone()).starts_with("requests.combined-allocation: heads ask"));
    let never = RouterSpec {
        requests: RequestRules { guess: Guess::Never, ..combined },
        speculation: Speculation::Separate,
        ..RouterSpec::default()
    };
    assert!(refuse(never).starts_with("requests.guess: `never`"));
    let aside = RequestRules { next_output_queues: true, ..RequestRules::default() };
    assert!(rules(aside.clone()).contains("`routing-delay` is expected to be 0"));
    let few = RouterSpec { requests: aside.clone(), routing_delay: 0, ..RouterSpec::default() };
    assert!(refuse(few).contains("4 virtual channels for 5 outputs"));
    let fabric = Arc::new(grid(2, 1, Channel::default(), Channel::default()));
    let spec = RouterSpec { requests: aside, routing_delay: 0, virtual_channels: 5, ..RouterSpec::default() };
    let built = Full::new(fabric, &spec, Arc::new(GridRouting { width: 2, adaptive: true }), 1);
    assert!(built.err().is_some_and(|error| error.to_string().contains("several outputs at once")));
    let mut crossbar = Fabric::new(vec![(4000, 4000)]);
    crossbar.attach(0, (0, 0), Channel::default(), Channel::default(), None);
    let built = Full::new(Arc::new(crossbar), &wide, Arc::new(Ring), 1);
    assert!(built.err().is_some_and(|error| error.to_string().contains("matrix arbiters")));
}

#[test]
fn a_higher_priority_overtakes_in_the_source() {
    // The first packet of a queue starts on the first virtual channel, so the one that overtakes is not the
    // first of its queue.
    let mut list = List::new(&[(20, 0, 0, 1, 8), (24, 0, 1, 1, 8), (0, 0, 1, 1, 1)]);
    let offers = list.waiting.get_mut(&(0, 1)).map(|offers| offers.iter_mut());
    offers.into_iter().flatten().for_each(|offer| offer.priority = 3);
    let fabric = grid(2, 1, Channel::default(), Channel::default());
    let mut kernel = kernel(fabric, &RouterSpec::default(), GridRouting { width: 2, adaptive: false });
    settle(&mut kernel, &mut list, 1000).unwrap();
    let arrived = list.by_tag();
    // Flits 0 to 3 of the first, then all of the second, then the rest.
    assert_eq!(arrived[&1].entered, 24);
    assert_eq!(arrived[&1].arrived, 24 + 12 + 7);
    assert!(arrived[&0].arrived >= arrived[&1].arrived + 4);
}
