//! `stratasim card alloc` as a user meets it.

use crate::support::{Ended, Scratch};
use serde_json::Value;

fn alloc(trace: &str, options: &[&str]) -> (Scratch, Ended) {
    let scratch = Scratch::new();
    scratch.write("trace.csv", trace);
    let ended = scratch.stratasim(&[&["card", "alloc", "trace.csv", "--json", "out.json"], options].concat());
    (scratch, ended)
}

const HEADING: &str = "operation,tier,group,id,bytes\n";

#[test]
fn a_trace_is_replayed_and_accounted_for() {
    let trace = "\
operation, tier, group, id, bytes
# weights that all groups share, and activations of one
alloc, global, , weights, 15 GB
alloc, local, 0, a, 9 GB
alloc, local, 0, b, 3 GB
free, local, 0, b,
alloc, local, 1, c, 100
free, local, 0, weights,
free, local, 0, a,
free, local, 0, a,
";
    let (scratch, ended) = alloc(trace, &["--local", "10GB"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let json: Value = serde_json::from_str(&scratch.read("out.json")).expect("JSON");
    let tier = |index: usize| &json["tiers"][index];
    // what is granted is whole pages of 8 KiB
    let pages = |bytes: u64| bytes.div_ceil(8192) * 8192;
    assert_eq!(tier(4)["capacity_bytes"], 20_000_000_000_u64 / 8192 * 8192, "4 * (15 - 10) GB");
    assert_eq!(tier(4)["in_use_bytes"], pages(15_000_000_000));
    assert_eq!(tier(0)["in_use_bytes"], 0);
    assert_eq!(tier(0)["peak_bytes"], pages(9_000_000_000));
    assert_eq!(
        tier(0)["failures"],
        4,
        "b did not fit and was freed, weights are elsewhere, a was freed twice"
    );
    assert_eq!(tier(1)["in_use_bytes"], 128);
    let reasons: Vec<String> = json["failures"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|failure| format!("{} {}", failure["line"], failure["reason"].as_str().expect("text")))
        .collect();
    assert!(reasons[0].starts_with("5 out of memory: 3000000000 B were asked for"), "{reasons:?}");
    assert!(reasons[1].starts_with("6 its allocation had failed"), "{reasons:?}");
    assert!(reasons[2].contains("belongs to Global memory, but was freed in Local memory of core group 0"));
    assert!(reasons[3].contains("freed twice"), "{reasons:?}");
    assert!(ended.output.contains("global") && ended.output.contains("line 10: free a"), "{}", ended.output);
}

#[test]
fn mistakes_in_a_trace_are_named_with_their_line() {
    for (lines, said) in [
        (
            "alloc,local,0,a,1\nfree,local,0",
            "trace.csv:3: 3 fields, where the heading has 5; is the file cut off?",
        ),
        (
            "aloc,local,0,a,1",
            "trace.csv:2: operation: `alloc` or `free` is expected, found `aloc`, did you mean `alloc`?",
        ),
        ("alloc,locl,0,a,1", "tier: `local` or `global` is expected, found `locl`, did you mean `local`?"),
        ("alloc,local,4,a,1", "group: there is no core group 4; the card has 4, from 0"),
        ("alloc,local,-1,a,1", "group: the number of a core group is expected, found `-1`"),
        ("alloc,global,0,a,1", "group: Global memory belongs to no group, found `0`"),
        ("alloc,global,,a,12 Gib", "did you mean `GiB`?"),
        ("alloc,global,,a,-5", "bytes: "),
        ("alloc,global,,,5", "id: the name of a block is expected"),
        ("alloc,global,,a,5\nalloc,global,,a,5", "trace.csv:3: id: `a` is in use since line 2"),
        ("alloc,global,,abc,5\nfree,global,,abd,", "id: `abd` was never allocated, did you mean `abc`?"),
        ("alloc,global,,a,5\nfree,global,,a,5", "bytes: a free has none, found `5`"),
    ] {
        let (_, ended) = alloc(&format!("{HEADING}{lines}\n"), &["--local", "1 GB"]);
        ended.failed(2, &[said]);
    }
    for (heading, said) in [
        ("operation,tier,group,id,byte", "trace.csv:1: the column `bytes` is missing, is it `byte`?"),
        ("operation,tier,group,id,bytes,when", "unknown or repeated column `when`"),
        ("", "the column `operation` is missing"),
    ] {
        let (_, ended) = alloc(heading, &[]);
        ended.failed(2, &[said]);
    }
}

#[test]
fn more_local_memory_than_a_group_has_is_refused() {
    let (_, ended) = alloc(HEADING, &["--local", "16 GB"]);
    ended.failed(2, &["--local 16 GB is more than --memory 15 GB"]);
    let (_, ended) = alloc(HEADING, &["--local", "0 B", "--memory", "9 PB"]);
    ended.failed(2, &["too large"]);
}
