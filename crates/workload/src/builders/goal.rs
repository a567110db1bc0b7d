//! A GOAL schedule as a workload: from a file, or from a pattern.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Streams;
use stratasim_core::{BuildError, Bytes};

use super::{WorkloadContext, WorkloadGenerator};
use crate::goal::generate::{GenerateContext, GenerateSpec};
use crate::goal::nccl::NcclSpec;
use crate::goal::regroup::{InNode, Regroup, regroup};
use crate::goal::{FormatError, Place, Schedule, file};
use crate::program::{Program, ProgramBuilder};

/// Sends, receives and computations with their dependencies, as GOAL describes them (LogGOPSim, ATLAHS).
///
/// Either a `file` (text, binary or `.strata`), or a `pattern` with `ranks` and `bytes`, or `nccl`. Each
/// rank of the schedule is a rank of the experiment.
///
/// ```toml
/// [workload]
/// kind = "goal"
/// pattern = { kind = "linear-alltoall" }
/// ranks = 64
/// bytes = "1 MB"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct GoalWorkload {
    /// The schedule: GOAL text, binary GOAL or `.strata`, whatever its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"))]
    pub file: Option<String>,
    /// A pattern to generate, such as `{ kind = "linear-alltoall" }`. It needs `ranks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<GenerateSpec>,
    /// A collective as NCCL schedules it, with channels, chunks and protocols.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nccl: Option<NcclSpec>,
    /// Ranks of the pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Bytes of the pattern's basic step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// The rank that the pattern starts from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<u32>,
    /// Segments of the pattern's pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Bytes>,
    /// How often the pattern runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<u32>,
    /// Puts so many ranks on each node: their messages to each other stay inside of it, each keeps its own
    /// streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks_per_node: Option<u32>,
    /// NICs of such a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nics: Option<u16>,
}

impl GoalWorkload {
    fn read(&self, base: &Path, streams: Streams) -> Result<Schedule, BuildError> {
        let chosen = [self.file.is_some(), self.pattern.is_some(), self.nccl.is_some()];
        if chosen.iter().filter(|chosen| **chosen).count() != 1 {
            let reason = "one of `file`, `pattern` and `nccl` is expected";
            return Err(BuildError::new("", reason));
        }
        let of_pattern = [
            ("ranks", self.ranks.is_some()),
            ("bytes", self.bytes.is_some()),
            ("root", self.root.is_some()),
            ("segment", self.segment.is_some()),
            ("repetitions", self.repetitions.is_some()),
        ];
        if self.pattern.is_none()
            && let Some((field, _)) = of_pattern.iter().find(|(_, given)| *given)
        {
            return Err(BuildError::new(*field, "this belongs to a `pattern`, and there is none"));
        }
        if let Some(name) = &self.file {
            let path = base.join(name);
            // a device has no end, a pipe may never have one
            if std::fs::metadata(&path).is_ok_and(|data| !data.is_file()) {
                return Err(BuildError::new("file", format!("{} is not a file", path.display())));
            }
            let schedule = file::read(&path).map_err(|error| BuildError::new("file", of_file(&error)))?;
            let sends = schedule.check_sends();
            sends
                .map_err(|error| BuildError::new("file", format!("{}: {}", path.display(), error.reason)))?;
            return Ok(schedule.named(name));
        }
        if let Some(nccl) = &self.nccl {
            return nccl.schedule().map_err(|error| error.within("nccl"));
        }
        let Some(ranks) = self.ranks else {
            return Err(BuildError::new("ranks", "a pattern needs a number of ranks"));
        };
        let pattern = self.pattern.as_ref().expect("one of three is there");
        let context = GenerateContext {
            bytes: self.bytes.map(Bytes::count),
            root: self.root.unwrap_or(0),
            segment_bytes: self.segment.map(Bytes::count),
            repetitions: self.repetitions.unwrap_or(1),
            streams,
            ..GenerateContext::new(ranks)
        };
        pattern.generate(&context).map_err(|error| match error.field.as_str() {
            // these stand beside the pattern
            "ranks" | "root" | "repetitions" => error,
            "segment-bytes" => BuildError::new("segment", error.reason),
            _ => error.within("pattern"),
        })
    }
}

/// What is wrong with a file: its name, where in it, and what.
fn of_file(error: &file::FileError) -> String {
    let path = error.path.display();
    match &error.cause {
        file::Cause::Io(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            format!("{path}: no such file; a relative path starts from the experiment's folder")
        }
        file::Cause::Format(FormatError { place: Place::Line { line, column }, reason }) => {
            format!("{path}:{line}:{column}: {reason}")
        }
        cause => format!("{path}: {cause}"),
    }
}

impl WorkloadGenerator for GoalWorkload {
    /// The ranks without what they do, which [`WorkloadGenerator::schedule`] tells.
    fn build(&self, context: &WorkloadContext<'_>) -> Result<Program, BuildError> {
        ProgramBuilder::new(context.ranks).build()
    }

    fn in_order(&self) -> bool {
        // a file is what somebody measured or wrote for another simulator
        self.file.is_none()
    }

    fn schedule(&self, base: &Path, streams: Streams) -> Result<Option<Schedule>, BuildError> {
        let schedule = self.read(base, streams)?;
        let Some(ranks_per_node) = self.ranks_per_node else {
            return match self.nics {
                None => Ok(Some(schedule)),
                Some(_) => Err(BuildError::new(
                    "nics",
                    "these are NICs of nodes with several ranks; set `ranks-per-node`",
                )),
            };
        };
        let options = Regroup { ranks_per_node, nics: self.nics.unwrap_or(1), in_node: InNode::Messages };
        Ok(Some(regroup(&schedule, &options)?.schedule))
    }
}
