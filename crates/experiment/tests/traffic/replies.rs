//! Requests and their replies.

use stratasim_experiment::traffic::statistics;

use super::{MESH, experiment, prepare, run};

#[test]
fn requests_are_answered_and_replies_are_measured() {
    let text = experiment(
        MESH,
        "load = 0.01\nmeasure = { window = 1000 }\n[[traffic.class]]\nname = \"read\"\nreply = { flits = 4, range = 1 }\n",
    )
    .replace("buffer-flits = 8", "buffer-flits = 8, ranges = [[0, 1], [2, 3]]");
    let result = run(&text);
    let found = statistics(&result);
    let [read, replies] = found.classes.as_slice() else { panic!("{:?}", found.classes) };
    assert_eq!(replies.name, "replies to read");
    let ratio = replies.accepted_flits_per_cycle / read.accepted_flits_per_cycle;
    assert!((ratio - 4.0).abs() < 0.1, "a reply of four flits for each request: {ratio}");
    // the way back is as long, plus three flits
    let longer = replies.network_latency_cycles.mean.unwrap() - read.network_latency_cycles.mean.unwrap();
    assert!((longer - 3.0).abs() < 1.0, "{longer}");
    let shared = text.replace("range = 1", "range = 0");
    assert!(prepare(&shared).err().unwrap().contains("block each other"));
    // terminals here take all, so that whoever knows that may have it
    let shared = shared.replace("ranges =", "XX").replace("[network]", "[network]\ndeadlock-check = false");
    let shared = shared.replace(", XX [[0, 1], [2, 3]]", "").replace(", range = 0", "");
    assert!(!statistics(&run(&shared)).saturated.unwrap());
    // what a class is called that it makes
    let twice = format!("{text}[[traffic.class]]\nname = \"replies to read\"\n");
    let error = prepare(&twice).err().unwrap();
    assert!(
        error.starts_with("traffic.class.1.name: `replies to read` is what class 0 gets back"),
        "{error}"
    );
}
