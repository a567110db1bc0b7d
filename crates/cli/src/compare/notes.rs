//! What a reader has to know beside the numbers.

use stratasim_report::Style;
use stratasim_report::flows::FlowResult;
use stratasim_report::result::RunResult;
use stratasim_report::style::{Tone, hanging, pad_right};

use super::LABEL;
use super::messages::longest;

/// What results say beside their numbers, once each, with the letters of those that say it where others do not.
pub(super) fn all(results: &[(String, RunResult)], letters: &[String], style: &Style) -> String {
    let (mut told, mut lines): (Vec<&String>, Vec<String>) = Default::default();
    let mut text = String::new();
    for note in results.iter().flat_map(|(_, result)| &result.notes) {
        if told.contains(&note) {
            continue;
        }
        told.push(note);
        let says = |at: &usize| results[*at].1.notes.contains(note);
        let sayers: Vec<&str> = (0..results.len()).filter(says).map(|at| letters[at].as_str()).collect();
        let of =
            if sayers.len() == results.len() { String::new() } else { format!("{}: ", sayers.join(", ")) };
        lines.push(format!("{of}{note}"));
    }
    lines.extend(unlike_buffers(results));
    lines.extend(unlike_ways(results));
    for line in lines {
        let words = hanging(&line, style.width, LABEL);
        let label = style.paint(Tone::Muted, &pad_right("note", LABEL - 2));
        text += &format!("  {label}{words}\n");
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// What a reader is told whose results have unlike buffers without having asked for them.
fn unlike_buffers(results: &[(String, RunResult)]) -> Option<String> {
    let buffers = results.iter().filter(|result| result.1.spec["network"]["buffer"].is_null());
    let mut buffers = buffers.filter_map(|result| longest(result)?.capacity_bytes);
    let first = buffers.next()?;
    buffers.any(|other| other != first).then(|| {
        "the buffers differ, because each transport comes with its own; `--set network.buffer=SIZE` gives all the same"
            .to_owned()
    })
}

/// What a reader is told who compares a network that takes one way with one whose packets take several.
fn unlike_ways(results: &[(String, RunResult)]) -> Option<String> {
    let is_flow = |result: &RunResult| result.spec["network"]["kind"] == "flow";
    let parts =
        |flow: &FlowResult| flow.path.last().is_some_and(|link| !link.ends_with(&format!("->{}", flow.to)));
    let has_several = |result: &RunResult| result.flows.iter().flat_map(|flows| &flows.slowest).any(parts);
    let of_any = |is: &dyn Fn(&RunResult) -> bool| results.iter().any(|(_, result)| is(result));
    (of_any(&is_flow) && of_any(&has_several)).then(|| {
        "flow level sends all from one node to another one way, packet level by several; with \
         `network.balancing=routing` packets take the same one"
            .to_owned()
    })
}
