//! One list per noun: a plug-in is one file and one line in its list.

/// A plug-in as the command lists and explains it.
pub struct Entry {
    /// The `kind` in files.
    pub kind: &'static str,
    /// What it is called elsewhere. Files have the `kind`; whoever writes another name is told.
    pub others: &'static [&'static str],
    /// Its JSON Schema, with help, defaults and units.
    pub schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

impl Entry {
    /// A `kind` that is called nothing else.
    pub const fn of<T: schemars::JsonSchema>(kind: &'static str) -> Self {
        Self { kind, others: &[], schema: T::json_schema }
    }

    /// Its `kind`, then what it is called elsewhere.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.kind).chain(self.others.iter().copied())
    }

    /// Whether `name` is one of them.
    pub fn is_called(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }
}

/// Declares a list of plug-ins of one noun.
///
/// ```
/// use stratasim_core::registry;
/// trait Shape { fn area(&self) -> f64; }
///
/// /// A square.
/// #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// #[serde(deny_unknown_fields, rename_all = "kebab-case")]
/// struct Square { side: f64 }
/// impl Shape for Square { fn area(&self) -> f64 { self.side * self.side } }
///
/// registry! {
///     /// Every shape, by its `kind`.
///     enum ShapeSpec: dyn Shape {
///         "square" | "quadrate" => Square(Square),
///     }
/// }
///
/// let spec: ShapeSpec = serde_json::from_str(r#"{"kind": "square", "side": 3}"#).unwrap();
/// assert_eq!(spec.plugin().area(), 9.0);
/// assert_eq!(ShapeSpec::KINDS, ["square"]);
/// let error = serde_json::from_str::<ShapeSpec>(r#"{"kind": "quadrate", "side": 3}"#).unwrap_err();
/// assert!(error.to_string().starts_with("unknown kind `quadrate`, which is `square` here (known: square)"));
/// ```
///
/// Names behind `|` are what others call a kind: they are no names for it, but whoever writes one is told which is.
///
/// A name alone means the kind with its defaults, where it has one for every key: `"ring"` is `{"kind": "ring"}`.
///
/// The macro writes the enum, its `KINDS` and `ENTRIES`, serde both ways (`kind` comes first), the
/// JSON Schema, and `plugin()`, which gives the trait object. `kind` is read first and the rest
/// unbuffered, so that an error keeps the position of the value that caused it; the experiment's
/// document moves `kind` to the front before anything is read.
#[macro_export]
macro_rules! registry {
    ($(#[$doc:meta])* $vis:vis enum $name:ident: dyn $trait:path {
        $($kind:literal $(| $other:literal)* => $variant:ident($spec:ty)),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, $crate::serde::Serialize, $crate::schemars::JsonSchema)]
        #[serde(tag = "kind", crate = "stratasim_core::serde")]
        #[schemars(crate = "stratasim_core::schemars", transform = $crate::registry::allow_names::<$name>)]
        #[allow(clippy::large_enum_variant, reason = "specs are few and short-lived")]
        $vis enum $name {
            $(
                #[doc = concat!("`kind = \"", $kind, "\"`")]
                #[serde(rename = $kind)]
                $variant($spec),
            )+
        }

        impl $name {
            /// Every kind, in the order of the list.
            $vis const KINDS: &'static [&'static str] = &[$($kind),+];

            /// Every kind with its schema.
            $vis const ENTRIES: &'static [$crate::registry::Entry] = &[
                $($crate::registry::Entry {
                    kind: $kind,
                    others: &[$($other),*],
                    schema: <$spec as $crate::schemars::JsonSchema>::json_schema,
                }),+
            ];

            /// The kind of this spec.
            $vis fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $kind),+ }
            }

            /// The plug-in behind this spec.
            $vis fn plugin(&self) -> &(dyn $trait + 'static) {
                match self { $(Self::$variant(spec) => spec),+ }
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct ByKind;
                impl<'de> $crate::serde::de::Visitor<'de> for ByKind {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        let example = $name::KINDS.first().unwrap_or(&"...");
                        write!(f, "a name such as \"{example}\", or a table with a `kind` and options,")
                    }
                    fn visit_str<E: $crate::serde::de::Error>(self, kind: &str) -> Result<$name, E> {
                        <$name as $crate::registry::List>::by_name(kind).map_err($crate::registry::BareError::into_error)
                    }
                    fn visit_map<A: $crate::serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        use $crate::serde::de::Error as _;
                        match map.next_key::<std::borrow::Cow<'_, str>>()? {
                            Some(key) if key == "kind" => {}
                            Some(_) | None => return Err(A::Error::missing_field("kind")),
                        }
                        let kind: $crate::registry::Kind<$name> = map.next_value()?;
                        let rest = $crate::serde::de::value::MapAccessDeserializer::new(map);
                        match kind.name {
                            $($kind => <$spec as $crate::serde::Deserialize>::deserialize(rest).map($name::$variant),)+
                            _ => unreachable!("Kind reads registered names only"),
                        }
                    }
                }
                deserializer.deserialize_any(ByKind)
            }
        }

        impl $crate::registry::List for $name {
            const KINDS: &'static [&'static str] = &[$($kind),+];
            const ENTRIES: &'static [$crate::registry::Entry] = $name::ENTRIES;

            fn by_name(kind: &str) -> Result<Self, $crate::registry::BareError> {
                let bare = std::iter::once(("kind", kind));
                $crate::serde::Deserialize::deserialize($crate::serde::de::value::MapDeserializer::new(bare))
            }
        }
    };
}

