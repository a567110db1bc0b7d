//! The HCSim-shaped LLaMA2-13B case: forward and backward ends, all-reduces, makespan.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use stratasim_report::{Columns, Filter};

use super::flow::{TIMING_PRECISION, tolerance};
use super::{CaseReport, bad, read};
use crate::build::Prepared;
use crate::document::Document;
use crate::error::Error;

/// What the file's name says: `hc_N64_dec2_fine[_shared_ct][_full].txt`.
struct Shape {
    xpus: u32,
    decoders: u32,
    fine: bool,
    /// Half-duplex links with cross traffic.
    shared: bool,
    /// SimGrid's full mode, which merges no events.
    full: bool,
}

fn shape(path: &Path) -> Result<Shape, Error> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let words: Vec<&str> = stem.split('_').skip(1).collect();
    let number = |prefix: &str| -> Result<u32, Error> {
        let word = words.iter().find_map(|word| word.strip_prefix(prefix)?.parse().ok());
        word.ok_or_else(|| {
            bad(path, format!("the name has no `{prefix}<number>`, expected hc_N64_dec2_fine.txt"))
        })
    };
    let has = |word: &str| words.contains(&word);
    if has("fine") == has("coarse") {
        return Err(bad(path, "the name says neither or both of `fine` and `coarse`"));
    }
    Ok(Shape {
        xpus: number("N")?,
        decoders: number("dec")?,
        fine: has("fine"),
        shared: has("shared"),
        full: has("full"),
    })
}

/// Runs one case.
pub(super) fn run(path: &Path) -> Result<CaseReport, Error> {
    let shape = shape(path)?;
    let text = read(path)?;
    let precision = if shape.full { "0 s".to_owned() } else { TIMING_PRECISION.to_string() };
    let spec = serde_json::json!({
        "topology": {
            "kind": "hcsim-cxl",
            "xpus": shape.xpus,
            "compute": { "name": "XPU", "fp32": "67 TFLOP/s" },
            "duplex": if shape.shared { "half" } else { "full" },
        },
        "workload": {
            "kind": "transformer",
            "model": "llama2-13b",
            "layers": shape.decoders,
            "precision": "fp32",
            "costs": "hcsim-table-4",
            "memory": "home",
            "gradient-bytes": "1258291200 B",
            "coarse": !shape.fine,
        },
        "network": {
            "kind": "flow",
            "rule": "cm02",
            "options": { "tcp-gamma": "0 B", "cross-traffic": shape.shared, "work-precision": 1e-5 },
        },
        "execution": { "timing-precision": precision },
    });
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let document = Document::from_json(&name, &spec.to_string())?;
    let mut prepared = Prepared::new(&document, Path::new(""))?;
    let mut columns = Columns::new(Filter::default());
    #[expect(clippy::disallowed_methods, reason = "wall time of the run, not part of its result")]
    let result = prepared.run(&mut columns, Instant::now())?;

    let mut ends: BTreeMap<(char, u32, u32), f64> = BTreeMap::new();
    for task in columns.tasks.iter() {
        let vertex = prepared.program.name(task.vertex);
        let Some(key) = key_of(vertex, shape.decoders) else { continue };
        let end = ends.entry((key.0, key.1, task.rank.0)).or_insert(0.0);
        *end = end.max(task.end.as_secs_f64());
    }
    let mut report = CaseReport::new(format!("hc/{name}"), "forward, backward, all-reduce ends");
    // what comes before an end: the operators of its rank, and the messages of the rings
    let operators = 28 * shape.decoders;
    let messages = |reduces: u32| if shape.fine { reduces * 2 * (shape.xpus - 1) } else { reduces };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = || bad(path, format!("`{line}` is not `F|B|A decoder node time` or `END time`"));
        match words[..] {
            ["END", time] => {
                let expected = time.parse().map_err(|_| wrong())?;
                let tolerance = tolerance(expected, operators + messages(shape.decoders));
                report.compare("END", Some(result.makespan_s), expected, tolerance);
            }
            [kind @ ("F" | "B" | "A"), decoder, node, time] => {
                let kind = kind.chars().next().expect("one letter");
                let decoder: u32 = decoder.parse().map_err(|_| wrong())?;
                let node: u32 = node.parse().map_err(|_| wrong())?;
                let expected = time.parse().map_err(|_| wrong())?;
                let reduces = if kind == 'A' { decoder + 1 } else { 0 };
                let tolerance = tolerance(expected, operators + messages(reduces));
                let found = ends.get(&(kind, decoder, node)).copied();
                report.compare(&format!("{kind} {decoder} of {node}"), found, expected, tolerance);
            }
            _ => return Err(wrong()),
        }
    }
    Ok(report)
}

/// The letter and number that the files use for a task: forward decoders in order, backward passes
/// and all-reduces in the order in which they are processed (the last decoder first).
fn key_of(vertex: &str, decoders: u32) -> Option<(char, u32)> {
    let mut words = vertex.split('.');
    let kind = words.next()?;
    let layer: u32 = words.next()?.parse().ok()?;
    match kind {
        "fwd" => Some(('F', layer)),
        "bwd" => Some(('B', decoders - 1 - layer)),
        "sync" => Some(('A', decoders - 1 - layer)),
        _ => None,
    }
}
