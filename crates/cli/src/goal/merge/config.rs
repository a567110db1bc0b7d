//! The configuration of ATLAHS' `merge_goals.py`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use stratasim_experiment::{ConfigError, Document, Error, files};
use stratasim_workload::goal::merge::NicPolicy;
use stratasim_workload::goal::merge::placement::{JobPlacementSpec, List, Packed, Random, RoundRobin};

use super::Plan;
use super::job::JobArgument;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Config {
    mode: Mode,
    /// Relative to the file's folder.
    #[serde(rename = "goal_files")]
    goal_files: Vec<PathBuf>,
    pattern: Pattern,
    #[serde(default)]
    share_nic: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// Every job has nodes of its own.
    MultiJob,
    /// Jobs share nodes.
    MultiTenant,
}

/// A name, or the node of each rank of each job.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a name, or a list of node numbers for each job")]
enum Pattern {
    Name(String),
    // numbers below zero are refused where they stand
    Lists(Vec<Vec<i64>>),
}

/// Reads the file.
pub(super) fn read(path: &Path) -> Result<Plan, Error> {
    let text = files::read_text(path).map_err(|error| Error::file(path, &error))?;
    let document = Document::from_json(&path.to_string_lossy(), &text)?;
    let config: Config = document.read()?;
    let fail =
        |message: String| Error::from(ConfigError::new(format!("{}: {message}", path.display()), None));
    if config.goal_files.is_empty() {
        return Err(fail("goal_files: at least one file is expected".to_owned()));
    }
    let placement = match config.pattern {
        Pattern::Lists(lists) => {
            let number = |job: usize, rank: usize, node: i64| {
                u32::try_from(node).map_err(|_| {
                    fail(format!("pattern.{job}.{rank}: a node number is expected, found {node}"))
                })
            };
            let list = |(job, nodes): (usize, Vec<i64>)| {
                (0..).zip(nodes).map(|(rank, node)| number(job, rank, node)).collect::<Result<_, _>>()
            };
            let nodes = (0..).zip(lists).map(list).collect::<Result<_, _>>()?;
            JobPlacementSpec::List(List { nodes })
        }
        Pattern::Name(name) => match name.replace('_', "-").as_str() {
            "packed" => JobPlacementSpec::Packed(Packed::default()),
            "round-robin" => JobPlacementSpec::RoundRobin(RoundRobin::default()),
            "random" => JobPlacementSpec::Random(Random::default()),
            _ => {
                let expected = "packed, round_robin, random or lists of nodes is expected";
                return Err(fail(format!("pattern: {expected}, found `{name}`")));
            }
        },
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let shared = matches!(config.mode, Mode::MultiTenant);
    Ok(Plan {
        jobs: config.goal_files.iter().map(|file| JobArgument::new(folder.join(file))).collect(),
        placement,
        shared,
        // jobs on nodes of their own keep the NICs that they name
        nics: if config.share_nic || !shared { NicPolicy::Shared } else { NicPolicy::Own },
    })
}
