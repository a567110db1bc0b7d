//! Texts: how they are read, and mistakes in them.

use stratasim_experiment::booksim::Setup;
use stratasim_experiment::booksim::text::{assignments, call, entries};

use super::{SMALL, message};

#[test]
fn texts_are_read_with_comments_and_lists() {
    let list =
        assignments("// all of it\nk = 8; n=2; // two\n\ntraffic = hotspot({{0,1},\n {3,1}});").unwrap();
    let values: Vec<_> = list.iter().map(|one| (one.name.as_str(), one.value.as_str(), one.line)).collect();
    assert_eq!(values, [("k", "8", 2), ("n", "2", 2), ("traffic", "hotspot({{0,1},  {3,1}})", 4)]);
    assert_eq!(entries("{a,{b,c}}").unwrap(), ["a", "{b,c}"]);
    assert_eq!(call("randperm(7)").unwrap(), ("randperm", vec!["7"]));
    assert_eq!(call("hotspot({{0,1},{3,1}})").unwrap(), ("hotspot", vec!["{0,1}", "{3,1}"]));
    assert_eq!(call("on_off({0.1,0.2,-1})").unwrap(), ("on_off", vec!["0.1", "0.2", "-1"]));
    assert_eq!(call("on_off(0.1,0.2,-1)").unwrap(), ("on_off", vec!["0.1"]));
    let one_list = call("hotspot({0,5},{1,1})").unwrap_err();
    assert!(one_list.contains("hotspot({{0,5},{1,1}})"), "{one_list}");
}

