//! A BookSim2 configuration as values by name, with the line of each.

use std::path::{Path, PathBuf};

use stratasim_core::BuildError;
use stratasim_core::error::nearest;

use super::options::{self, Kind, OptionKind, Use};
use super::text::{self, TextError, assignments};
use crate::files;

/// The values of all options: those that the text sets, and the defaults of the others.
#[derive(Debug, Clone)]
pub struct Config {
    /// What was set last, by place in [`options::OPTIONS`]: value and line.
    set: Vec<Option<(String, usize)>>,
    /// Where files that it names are.
    folder: PathBuf,
    /// What was asked for and is not written here.
    unwritten: Vec<&'static str>,
}

/// Most bytes of a network file.
const MOST_FILE_BYTES: u64 = 64 << 20;

impl Config {
    /// Reads a configuration and checks the names, and that no value asks for what is not offered. Files that
    /// it names are looked for in `folder`, and then in the current one.
    ///
    /// # Errors
    /// The line, what was found there and what was expected.
    pub fn read(text: &str, folder: &Path) -> Result<Self, TextError> {
        let mut config = Self {
            set: vec![None; options::OPTIONS.len()],
            folder: folder.to_owned(),
            unwritten: Vec::new(),
        };
        for assignment in assignments(text)? {
            let line = assignment.line;
            let Some(place) = options::OPTIONS.iter().position(|option| option.name == assignment.name)
            else {
                let names = options::OPTIONS.iter().map(|option| option.name);
                let hint = nearest(&assignment.name, names)
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                return Err(TextError {
                    line,
                    reason: format!("there is no option `{}`{hint}", assignment.name),
                });
            };
            config.set[place] = Some((assignment.value, line));
            config.check(&options::OPTIONS[place], line)?;
        }
        Ok(config)
    }

