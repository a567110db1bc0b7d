//! Options of routers: what they lose, win and leave as it is.

use super::{SMALL, everything, message, packet_bins};

#[test]
fn a_router_that_never_guesses_is_one_without_speculation() {
    // credits are looked at only where channels are, so asking for the one without the other is asking for nothing
    let never = "speculative = 1; spec_check_elig = 0; spec_check_cred = 1;";
    let plain = packet_bins("");
    assert!(packet_bins(never) == plain);
    assert!(packet_bins("speculative = 1;") != plain);
}

#[test]
fn rules_of_requests_change_who_wins_and_lose_nothing() {
    let own = "speculative = 1; spec_sw_allocator = islip; ";
    let select = "vc_allocator = select; ";
    for (without, with) in [
        (String::new(), "vc_busy_when_full = 1;"),
        (String::new(), "vc_shuffle_requests = 1;"),
        (select.to_owned(), "vc_prioritize_empty = 1;"),
        (own.to_owned(), "spec_mask_by_reqs = 1;"),
        (own.to_owned(), "spec_check_cred = 0;"),
        (own.to_owned(), "spec_check_elig = 0; spec_check_cred = 0;"),
        ("speculative = 1; spec_sw_allocator = islip;".to_owned(), "spec_sw_allocator = wavefront;"),
    ] {
        let changed = packet_bins(&format!("{without}{with}")) != packet_bins(&without);
        assert!(changed, "{without}{with}");
    }
    assert!(packet_bins("vc_prioritize_empty = 1;") == packet_bins(""), "islip heeds no priorities");
}

#[test]
fn a_virtual_channel_can_come_with_the_switch() {
    let guess = "speculative = 1; ";
    let piggyback = "vc_allocator = piggyback; ";
    for own in ["", "spec_sw_allocator = islip; ", "output_speedup = 2; ", "routing_delay = 0; "] {
        assert!(packet_bins(&format!("{guess}{own}{piggyback}")) != packet_bins(&format!("{guess}{own}")));
    }
    // there is no stage of its own that could take longer
    let longer = format!("{guess}{piggyback} vc_alloc_delay = 3;");
    assert!(packet_bins(&longer) == packet_bins(&format!("{guess}{piggyback}")));
    assert!(message(&format!("{SMALL} {piggyback}")).contains("`speculative = 1` is expected"));
    assert!(message(&format!("{SMALL} sw_allocator = piggyback;")).contains("found `piggyback`"));
}

#[test]
fn arbiters_can_be_trees_of_arbiters() {
    let with = |arbiter: &str| format!("sw_allocator = separable_input_first({arbiter});");
    let matrix = packet_bins(&with("matrix"));
    assert!(packet_bins(&with("tree(1,matrix)")) == matrix);
    assert!(packet_bins(&with("tree( 5, matrix )")) == matrix, "groups of one are a matrix among them");
    for wrong in ["tree", "tree(5)", "tree(five,matrix)", "tree(5,tree(5,matrix))", "tree(5,matrix"] {
        let refused = message(&format!("{SMALL} {}", with(wrong)));
        assert!(refused.contains("sw_allocator"), "{wrong}: {refused}");
    }
    // inputs have a VC each at the outputs of the VC allocator, in groups of one input each here
    let vcs = |arbiter: &str| packet_bins(&format!("vc_allocator = separable_output_first({arbiter});"));
    assert!(vcs("tree(5,round_robin)") != vcs("round_robin"));
}

#[test]
fn priorities_decide_and_lose_nothing() {
    let classes = "classes = 2; class_priority = {1,7}; injection_rate = {0.05,0.04}; packet_size = {5,2};";
    let mut seen = vec![packet_bins(classes)];
    for priority in ["class", "age", "network_age", "local_age", "queue_length", "hop_count", "sequence"] {
        let bins = packet_bins(&format!("{classes} priority = {priority};"));
        assert!(!seen.contains(&bins), "{priority}");
        seen.push(bins);
        let donated = packet_bins(&format!("{classes} priority = {priority}; vc_priority_donation = 1;"));
        // the first flit of a queue is the one that came first, and has the length of its queue
        let same = matches!(priority, "local_age" | "queue_length");
        assert_eq!(donated == seen[seen.len() - 1], same, "{priority}");
    }
    assert!(
        packet_bins(&format!("{classes} vc_priority_donation = 1;")) == seen[0],
        "there is none to donate"
    );
    assert!(
        message(&format!("{SMALL} priority = high;")).contains("found `high`; expected none, class, age")
    );
}

