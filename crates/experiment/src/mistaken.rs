//! Files that are given as experiments and are something else that Stratasim knows.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use stratasim_workload::goal::file::Form;
use stratasim_workload::goal::{binary, strata};

use crate::booksim;
use crate::document::Document;

/// What the text of `path` is that is no document; `None` when nobody knows.
pub(crate) fn text(path: &Path, text: &str) -> Option<String> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let path = path.display();
    if start.starts_with("num_ranks") {
        return Some(schedule(&path.to_string(), Form::Text));
    }
    if start.starts_with('<') {
        let kind = [("<platform", "simgrid-xml"), ("<graphml", "graphml")];
        let (_, kind) = kind.into_iter().find(|(tag, _)| start.contains(tag))?;
        return Some(topology(&path.to_string(), kind));
    }
    let list = booksim::text::assignments(text).ok()?;
    (!list.is_empty()).then(|| {
        format!(
            "this is a configuration of BookSim2, which `stratasim traffic {path} --semantics booksim2` runs; {EXPECTED}"
        )
    })
}

/// The same of a file that is no text.
pub(crate) fn bytes(path: &Path) -> Option<String> {
    let mut first = [0; 8];
    File::open(path).ok()?.read_exact(&mut first).ok()?;
    let form = match first {
        strata::MAGIC => Form::Strata,
        _ if first == binary::COOKIE.to_le_bytes() => Form::Binary,
        _ => return None,
    };
    Some(schedule(&path.display().to_string(), form))
}

/// What a document is that is a result.
pub(crate) fn result(document: &Document) -> Option<&'static str> {
    let is_result = ["stratasim", "spec", "digest"].iter().all(|key| document.get(key).is_some());
    is_result
        .then_some("this is the result of a run; its experiment is under `spec`: give a file with that alone")
}

/// What a document without a machine is that is one.
pub(crate) fn machine(document: &Document) -> Option<String> {
    let has = |key: &str| document.get(key).is_some();
    let is_graph = has("nodes") && (has("links") || has("edges")) && !has("topology");
    is_graph.then(|| topology(document.name(), "networkx-json"))
}

const EXPECTED: &str = "an experiment in TOML or JSON is expected";

fn schedule(path: &str, form: Form) -> String {
    let form = form.name();
    format!(
        "this is a schedule ({form}), which `stratasim goal run {path}` runs, and an experiment with \
         `workload = {{ kind = \"goal\", file = \"{path}\" }}` on a machine; {EXPECTED}"
    )
}

fn topology(path: &str, kind: &str) -> String {
    format!(
        "this is a machine alone, which an experiment has as `topology = {{ kind = \"{kind}\", path = \"{path}\" }}`; \
         {EXPECTED}"
    )
}
