//! One collective over all ranks, repeated: the classic micro-benchmark.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

use super::{WorkloadContext, WorkloadGenerator};
use crate::collective::{CollectiveKind, CollectiveSpec};
use crate::program::{Program, ProgramBuilder, Stream};

/// One collective over all ranks, `iterations` times in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CollectiveWorkload {
    /// What is computed.
    pub operation: CollectiveKind,
    /// How; when absent, `ring` or what the operation is usually done with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<CollectiveSpec>,
    /// Bytes per rank.
    pub bytes: Bytes,
    /// How often.
    #[serde(default = "one")]
    pub iterations: u32,
}

fn one() -> u32 {
    1
}

impl WorkloadGenerator for CollectiveWorkload {
    fn build(&self, context: &WorkloadContext<'_>) -> Result<Program, BuildError> {
        let algorithm = self.algorithm.clone().unwrap_or_else(|| self.operation.usual_algorithm());
        let mut builder = ProgramBuilder::new(context.ranks).dimensions(&context.dimensions);
        builder
            .collective(
                format_args!("{}", self.operation.name()),
                self.operation,
                algorithm.plugin(),
                0,
                Stream::COMMUNICATION,
                self.bytes.count(),
            )
            .map_err(|error| error.within("algorithm"))?;
        builder.iterations(self.iterations).build()
    }
}
