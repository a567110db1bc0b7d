//! Finer rules of BookSim2: cycles until network and credits are empty, where a rule and its neighbour give different ones. The
//! numbers are those of a literal rendering of its sources.

use stratasim_experiment::booksim::Setup;

const MESH: &str = "topology = mesh; routing_function = dor; k = 4; n = 2; num_vcs = 4; vc_buf_size = 4; packet_size = 1; \
                    injection_rate_uses_flits = 1; sample_period = 200; seed = 3; injection_rate = 0.3;";

/// Cycles of a run; `None` where it is unstable.
fn cycles(text: &str) -> Option<u64> {
    let run = Setup::read(text).unwrap_or_else(|error| panic!("{text}: {error}")).run().unwrap();
    assert_eq!(run.violations, Vec::<String>::new(), "{text}");
    run.outcome.total_cycles
}

/// Runs of [`MESH`] with these options take these cycles.
fn takes(cases: &[(&str, u64)]) {
    for &(options, expected) in cases {
        assert_eq!(cycles(&format!("{MESH} {options}")), Some(expected), "{options}");
    }
}

#[test]
fn a_head_at_its_source_waits_for_the_virtual_channel_that_it_found() {
    // the class that goes first takes it from the other
    let two = "topology = mesh; k = 2; n = 1; routing_function = dor; num_vcs = 2; vc_buf_size = 2; packet_size = {1,4}; \
               injection_rate = {0.1,0.4}; injection_rate_uses_flits = 1; classes = 2; sample_period = 100; seed = 1;";
    for (priority, expected) in [("class; class_priority = {0,1}", 1138), ("age", 1122), ("sequence", 1261)] {
        assert_eq!(cycles(&format!("{two} priority = {priority};")), Some(expected), "{priority}");
    }
}

#[test]
fn the_size_of_a_packet_of_a_batch_is_drawn_twice() {
    let sizes = "num_vcs = 6; packet_size = {{1,5}}; packet_size_rate = {{2,1}};";
    takes(&[(
        &format!(
            "{sizes} sim_type = batch; batch_size = 25; batch_count = 2; max_outstanding_requests = 4; seed = 8983;"
        ),
        413,
    )]);
}

#[test]
fn half_of_the_requests_of_a_batch_write() {
    for write_fraction in ["0.2", "0.9"] {
        let requests =
            "use_read_write = 1; num_vcs = 16; write_request_size = 5; read_reply_size = 3; seed = 5;";
        takes(&[(
            &format!(
                "{requests} write_fraction = {write_fraction}; sim_type = batch; batch_size = 25; batch_count = 2; \
                 max_outstanding_requests = 4;"
            ),
            468,
        )]);
    }
}

#[test]
fn steps_are_counted_as_their_sum_is_rounded() {
    takes(&[
        ("internal_speedup = 2.2;", 1243),
        ("internal_speedup = 1.1;", 1265),
        ("internal_speedup = 2.7;", 1241),
    ]);
}

#[test]
fn a_stage_of_several_cycles_takes_them_however_many_steps_they_have() {
    takes(&[
        ("injection_rate = 0.05; internal_speedup = 2.0; routing_delay = 2;", 1239),
        (
            "injection_rate = 0.05; internal_speedup = 2.0; routing_delay = 2; vc_alloc_delay = 3; sw_alloc_delay = 2; \
             st_final_delay = 3;",
            1694,
        ),
        ("injection_rate = 0.05; internal_speedup = 1.5; sw_alloc_delay = 2;", 1240),
    ]);
}

#[test]
fn allocators_work_while_a_batch_is_under_way() {
    // one draws in every cycle, the other starts at the next input
    takes(&[
        ("vc_allocator = pim; vc_alloc_delay = 2;", 1492),
        ("injection_rate = 0.15; sw_allocator = max_size; sw_alloc_delay = 2;", 1492),
        (
            "injection_rate = 0.15; sw_allocator = pim; sw_alloc_delay = 3; vc_allocator = max_size; vc_alloc_delay = 2;",
            1334,
        ),
    ]);
}

#[test]
fn of_arguments_without_braces_the_first_one_counts() {
    takes(&[
        ("injection_process = on_off(0.1,0.2,-1.0);", 1657),
        ("injection_process = on_off({0.1});", 1657),
        ("injection_process = on_off({0.1,0.2,-1.0});", 1468),
        ("traffic = tornado(2,4);", 3098),
        ("traffic = tornado({2});", 3098),
        ("traffic = tornado({2,4});", 1216),
    ]);
}

#[test]
fn a_class_that_is_not_measured_can_be_too_slow_to_drain() {
    let text = "topology = mesh; routing_function = adaptive_xy_yx; k = 4; n = 2; num_vcs = 2; vc_buf_size = 1; \
                packet_size = {{1,3},{2,5}}; injection_rate = {0.1,0.15}; injection_rate_uses_flits = 1; classes = 2; \
                priority = hop_count; sample_period = 150; seed = 4661;";
    assert_eq!(cycles(&format!("{text} measure_stats = {{1,0}};")), None);
}

#[test]
fn what_select_grants_stands_in_its_next_iteration() {
    takes(&[
        ("vc_allocator = select(2); sw_allocator = select(2);", 1275),
        ("injection_rate = 0.45; packet_size = 5; vc_allocator = select(3); sw_allocator = select(3);", 1505),
    ]);
}

#[test]
fn ranges_of_messages_are_halves_where_their_ends_are_negative() {
    let range = |message: &str, first: i32, last: i32| {
        format!("{message}_begin_vc = {first}; {message}_end_vc = {last};")
    };
    let ranges = |[lower, upper]: [(i32, i32); 2]| {
        [("read_request", lower), ("write_request", lower), ("read_reply", upper), ("write_reply", upper)]
            .map(|(message, (first, last))| range(message, first, last))
            .concat()
    };
    for ends in [[(-1, -1); 2], [(0, 3), (4, 7)]] {
        let requests =
            "num_vcs = 8; injection_rate_uses_flits = 0; injection_rate = 0.05; use_read_write = 1;";
        takes(&[(&format!("{requests} {}", ranges(ends)), 1692)]);
    }
}

#[test]
fn buffers_with_feedback_reckon_with_links_of_one_cycle_where_the_next_router_was_made_later() {
    let torus = "topology = torus; routing_function = dim_order; k = 3; num_vcs = 2; vc_buf_size = 8; packet_size = 5; \
                 injection_rate = 0.6; sample_period = 100; seed = 1;";
    for (policy, expected) in [("feedback", 1575), ("simplefeedback", 1187)] {
        takes(&[(&format!("{torus} buffer_policy = {policy};"), expected)]);
    }
}
