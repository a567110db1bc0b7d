//! Files that are given as experiments and are something else that Stratasim knows.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use stratasim_workload::goal::file::Form;
use stratasim_workload::goal::{binary, strata};

use crate::booksim;
use crate::document::Document;
use crate::shell::quoted;

/// What the text of `path` is that is no document; `None` when nobody knows.
pub(crate) fn text(path: &Path, text: &str) -> Option<String> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if let Some(form) = text.as_bytes().first_chunk().and_then(form) {
        return Some(schedule(path, form));
    }
    let is_blank = |line: &str| line.is_empty() || line.starts_with("//");
    let begins = start.lines().map(str::trim_start).find(|line| !is_blank(line))?;
    if begins.starts_with("num_ranks") {
        return Some(schedule(path, Form::Text));
    }
    if start.starts_with('<') {
        let kinds = [("<platform", "simgrid-xml"), ("<graphml", "graphml")];
        let (_, kind) = kinds.into_iter().find(|(tag, _)| start.contains(tag))?;
        let section = section(kind, "path", &path.to_string_lossy());
        return Some(format!(
            "this is a machine alone, which an experiment has as `topology = {section}`; {EXPECTED}"
        ));
    }
    let list = booksim::text::assignments(text).ok()?;
    (!list.is_empty()).then(|| {
        let file = quoted(&path.to_string_lossy());
        format!(
            "this is a configuration of BookSim2, which `stratasim traffic {file} --semantics booksim2` runs; {EXPECTED}"
        )
    })
}

/// The same of a file that is no text.
pub(crate) fn bytes(path: &Path) -> Option<String> {
    // of a pipe nobody writes the beginning again
    if !path.is_file() {
        return None;
    }
    let mut first = [0; 8];
    File::open(path).ok()?.read_exact(&mut first).ok()?;
    form(&first).map(|form| schedule(path, form))
}

/// What a document is that is a result.
pub(crate) fn result(document: &Document) -> Option<&'static str> {
    let is_result = ["stratasim", "spec", "digest"].iter().all(|key| document.get(key).is_some());
    is_result
        .then_some("this is the result of a run; its experiment is under `spec`: give a file with that alone")
}

/// What a document without a machine is that is a graph.
pub(crate) fn graph(document: &Document) -> Option<String> {
    let list = |key: &str| document.get(key).is_some_and(|value| value.is_array());
    if !(list("nodes") && (list("links") || list("edges"))) || document.get("topology").is_some() {
        return None;
    }
    if document.get("kind").is_some() {
        return Some(format!("this is a section `topology` alone; put it under `[topology]`: {EXPECTED}"));
    }
    let [machine, work] = ["networkx-json", "graph"].map(|kind| section(kind, "path", document.name()));
    Some(format!(
        "this is a graph alone, which an experiment has as its machine (`topology = {machine}`) or its workload \
         (`workload = {work}`); {EXPECTED}"
    ))
}

const EXPECTED: &str = "an experiment in TOML or JSON is expected";

/// The form of a schedule that begins so and is no text.
fn form(first: &[u8; 8]) -> Option<Form> {
    match *first {
        strata::MAGIC => Some(Form::Strata),
        first if first == binary::COOKIE.to_le_bytes() => Some(Form::Binary),
        _ => None,
    }
}

fn schedule(path: &Path, form: Form) -> String {
    let (path, form) = (path.to_string_lossy(), form.name());
    format!(
        "this is a schedule ({form}), which `stratasim goal run {}` runs, and an experiment with `workload = {}` on a \
         machine; {EXPECTED}",
        quoted(&path),
        section("goal", "file", &path)
    )
}

/// A section of a kind that names a file.
fn section(kind: &str, key: &str, path: &str) -> String {
    format!("{{ kind = \"{kind}\", {key} = {} }}", serde_json::Value::from(path))
}
