//! Collectives in groups: each goes on as if the others were not there, whoever wrote them down how.

use std::fmt::Write as _;

use crate::common::{refusal, run};
use stratasim_report::RunResult;

const TREE: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts-per-leaf = 4\n\
    bandwidth = \"10 GB/s\"\nlatency = \"1 us\"\ncompute = { name = \"X\", fp32 = \"1 TFLOP/s\" }\n";

/// When the run and its ranks ended and how long those waited, and bytes by link.
type Facts = (f64, Vec<(f64, f64)>, Vec<(String, f64)>);

fn facts(result: &RunResult) -> Facts {
    let ranks = result.ranks.iter().map(|rank| (rank.finish_s, rank.comm_exposed_s)).collect();
    let links = result.links.iter().flatten().map(|link| (link.name.clone(), link.bytes)).collect();
    (result.makespan_s, ranks, links)
}

/// A step of tensor and data parallelism: sums in rows, then in columns, of ranks of which one comes late.
fn step(network: &str, rows: &[String], columns: &[String]) -> String {
    let name = |vertex: &str| {
        let name = vertex.split('"').nth(1);
        name.expect("a vertex has a name").to_owned()
    };
    let (rows_of, columns_of): (Vec<_>, Vec<_>) =
        (rows.iter().map(|it| name(it)).collect(), columns.iter().map(|it| name(it)).collect());
    let mut edges = String::new();
    let mut edge = |from: &str, to: &str, distance: u32| {
        let _ = write!(edges, "{{ from = \"{from}\", to = \"{to}\", distance = {distance} }}, ");
    };
    for row in &rows_of {
        edge("work", row, 0);
        for column in &columns_of {
            edge(row, column, 0);
        }
    }
    // the row of rank 5 is the first or the second
    edge("late", rows_of.get(1).unwrap_or(&rows_of[0]), 0);
    for column in &columns_of {
        edge(column, "work", 1);
    }
    let vertices = [rows, columns].concat().join(", ");
    format!(
        "{TREE}[network]\nkind = \"{network}\"\n[workload]\nkind = \"graph\"\niterations = 3\nvertices = [\
         {{ name = \"work\", kind = \"compute\", ranks = \"all\", flops = \"1 GFLOP\" }}, \
         {{ name = \"late\", kind = \"compute\", rank = 5, flops = \"2 GFLOP\" }}, {vertices}]\nedges = [{edges}]"
    )
}

#[test]
fn groups_are_what_a_vertex_for_each_of_them_is() {
    for network in ["message", "flow"] {
        for (algorithm, gate) in
            [("ring", "each-member"), ("recursive-doubling", "each-member"), ("direct", "all-members")]
        {
            let sum = |name: &str, who: &str| {
                format!(
                    "{{ name = \"{name}\", kind = \"communication\", collective = \"all-reduce\", bytes = \"1 MB\", \
                     algorithm = \"{algorithm}\", gate = \"{gate}\", {who} }}"
                )
            };
            let listed = |name: &str, stride: usize, across: usize| -> Vec<String> {
                let members = |group: usize| {
                    let first = group * across;
                    (0..4).map(|place| (first + place * stride).to_string()).collect::<Vec<_>>().join(", ")
                };
                let vertex =
                    |group: usize| sum(&format!("{name}{group}"), &format!("members = [{}]", members(group)));
                (0..4).map(vertex).collect()
            };
            let short = step(
                network,
                &[sum("row", "groups = { size = 4 }")],
                &[sum("column", "groups = { size = 4, stride = 4 }")],
            );
            let long = step(network, &listed("row", 1, 4), &listed("column", 4, 1));
            let (short, long) = (run(&short), run(&long));
            assert_eq!(facts(&short), facts(&long), "{network} {algorithm} {gate}");
        }
    }
}

#[test]
fn groups_under_one_leaf_take_as_long_as_one_alone_and_those_across_share_the_spines() {
    let collective = |topology: &str, groups: &str| {
        let text = format!(
            "{topology}[workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nalgorithm = \"ring\"\n\
             bytes = \"40 MB\"\n{groups}"
        );
        run(&text).makespan_s
    };
    let switch =
        "[topology]\nkind = \"single-switch\"\nnodes = 4\nbandwidth = \"10 GB/s\"\nlatency = \"1 us\"\n";
    let alone = collective(switch, "");
    // six steps of 10 MB over two links
    assert!((alone - 6.0 * (10e6 / 10e9 + 2e-6)).abs() < 1e-9, "{alone}");
    let rows = collective(TREE, "groups = { size = 4 }");
    assert!((rows - alone).abs() < 1e-12, "{rows} {alone}");
    // four hosts of a leaf send through two spines
    let columns = collective(TREE, "groups = { size = 4, stride = 4 }");
    assert!((columns - 6.0 * (2.0 * 10e6 / 10e9 + 4e-6)).abs() < 1e-9, "{columns}");
}

#[test]
fn groups_that_are_not_whole_and_groups_of_nobody_are_refused() {
    let refused = |groups: &str| {
        let text = format!(
            "{TREE}[workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\ngroups = {groups}"
        );
        refusal(&text).unwrap_or_default()
    };
    for (groups, reason) in [
        ("{ size = 3 }", "workload.groups.size: 16 members are no multiple of 3"),
        ("{ size = 8, stride = 4 }", "workload.groups.size: 16 members are no multiple of 8 x 4 = 32"),
        ("{ size = 0 }", "workload.groups.size: 0 make no group"),
        ("{ size = 4, stride = 0 }", "workload.groups.stride: 0 make no group"),
    ] {
        let found = refused(groups);
        assert!(found.contains(reason), "{groups}: {found}");
    }
    assert_eq!(refused("{ size = 16 }"), "");
}
