//! Open-loop patterns: every destination is what the pattern's definition says, drawn as often as it says.

use std::collections::BTreeMap;

use stratasim_core::random::{Draws, Streams, key};
use stratasim_workload::pattern::{Along, Destinations, Layout, PatternSpec, Shape};

fn torus(extents: &[u32]) -> Layout {
    grid(1, extents, Along::Ring)
}

fn grid(per_vertex: u32, extents: &[u32], along: Along) -> Layout {
    let dimensions: Vec<(u32, Along)> = extents.iter().map(|&extent| (extent, along)).collect();
    Layout {
        ranks: per_vertex * extents.iter().product::<u32>(),
        shape: Shape::Grid { per_vertex, dimensions },
    }
}

fn tree(children: &[u32]) -> Layout {
    Layout { ranks: children.iter().product(), shape: Shape::Tree { children: children.to_vec() } }
}

fn lay(spec: &str, layout: &Layout) -> Result<Box<dyn Destinations>, String> {
    let spec: PatternSpec = serde_json::from_str(spec).map_err(|error| error.to_string())?;
    let mut random = Streams::new(1).stream("pattern");
    spec.plugin().destinations(layout, &mut random).map_err(|error| error.to_string())
}

fn refused(spec: &str, layout: &Layout) -> String {
    lay(spec, layout).expect_err("this is no pattern")
}

/// How often each destination of `source` was drawn.
fn drawn(destinations: &dyn Destinations, source: u32, to_self: bool, count: u64) -> BTreeMap<u32, u64> {
    let base = Streams::new(3).key("test");
    let mut found = BTreeMap::new();
    for number in 0..count {
        let mut draws = Draws::new(key(key(base, source.into()), number));
        if let Some(to) = destinations.destination(source, to_self, &mut draws) {
            *found.entry(to).or_default() += 1;
        }
    }
    found
}

/// Whether `seen` of `count` is within six standard deviations of a share.
fn close(seen: u64, count: u64, share: f64) -> bool {
    let (count, seen) = (count as f64, seen as f64);
    (seen - count * share).abs() <= 6.0 * (count * share * (1.0 - share)).sqrt() + 1e-9
}

/// The one destination of each rank, self among them.
fn fixed(spec: &str, layout: &Layout) -> Vec<u32> {
    let destinations = lay(spec, layout).unwrap();
    assert!(destinations.is_fixed());
    let to = |source| destinations.destination(source, true, &mut Draws::new(0)).unwrap();
    (0..layout.ranks).map(to).collect()
}

