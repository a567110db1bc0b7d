//! What there is: kinds of everything with their schemas, compute types, formats.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Value, json};
use stratasim_experiment::plugins::{self, Noun};
use stratasim_experiment::{ConfigError, Document, PlacementSpec};
use stratasim_net::NetworkSpec;
use stratasim_topo::{RoutingSpec, TopologySpec};
use stratasim_workload::builders::WorkloadSpec;
use stratasim_workload::builders::graph::node_link::to_node_link;

use crate::error::{ConfigError as ConfigException, misfit};

/// Reads a document that has a list of plug-ins as its only section.
type Read = fn(&Document) -> Result<(), ConfigError>;

/// How a noun is read; `None` for one that is part of a section, and read with it.
fn reader(noun: &Noun) -> Option<Read> {
    fn read<T: for<'de> Deserialize<'de>>(document: &Document) -> Result<(), ConfigError> {
        read_section::<T>(document).map(drop)
    }
    Some(match noun.singular {
        "topology" => read::<TopologySpec>,
        "workload" => read::<WorkloadSpec>,
        "network" => read::<NetworkSpec>,
        "routing" => read::<RoutingSpec>,
        "placement" => read::<PlacementSpec>,
        _ => return None,
    })
}

/// Reads the only section of a document, so that messages name it as in a whole experiment.
pub(crate) fn read_section<T: for<'de> Deserialize<'de>>(document: &Document) -> Result<T, ConfigError> {
    let mut sections: BTreeMap<String, T> = document.read()?;
    Ok(sections.pop_first().expect("written with one section").1)
}

fn noun(name: &str) -> PyResult<&'static Noun> {
    plugins::noun(name).ok_or_else(|| {
        let known: Vec<_> = plugins::NOUNS.iter().map(|noun| noun.singular).collect();
        ConfigException::new_err(format!("there is no noun `{name}` (known: {})", known.join(", ")))
    })
}

/// The kinds of a noun, in the order of its list.
#[pyfunction]
pub(crate) fn kinds(noun: &str) -> PyResult<Vec<&'static str>> {
    Ok(self::noun(noun)?.entries.iter().map(|entry| entry.kind).collect())
}

/// The JSON Schema of one kind of a noun, definitions included, as text.
#[pyfunction]
pub(crate) fn schema(noun: &str, kind: &str) -> PyResult<String> {
    let entries = self::noun(noun)?.entries;
    let entry = entries.iter().find(|entry| entry.kind == kind);
    let entry = entry.ok_or_else(|| PyKeyError::new_err(kind.to_owned()))?;
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = (entry.schema)(&mut generator).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("$defs".to_owned(), Value::Object(generator.take_definitions(true)));
    }
    Ok(schema.to_string())
}

/// The JSON Schema of an experiment file, as text.
#[pyfunction]
pub(crate) fn experiment_schema() -> String {
    stratasim_experiment::spec::schema().to_string()
}

/// Refuses a spec that does not read, with the message of a file that has it as section `noun`. Specs
/// that are parts of sections are not read.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, noun: &str, spec: &str) -> PyResult<()> {
    let Some(read) = reader(self::noun(noun)?) else { return Ok(()) };
    let text = format!("{{\"{noun}\": {spec}}}");
    let read = Document::from_json("", &text).and_then(|document| read(&document));
    read.map_err(|error| misfit(py, error))
}

/// The catalogue of compute types as JSON text: a list with names, properties and sources.
#[pyfunction]
pub(crate) fn compute_types() -> String {
    let entries = stratasim_topo::catalogue::entries().iter().map(|entry| {
        let mut compute = serde_json::to_value(&entry.compute).expect("properties are written as JSON");
        if let Some(properties) = compute.as_object_mut() {
            properties.retain(|_, value| !value.is_null());
        }
        json!({
            "name": entry.name, "also": entry.also, "compute": compute,
            "source": entry.source, "url": entry.url, "note": entry.note,
        })
    });
    Value::Array(entries.collect()).to_string()
}

/// The vertices and edges of a workload graph, a section as JSON, as NetworkX node-link data; paths start from `base`.
#[pyfunction]
pub(crate) fn workload_node_link(py: Python<'_>, workload: &str, base: PathBuf) -> PyResult<String> {
    let write = || {
        let document = Document::from_json("", &format!("{{\"workload\": {workload}}}"))?;
        let WorkloadSpec::Graph(graph) = read_section(&document)? else {
            return Err(ConfigError::new("workload.kind: `graph` is expected", None));
        };
        let lists = graph.lists(&base).map_err(|error| document.locate(&error, "workload"))?;
        Ok(to_node_link(&lists.vertices, &lists.edges).to_string())
    };
    write().map_err(|error| misfit(py, error))
}
