//! Cards from files: a path, or the name of one that is shipped.
//!
//! Shipped cards are the TOML files of `card/profiles/`, compiled in; they are read as any other file.

pub mod bench;
pub mod fit;
pub mod inconsistencies;

use std::path::Path;

use stratasim_core::BuildError;
use stratasim_core::error::nearest;
use stratasim_device::card::Card;
use stratasim_topo::generators::cards::CardChoice;

use crate::document::Document;
use crate::error::{ConfigError, Error};
use crate::files;

/// A card that is shipped: its name and the text of its file.
pub struct Profile {
    /// Name to give instead of a path.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! profiles {
    ($($name:literal),+ $(,)?) => {
        &[$(Profile { name: $name, text: include_str!(concat!("card/profiles/", $name, ".toml")) }),+]
    };
}

/// Every card that is shipped.
pub const PROFILES: &[Profile] = profiles![
    "sw-ai",
    "sw-ai-slow-local",
    "sw-ai-measured-all-gather",
    "sw-ai-measured-reduce-scatter",
    "sw-ai-figure-15-reduce-scatter",
    "two-die-gpu",
    "eight-chiplets",
];

/// The card called `name`: a shipped one, or the file at that path.
///
/// # Errors
/// No such file and no such name; a file that describes no card, with the place.
pub fn load(name: &str, sets: &[String]) -> Result<Card, Error> {
    load_as(name, "--set", sets)
}

/// The same where `--set` has another name, as in Python; errors have that.
///
/// # Errors
/// As [`load`].
pub fn load_as(name: &str, argument: &str, sets: &[String]) -> Result<Card, Error> {
    let mut document = document(name)?;
    for set in sets {
        document.set_as(argument, set)?;
    }
    Ok(read(&document)?)
}

/// The card of an experiment: one that is shipped, or a file whose path starts from `base`, with the changes of the
/// choice. Where only `memory.local` or only `memory.global` changes, the other side of the switch follows.
///
/// # Errors
/// No such card; a file that describes none; changes that fit no card, with the field.
pub fn chosen(choice: &CardChoice, base: &Path) -> Result<Card, BuildError> {
    let name = choice.name();
    let shipped = PROFILES.iter().any(|profile| profile.name == name);
    let path = if shipped || !base.join(name).exists() { name.into() } else { base.join(name) };
    let in_base = |error: String| {
        BuildError::new(if matches!(choice, CardChoice::Named(_)) { "" } else { "base" }, error)
    };
    let mut document = document(&path.to_string_lossy()).map_err(|error| in_base(error.to_string()))?;
    let plain = read(&document).map_err(|error| in_base(error.to_string()))?;
    let changes = choice.changes();
    if changes.is_empty() {
        return Ok(plain);
    }
    document = section(document);
    for (path, value) in &changes {
        let set = document.set_json("card", path, (*value).clone());
        set.map_err(|error| BuildError::new(path.as_str(), error.to_string()))?;
    }
    let changed = |path: &str| changes.iter().any(|(changed, _)| changed == path);
    let mut card: Card = document.read_unplaced()?;
    let memory = &card.memory;
    if !changed("memory.global") {
        if let Some(global) = memory.global_beside(memory.local, card.core_groups) {
            card.memory.global = global;
        }
    } else if !changed("memory.local")
        && let Some(local) = memory.local_beside(card.core_groups)
    {
        card.memory.local = local;
    }
    card.check()?;
    Ok(card)
}

/// The text of the card called `name`, with places.
///
/// # Errors
/// No such file and no such name; text that is neither TOML nor JSON.
pub fn document(name: &str) -> Result<Document, Error> {
    if let Some(profile) = PROFILES.iter().find(|profile| profile.name == name) {
        return Ok(Document::from_toml(&format!("{name} (shipped)"), profile.text)?);
    }
    let path = Path::new(name);
    let bare = path.extension().is_none() && path.components().count() == 1;
    if bare && !path.exists() {
        let known = || PROFILES.iter().map(|profile| profile.name);
        let hint =
            nearest(name, known()).map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        let known: Vec<_> = known().collect();
        let message =
            format!("no file and no shipped card is called `{name}`{hint} (shipped: {})", known.join(", "));
        return Err(ConfigError::new(message, None).into());
    }
    let text = files::read_text(path).map_err(|error| Error::file(path, &error))?;
    Ok(Document::parse(name, &text)?)
}

/// The card that `document` describes: at its top, or in a section `card`.
///
/// # Errors
/// Unknown keys, wrong units, numbers that do not go together, each with its place.
pub fn read(document: &Document) -> Result<Card, ConfigError> {
    let document = section(document.clone());
    let card: Card = document.read()?;
    card.check().map_err(|error| document.locate(&error, ""))?;
    Ok(card)
}

/// The section `card` of a document, or the document where it has none.
fn section(document: Document) -> Document {
    document.at(&["card"]).unwrap_or(document)
}

/// The card as a TOML file that [`load`] reads.
///
/// # Errors
/// None for a card that passes its check.
pub fn to_toml(card: &Card) -> Result<String, ConfigError> {
    toml::to_string(card).map_err(|error| ConfigError::new(error.to_string(), None))
}