#[test]
fn buffers_that_cannot_be_are_refused() {
    for (options, expected) in [
        ("num_vcs = 4; buf_size = 3;", "`buf_size`: 3 flits for 4 virtual channels: none has a place"),
        ("buffer_policy = own;", "`buffer_policy`: found `own`; expected private, shared, limited"),
        ("buffer_policy = shared; private_bufs = 3;", "`private_bufs`: found 3, expected -1 to 2"),
        ("buffer_policy = shared; private_buf_size = 9;", "18 flits in a buffer of 16"),
        (
            "buffer_policy = shared; private_buf_start_vc = {0,0};",
            "[0, 1] has virtual channels of another part",
        ),
        ("buffer_policy = shared; private_buf_start_vc = 1;", "1 values for 2 parts"),
        ("buffer_policy = shared; private_buf_end_vc = {0,2};", "[1, 2]; the virtual channels are 0 to 1"),
        (
            "buffer_policy = shared; private_buf_size = {16,0};",
            "virtual channels without a place of their own",
        ),
        ("buffer_policy = limited; max_held_slots = 0;", "`max_held_slots`: 0 flits; 1 or more"),
        (
            "buffer_policy = feedback; feedback_aging_scale = 40;",
            "`feedback_aging_scale`: found 40, expected 0 to 16",
        ),
    ] {
        let message = message(&format!("{SMALL} {options}"));
        assert!(message.contains(expected), "{options}: {message}");
    }
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, expected) in [
        ("k = 8;\nnum_vc = 4;", "line 2: there is no option `num_vc`; did you mean `num_vcs`?"),
        ("k = 8;\n\nn = 2", "line 3: `n = 2` has no `;` at its end"),
        ("k 8;", "line 1: found `k 8`; expected `name = value;`"),
        ("k = ;", "line 1: `k` has no value"),
        ("k = eight;", "line 1: `k`: found `eight`, expected a whole number"),
        ("topology = ring;", "line 1: `topology`: found `ring`; topologies are mesh, torus, cmesh, fly"),
        ("topology = mesh; routing_function = nca;", "functions of the topology `mesh` are dor"),
        (
            "topology = torus; routing_function = valiant; num_vcs = 2;",
            "`valiant` needs 4 virtual channels, there are 2",
        ),
        (
            "topology = mesh; routing_function = dor;\ntraffic = storm;",
            "line 2: `traffic`: found `storm`; patterns are uniform",
        ),
        (
            "topology = mesh; routing_function = dor; k = 3; traffic = bitcomp;",
            "bitcomp needs a power of two, the network has 9 nodes",
        ),
        (
            "topology = mesh; routing_function = dor; n = 1; traffic = transpose;",
            "transpose needs a power of four",
        ),
        ("topology = mesh; routing_function = dor; injection_rate = 1.5;", "1.5 packets per node and cycle"),
        (
            "topology = mesh; routing_function = dor; k = 4000;",
            "4000^2 routers; at most 1048576 are possible",
        ),
        (
            "topology = mesh; routing_function = dor; k = 2; n = 20;",
            "`n`: 1048576 routers of up to 41 ports; at most 16777216",
        ),
        (
            "topology = fattree; routing_function = nca; k = 2; n = 20;",
            "`n`: 10485760 routers of up to 4 ports",
        ),
        (
            "topology = flatfly; routing_function = ran_min; k = 1000; n = 2; x = 1000; y = 1000;",
            "routers of up to 1999 ports",
        ),
        (
            "topology = mesh; routing_function = dor; k = 1000; num_vcs = 8;",
            "40000000 virtual channels at the inputs of 1000000 routers; at most 16777216 are possible",
        ),
        ("topology = mesh; routing_function = dor; num_vcs = 64;", "`num_vcs`: found 64, expected 1 to 32"),
        (
            "topology = mesh; routing_function = dor; vc_allocator = best;",
            "found `best`; allocators are islip(i)",
        ),
        ("topology = mesh; routing_function = dor; subnets = 99;", "`subnets`: found 99, expected 1 to 32"),
        (
            "topology = mesh; routing_function = dor; subnets = 2; hold_switch_for_packet = 1;",
            "where BookSim2 stops at an assertion",
        ),
        (
            "topology = mesh; routing_function = dor; use_read_write = 1; read_reply_subnet = 1;",
            "`read_reply_subnet`: found 1, expected 0 to 0",
        ),
        (
            "topology = mesh; routing_function = dim_order_ni; k = 5;",
            "needs 25 virtual channels, there are 16",
        ),
        ("topology = cmesh; routing_function = dor;", "found 1; `cmesh` has 4 terminals per router"),
        ("topology = cmesh; c = 4; routing_function = dor;", "and `xr` times `yr` is 1"),
        (
            "topology = cmesh; c = 4; xr = 2; yr = 2; k = 5; routing_function = dor;",
            "an even number is expected",
        ),
        ("topology = flatfly; x = 7; y = 7; routing_function = ran_min;", "do not hold all 64 in whole rows"),
        (
            "topology = flatfly; n = 5; k = 2; routing_function = ran_min;",
            "5 dimensions; 1 to 4 are possible",
        ),
        ("topology = dragonflynew; k = 2; routing_function = min;", "`dragonflynew` have one dimension: 1"),
        ("topology = dragonflynew; k = 2; n = 1; routing_function = ugal;", "exactly 3 virtual channels"),
        ("topology = tree4; routing_function = nca;", "`tree4` has k = 4 and n = 3 only"),
        ("topology = anynet; routing_function = min;", "`anynet` needs the file"),
        ("topology = anynet;\nnetwork_file = not/there;", "line 2: `network_file`: not/there: "),
        (
            "topology = mesh; routing_function = dor; xr = 2; traffic = tornado;",
            "tornado leads out of the network",
        ),
        ("router = chaos;", "`router` can only be iq here"),
        (
            "packet_size = {{1,0}}; topology = mesh; routing_function = dor;",
            "found 0, expected 1 to 16,384 flits",
        ),
        (
            "traffic = hotspot({{0,99}}); topology = mesh; routing_function = dor;",
            "node 99; the network has nodes 0 to 63",
        ),
        ("traffic = hotspot({{0,9}; topology = mesh; routing_function = dor;", "is not closed"),
        (
            "topology = mesh; routing_function = dor; injection_process = on_off({0.1,0.2,0.5});",
            "alpha 0.1, beta 0.2, r1 0.5; the load gives one of them, which is negative",
        ),
        (
            "topology = mesh; routing_function = dor; use_read_write = 1; read_reply_begin_vc = 14;",
            "`read_reply_end_vc`: found 13, and the first one is 14",
        ),
    ] {
        let message = message(text);
        assert!(message.contains(expected), "{text}: {message:?} lacks {expected:?}");
    }
}

