//! Sweeps: one experiment, many settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings to vary.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SweepSpec {}