/// Why a name alone is no spec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BareError {
    /// A key that has no default.
    #[error("missing field `{0}`")]
    Missing(&'static str),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl BareError {
    /// The same in the words of another format.
    pub fn into_error<E: serde::de::Error>(self) -> E {
        match self {
            Self::Missing(field) => E::missing_field(field),
            Self::Other(message) => E::custom(message),
        }
    }
}

impl serde::de::Error for BareError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}

/// Adds, to the schema of a list, names alone: of those kinds that have a default for every key.
pub fn allow_names<L: List>(schema: &mut schemars::Schema) {
    let reads = |kind: &&&str| L::by_name(kind).is_ok();
    let names: Vec<_> = L::KINDS.iter().filter(reads).collect();
    if let Some(choices) = schema.get_mut("oneOf").and_then(serde_json::Value::as_array_mut)
        && !names.is_empty()
    {
        choices.push(serde_json::json!({ "type": "string", "enum": names }));
    }
}

/// The names of a list; written by [`registry!`](crate::registry!).
pub trait List: Sized {
    /// Every kind.
    const KINDS: &'static [&'static str];
    /// The same with what else there is to say.
    const ENTRIES: &'static [Entry];

    /// The kind of that name with its defaults, as from a table that has a `kind` and nothing else. Whatever all else is read
    /// from, names are read by this one reader: another would be compiled for every kind once more.
    ///
    /// # Errors
    /// An unknown name; a kind that needs keys.
    fn by_name(kind: &str) -> Result<Self, BareError>;
}

/// A name of the list `L`, read with "did you mean" on a typo.
pub struct Kind<L> {
    /// The registered name.
    pub name: &'static str,
    list: std::marker::PhantomData<L>,
}

impl<'de, L: List> serde::Deserialize<'de> for Kind<L> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name<L>(std::marker::PhantomData<L>);
        impl<L: List> serde::de::Visitor<'_> for Name<L> {
            type Value = &'static str;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "one of {}", L::KINDS.join(", "))
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<&'static str, E> {
                L::KINDS.iter().find(|kind| **kind == name).copied().ok_or_else(|| {
                    let hint = hint(name, L::ENTRIES);
                    E::custom(format!("unknown kind `{name}`{hint} (known: {})", L::KINDS.join(", ")))
                })
            }
        }
        let name = deserializer.deserialize_str(Name::<L>(std::marker::PhantomData))?;
        Ok(Self { name, list: std::marker::PhantomData })
    }
}

/// Other names of fewer letters than this are only known as they are written: too much looks like them.
const SHORT: usize = 6;

/// What is said behind a name that no entry has as its `kind`: which ones others call so, or which one looks like it.
fn hint(name: &str, entries: &[Entry]) -> String {
    // `FatTree` and `fat_tree` are `fat-tree`
    let letters = |name: &str| -> String {
        name.chars().filter(|it| !['-', '_'].contains(it)).map(|it| it.to_ascii_lowercase()).collect()
    };
    let same = |other: &str| letters(other) == letters(name);
    if let Some(entry) = entries.iter().find(|entry| same(entry.kind)) {
        return format!(", did you mean `{}`?", entry.kind);
    }
    let called = |entry: &&Entry| entry.others.iter().any(|other| same(other));
    let kinds: Vec<String> = entries.iter().filter(called).map(|entry| format!("`{}`", entry.kind)).collect();
    if !kinds.is_empty() {
        return format!(", which is {} here", kinds.join(" or "));
    }
    let long = entries.iter().flat_map(|entry| entry.others).copied().filter(|other| other.len() >= SHORT);
    let near = crate::error::nearest(name, entries.iter().map(|entry| entry.kind).chain(long));
    let named = near.and_then(|near| entries.iter().find(|entry| entry.is_called(near)));
    named.map_or_else(String::new, |entry| format!(", did you mean `{}`?", entry.kind))
}
