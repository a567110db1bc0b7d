//! Cards from files: a path, or the name of one that is shipped.
//!
//! Shipped cards are the TOML files of `card/profiles/`, compiled in; they are read as any other file.

pub mod bench;
pub mod fit;
pub mod inconsistencies;

use std::path::Path;

use stratasim_core::error::nearest;
use stratasim_device::card::Card;

use crate::document::Document;
use crate::error::{ConfigError, Error};

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
    let mut document = document(name)?;
    for set in sets {
        document.set(set)?;
    }
    Ok(read(&document)?)
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
    let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, &error))?;
    Ok(Document::parse(name, &text)?)
}

/// The card that `document` describes: at its top, or in a section `card`.
///
/// # Errors
/// Unknown keys, wrong units, numbers that do not go together, each with its place.
pub fn read(document: &Document) -> Result<Card, ConfigError> {
    if let Some(section) = document.at(&["card"]) {
        return read(&section);
    }
    let card: Card = document.read()?;
    card.check().map_err(|error| document.locate(&error, ""))?;
    Ok(card)
}

/// The card as a TOML file that [`load`] reads.
///
/// # Errors
/// None for a card that passes its check.
pub fn to_toml(card: &Card) -> Result<String, ConfigError> {
    toml::to_string(card).map_err(|error| ConfigError::new(error.to_string(), None))
}
