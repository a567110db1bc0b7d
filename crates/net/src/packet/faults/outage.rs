//! Links that fail and are repaired.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Duration};

use super::{Fault, Wires};

/// Links that carry nothing for some time: what is on them when they fail vanishes, and so does what is sent onto them
/// until they are repaired. A cable of two directions is two links.
///
/// ```toml
/// down = [{ link = ["leaf-0->spine-0", "spine-0->leaf-0"], from = "10 us", to = "1 ms" }]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Outage {
    /// Name of the link, or of several.
    pub link: Links,
    /// When it fails, from the beginning of the run.
    pub from: Duration,
    /// When it is repaired; never when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Duration>,
}

/// Names of links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected the name of a link or a list of names")]
pub enum Links {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Links {
    fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

impl Fault for Outage {
    fn apply(&self, wires: &mut Wires<'_>) -> Result<(), BuildError> {
        let names = self.link.names();
        if names.is_empty() {
            return Err(BuildError::new("link", "no link is named; give one or several"));
        }
        let (from, to) = (self.from.as_ps(), self.to.map_or(u64::MAX, |to| to.as_ps()));
        if from >= to {
            let reason =
                format!("{}, and it fails at {}; the repair comes later", Duration::from_ps(to), self.from);
            return Err(BuildError::new("to", reason));
        }
        wires.named("link", names, |faults, _| faults.outages.add(from, to))
    }
}

/// When a link is down: times from and to, in order and apart; picoseconds.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Outages(Vec<(u64, u64)>);

impl Outages {
    /// Adds one; those that touch each other become one.
    pub(in super::super) fn add(&mut self, mut from: u64, mut to: u64) {
        self.0.retain(|&(begin, end)| {
            let apart = end < from || to < begin;
            if !apart {
                (from, to) = (from.min(begin), to.max(end));
            }
            apart
        });
        let place = self.0.partition_point(|&(begin, _)| begin < from);
        self.0.insert(place, (from, to));
    }

    /// Whether the link is down at any time after `begin` and before `end`.
    pub(in super::super) fn touch(&self, begin: u64, end: u64) -> bool {
        let next = self.0.partition_point(|&(_, to)| to <= begin);
        self.0.get(next).is_some_and(|&(from, _)| from < end)
    }

    /// All of them.
    pub(in super::super) fn all(&self) -> &[(u64, u64)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_that_touch_become_one_and_the_gaps_between_others_stay() {
        let mut outages = Outages::default();
        for (from, to) in [(50, 60), (10, 20), (30, 40), (15, 30), (90, 95)] {
            outages.add(from, to);
        }
        assert_eq!(outages.all(), [(10, 40), (50, 60), (90, 95)]);
        // the literal rule, instant by instant
        let down = |at: u64| (10..40).contains(&at) || (50..60).contains(&at) || (90..95).contains(&at);
        for begin in 0..110 {
            for end in begin + 1..112 {
                assert_eq!(outages.touch(begin, end), (begin..end).any(down), "{begin} to {end}");
            }
        }
    }
}
