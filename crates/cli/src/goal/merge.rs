//! `stratasim goal merge`: several programs on one machine.

mod config;
mod job;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stratasim_core::BuildError;
use stratasim_core::random::Streams;
use stratasim_experiment::{ConfigError, Error};
use stratasim_report::table::{Cell, Table};
use stratasim_report::{Style, Unit};
use stratasim_workload::goal::Schedule;
use stratasim_workload::goal::merge::placement::{JobPlacementSpec, Nodes, placement};
use stratasim_workload::goal::merge::{Job, MergeOptions, Merged, NicPolicy, merge};

use self::job::{JobArgument, ranges};
use super::arguments::{seed, wrong};
use super::file::{Output, read_and_tell};
use crate::output::check_apart;
use crate::terminal::Terminal;

/// Fields of the libraries and the options that they come from.
const OPTIONS: &[(&str, &str)] = &[
    ("nodes", "--nodes"),
    ("ranks-per-node", "--ranks-per-node"),
    ("nics", "--nic"),
    ("repetitions", "--job"),
    ("schedule", ""),
];

#[derive(Args)]
pub(crate) struct Merge {
    /// A job: FILE[,name=NAME][,nodes=LIST][,start=TIME][,repeat=N][,pause=TIME]; may be repeated.
    /// nodes=0-3,8 names the node of each rank, in order; times are in ns or have a unit
    #[arg(long = "job", short, value_name = "JOB", required_unless_present = "config")]
    jobs: Vec<JobArgument>,
    /// Jobs and placement from a JSON file as merge_goals.py of ATLAHS takes it: mode, goal_files,
    /// pattern, share-nic
    #[arg(long, value_name = "FILE", conflicts_with_all = ["jobs", "placement", "shared", "nic"])]
    config: Option<PathBuf>,
    /// How nodes are dealt to jobs: packed, round-robin, random, fill-racks, spread-racks, or list where
    /// each job has nodes=LIST [default: list where it can be, else packed]
    #[arg(long, short, value_name = "KIND")]
    placement: Option<String>,
    /// Nodes of the machine [default: as many as are needed]
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
    /// Ranks of one job on a node
    #[arg(long, value_name = "N", default_value_t = 1)]
    ranks_per_node: u32,
    /// Nodes of a rack, for fill-racks and spread-racks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    nodes_per_rack: Option<u32>,
    /// Jobs may share nodes: each is placed as if it were alone
    #[arg(long)]
    shared: bool,
    /// NICs of ranks that share a node: shared (all use the one that they name), own (behind one another), or
    /// a number of NICs that they are dealt in turn
    #[arg(long, value_name = "HOW", default_value = "shared", value_parser = nic_policy)]
    nic: NicPolicy,
    /// Seed of random placement
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// Where to; the ending says in which form. - writes text to standard output
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Print no table and no progress
    #[arg(long, short)]
    quiet: bool,
}

fn nic_policy(text: &str) -> Result<NicPolicy, String> {
    match text {
        "shared" => Ok(NicPolicy::Shared),
        "own" => Ok(NicPolicy::Own),
        _ => match text.parse() {
            Ok(count @ 1..) => Ok(NicPolicy::Modulo(count)),
            _ => Err("shared, own or a number of NICs from 1 to 65535 is expected".to_owned()),
        },
    }
}

/// What is merged, from options or from a file.
struct Plan {
    jobs: Vec<JobArgument>,
    placement: JobPlacementSpec,
    shared: bool,
    nics: NicPolicy,
}

fn fail<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(ConfigError::new(message, None).into())
}