    /// Refuses a value of the wrong kind, or one that is not offered.
    fn check(&mut self, option: &OptionKind, line: usize) -> Result<(), TextError> {
        let differs = match option.kind {
            Kind::Integer => {
                self.integers(option.name)?.iter().any(|&value| option.default != value.to_string())
            }
            Kind::Number => {
                self.numbers(option.name)?.iter().any(|&value| option.default.parse() != Ok(value))
            }
            Kind::Word => self.words(option.name)?.iter().any(|value| value != option.default),
        };
        match option.used {
            Use::Default(reason) if differs => {
                let (name, default) = (option.name, option.default);
                Err(TextError { line, reason: format!("`{name}` can only be {default} here: {reason}") })
            }
            Use::Unwritten => {
                self.unwritten.retain(|&name| name != option.name);
                self.unwritten.extend(differs.then_some(option.name));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Options that ask for words or files which are not written here.
    pub fn unwritten(&self) -> &[&'static str] {
        &self.unwritten
    }

    /// The text of a value, and its line: 0 for a default.
    fn value(&self, name: &str) -> (&str, usize) {
        let place = options::OPTIONS.iter().position(|option| option.name == name);
        let place = place.expect("only names in the list of options are asked for");
        match &self.set[place] {
            Some((value, line)) => (value, *line),
            None => (options::OPTIONS[place].default, 0),
        }
    }

    /// The line that sets an option; 0 where none does.
    pub fn line(&self, name: &str) -> usize {
        self.value(name).1
    }

    /// An error at the line of an option.
    pub fn refuse(&self, name: &str, reason: impl std::fmt::Display) -> TextError {
        TextError { line: self.line(name), reason: format!("`{name}`: {reason}") }
    }

    /// What a router refuses, at the line of the option that its key stands for, where there is one.
    pub(super) fn refuse_of_router(&self, error: &BuildError) -> TextError {
        let key = error.field.split('.').next().unwrap_or_default();
        let name = match key {
            "switch-allocator" => "sw_allocator".to_owned(),
            "virtual-channels" => "num_vcs".to_owned(),
            "buffer-flits" => "vc_buf_size".to_owned(),
            other => other.replace('-', "_"),
        };
        match options::OPTIONS.iter().find(|option| option.name == name) {
            Some(option) => self.refuse(option.name, &error.reason),
            None => TextError { line: 0, reason: error.to_string() },
        }
    }

    /// Values of classes, as text: a list has one per class, anything else is a list of itself.
    pub fn words(&self, name: &str) -> Result<Vec<String>, TextError> {
        let (value, _) = self.value(name);
        let list = text::entries(value).map_err(|reason| self.refuse(name, reason))?;
        Ok(list.into_iter().map(str::to_owned).collect())
    }

    /// Values of classes, as whole numbers.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>, TextError> {
        let number = |word: &String| {
            word.parse().map_err(|_| self.refuse(name, format!("found `{word}`, expected a whole number")))
        };
        self.words(name)?.iter().map(number).collect()
    }

    /// Values of classes, as numbers.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, TextError> {
        let number = |word: &String| match word.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.refuse(name, format!("found `{word}`, expected a number"))),
        };
        self.words(name)?.iter().map(number).collect()
    }

    /// The text of the file that describes the network.
    ///
    /// # Errors
    /// None is named, or it cannot be read.
    pub fn network_file(&self) -> Result<String, TextError> {
        const NAME: &str = "network_file";
        let name = self.word(NAME).trim_matches('"');
        if name.is_empty() {
            return Err(self.refuse(NAME, "not set; `anynet` needs the file that describes the network"));
        }
        let beside = self.folder.join(name);
        let path = if beside.exists() { beside } else { PathBuf::from(name) };
        let wrong = |reason: String| self.refuse(NAME, format!("{}: {reason}", path.display()));
        let size = std::fs::metadata(&path).map_err(|error| wrong(error.to_string()))?.len();
        if size > MOST_FILE_BYTES {
            return Err(wrong(format!("{size} bytes; at most {MOST_FILE_BYTES} are read")));
        }
        files::read_text(&path).map_err(|error| wrong(error.to_string()))
    }

    /// A single word.
    pub fn word(&self, name: &str) -> &str {
        self.value(name).0
    }

    /// What the value stands for in a table of names; `are` leads the list of them in the refusal.
    pub(super) fn one_of<T: Copy>(&self, name: &str, table: &[(&str, T)], are: &str) -> Result<T, TextError> {
        let word = self.word(name);
        table.iter().find(|(known, _)| *known == word).map(|&(_, found)| found).ok_or_else(|| {
            let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
            self.refuse(name, format!("found `{word}`; {are} {}", names.join(", ")))
        })
    }

    /// A single whole number between bounds.
    pub fn integer(&self, name: &str, least: i64, most: i64) -> Result<i64, TextError> {
        match self.integers(name)?[..] {
            [value] if (least..=most).contains(&value) => Ok(value),
            [value] => Err(self.refuse(name, format!("found {value}, expected {least} to {most}"))),
            _ => Err(self.refuse(name, "found a list, expected one number")),
        }
    }

    /// A single number.
    pub fn number(&self, name: &str) -> Result<f64, TextError> {
        match self.numbers(name)?[..] {
            [value] => Ok(value),
            _ => Err(self.refuse(name, "found a list, expected one number")),
        }
    }

    /// A switch: which numbers but 1 are on is not the same for all of them.
    pub fn flag(&self, name: &str) -> Result<bool, TextError> {
        let value = self.integer(name, i64::MIN, i64::MAX)?;
        Ok(match name {
            "use_noc_latency" | "include_queuing" => value == 1,
            "injection_rate_uses_flits" | "vc_priority_donation" | "wait_for_tail_credit" => value != 0,
            _ => value > 0,
        })
    }

    /// The value of a class in a list; the last one also stands for the classes behind it.
    pub fn of_class<T: Clone>(list: &[T], class: usize) -> T {
        list[class.min(list.len() - 1)].clone()
    }
}