#[test]
fn mistakes_in_network_files_are_named_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = "topology = anynet; routing_function = min; network_file = net;";
    let read = |file: &str| {
        std::fs::write(folder.path().join("net"), file).unwrap();
        Setup::read_in(text, folder.path()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(read("router 0 node 0 router 1\nrouter 1 node 1\n"), Ok(()));
    for (file, expected) in [
        ("", "there is no node in it"),
        ("router 0 nodes 0", "line 1: found `nodes`, expected `router` or `node`"),
        ("\nrouter", "line 2: expected `router N` or `node N` first"),
        ("router 0 node", "line 1: expected a number behind the last word"),
        ("router 0 node -1", "line 1: found `-1`, expected a number below"),
        ("router 0 node 0 router 1 0", "line 1: found `0`, expected a latency of 1 to"),
        ("router 0 node 0\nrouter 1 node 0", "line 2: node 0 is at router 0 and at router 1"),
        ("node 0 node 1", "line 1: node 0 is joined to node 1"),
        ("router 0 node 1", "there is no node 0"),
        ("router 0 node 0 router 2", "there is no router 1"),
        ("router 0 node 0\nrouter 1 node 1", "router 1 is not connected with router 0"),
        (
            "router 0 node 0 router 1\nrouter 1 router 2\nrouter 0 node 2 5 node 1",
            "a latency stands behind `node 2` of router 0",
        ),
        ("node 0 router 0 5", "takes it for a second place of node 0"),
        ("node 5000000 router 0", "found `5000000`"),
    ] {
        let found = read(file).err().unwrap_or_default();
        assert!(found.contains(expected), "{file:?}: {found:?} lacks {expected:?}");
    }
}

#[test]
fn hostile_texts_are_refused_without_a_panic() {
    for text in [
        "=;",
        ";;;",
        "k = 99999999999999999999;",
        "k = -1;",
        "k = {};",
        "n = 20; k = 1048576;",
        "topology = ();",
        "traffic = (;",
        "packet_size = {{}};",
        "packet_size_rate = {{-1}};",
        "injection_rate = nan;",
        "\u{0};",
        "internal_speedup = 1e300; topology = mesh; routing_function = dor;",
        "traffic = hotspot({{0},{4294967296}});",
        "classes = 1000000;",
        "sample_period = 0;",
        "k = 8; k",
        "{",
        "}",
        "traffic = }{;",
    ] {
        let text = if text.contains("topology") || !text.contains("traffic") {
            text.to_owned()
        } else {
            format!("topology = mesh; routing_function = dor; {text}")
        };
        let result = Setup::read(&text).map(|_| ());
        if text.trim_matches(';').is_empty() {
            continue;
        }
        assert!(result.is_err(), "{text:?} is accepted");
    }
}

#[test]
fn what_a_router_cannot_be_is_refused_at_its_line() {
    let mesh =
        "topology = mesh;\nk = 4;\nn = 2;\nrouting_function = dor;\nnum_vcs = 3;\ntraffic = uniform;\n";
    for (line, words) in [
        ("vc_allocator = separable_input_first(tree(2,round_robin));", "a tree of 2 groups"),
        ("sw_allocator = separable_output_first(tree(2,matrix));", "a tree of 2 groups"),
        ("internal_speedup = 0.5;", "0.5; 1 to 8 are possible"),
        ("st_final_delay = 0;", "0 cycles, and 0 of `st_prepare_delay`"),
        ("output_buffer_size = 0;", "no flit would ever get behind the crossbar"),
    ] {
        let error = Setup::read(&format!("{mesh}{line}\n")).map(|_| ()).expect_err("it is refused");
        let option = line.split(' ').next().unwrap();
        assert_eq!(error.line, 7, "{error}");
        assert!(error.reason.contains(words) && error.reason.contains(option), "{error}");
    }
}
