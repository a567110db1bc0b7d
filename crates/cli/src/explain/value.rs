//! What is no kind but a value of a parameter, such as `lv08` of the flow network's `rule`.

use stratasim_experiment::plugins::{NOUNS, Noun, SECTIONS};
use stratasim_report::Style;
use stratasim_report::style::Tone;

use super::parameters::{self, Parameter};
use super::{Found, entry, markdown, schema};

/// Every parameter that takes the value `word`, in `list` if given; empty when there is none. Kinds that
/// share the parameter share its text.
pub(super) fn explain(list: Option<&str>, word: &str, style: &Style) -> Vec<String> {
    let mut shared: Vec<(Parameter, Vec<Found>)> = Vec::new();
    for found in everything(list) {
        for parameter in parameters::of(&schema(found.entry)) {
            if !parameter.choices.iter().any(|choice| choice.eq_ignore_ascii_case(word)) {
                continue;
            }
            let same = |(other, _): &&mut (Parameter, Vec<Found>)| {
                (&other.name, &other.choices, &other.help)
                    == (&parameter.name, &parameter.choices, &parameter.help)
            };
            match shared.iter_mut().find(same) {
                Some((_, kinds)) => kinds.push(found),
                None => shared.push((parameter, vec![found])),
            }
        }
    }
    shared.iter().map(|(parameter, kinds)| text(word, parameter, kinds, style)).collect()
}

/// Every value that can be explained.
pub(super) fn all() -> Vec<String> {
    let found = everything(None);
    found
        .flat_map(|found| parameters::of(&schema(found.entry)))
        .flat_map(|parameter| parameter.choices)
        .collect()
}

/// Every plug-in of `list` if given, otherwise all of them and the sections. The section `experiment` is
/// left out: it is made of the others.
fn everything(list: Option<&str>) -> impl Iterator<Item = Found> {
    let wanted = move |noun: &&Noun| list.is_none_or(|list| list == noun.name || list == noun.singular);
    let nouns = NOUNS.iter().filter(wanted).flat_map(|noun| {
        let entries = noun.entries.iter();
        entries.map(move |entry| Found { noun: Some(noun), entry })
    });
    let sections = SECTIONS.iter().filter(move |entry| list.is_none() && entry.kind != "experiment");
    nouns.chain(sections.map(|entry| Found { noun: None, entry }))
}

fn text(word: &str, parameter: &Parameter, takers: &[Found], style: &Style) -> String {
    let names: Vec<String> = takers.iter().map(|found| format!("`{}`", path(found))).collect();
    let name = &parameter.name;
    let heading = format!("{}: a value of `{name}` of {}", style.paint(Tone::Strong, word), names.join(", "));
    let heading = markdown::to_text(&heading, style.width);
    let see = takers.first().map_or_else(String::new, path);
    format!("{heading}\n{}\nSee: stratasim explain {see}\n", entry(parameter, style))
}

/// What `explain` takes for it: the list in front tells kinds of one name apart.
fn path(found: &Found) -> String {
    found.noun.map_or_else(String::new, |noun| format!("{} ", noun.singular)) + found.entry.kind
}