#[test]
fn policies_of_buffers_are_each_other_at_their_edges() {
    let same = |one: &str, other: &str| assert!(packet_bins(one) == packet_bins(other), "{one} {other}");
    let shared = "buffer_policy = shared;";
    // all places belong to one virtual channel each
    same("", "buffer_policy = shared; private_buf_size = -1;");
    same("", "buffer_policy = feedback; private_buf_size = 4; feedback_offset = 4000;");
    // limits that nobody reaches
    same(shared, "buffer_policy = limited;");
    same(shared, "buffer_policy = limited; max_held_slots = 13;");
    same(shared, "buffer_policy = feedback; feedback_offset = 4000;");
    same(shared, "buffer_policy = simplefeedback; feedback_offset = 4000;");
    // the defaults, said
    same(
        shared,
        "buffer_policy = shared; buf_size = 16; private_bufs = 4; private_buf_size = {1,1}; \
         private_buf_start_vc = {0,1,2,3}; private_buf_end_vc = {0,1,2,3};",
    );
    // the least that feedback can grant
    same(
        "buffer_policy = limited; max_held_slots = 1;",
        "buffer_policy = feedback; feedback_offset = -4000; private_buf_size = 1; buf_size = 16;",
    );
    same("buffer_policy = dynamic; num_vcs = 2;", "buffer_policy = shifting; num_vcs = 2;");
}

#[test]
fn policies_of_buffers_lose_nothing_and_differ() {
    let mut seen = vec![packet_bins("")];
    for policy in [
        "shared;",
        "shared; buf_size = 11;",
        "shared; private_bufs = 2; private_buf_size = 3;",
        "shared; private_bufs = 2; private_buf_size = {6,2}; private_buf_start_vc = {0,1}; private_buf_end_vc = {0,3};",
        // virtual channels 2 and 3 are in no part
        "shared; private_bufs = 1; private_buf_size = 4; private_buf_start_vc = 0; private_buf_end_vc = 1;",
        "limited; max_held_slots = 5;",
        "limited; max_held_slots = 3;",
        "dynamic;",
        "shifting;",
        "feedback;",
        "feedback; feedback_aging_scale = 3;",
        "feedback; feedback_offset = -6;",
        "simplefeedback;",
        "feedback; routing_delay = 0; speculative = 1; vc_allocator = piggyback;",
        "dynamic; wait_for_tail_credit = 1;",
        "simplefeedback; wait_for_tail_credit = 1; internal_speedup = 1.5;",
    ] {
        let bins = packet_bins(&format!("buffer_policy = {policy}"));
        assert!(!seen.contains(&bins), "{policy}");
        seen.push(bins);
    }
}

/// A run of a mesh with queues for the outputs of the next router, or without.
fn by_next_output(noq: u32, options: &str) -> Vec<Vec<u64>> {
    everything(&format!(
        "{SMALL} routing_delay = 0; num_vcs = 10; noq = {noq}; packet_size = 4; injection_rate = 0.1; seed = 2; \
         max_samples = 4; {options}"
    ))
}

#[test]
fn queues_for_the_outputs_of_the_next_router_change_waiting_only() {
    for options in [
        "",
        "traffic = transpose; injection_rate = 0.04;",
        "routing_function = xy_yx;",
        "topology = torus; routing_function = dim_order;",
        "topology = fattree; routing_function = anca; num_vcs = 16;",
        "use_read_write = 1; num_vcs = 20; read_request_begin_vc = 0; read_request_end_vc = 9; write_request_begin_vc = 0; \
         write_request_end_vc = 9; read_reply_begin_vc = 10; read_reply_end_vc = 19; write_reply_begin_vc = 10; \
         write_reply_end_vc = 19; injection_rate = 0.02;",
    ] {
        let (with, without) = (by_next_output(1, options), by_next_output(0, options));
        assert!(with != without, "{options}");
        // as many packets, over as many routers
        let mean = |all: &[Vec<u64>]| {
            let hops = &all[5];
            let sum: u64 = hops.iter().zip(0..).map(|(count, hops)| count * hops).sum();
            sum as f64 / hops.iter().sum::<u64>() as f64
        };
        assert!((mean(&with) - mean(&without)).abs() < 0.15, "{options}");
    }
    for (text, expected) in [
        ("noq = 1; num_vcs = 10;", "`routing_delay = 0` is expected"),
        (
            "noq = 1; routing_delay = 0;",
            "5 outputs, for each of which `dor` needs 1 virtual channels: there are 2",
        ),
        ("noq = 1; routing_delay = 0; num_vcs = 10; routing_function = min_adapt;", "offers several outputs"),
    ] {
        let message = message(&format!("{SMALL} {text}"));
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn a_switch_is_crossed_in_the_sum_of_its_two_delays() {
    let of = |delays: &str| everything(&format!("{SMALL} {delays}"));
    assert_eq!(of("st_prepare_delay = 1; st_final_delay = 0;"), of(""));
    assert_ne!(of("st_prepare_delay = 1;"), of(""));
}
