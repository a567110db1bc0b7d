//! Values of a graph's attributes: in TOML strings with units, in JSON numbers, too.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use stratasim_core::{Bytes, Flops};

/// Reads `$name` through a visitor; `$expecting` completes "expected ...".
macro_rules! visited {
    ($name:ident, $expecting:literal, $schema:expr, { $($visit:item)* }) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> de::Visitor<'de> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    $($visit)*
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let schema: fn(&mut SchemaGenerator) -> Schema = $schema;
                schema(generator)
            }
        }
    };
}

/// A whole number of at most 32 bits.
fn whole<E: de::Error>(number: i64) -> Result<u32, E> {
    u32::try_from(number).map_err(|_| E::custom(format!("{number} is no number from 0 to {}", u32::MAX)))
}

/// Name of a vertex; NetworkX may number its nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Name(pub String);

visited!(Name, "the name of a vertex", |_| json_schema!({ "type": ["string", "integer"] }), {
    fn visit_str<E: de::Error>(self, name: &str) -> Result<Name, E> {
        if name.is_empty() {
            Err(E::custom("a vertex needs a name that is not empty"))
        } else {
            Ok(Name(name.to_owned()))
        }
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Name, E> {
        Ok(Name(number.to_string()))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Name, E> {
        Ok(Name(number.to_string()))
    }
});

/// Floating-point operations: `"195 GFLOP"`, or a plain number of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlopCount(pub f64);

visited!(
    FlopCount,
    "operations, as a number or a string such as \"195 GFLOP\"",
    |_| json_schema!({ "type": ["string", "number"], "examples": ["195 GFLOP", 195e9] }),
    {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<FlopCount, E> {
            text.parse::<Flops>().map(|flops| FlopCount(flops.count())).map_err(E::custom)
        }
        fn visit_f64<E: de::Error>(self, number: f64) -> Result<FlopCount, E> {
            if number >= 0.0 && number.is_finite() {
                Ok(FlopCount(number))
            } else {
                Err(E::custom(format!("{number} is no number of operations; it must be 0 or more")))
            }
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<FlopCount, E> {
            Ok(FlopCount(number as f64))
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<FlopCount, E> {
            self.visit_f64(number as f64)
        }
    }
);

impl Serialize for FlopCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Flops(self.0).serialize(serializer)
    }
}

/// Bytes: `"64 MiB"`, a plain whole number of them, or so many times the workload's `unit`: `"0.25 unit"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ByteCount {
    /// A number of them.
    Bytes(u64),
    /// So many times the unit; finite and not negative.
    Units(f64),
}

visited!(
    ByteCount,
    "bytes, as a whole number or a string such as \"64 MiB\" or \"0.25 unit\"",
    |_| json_schema!({ "type": ["string", "integer"], "examples": ["64 MiB", 67108864, "0.25 unit"] }),
    {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteCount, E> {
            let Some(factor) = text.trim().strip_suffix("unit") else {
                return text.parse::<Bytes>().map(|bytes| ByteCount::Bytes(bytes.count())).map_err(E::custom);
            };
            let factor = factor.trim().parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
            factor.map(ByteCount::Units).ok_or_else(|| {
                E::custom(format!("`{text}` is no amount of units; write it like \"0.25 unit\""))
            })
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<ByteCount, E> {
            Ok(ByteCount::Bytes(number))
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<ByteCount, E> {
            u64::try_from(number)
                .map(ByteCount::Bytes)
                .map_err(|_| E::custom(format!("{number} bytes; it must be 0 or more")))
        }
        fn visit_f64<E: de::Error>(self, number: f64) -> Result<ByteCount, E> {
            // Python writes 1e9 as a float
            if number.fract() == 0.0 && (0.0..(1_u64 << 63) as f64).contains(&number) {
                Ok(ByteCount::Bytes(number as u64))
            } else {
                let what = if number.fract() == 0.0 && number > 0.0 {
                    "more bytes than there can be"
                } else {
                    "no whole number of bytes"
                };
                Err(E::custom(format!("{number} is {what}")))
            }
        }
    }
);

impl Serialize for ByteCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            // beyond 2^53 the text form would round
            Self::Bytes(count) if count < 1 << 53 => Bytes(count).serialize(serializer),
            Self::Bytes(count) => serializer.serialize_u64(count),
            Self::Units(factor) => serializer.serialize_str(&format!("{factor} unit")),
        }
    }
}

impl ByteCount {
    /// The number of bytes, rounded to the nearest whole one, for a unit of `unit`.
    ///
    /// # Errors
    /// Units where there is no unit; more bytes than fit into 63 bits.
    pub(super) fn count(self, unit: Option<Bytes>) -> Result<u64, String> {
        match (self, unit) {
            (Self::Bytes(count), _) => Ok(count),
            (Self::Units(factor), Some(unit)) => {
                let bytes = (factor * unit.count() as f64).round();
                let fits = bytes < (1_u64 << 63) as f64;
                fits.then_some(bytes as u64)
                    .ok_or_else(|| format!("{factor} times {unit} is more than 2^63 bytes"))
            }
            (Self::Units(factor), None) => {
                Err(format!("{factor} unit of what? give the workload a `unit` such as \"8 MiB\""))
            }
        }
    }
}

/// A rank: its number, or the name of the compute node that it is placed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RankRef {
    /// By number.
    Rank(u32),
    /// By the name of its compute node.
    Node(String),
}

