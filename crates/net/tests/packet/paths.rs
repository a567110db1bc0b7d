//! The ways of flows that reports name, beside what the links carried.

use crate::packets::{fat_tree, run};
use crate::statistics::NSCC;
use crate::support::network;

#[test]
fn the_path_of_a_flow_is_where_its_bytes_went() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    for rest in [
        r#""balancing": {"kind": "per-flow"}, "entropy": {"kind": "random"}"#,
        r#""balancing": {"kind": "ecmp"}, "entropy": {"kind": "fixed"}"#,
        r#""balancing": {"kind": "source"}, "entropy": {"kind": "fixed"}"#,
    ] {
        for (from, to, hops) in [(0, 1, 2), (2, 0, 4), (3, 15, 6)] {
            let spec = format!(r#"{{"kind": "packet", "congestion": {{"kind": "dctcp"}}, {rest}}}"#);
            let (_, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &[(from, to, 400_000)]);
            let path = &report.flows[0].path;
            assert_eq!(path.len(), hops, "{rest}");
            let mut node = hosts[from];
            for &link in path {
                let ends = machine.link(link).ends.expect("a link between two nodes");
                assert_eq!(ends[0], node);
                node = ends[1];
            }
            assert_eq!(node, hosts[to]);
            // what the others carried are acknowledgements
            for (index, &bytes) in report.link_bytes.iter().enumerate() {
                let is_on_it = path.iter().any(|link| link.index() == index);
                assert_eq!(bytes >= 400_000.0, is_on_it, "{rest}: {bytes}");
            }
        }
    }
    // packets that are sprayed part behind the first switch
    let (_, report) = run(network(NSCC, machine.clone()).as_mut(), hosts, &[(3, 15, 400_000)]);
    assert_eq!(report.flows[0].path.len(), 1);
}

/// Four ports of an edge switch and four behind it begin shortest ways, and each sender has drawn a number of its own: all that a link
/// carries is what the ways of flows say, and some acknowledgements.
#[test]
fn the_paths_of_many_flows_are_where_their_bytes_went() {
    const PACKETS: u64 = 20;
    let machine = fat_tree(8);
    let messages: Vec<_> = (0..64).map(|from| (from, from + 64, PACKETS * 4096)).collect();
    for rest in [
        r#""balancing": {"kind": "source"}, "entropy": {"kind": "fixed"}"#,
        r#""balancing": {"kind": "ecmp"}, "entropy": {"kind": "fixed"}"#,
        r#""balancing": {"kind": "per-flow"}"#,
    ] {
        let window = r#""congestion": {"kind": "fixed-window", "window": "100 kB"}"#;
        let spec = format!(r#"{{"kind": "packet", {window}, {rest}}}"#);
        let (_, report) = run(network(&spec, machine.clone()).as_mut(), machine.compute_nodes(), &messages);
        let mut data = vec![0.0; machine.link_count()];
        for flow in &report.flows {
            assert_eq!(flow.path.len(), 6, "{rest}");
            flow.path.iter().for_each(|link| data[link.index()] += (PACKETS * 4160) as f64);
        }
        for (link, (carried, data)) in report.link_bytes.iter().zip(data).enumerate() {
            let others = carried - data;
            assert!((0.0..(PACKETS * 4160) as f64 / 2.0).contains(&others), "{rest}, link {link}: {others}");
        }
    }
}