#[test]
fn bit_permutations_permute_bits() {
    let flat = Layout::flat(16);
    assert_eq!(fixed(r#"{"kind": "bit-complement"}"#, &flat)[..4], [15, 14, 13, 12]);
    // 0001 -> 1000, 0011 -> 1100, 0110 stays
    let reversed = fixed(r#"{"kind": "bit-reversal"}"#, &flat);
    assert_eq!((reversed[1], reversed[3], reversed[6], reversed[13]), (8, 12, 6, 11));
    // 1000 -> 0001, 0101 -> 1010
    let shuffled = fixed(r#"{"kind": "shuffle"}"#, &flat);
    assert_eq!((shuffled[8], shuffled[5], shuffled[15], shuffled[9]), (1, 10, 15, 3));
    // transposing a matrix of 4 x 4 swaps the two halves of the bits
    let transposed = fixed(r#"{"kind": "transpose"}"#, &flat);
    assert!((0..16).all(|rank| transposed[rank as usize] == (rank % 4) * 4 + rank / 4));
    for kind in ["bit-complement", "bit-reversal", "shuffle"] {
        let mut seen = fixed(&format!(r#"{{"kind": "{kind}"}}"#), &flat);
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..16), "{kind} is a permutation");
        let reason = refused(&format!(r#"{{"kind": "{kind}"}}"#), &Layout::flat(12));
        assert!(reason.contains("power of two") && reason.contains("12"), "{reason}");
    }
}

#[test]
fn digit_permutations_move_along_every_dimension() {
    let machine = torus(&[8, 4, 5]);
    let tornado = fixed(r#"{"kind": "tornado"}"#, &machine);
    let neighbour = fixed(r#"{"kind": "digit-neighbour"}"#, &machine);
    for rank in 0..160 {
        let (x, y, z) = (rank % 8, rank / 8 % 4, rank / 32);
        assert_eq!(tornado[rank as usize], (x + 3) % 8 + (y + 1) % 4 * 8 + (z + 2) % 5 * 32);
        assert_eq!(neighbour[rank as usize], (x + 1) % 8 + (y + 1) % 4 * 8 + (z + 1) % 5 * 32);
    }
    assert_eq!(fixed(r#"{"kind": "tornado", "dimensions": [160]}"#, &machine)[0], 79);
    assert!(refused(r#"{"kind": "tornado"}"#, &Layout::flat(64)).contains("give their extents"));
    assert!(refused(r#"{"kind": "tornado", "dimensions": [8, 9]}"#, &machine).contains("do not make 160"));
    assert!(refused(r#"{"kind": "tornado"}"#, &torus(&[2, 2])).contains("everything to its sender"));
}

#[test]
fn a_fixed_pattern_that_meets_its_source_is_silent_without_messages_to_oneself() {
    let destinations = lay(r#"{"kind": "transpose"}"#, &Layout::flat(16)).unwrap();
    let to = |source, to_self| destinations.destination(source, to_self, &mut Draws::new(0));
    assert_eq!((to(5, true), to(5, false), to(1, false)), (Some(5), None, Some(4)));
}

#[test]
fn uniform_traffic_reaches_everybody_as_often_with_and_without_oneself() {
    for (spec, ranks) in [(r#"{"kind": "uniform-random"}"#, 7), (r#"{"kind": "all-to-all"}"#, 7)] {
        let destinations = lay(spec, &Layout::flat(ranks)).unwrap();
        for (to_self, others) in [(true, 7), (false, 6)] {
            let seen = drawn(destinations.as_ref(), 3, to_self, 70_000);
            assert_eq!((seen.len(), seen.contains_key(&3)), (others, to_self));
            assert!(seen.values().all(|&count| close(count, 70_000, 1.0 / others as f64)), "{seen:?}");
        }
    }
}

#[test]
fn the_random_permutations_of_patterns_have_their_shares() {
    let square = Layout::flat(64);
    let seen = drawn(lay(r#"{"kind": "diagonal"}"#, &square).unwrap().as_ref(), 63, true, 30_000);
    assert!(seen.len() == 2 && close(seen[&0], 30_000, 1.0 / 3.0) && close(seen[&63], 30_000, 2.0 / 3.0));
    let seen = drawn(lay(r#"{"kind": "asymmetric"}"#, &square).unwrap().as_ref(), 40, true, 30_000);
    assert!(seen.len() == 2 && close(seen[&8], 30_000, 0.5) && close(seen[&40], 30_000, 0.5));
    let seen = drawn(lay(r#"{"kind": "taper"}"#, &square).unwrap().as_ref(), 0, true, 100_000);
    for rank in 0..64 {
        let near = [55, 56, 57, 63, 0, 1, 7, 8, 9].contains(&rank);
        let share = 0.5 / 64.0 + if near { 0.5 / 9.0 } else { 0.0 };
        assert!(close(seen[&rank], 100_000, share), "{rank}: {}", seen[&rank]);
    }
    let seen = drawn(lay(r#"{"kind": "bad-yarc"}"#, &square).unwrap().as_ref(), 19, true, 30_000);
    assert!(seen.keys().copied().eq((0..8).map(|row| row * 8 + 2)), "{seen:?}");
    let spec = r#"{"kind": "bad-dragonfly", "group": 16}"#;
    let seen = drawn(lay(spec, &square).unwrap().as_ref(), 63, true, 30_000);
    assert!(seen.keys().copied().eq(0..16), "the next group, cyclic: {seen:?}");
    let seen = drawn(lay(r#"{"kind": "neighbour", "reach": 2}"#, &square).unwrap().as_ref(), 1, true, 30_000);
    assert!(seen.keys().copied().eq([0, 2, 3, 63]) && seen.values().all(|&n| close(n, 30_000, 0.25)));
    let excluded = r#"{"kind": "background", "excluded": [0, 1, 2]}"#;
    let seen = drawn(lay(excluded, &Layout::flat(8)).unwrap().as_ref(), 4, false, 30_000);
    assert!(seen.keys().copied().eq([3, 5, 6, 7]), "{seen:?}");
    assert!(refused(r#"{"kind": "taper"}"#, &Layout::flat(63)).contains("square"));
    assert!(refused(r#"{"kind": "asymmetric"}"#, &Layout::flat(63)).contains("even"));
    assert!(refused(r#"{"kind": "transpose"}"#, &Layout::flat(63)).contains("such as 49; got 63"));
    // one rank alone would have nobody to send to
    assert!(refused(r#"{"kind": "transpose"}"#, &Layout::flat(3)).contains("such as 4; got 3"));
    assert!(refused(r#"{"kind": "bad-dragonfly", "group": 7}"#, &square).contains("do not divide"));
}

#[test]
fn hot_spots_get_their_rate_over_any_background() {
    let spec =
        r#"{"kind": "hot-spot", "target": 5, "fraction": 0.2, "background": {"kind": "bit-complement"}}"#;
    let hot = lay(spec, &Layout::flat(64)).unwrap();
    let seen = drawn(hot.as_ref(), 0, true, 30_000);
    assert!(seen.len() == 2 && close(seen[&5], 30_000, 0.2) && close(seen[&63], 30_000, 0.8), "{seen:?}");
    // the hot rank itself: with messages to oneself it is as hot as for others, without it is background
    assert!(close(drawn(hot.as_ref(), 5, true, 30_000)[&5], 30_000, 0.2));
    assert_eq!(drawn(hot.as_ref(), 5, false, 1000), BTreeMap::from([(58, 1000)]));
    // over a uniform background: rate plus its share of the rest
    let hot = lay(r#"{"kind": "hot-spot", "target": 5, "fraction": 0.2}"#, &Layout::flat(64)).unwrap();
    assert!(close(drawn(hot.as_ref(), 0, false, 60_000)[&5], 60_000, 0.2 + 0.8 / 63.0));
    let spec = r#"{"kind": "hot-spots", "targets": [1, 2, 9], "weights": [1, 0, 3]}"#;
    let seen = drawn(lay(spec, &Layout::flat(64)).unwrap().as_ref(), 0, false, 40_000);
    assert!(seen.len() == 2 && close(seen[&1], 40_000, 0.25) && close(seen[&9], 40_000, 0.75), "{seen:?}");
    for (spec, word) in [
        (r#"{"kind": "hot-spot", "fraction": 1.5}"#, "between 0 and 1"),
        (r#"{"kind": "hot-spot", "target": 64}"#, "does not exist"),
        (r#"{"kind": "hot-spot", "background": {"kind": "tornado"}}"#, "background.dimensions"),
        (r#"{"kind": "hot-spots", "targets": []}"#, "targets: there are none"),
        (r#"{"kind": "hot-spots", "targets": [1], "weights": [1, 2]}"#, "2 weights for 1 targets"),
        (r#"{"kind": "hot-spots", "targets": [1], "weights": [0]}"#, "sum to 0"),
    ] {
        let reason = refused(spec, &Layout::flat(64));
        assert!(reason.contains(word), "{reason}");
    }
}

/// Hops between two vertices of a grid.
fn hops(a: u32, b: u32, extents: &[u32], along: Along) -> u32 {
    let (mut a, mut b, mut sum) = (a, b, 0);
    for &extent in extents {
        let apart = (a % extent).abs_diff(b % extent);
        sum += match along {
            Along::Line => apart,
            Along::Ring => apart.min(extent - apart),
            Along::Clique => apart.min(1),
        };
        (a, b) = (a / extent, b / extent);
    }
    sum
}

#[test]
fn local_messages_go_to_all_ranks_within_so_many_hops_and_to_no_others() {
    for along in [Along::Line, Along::Ring, Along::Clique] {
        for (extents, per_vertex, distance) in
            [(&[4, 3, 2][..], 1, 1), (&[5, 4], 1, 2), (&[6, 5], 2, 3), (&[7], 3, 1), (&[4, 4], 1, 9)]
        {
            let layout = grid(per_vertex, extents, along);
            let spec = format!(r#"{{"kind": "local", "distance": {distance}, "fraction": 1}}"#);
            let local = lay(&spec, &layout).unwrap();
            for source in [0, layout.ranks / 2, layout.ranks - 1] {
                let vertex = source / per_vertex;
                let near: Vec<u32> = (0..layout.ranks)
                    .filter(|&to| to != source && hops(vertex, to / per_vertex, extents, along) <= distance)
                    .collect();
                let seen = drawn(local.as_ref(), source, true, 20_000);
                assert!(
                    seen.keys().eq(&near),
                    "{along:?} {extents:?} {distance} from {source}: {seen:?} {near:?}"
                );
                let share = 1.0 / near.len() as f64;
                assert!(seen.values().all(|&count| close(count, 20_000, share)), "{seen:?}");
            }
        }
    }
}

#[test]
fn local_messages_of_a_tree_stay_in_the_subtree() {
    let layout = tree(&[4, 3, 2]);
    for (distance, size) in [(1, 4), (2, 12), (3, 24)] {
        let spec = format!(r#"{{"kind": "local", "distance": {distance}, "fraction": 1}}"#);
        let seen = drawn(lay(&spec, &layout).unwrap().as_ref(), 17, false, 30_000);
        let near: Vec<u32> = (0..24).filter(|to| to / size == 17 / size && *to != 17).collect();
        assert!(seen.keys().eq(&near), "{seen:?}");
        assert!(seen.values().all(|&count| close(count, 30_000, 1.0 / near.len() as f64)), "{seen:?}");
    }
    assert!(refused(r#"{"kind": "local", "distance": 4}"#, &layout).contains("tree of 3 levels"));
    assert!(refused(r#"{"kind": "local"}"#, &Layout::flat(64)).contains("grid, a tree"));
    assert!(refused(r#"{"kind": "local", "distance": 0}"#, &layout).contains("at least 1"));
}

/// Mean routers on the way of a packet, that of the destination among them, as flit-level simulators count.
fn mean_routers(destinations: &dyn Destinations, ranks: u32, routers: impl Fn(u32, u32) -> u32) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for source in (0..ranks).step_by(7) {
        for (to, times) in drawn(destinations, source, true, 1500) {
            sum += f64::from(routers(source, to)) * times as f64;
            count += times as f64;
        }
    }
    sum / count
}

#[test]
fn local_and_fft_traffic_travel_as_far_as_in_the_reference() {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/flit/seedpaper.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: there is no {}", path.display());
        return;
    };
    let field = |line: &str, name: &str| {
        let rest = &line[line.find(&format!("\"{name}\": ")).unwrap() + name.len() + 4..];
        rest[..rest.find([',', '}']).unwrap()].parse::<f64>().unwrap()
    };
    let in_tree = |a: u32, b: u32| {
        let levels = (1..=3).find(|&level| a / 8_u32.pow(level) == b / 8_u32.pow(level)).unwrap();
        2 * levels - 1
    };
    let in_torus = |a: u32, b: u32| 1 + hops(a, b, &[8, 8, 8], Along::Ring);
    let local = |distance: u32, percent: u32| {
        format!(r#"{{"kind": "local", "distance": {distance}, "fraction": {}}}"#, f64::from(percent) / 100.0)
    };
    let fft =
        |phase: &str, columns: u32| format!(r#"{{"kind": "fft", "phase": "{phase}", "columns": {columns}}}"#);
    let cases = [
        ("fig5_torus512_D1_R80_L16", local(1, 80), false),
        ("fig5_torus512_D2_R20_L16", local(2, 20), false),
        ("fig5_torus512_D4_R80_L16", local(4, 80), false),
        ("fig7_ft512_D1_R50_L16", local(1, 50), true),
        ("fig7_ft512_D2_R80_L16", local(2, 80), true),
        ("fft_phase1_ft512_Pcol32_L32", fft("rows", 32), true),
        ("fft_phase2_ft512_Pcol32_L32", fft("columns", 32), true),
        ("fft_phase1_ft512_Pcol16_L32", fft("rows", 16), true),
        ("fft_phase2_torus512_Pcol16_L32", fft("columns", 16), false),
        ("fig8_torus512_hot0_L16", r#"{"kind": "uniform-random"}"#.to_owned(), false),
    ];
    for (case, spec, is_tree) in cases {
        let lines =
            text.lines().filter(|line| line.contains(&format!("\"{case}\"")) && line.contains("\"stable\""));
        // means over thousands of packets each
        let theirs: Vec<f64> = lines.map(|line| field(line, "hops")).collect();
        assert!(!theirs.is_empty(), "{case}");
        let theirs = theirs.iter().sum::<f64>() / theirs.len() as f64;
        let layout = if is_tree { tree(&[8, 8, 8]) } else { torus(&[8, 8, 8]) };
        let destinations = lay(&spec, &layout).unwrap();
        let ours = if is_tree {
            mean_routers(destinations.as_ref(), 512, in_tree)
        } else {
            mean_routers(destinations.as_ref(), 512, in_torus)
        };
        assert!((ours / theirs - 1.0).abs() < 0.012, "{case}: {ours} here, {theirs} there");
    }
}

#[test]
fn an_fft_exchanges_within_rows_then_within_columns_under_any_mapping() {
    let flat = Layout::flat(24);
    let partners = |spec: &str, source| -> Vec<u32> {
        drawn(lay(spec, &flat).unwrap().as_ref(), source, true, 3000).into_keys().collect()
    };
    // 4 rows of 6
    assert_eq!(partners(r#"{"kind": "fft", "columns": 6}"#, 8), [6, 7, 9, 10, 11]);
    assert_eq!(partners(r#"{"kind": "fft", "columns": 6, "phase": "columns"}"#, 8), [2, 14, 20]);
    // column by column: process 8 (row 1, column 2) is on rank 2 * 4 + 1
    let mapping = r#""mapping": {"kind": "column-blocks", "rows": 4, "columns": 6}"#;
    let spec = format!(r#"{{"kind": "fft", "columns": 6, "phase": "columns", {mapping}}}"#);
    assert_eq!(partners(&spec, 9), [8, 10, 11]);
    // tiles of 2 x 3: process (1, 2) is the last of the first tile; its column is in the third tile, too
    let mapping = r#""mapping": {"kind": "row-blocks", "rows": 2, "columns": 3}"#;
    let spec = format!(r#"{{"kind": "fft", "columns": 6, "phase": "columns", {mapping}}}"#);
    assert_eq!(partners(&spec, 5), [2, 14, 17]);
    let backwards: Vec<String> = (0..24).rev().map(|rank: u32| rank.to_string()).collect();
    let mapping = format!(r#""mapping": {{"kind": "list", "ranks": [{}]}}"#, backwards.join(", "));
    assert_eq!(partners(&format!(r#"{{"kind": "fft", "columns": 6, {mapping}}}"#), 15), [12, 13, 14, 16, 17]);
    // at random every rank still has five partners, who have it as theirs
    let spec = r#"{"kind": "fft", "columns": 6, "mapping": {"kind": "random"}}"#;
    for source in 0..24 {
        let found = partners(spec, source);
        assert_eq!(found.len(), 5);
        assert!(found.iter().all(|&partner| partners(spec, partner).contains(&source)));
    }
    for (spec, word) in [
        (r#"{"kind": "fft", "columns": 7}"#, "24 processes do not make rows of 7"),
        (r#"{"kind": "fft", "columns": 24, "phase": "columns"}"#, "nobody to send to"),
        (
            r#"{"kind": "fft", "columns": 6, "mapping": {"kind": "row-blocks", "rows": 3, "columns": 3}}"#,
            "do not cover",
        ),
        (r#"{"kind": "fft", "columns": 6, "mapping": {"kind": "list", "ranks": [0, 0]}}"#, "needed once"),
    ] {
        let reason = refused(spec, &flat);
        assert!(reason.contains(word), "{reason}");
    }
}

#[test]
fn a_list_of_pairs_leaves_other_ranks_silent() {
    let list = lay(r#"{"kind": "list", "pairs": [[3, 1], [0, 2], [3, 0]]}"#, &Layout::flat(4)).unwrap();
    assert!(drawn(list.as_ref(), 1, true, 10).is_empty() && !list.is_fixed());
    let seen = drawn(list.as_ref(), 3, false, 20_000);
    assert!(seen.len() == 2 && close(seen[&0], 20_000, 0.5), "{seen:?}");
    assert!(refused(r#"{"kind": "list", "pairs": [[1, 1]]}"#, &Layout::flat(4)).contains("no pair"));
    assert!(refused(r#"{"kind": "list", "pairs": [[1, 4]]}"#, &Layout::flat(4)).contains("pairs.0"));
    assert!(refused(r#"{"kind": "list", "pairs": []}"#, &Layout::flat(4)).contains("nobody"));
}
