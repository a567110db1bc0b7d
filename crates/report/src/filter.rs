//! What to record: a set of ranks and a window of time.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use stratasim_core::{BuildError, Duration, Rank, Time};

/// A set of ranks as text: `all`, or numbers and ranges such as `0-7,16`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankSet {
    /// Disjoint ranges, first and last included, in ascending order.
    ranges: Vec<(u32, u32)>,
}

impl RankSet {
    /// Every rank.
    pub fn all() -> Self {
        Self { ranges: vec![(0, u32::MAX)] }
    }

    /// These ranks.
    pub fn of(ranks: impl IntoIterator<Item = Rank>) -> Self {
        Self::merged(ranks.into_iter().map(|rank| (rank.0, rank.0)).collect())
    }

    fn merged(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        Self { ranges: merged }
    }

    /// Whether `rank` is in the set.
    #[inline]
    pub fn contains(&self, rank: Rank) -> bool {
        let at = self.ranges.partition_point(|&(_, last)| last < rank.0);
        self.ranges.get(at).is_some_and(|&(first, _)| first <= rank.0)
    }

    /// The largest rank of the set; `None` for the set of all.
    pub fn largest(&self) -> Option<Rank> {
        self.ranges.last().map(|&(_, last)| Rank(last)).filter(|_| *self != Self::all())
    }

    /// Refuses ranks that a run of `count` ranks does not have; the set of all fits any.
    ///
    /// # Errors
    /// The largest rank of the set, and which ranks there are.
    pub fn check(&self, count: u32) -> Result<(), BuildError> {
        match self.largest() {
            Some(largest) if largest.0 >= count => {
                let ranks = match count {
                    0 => "no ranks".to_owned(),
                    1 => "one rank, 0".to_owned(),
                    _ => format!("{count} ranks, from 0 to {}", count - 1),
                };
                Err(BuildError::new("", format!("rank {largest} is not there; this run has {ranks}")))
            }
            _ => Ok(()),
        }
    }

    /// The ranks of the set below `count`, in ascending order.
    pub fn below(&self, count: u32) -> impl Iterator<Item = Rank> {
        let ranges = self.ranges.iter().take_while(move |&&(first, _)| first < count);
        ranges.flat_map(move |&(first, last)| first..=last.min(count - 1)).map(Rank)
    }
}

impl Default for RankSet {
    fn default() -> Self {
        Self::all()
    }
}

impl FromStr for RankSet {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let fail = |why: &str| {
            BuildError::new(
                "",
                format!("`{text}` is not a set of ranks{why}; write it like `0-7,16` or `all`"),
            )
        };
        if text.trim() == "all" {
            return Ok(Self::all());
        }
        let number = |part: &str| part.trim().parse::<u32>().map_err(|_| fail(""));
        let mut ranges = Vec::new();
        for part in text.split(',') {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if first > last {
                return Err(fail(&format!(": {first} comes after {last}")));
            }
            ranges.push((first, last));
        }
        Ok(Self::merged(ranges))
    }
}

impl std::fmt::Display for RankSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.ranges == [(0, u32::MAX)] {
            return f.write_str("all");
        }
        for (at, &(first, last)) in self.ranges.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            if first == last { write!(f, "{comma}{first}")? } else { write!(f, "{comma}{first}-{last}")? }
        }
        Ok(())
    }
}

/// A window of simulated time as text: `1 s..2.5 s`; either end may be left open.
///
/// It holds what overlaps it, whole; an instant at its end is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeWindow {
    /// Its first instant.
    pub from: Time,
    /// The first instant after it.
    pub until: Time,
}

impl TimeWindow {
    /// All of time.
    pub const ALWAYS: Self = Self { from: Time::ZERO, until: Time::MAX };

    /// Whether something from `start` to `end` overlaps the window.
    #[inline]
    pub fn overlaps(&self, start: Time, end: Time) -> bool {
        start < self.until && (end > self.from || (start == end && start >= self.from))
    }

    /// Whether the instant lies in the window.
    #[inline]
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at < self.until
    }
}

impl Default for TimeWindow {
    fn default() -> Self {
        Self::ALWAYS
    }
}

impl FromStr for TimeWindow {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let fail = |why: String| {
            BuildError::new(
                "",
                format!("`{text}` is not a window of time{why}; write it like `1 s..2.5 s` or `..2 s`"),
            )
        };
        let (from, until) = text.split_once("..").ok_or_else(|| fail(String::new()))?;
        let instant = |part: &str, open: Time| {
            if part.trim().is_empty() {
                return Ok(open);
            }
            let length = part.parse::<Duration>().map_err(|error| fail(format!(": {error}")))?;
            Ok(Time::ZERO + length)
        };
        let window = Self { from: instant(from, Time::ZERO)?, until: instant(until, Time::MAX)? };
        if window.from >= window.until {
            let when = if window.from == window.until { "when" } else { "before" };
            return Err(fail(format!(": it ends {when} it begins")));
        }
        Ok(window)
    }
}