visited!(
    RankRef,
    "a rank: a number, or the name of a compute node",
    |_| json_schema!({ "type": ["string", "integer"], "examples": [0, "xpu-0"] }),
    {
        fn visit_str<E: de::Error>(self, name: &str) -> Result<RankRef, E> {
            Ok(RankRef::Node(name.to_owned()))
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<RankRef, E> {
            self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<RankRef, E> {
            whole(number).map(RankRef::Rank)
        }
    }
);

/// Several ranks: `"all"`, or a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ranks {
    /// Every rank of the program.
    All,
    /// These, in this order.
    List(Vec<RankRef>),
}

visited!(
    Ranks,
    "\"all\" or a list of ranks",
    |generator| {
        let rank = generator.subschema_for::<RankRef>();
        json_schema!({ "anyOf": [{ "const": "all" }, { "type": "array", "items": rank }] })
    },
    {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Ranks, E> {
            match text {
                "all" => Ok(Ranks::All),
                _ => {
                    Err(E::custom(format!("`{text}` is neither \"all\" nor a list of ranks such as [0, 1]")))
                }
            }
        }
        fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Ranks, A::Error> {
            let mut ranks = Vec::new();
            while let Some(rank) = list.next_element()? {
                ranks.push(rank);
            }
            Ok(Ranks::List(ranks))
        }
    }
);

impl Serialize for Ranks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::List(ranks) => ranks.serialize(serializer),
        }
    }
}

/// Source of a receive: a rank, or `"any"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PeerRef(pub RankRef);

visited!(PeerRef, "a rank, or \"any\"", |generator| generator.subschema_for::<RankRef>(), {
    fn visit_str<E: de::Error>(self, name: &str) -> Result<PeerRef, E> {
        Ok(PeerRef(RankRef::Node(name.to_owned())))
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<PeerRef, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<PeerRef, E> {
        whole(number).map(|rank| PeerRef(RankRef::Rank(rank)))
    }
});

impl PeerRef {
    /// Whether any rank is meant.
    pub fn is_any(&self) -> bool {
        self.0 == RankRef::Node("any".to_owned())
    }
}

/// A stream of the rank: a number (0 computes unless told otherwise), or `"none"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamNumber(pub crate::program::Stream);

visited!(
    StreamNumber,
    "the number of a stream, or \"none\"",
    |_| json_schema!({ "type": ["string", "integer"], "examples": [0, "none"] }),
    {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<StreamNumber, E> {
            match text {
                "none" => Ok(StreamNumber(crate::program::Stream::NONE)),
                _ if text.parse::<u64>().is_ok() => self.visit_u64(text.parse().expect("just parsed")),
                _ => Err(E::custom(format!("`{text}` is no stream; write a number such as 0, or \"none\""))),
            }
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<StreamNumber, E> {
            match u16::try_from(number) {
                Ok(number) if number < u16::MAX => Ok(StreamNumber(crate::program::Stream(number))),
                _ => Err(E::custom(no_stream(number))),
            }
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<StreamNumber, E> {
            u64::try_from(number)
                .map_or_else(|_| Err(E::custom(no_stream(number))), |number| self.visit_u64(number))
        }
    }
);

fn no_stream(number: impl std::fmt::Display) -> String {
    format!("stream {number} does not exist, they go from 0 to 65534")
}

impl Serialize for StreamNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            crate::program::Stream::NONE => serializer.serialize_str("none"),
            stream => serializer.serialize_u16(stream.0),
        }
    }
}

/// Where accessed data are: `"local"`, `"home"`, the name of a memory or compute node, or a rank (its
/// compute node's memory). Tables name one explicitly: `{ node = "local" }`, `{ rank = 3 }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "PlaceForm")]
pub enum PlaceRef {
    /// The compute node's own memory.
    Local,
    /// The memory node that extends it.
    Home,
    /// A node by name.
    Node(String),
    /// Another rank's memory.
    Rank(u32),
}

/// How a place is written.
#[derive(Serialize)]
#[serde(untagged)]
enum PlaceForm {
    Word(&'static str),
    Node { node: String },
    Rank { rank: u32 },
}

impl From<PlaceRef> for PlaceForm {
    fn from(place: PlaceRef) -> Self {
        match place {
            PlaceRef::Local => Self::Word("local"),
            PlaceRef::Home => Self::Word("home"),
            PlaceRef::Node(node) => Self::Node { node },
            PlaceRef::Rank(rank) => Self::Rank { rank },
        }
    }
}

visited!(
    PlaceRef,
    "\"local\", \"home\", the name of a node, or a rank",
    |_| json_schema!({ "type": ["string", "integer", "object"], "examples": ["local", "home", "mem-0", 3] }),
    {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<PlaceRef, E> {
            Ok(match text {
                "local" => PlaceRef::Local,
                "home" => PlaceRef::Home,
                name => PlaceRef::Node(name.to_owned()),
            })
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<PlaceRef, E> {
            self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<PlaceRef, E> {
            whole(number).map(PlaceRef::Rank)
        }
        fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<PlaceRef, A::Error> {
            let place = match map.next_key::<Cow<'_, str>>()?.as_deref() {
                Some("node") => PlaceRef::Node(map.next_value()?),
                Some("rank") => PlaceRef::Rank(map.next_value()?),
                _ => return Err(de::Error::custom("a place is `{ node = \"name\" }` or `{ rank = 0 }`")),
            };
            match map.next_key::<Cow<'_, str>>()? {
                None => Ok(place),
                Some(key) => Err(de::Error::custom(format!("a place has one key, `{key}` is too much"))),
            }
        }
    }
);
