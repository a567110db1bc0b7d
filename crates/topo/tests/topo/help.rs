//! The examples in the help of topologies and routings are read and built.

use serde_json::Value;
use stratasim_core::registry::Entry;
use stratasim_topo::routing::RoutingSpec;
use stratasim_topo::{BuildContext, TopologySpec};

/// The TOML blocks in a kind's help.
fn examples(entry: &Entry) -> Vec<String> {
    let schema = (entry.schema)(&mut schemars::SchemaGenerator::default()).to_value();
    let help = schema["description"].as_str().unwrap_or_default();
    help.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or(rest).to_owned()).collect()
}

/// Tables with `kind` in front, as the experiment's document hands them over.
fn kind_first(value: Value) -> Value {
    match value {
        Value::Object(table) => {
            let (kind, rest): (Vec<_>, Vec<_>) = table.into_iter().partition(|(key, _)| key == "kind");
            kind.into_iter().chain(rest).map(|(key, value)| (key, kind_first(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(kind_first).collect(),
        other => other,
    }
}

fn section(example: &str, name: &str) -> String {
    let file: Value = toml::from_str(example).unwrap_or_else(|e| panic!("{example}: {e}"));
    kind_first(file[name].clone()).to_string()
}

#[test]
fn the_examples_of_topologies_can_be_built() {
    let mut built = 0;
    for entry in TopologySpec::ENTRIES {
        for example in examples(entry) {
            let text = section(&example, "topology");
            let spec: TopologySpec = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{example}: {e}"));
            assert_eq!(spec.kind(), entry.kind);
            // an example that reads a file, or asks for a card by name, is only read
            if !["\"path\"", "\"card\""].iter().any(|key| text.contains(key)) {
                let topology = spec.plugin().build(&BuildContext::default());
                assert!(topology.unwrap_or_else(|e| panic!("{example}: {e}")).node_count() > 0);
                built += 1;
            }
        }
    }
    assert!(built >= 6);
}

#[test]
fn the_examples_of_routings_can_be_read() {
    let mut read = 0;
    for entry in RoutingSpec::ENTRIES {
        for example in examples(entry) {
            let text = section(&example, "routing");
            let spec: RoutingSpec = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{example}: {e}"));
            assert_eq!(spec.kind(), entry.kind);
            read += 1;
        }
    }
    assert!(read >= 1);
}
