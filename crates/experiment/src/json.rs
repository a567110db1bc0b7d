//! JSON in which no object has a key twice. Of equal keys `serde_json` takes the last without a word; TOML refuses them.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A value whose objects have each key once.
pub(crate) struct Unique(pub(crate) Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = table.next_key::<String>()? {
            // before its value is read, so that the place is that of the key
            if values.contains_key(&key) {
                return Err(de::Error::custom(format!("the key `{key}` is there twice")));
            }
            let Unique(value) = table.next_value()?;
            values.insert(key, value);
        }
        Ok(values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_there_once_and_values_are_those_of_serde_json() {
        let text = r#"{"a": [1, -2, 1.5, 18446744073709551615, null, true, "x\n"], "b": {"a": {}, "b": []}}"#;
        let Unique(value) = serde_json::from_str(text).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        for (text, line, key) in [
            ("{\"a\": 1,\n\"b\": 2,\n\"a\": 3}", 3, "a"),
            ("{\"a\": [{\"b\": 1,\n\"\\u0062\": {\"b\": 2}}]}", 2, "b"),
        ] {
            let error = serde_json::from_str::<Unique>(text).map(|it| it.0).unwrap_err();
            assert!(error.to_string().contains(&format!("the key `{key}` is there twice")), "{error}");
            assert_eq!(error.line(), line, "{error}");
        }
    }
}