impl Merge {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let plan = match &self.config {
            Some(path) => config::read(path)?,
            None => self.plan()?,
        };
        let files: Vec<PathBuf> =
            plan.jobs.iter().map(|job| job.file.clone()).chain(self.config.clone()).collect();
        check_apart(&files, &[("--output", Some(&self.output))])?;
        let output = Output::create(&self.output)?;
        let mut schedules = Vec::new();
        for (number, job) in plan.jobs.iter().enumerate() {
            let read = read_and_tell(&job.file, terminal, self.quiet).map_err(|error| match &self.config {
                Some(config) => Error::Within {
                    run: format!("{}: goal_files.{number}", config.display()),
                    error: Box::new(error),
                },
                None => error,
            });
            schedules.push(read?.schedule);
        }
        let merged = self.merged(&plan, &schedules)?;
        let silent = self.quiet || output.is_standard_output();
        output.write_and_tell(&merged.schedule, terminal, self.quiet)?;
        if !silent {
            terminal.print(&table(&plan.jobs, &merged, &terminal.style));
        }
        Ok(0)
    }

    fn plan(&self) -> Result<Plan, Error> {
        for (number, job) in self.jobs.iter().enumerate() {
            // files may be there twice; who gives a name wants to tell them apart
            let same = |other: &JobArgument| job.is_named && other.is_named && other.name == job.name;
            if self.jobs[..number].iter().any(same) {
                return fail(format!("--job {}: `{}` is the name of two jobs", job.file.display(), job.name));
            }
        }
        let listed = self.jobs.iter().filter(|job| job.nodes.is_some()).count();
        let kind = self.placement.as_deref().unwrap_or(if listed > 0 { "list" } else { "packed" });
        let table = if kind == "list" {
            if let Some(job) = self.jobs.iter().find(|job| job.nodes.is_none()) {
                return fail(format!("--job {}: a placement by list needs nodes=LIST in each job", job.name));
            }
            let lists: Vec<_> = self.jobs.iter().map(|job| job.nodes.clone().unwrap_or_default()).collect();
            json!({ "kind": kind, "nodes": lists })
        } else if listed > 0 {
            return fail(format!("--placement {kind}: jobs with nodes=LIST are placed by `list`"));
        } else {
            json!({ "kind": kind })
        };
        let placement = serde_json::from_value(table)
            .map_err(|error| Error::from(ConfigError::new(format!("--placement: {error}"), None)))?;
        Ok(Plan { jobs: self.jobs.clone(), placement, shared: self.shared, nics: self.nic })
    }

    fn merged(&self, plan: &Plan, schedules: &[Schedule]) -> Result<Merged, Error> {
        let sizes: Vec<u32> = schedules.iter().map(Schedule::ranks).collect();
        for (job, ranks) in plan.jobs.iter().zip(&sizes) {
            if let Some(nodes) = job.nodes.as_ref().filter(|nodes| nodes.len() != *ranks as usize) {
                return fail(format!("--job {}: {} nodes for its {ranks} ranks", job.name, nodes.len()));
            }
        }
        let per_node = self.ranks_per_node.max(1);
        let needed = |ranks: &u32| u64::from(ranks.div_ceil(per_node));
        let wanted = match &plan.placement {
            JobPlacementSpec::List(list) => {
                list.nodes.iter().flatten().map(|&node| u64::from(node) + 1).max().unwrap_or(0)
            }
            _ if plan.shared => sizes.iter().map(needed).max().unwrap_or(0),
            _ => sizes.iter().map(needed).sum(),
        };
        let count = match (self.nodes, u32::try_from(wanted)) {
            (Some(nodes), _) | (None, Ok(nodes)) => nodes,
            (None, Err(_)) => return fail(format!("the jobs need {wanted} nodes; 2^32 - 1 can be counted")),
        };
        // checked before anything grows with it
        if count > 1 << 26 {
            return fail(format!("--nodes: at most {} nodes, got {count}", 1 << 26));
        }
        let rack_of: Vec<u32> =
            self.nodes_per_rack.map(|size| (0..count).map(|node| node / size).collect()).unwrap_or_default();
        let racks =
            matches!(plan.placement, JobPlacementSpec::FillRacks(_) | JobPlacementSpec::SpreadRacks(_));
        if racks && rack_of.is_empty() {
            let kind = plan.placement.kind();
            return fail(format!("--placement {kind}: say how many nodes a rack has with --nodes-per-rack"));
        }
        let nodes =
            Nodes { count, ranks_per_node: self.ranks_per_node, shared: plan.shared, rack_of: &rack_of };
        let placed = placement(&plan.placement, &sizes, &nodes, &Streams::new(self.seed))
            .map_err(|error| self.refused(&error))?;
        let jobs: Vec<Job<'_>> = plan
            .jobs
            .iter()
            .zip(schedules)
            .zip(placed)
            .map(|((argument, schedule), nodes)| Job {
                start_offset_ns: argument.start_ns,
                repetitions: argument.repetitions,
                pause_ns: argument.pause_ns,
                ..Job::new(&argument.name, schedule, nodes)
            })
            .collect();
        merge(&jobs, &MergeOptions { nodes: count, nics: plan.nics }).map_err(|error| self.refused(&error))
    }

    /// What the libraries refuse, by the option or the key of the file from which it comes.
    fn refused(&self, error: &BuildError) -> Error {
        let Some(config) = &self.config else { return wrong(error, OPTIONS) };
        let key = error.field.replacen("nodes", "pattern", 1);
        ConfigError::new(format!("{}: {key}: {}", config.display(), error.reason), None).into()
    }
}

/// Which ranks are where.
fn table(jobs: &[JobArgument], merged: &Merged, style: &Style) -> String {
    let several = jobs.iter().any(|job| job.repetitions > 1);
    let late = jobs.iter().any(|job| job.start_ns > 0);
    let mut headings = vec!["job", "ranks", "nodes", "on nodes, by rank"];
    if late {
        headings.insert(3, "starts");
    }
    if several {
        headings.insert(3, "times");
    }
    let mut table = Table::new(headings);
    for (job, tenants) in jobs.iter().zip(&merged.jobs) {
        let mut nodes: Vec<u32> = tenants.iter().map(|tenant| tenant.node).collect();
        let places = ranges(&nodes);
        nodes.sort_unstable();
        nodes.dedup();
        let mut row = vec![
            Cell::from(job.name.as_str()),
            (tenants.len() as f64, Unit::Count).into(),
            (nodes.len() as f64, Unit::Count).into(),
        ];
        if several {
            row.push((f64::from(job.repetitions), Unit::Count).into());
        }
        if late {
            row.push((job.start_ns as f64 * 1e-9, Unit::Seconds).into());
        }
        row.push(places.into());
        table.push(row);
    }
    table.to_text(style)
}
