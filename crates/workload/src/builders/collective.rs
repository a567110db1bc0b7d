//! One collective over all ranks, repeated: the classic micro-benchmark.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

use super::{WorkloadContext, WorkloadGenerator};
use crate::collective::{CollectiveKind, CollectiveSpec, Parts, Plan};
use crate::program::{Collective, Division, Gate, Op, Program, ProgramBuilder, Scope, Stream};

/// One collective over all ranks, `iterations` times in a row.
///
/// The parts of the ranks in a gather, scatter, all-gather or all-to-all are as equal as whole bytes
/// allow, unless `sizes`, `matrix` or `skew` say otherwise (the "v" operations of MPI).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CollectiveWorkload {
    /// What is computed.
    pub operation: CollectiveKind,
    /// How; when absent, `ring` or what the operation is usually done with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<CollectiveSpec>,
    /// Bytes per rank: the vector of each rank before an all-reduce, reduce-scatter, reduce, broadcast or
    /// scan and after an all-gather; the vector of rank 0 before a scatter and after a gather; what each
    /// rank sends in an all-to-all, its own part included. Not needed for a barrier, `sizes` or `matrix`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// The part of each rank: what it gives to a gather or all-gather, gets from a scatter, and gets
    /// from every rank in an all-to-all. One size per rank, instead of `bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Bytes>>,
    /// What each rank sends to each other one in an all-to-all: a row per sending rank with a size per
    /// receiving rank, instead of `bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Vec<Vec<Bytes>>>,
    /// Draws the parts of `bytes` at random: the largest is up to that many times the smallest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew: Option<f64>,
    /// Seed of `skew`; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How the ranks are cut into groups, each of which does it on its own at the same time; all are one group when absent.
    /// `sizes` and `matrix` are for the members of one then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Division>,
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
        let subgroups = self.groups.map(|division| builder.subgroups(0, division)).transpose();
        let subgroups =
            subgroups.map_err(|(key, reason)| BuildError::new(format!("groups.{key}"), reason))?;
        let group = subgroups.map_or(0, |all| all.first);
        let parts = self.parts(subgroups.map_or(context.ranks, |all| all.division.size))?;
        let bytes = parts.total();
        let plan: Arc<dyn Plan> = if parts.is_equal() {
            builder
                .plan(self.operation, algorithm.plugin(), group, bytes)
                .map_err(|error| error.within("algorithm"))?
        } else {
            let plan = algorithm.plugin().plan_parts(self.operation, parts);
            plan.map_err(|error| error.within("algorithm"))?.into()
        };
        let kind = self.operation;
        let op = Collective { kind, plan, group: 0, subgroups, bytes, gate: Gate::EachMember };
        let name = format_args!("{}", self.operation.name());
        builder.vertex(name, Scope::Group(0), Stream::COMMUNICATION, Op::Collective(op));
        builder.iterations(self.iterations).build()
    }
}

impl CollectiveWorkload {
    /// The parts of `ranks` ranks.
    fn parts(&self, ranks: u32) -> Result<Parts, BuildError> {
        let given = [
            ("sizes", self.sizes.is_some()),
            ("matrix", self.matrix.is_some()),
            ("skew", self.skew.is_some()),
        ];
        let mut given = given.into_iter().filter(|(_, is_given)| *is_given).map(|(field, _)| field);
        let field = given.next();
        if let (Some(field), Some(other)) = (field, given.next()) {
            let reason = format!("`{field}` and `{other}` both say how large the parts are; give one");
            return Err(BuildError::new(other, reason));
        }
        if self.seed.is_some() && self.skew.is_none() {
            return Err(BuildError::new(
                "seed",
                "nothing is drawn without `skew`; give it, or leave this out",
            ));
        }
        if let (Some(field @ ("sizes" | "matrix")), Some(_)) = (field, self.bytes) {
            let reason = format!("`{field}` already says how many bytes there are; leave `bytes` out");
            return Err(BuildError::new("bytes", reason));
        }
        let has_parts = [
            CollectiveKind::Gather,
            CollectiveKind::Scatter,
            CollectiveKind::AllGather,
            CollectiveKind::AllToAll,
        ];
        if let Some(field) = field
            && !has_parts.contains(&self.operation)
        {
            let (operation, has) = (self.operation.name(), has_parts.map(CollectiveKind::name).join(", "));
            let reason = format!("{operation} has no parts of different sizes; these have: {has}");
            return Err(BuildError::new(field, reason));
        }
        let one_each = |field: &str, count: usize| {
            if count == ranks as usize {
                return Ok(());
            }
            Err(BuildError::new(field, format!("{ranks} ranks need as many, got {count}")))
        };
        let count = |sizes: &Vec<Bytes>| sizes.iter().map(|size| size.count()).collect::<Vec<_>>();
        if let Some(sizes) = &self.sizes {
            one_each("sizes", sizes.len())?;
            return Parts::listed(&count(sizes));
        }
        if let Some(rows) = &self.matrix {
            one_each("matrix", rows.len())?;
            if self.operation != CollectiveKind::AllToAll {
                let reason = format!("{} has one size per rank; give `sizes`", self.operation.name());
                return Err(BuildError::new("matrix", reason));
            }
            return Parts::rows(&rows.iter().map(count).collect::<Vec<_>>());
        }
        let bytes = match self.bytes {
            Some(bytes) => bytes.count(),
            None if self.operation == CollectiveKind::Barrier => 0,
            None => {
                let reason = "missing; give the bytes per rank, or the `sizes` of the parts";
                return Err(BuildError::new("bytes", reason));
            }
        };
        match self.skew {
            Some(skew) => Parts::skewed(ranks, bytes, skew, self.seed.unwrap_or(0)),
            None => Ok(Parts::equal(ranks, bytes)),
        }
    }
}
