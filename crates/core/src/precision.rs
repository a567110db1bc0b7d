//! Number formats that accelerators compute in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number format of a computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 64-bit floating point.
    Fp64,
    /// 32-bit floating point.
    Fp32,
    /// 19-bit floating point of tensor units, stored in 32 bits.
    Tf32,
    /// 16-bit floating point with 8 exponent bits.
    Bf16,
    /// 16-bit floating point with 5 exponent bits.
    Fp16,
    /// 8-bit floating point.
    Fp8,
    /// 8-bit integers.
    Int8,
}

impl Precision {
    /// Every precision, widest first.
    pub const ALL: [Self; 7] =
        [Self::Fp64, Self::Fp32, Self::Tf32, Self::Bf16, Self::Fp16, Self::Fp8, Self::Int8];

    /// Bytes that one number takes in memory.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Fp64 => 8,
            Self::Fp32 | Self::Tf32 => 4,
            Self::Bf16 | Self::Fp16 => 2,
            Self::Fp8 | Self::Int8 => 1,
        }
    }

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Int8 => "int8",
        }
    }

    /// Position in [`Precision::ALL`], for tables indexed by precision.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
