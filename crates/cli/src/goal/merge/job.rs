//! A job as an argument, and lists of nodes as text.

use std::path::PathBuf;
use std::str::FromStr;

use stratasim_core::error::nearest;

use crate::goal::arguments::nanoseconds;

/// Most nodes of a list: more than any machine has.
const MOST_NODES: usize = 1 << 26;
/// Ranges that are shown of a list.
const SHOWN: usize = 12;

/// `FILE[,key=value]...`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobArgument {
    pub(super) file: PathBuf,
    pub(super) name: String,
    /// Whether the user chose the name.
    pub(super) is_named: bool,
    /// The node of each rank.
    pub(super) nodes: Option<Vec<u32>>,
    pub(super) start_ns: u64,
    pub(super) repetitions: u32,
    pub(super) pause_ns: u64,
}

impl JobArgument {
    /// The schedule in a file, once, from the beginning, called as the file is.
    pub(super) fn new(file: PathBuf) -> Self {
        let name = file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Self { file, name, is_named: false, nodes: None, start_ns: 0, repetitions: 1, pause_ns: 0 }
    }
}

impl FromStr for JobArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let file = parts.next().unwrap_or_default();
        if file.is_empty() {
            return Err("a job begins with its file".to_owned());
        }
        let mut job = Self::new(file.into());
        // a part without `=` goes on with the list before it
        let mut options: Vec<(&str, String)> = Vec::new();
        for part in parts {
            match (part.split_once('='), options.last_mut()) {
                (Some((key, value)), _) => options.push((key.trim(), value.to_owned())),
                (None, Some(("nodes", list))) => {
                    list.push(',');
                    list.push_str(part);
                }
                (None, _) => {
                    return Err(format!(
                        "`{part}` should be key=value, with one of the keys {}",
                        KEYS.join(", ")
                    ));
                }
            }
        }
        for (key, value) in options {
            match key {
                "name" => (job.name, job.is_named) = (value, true),
                "nodes" => job.nodes = Some(nodes(&value)?),
                "start" => job.start_ns = nanoseconds(&value)?,
                "pause" => job.pause_ns = nanoseconds(&value)?,
                "repeat" => {
                    job.repetitions = value.parse().ok().filter(|&times| times > 0).ok_or_else(|| {
                        format!(
                            "repeat: at least once and at most {} times are expected, got `{value}`",
                            u32::MAX
                        )
                    })?;
                }
                _ => {
                    let hint = nearest(key, KEYS.iter().copied())
                        .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                    return Err(format!("unknown key `{key}`{hint} (known: {})", KEYS.join(", ")));
                }
            }
        }
        Ok(job)
    }
}

/// What a job can be told.
const KEYS: [&str; 5] = ["name", "nodes", "start", "repeat", "pause"];

/// `0-3,8`: the node of each rank, in order. A node may stand several times.
fn nodes(text: &str) -> Result<Vec<u32>, String> {
    let mut list = Vec::new();
    for part in text.split(',') {
        let fail = || format!("nodes: `{part}` is no node; write them like 0-3,8");
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| fail());
        match part.split_once('-') {
            None => list.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first {
                    return Err(fail());
                }
                if (last - first) as usize >= MOST_NODES - list.len().min(MOST_NODES) {
                    return Err(format!("nodes: `{part}` makes more than {MOST_NODES} nodes"));
                }
                list.extend(first..=last);
            }
        }
    }
    Ok(list)
}

/// Nodes in their order: `0-7`, `0-14 step 2`, `0-3 (8 ranks each)`.
pub(super) fn ranges(nodes: &[u32]) -> String {
    // (node, ranks that follow one another on it)
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &node in nodes {
        match runs.last_mut() {
            Some((last, count)) if *last == node => *count += 1,
            _ => runs.push((node, 1)),
        }
    }
    let mut parts: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(&(first, count)) = runs.get(at) {
        let step = |index: usize| -> Option<u32> {
            let (node, ranks) = *runs.get(index)?;
            (ranks == count).then(|| node.checked_sub(runs[index - 1].0))?
        };
        let wide = step(at + 1);
        let mut end = at + 1;
        while wide.is_some() && step(end) == wide {
            end += 1;
        }
        // two that are not neighbours are no row
        if end - at == 2 && wide != Some(1) {
            end = at + 1;
        }
        let last = runs[end - 1].0;
        let mut part = match (end - at, wide) {
            (1, _) => first.to_string(),
            (_, Some(1) | None) => format!("{first}-{last}"),
            (_, Some(step)) => format!("{first}-{last} step {step}"),
        };
        if count > 1 {
            part += &format!(" ({count} ranks{})", if end - at > 1 { " each" } else { "" });
        }
        parts.push(part);
        at = end;
    }
    if parts.len() > SHOWN {
        let more = parts.len() - SHOWN;
        parts.truncate(SHOWN);
        parts.push(format!("and {more} more"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_a_file_and_what_is_said_of_it() {
        let job: JobArgument = "a/b.goal".parse().unwrap();
        assert_eq!((job.name.as_str(), job.nodes, job.repetitions), ("b", None, 1));
        let job: JobArgument = "x.bin,nodes=0-2,7,7,start=1 us,repeat=3,pause=5,name=ocean".parse().unwrap();
        assert_eq!(job.nodes, Some(vec![0, 1, 2, 7, 7]));
        assert_eq!((job.start_ns, job.repetitions, job.pause_ns, job.name.as_str()), (1000, 3, 5, "ocean"));
    }

    #[test]
    fn what_is_wrong_with_a_job_is_said() {
        for (text, expected) in [
            ("", "begins with its file"),
            ("a,b", "`b` should be key=value"),
            ("a,node=1", "did you mean `nodes`?"),
            ("a,nodes=1-x", "`1-x` is no node"),
            ("a,nodes=5-2", "`5-2` is no node"),
            ("a,nodes=0-4294967295", "more than 67108864 nodes"),
            ("a,repeat=0", "at least once"),
            ("a,start=soon", "nanoseconds"),
        ] {
            let error = text.parse::<JobArgument>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn nodes_are_shown_in_short() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[0, 1, 2, 3]), "0-3");
        assert_eq!(ranges(&[0, 2, 4, 6, 7, 9]), "0-6 step 2, 7, 9");
        assert_eq!(ranges(&[0, 0, 1, 1, 5, 5, 6]), "0-1 (2 ranks each), 5 (2 ranks), 6");
        assert_eq!(ranges(&[3, 1, 0]), "3, 1, 0");
        let scattered: Vec<u32> = (0..100).map(|at| at * at).collect();
        assert!(ranges(&scattered).ends_with(" more"), "{}", ranges(&scattered));
    }
}
