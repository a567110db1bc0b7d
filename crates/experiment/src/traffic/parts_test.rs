//! A network in parts gives the bits of a network in one.

use std::path::Path;
use std::time::Instant;

use stratasim_net::flit::Prepared;
use stratasim_net::flit::fast::Fast;

use super::{Traffic, statistics};
use crate::document::Document;

const NETWORK: &str = "bandwidth = \"32 GB/s\"\nlatency = \"1 ns\"\n[network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\n\
                       router = { virtual-channels = 4, buffer-flits = 8 }\n[traffic]\n";

/// Everything that a run in `parts` parts says.
fn run(text: &str, parts: usize) -> String {
    let document = Document::from_toml("test.toml", text).unwrap();
    let traffic = Traffic::new(&document, Path::new("")).unwrap();
    let Prepared { fabric, router, routing, .. } = &traffic.network;
    let kernel = Fast::with_parts(fabric.clone(), router, routing.clone(), 1, parts).unwrap();
    assert_eq!(kernel.parts(), parts);
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let result = traffic.run_cut(parts, &|| false, None, Instant::now()).unwrap();
    assert!(result.checks_hold(), "{:?}", result.checks);
    let said = serde_json::to_string(statistics(&result)).unwrap();
    format!("{} {} {:?} {said}", result.digest, result.makespan_s, result.counters)
}

#[test]
fn results_do_not_depend_on_the_parts_of_the_network() {
    let torus = "kind = \"torus\"\ndimensions = [4, 4, 4]";
    let tree = "kind = \"k-ary-n-tree\"\nk = 4\nn = 3";
    let lengths = "flits = [{ flits = 1, weight = 3 }, { flits = 9, weight = 1 }]";
    let hot = "pattern = { kind = \"hot-spot\", target = 9, fraction = 0.04 }";
    for (topology, traffic) in [
        (torus, "load = 0.3".to_owned()),
        (torus, format!("load = 0.9\n{lengths}\ninjection = {{ kind = \"poisson\" }}")),
        (
            torus,
            format!(
                "load = 0.15\n{hot}\n{lengths}\nprobes = {{ pairs = [[0, 63], [63, 0], [5, 6]], interval = 100 }}"
            ),
        ),
        (torus, format!("load = 0.6\n{hot}\nmeasure.drain-when-saturated = true")),
        (tree, format!("load = 0.3\n{lengths}\ninjection = {{ kind = \"on-off\", beta = 0.1, r1 = 0.9 }}")),
        (tree, "load = 0.95\nflits = 4".to_owned()),
        (tree, "[[traffic.class]]\nload = 0.1\n[[traffic.class]]\nload = 0.2\nflits = 5".to_owned()),
    ] {
        let text = format!("[topology]\n{topology}\n{NETWORK}measure.window = 40\n{traffic}\n");
        let one = run(&text, 1);
        for parts in [2, 3] {
            assert_eq!(run(&text, parts), one, "{parts} parts: {topology} {traffic}");
        }
    }
}

#[test]
fn what_cannot_be_cut_or_is_too_small_has_one_thread() {
    let most = |extent: u32, traffic: &str| {
        let text =
            format!("[topology]\nkind = \"torus\"\ndimensions = [{extent}, {extent}]\n{NETWORK}{traffic}\n");
        let document = Document::from_toml("test.toml", &text).unwrap();
        Traffic::new(&document, Path::new("")).unwrap().most_threads()
    };
    assert_eq!(most(8, "load = 0.4"), 1);
    // 1,024 terminals, about 16 routers on the way
    let threads = most(32, "load = 0.25");
    let hops = 1024.0 * 0.25 * 17.0;
    assert!(f64::from(u32::try_from(threads).unwrap()) > 0.6 * hops / super::LEAST_FLIT_HOPS, "{threads}");
    assert_eq!(most(32, "load = 0.01"), 1);
    assert_eq!(most(32, "batch = { packets = 5 }"), 1);
    assert_eq!(most(32, "load = 0.25\nprobes = { interval = 1000 }"), 1);
}
