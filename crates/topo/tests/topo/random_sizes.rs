//! Trees, grids and dragonflies of random sizes: every route is whole and of the right length.

use crate::support::{Router, distances};
use proptest::prelude::*;

/// Every pair by rule: contiguous without loops (the router checks that), and as short as possible.
fn check_shortest(spec: &str) {
    let mut router = Router::new(spec);
    let hosts = router.topology.compute_nodes().to_vec();
    for &src in &hosts {
        let distance = distances(&router.topology, src);
        for &dst in &hosts {
            assert_eq!(
                Some(router.route(src, dst, 0).len()),
                distance[dst.index()],
                "{spec}: {src} to {dst}"
            );
        }
    }
}

const LINK: &str = r#""bandwidth": "1 GB/s", "latency": "1 us""#;

fn duplex() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("full"), Just("half")]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn trees(levels in prop::collection::vec((1..4_u32, 1..4_u32, 1..3_u32), 1..4), duplex in duplex()) {
        let list = |of: fn(&(u32, u32, u32)) -> u32| levels.iter().map(of).collect::<Vec<_>>();
        let (down, up, parallel) = (list(|l| l.0), list(|l| l.1), list(|l| l.2));
        check_shortest(&format!(
            r#"{{"kind": "fat-tree", "down": {down:?}, "up": {up:?}, "parallel": {parallel:?}, "duplex": "{duplex}", {LINK}}}"#
        ));
    }

    #[test]
    fn products(dimensions in prop::collection::vec((0..4_usize, 1..6_u32, 1..3_u32), 1..4), duplex in duplex()) {
        const SHAPES: [&str; 4] = ["ring", "line", "fully-connected", "switch"];
        let dimensions: Vec<String> = dimensions
            .iter()
            .map(|&(shape, nodes, parallel)| {
                let shape = SHAPES[shape];
                format!(r#"{{"shape": "{shape}", "nodes": {nodes}, "parallel": {parallel}, {LINK}}}"#)
            })
            .collect();
        let spec = format!(
            r#"{{"kind": "multi-dimensional", "duplex": "{duplex}", "dimensions": [{}]}}"#,
            dimensions.join(", ")
        );
        check_shortest(&spec);
    }

    #[test]
    fn dragonflies(p in 1..3_u32, a in 1..5_u32, h in 0..4_u32, fewer in 0..8_u32, duplex in duplex()) {
        let g = (a * h + 1).saturating_sub(fewer).max(1);
        let spec = format!(r#"{{"kind": "dragonfly", "p": {p}, "a": {a}, "h": {h}, "g": {g}, "duplex": "{duplex}", {LINK}}}"#);
        let mut router = Router::new(&spec);
        let groups = router.topology.grouping("group").unwrap().to_vec();
        let hosts = router.topology.compute_nodes().to_vec();
        for &src in &hosts {
            for &dst in &hosts {
                let links = router.route(src, dst, 0);
                let crossed = links
                    .iter()
                    .filter(|&&link| {
                        let [from, to] = router.topology.link(link).ends.unwrap();
                        groups[from.index()] != groups[to.index()]
                    })
                    .count();
                prop_assert_eq!(crossed, usize::from(groups[src.index()] != groups[dst.index()]));
                prop_assert!(links.len() <= 5);
            }
        }
    }
}
