//! What goes with a congestion control where the experiment does not choose it: recovery and choice of paths.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stratasim_transport::congestion::CongestionSpec;
use stratasim_transport::entropy::EntropySpec;
use stratasim_transport::recovery::RecoverySpec;

use super::Found;
use super::parameters::{self, Parameter, toml_value};

/// What goes with a kind: keys of a network and their values.
type Companions = [(&'static str, Value); 2];

/// A paragraph about what goes with a congestion control, as Markdown; none for what is not one.
pub(super) fn paragraph(found: &Found, schema: &Value) -> Option<String> {
    let kind = found.noun.filter(|noun| noun.name == "transports").map(|_| found.entry.kind)?;
    let usual = of(&json!({ "kind": kind }))?;
    let words = keys(usual.iter()).join(" and ");
    let mut text = format!("Goes with {words}, unless `[network]` has such a key of its own.");
    for parameter in parameters::of(schema).iter().filter(|parameter| !parameter.name.contains('.')) {
        for (values, other) in differing(kind, parameter, &usual) {
            let changed = other.iter().zip(&usual).filter(|(new, old)| new != old).map(|(new, _)| new);
            let name = &parameter.name;
            let values: Vec<String> =
                values.iter().map(|value| format!("`{name} = {}`", toml_value(value))).collect();
            let (values, changed) = (values.join(" or "), keys(changed).join(" and "));
            text += &format!(" With {values}: {changed}.");
        }
    }
    Some(text)
}

/// Values of a parameter with which something else goes with `kind` than the `usual`, those with the same together.
fn differing(kind: &str, parameter: &Parameter, usual: &Companions) -> Vec<(Vec<Value>, Companions)> {
    let mut all: Vec<(Vec<Value>, Companions)> = Vec::new();
    let words = parameter.choices.iter().map(|word| json!(word));
    // numbers and texts have no end; what is no value of this parameter is not read
    for value in words.chain([json!(true), json!(false)]) {
        let name = parameter.name.as_str();
        let Some(other) = of(&json!({ "kind": kind, name: value })).filter(|other| other != usual) else {
            continue;
        };
        match all.iter_mut().find(|(_, known)| *known == other) {
            Some((values, _)) => values.push(value),
            None => all.push((vec![value], other)),
        }
    }
    all
}

/// What goes with the congestion control that `spec` describes.
fn of(spec: &Value) -> Option<Companions> {
    let spec: CongestionSpec = serde_json::from_str(&spec.to_string()).ok()?;
    let kind = spec.plugin();
    Some([
        ("recovery", in_short::<RecoverySpec>(&kind.recovery())?),
        ("entropy", in_short::<EntropySpec>(&kind.entropy())?),
    ])
}

/// A spec without the keys that are what they are when absent.
fn in_short<T: Serialize + DeserializeOwned>(spec: &T) -> Option<Value> {
    let spec = serde_json::to_value(spec).ok()?;
    let bare: T = serde_json::from_value(json!({ "kind": spec["kind"] })).ok()?;
    let bare = serde_json::to_value(bare).ok()?;
    let told = spec.as_object()?.iter().filter(|(key, value)| *key == "kind" || bare.get(key) != Some(value));
    Some(Value::Object(told.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

/// `key = value` of each, as code.
fn keys<'a>(companions: impl Iterator<Item = &'a (&'static str, Value)>) -> Vec<String> {
    companions.map(|(key, value)| format!("`{key} = {}`", toml_value(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{find, schema};
    use super::*;

    /// The paragraph about a congestion control.
    fn about(kind: &str) -> String {
        let found = find(Some("transports"), kind)[0];
        paragraph(&found, &schema(found.entry)).expect("it is one")
    }

    #[test]
    fn what_is_told_makes_what_goes_with_every_congestion_control() {
        for kind in CongestionSpec::KINDS {
            let spec: CongestionSpec = serde_json::from_value(json!({ "kind": kind })).unwrap();
            let [(_, recovery), (_, entropy)] = of(&json!({ "kind": kind })).unwrap();
            for part in [&recovery, &entropy] {
                assert!(about(kind).contains(&toml_value(part)), "{kind}: {part} in {}", about(kind));
            }
            let recovery: RecoverySpec = serde_json::from_value(recovery).unwrap();
            let entropy: EntropySpec = serde_json::from_value(entropy).unwrap();
            assert_eq!((recovery, entropy), (spec.plugin().recovery(), spec.plugin().entropy()), "{kind}");
        }
    }

    #[test]
    fn options_that_differ_are_told_and_so_is_what_changes_them() {
        assert!(about("nscc").contains("{ kind = \"trimming\", acknowledge-every = \"16 KiB\" }"));
        assert!(about("mprdma").contains("With `preset = \"htsim\"`"), "{}", about("mprdma"));
        let found = find(Some("networks"), "packet")[0];
        assert_eq!(paragraph(&found, &schema(found.entry)), None);
    }
}