impl std::fmt::Display for TimeWindow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.from != Time::ZERO {
            self.from.fmt(f)?;
        }
        f.write_str("..")?;
        if self.until == Time::MAX { Ok(()) } else { self.until.fmt(f) }
    }
}

/// Serde and schema of a type that is written as text.
macro_rules! text_form {
    ($name:ident, $help:literal, $($example:literal),+) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'_, str>::deserialize(deserializer)?;
                text.parse().map_err(|error: BuildError| de::Error::custom(error.reason))
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $help, "examples": [$($example),+] })
            }
        }
    };
}

text_form!(RankSet, "A set of ranks: `all`, or numbers and ranges", "all", "0-7,16");
text_form!(TimeWindow, "A window of simulated time; either end may be left open", "1 s..2.5 s", "..200 ms");

/// Which tasks and messages to record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Filter {
    /// Ranks whose tasks are recorded; a message is recorded when it begins or ends at one of them.
    pub ranks: RankSet,
    /// Window of simulated time; what overlaps it is recorded whole.
    pub window: TimeWindow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_with_ranks_that_are_not_there_is_refused() {
        let refused = |text: &str, count| text.parse::<RankSet>().unwrap().check(count).unwrap_err().reason;
        assert_eq!(refused("0-99", 4), "rank 99 is not there; this run has 4 ranks, from 0 to 3");
        assert_eq!(refused("1", 1), "rank 1 is not there; this run has one rank, 0");
        assert!(refused("0,4294967295", 4).starts_with("rank 4294967295 is not there"));
        assert_eq!("0-3".parse::<RankSet>().unwrap().check(4), Ok(()));
        assert_eq!(RankSet::all().check(0), Ok(()));
    }

    #[test]
    fn ranks_are_read_merged_and_printed() {
        let set: RankSet = "16, 0-7,4-9,10".parse().unwrap();
        assert_eq!(set.to_string(), "0-10,16");
        assert_eq!(set.below(9).count(), 9);
        assert_eq!(
            set.below(1000).map(|rank| rank.0).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16]
        );
        assert!(set.contains(Rank(10)) && !set.contains(Rank(11)) && set.contains(Rank(16)));
        assert!(!set.contains(Rank(u32::MAX)) && RankSet::all().contains(Rank(u32::MAX)));
        assert_eq!("all".parse::<RankSet>().unwrap().to_string(), "all");
        assert_eq!(RankSet::of([Rank(3), Rank(1), Rank(2)]).to_string(), "1-3");
        // an enormous range costs nothing
        assert_eq!("0-4294967294".parse::<RankSet>().unwrap().below(2).count(), 2);
    }

    #[test]
    fn bad_sets_and_windows_say_what_is_wrong() {
        let ranks = |text: &str| text.parse::<RankSet>().unwrap_err().to_string();
        assert_eq!(
            ranks("7-0"),
            "`7-0` is not a set of ranks: 7 comes after 0; write it like `0-7,16` or `all`"
        );
        for text in ["", "x", "-1", "1-", "4294967296"] {
            assert!(ranks(text).contains("is not a set of ranks"), "{text}");
        }
        let window = |text: &str| text.parse::<TimeWindow>().unwrap_err().to_string();
        assert!(window("1..2 s").contains("the unit is missing"));
        assert!(window("2 s..1 s").contains("ends before it begins"));
        assert!(window("1 s..1 s").contains("ends when it begins"));
        assert!(window("1 s").contains("write it like `1 s..2.5 s`"));
    }

    #[test]
    fn a_window_holds_what_overlaps_it() {
        let window: TimeWindow = "1 s..2 s".parse().unwrap();
        let at = |ms: u64| Time::from_ps(ms * 1_000_000_000);
        assert!(window.overlaps(at(0), at(1500)) && window.overlaps(at(1999), at(9000)));
        assert!(!window.overlaps(at(0), at(1000)) && !window.overlaps(at(2000), at(2001)));
        assert!(window.overlaps(at(1000), at(1000)) && !window.overlaps(at(2000), at(2000)));
        assert!(TimeWindow::ALWAYS.overlaps(at(0), at(0)));
        for text in ["1 s..2 s", "..2.5 s", "100 ns..", ".."] {
            assert_eq!(text.parse::<TimeWindow>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_filter_is_read_from_a_spec_with_its_mistakes_named() {
        let filter: Filter = serde_json::from_str(r#"{"ranks": "0-3", "window": "..1 s"}"#).unwrap();
        assert_eq!(filter.ranks.to_string(), "0-3");
        assert_eq!(serde_json::to_string(&filter).unwrap(), r#"{"ranks":"0-3","window":"..1 s"}"#);
        assert_eq!(serde_json::from_str::<Filter>("{}").unwrap(), Filter::default());
        assert!(serde_json::from_str::<Filter>(r#"{"rank": "0"}"#).is_err());
        let error = serde_json::from_str::<Filter>(r#"{"ranks": "three"}"#).unwrap_err().to_string();
        assert!(error.contains("`three` is not a set of ranks"), "{error}");
    }
}
