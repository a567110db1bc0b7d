//! Which data of a rank fit into local memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

use super::costs::Operator;
use crate::program::MemorySummary;

/// Where the data that operators access are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryPolicy {
    /// In local memory as far as it goes, in layer order; the rest in the home memory node.
    #[default]
    Auto,
    /// In local memory; an error when they do not fit.
    Local,
    /// In the home memory node.
    Home,
}

/// What one operator of one decoder keeps: how much of it is remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Bytes that it keeps.
    pub bytes: u64,
    /// Those of them in the home memory node.
    pub remote_bytes: u64,
}

impl Share {
    /// The part of `accessed` bytes that goes to the home memory node, rounded down.
    pub fn remote_part(self, accessed: u64) -> u64 {
        if self.bytes == 0 {
            return 0;
        }
        (u128::from(accessed) * u128::from(self.remote_bytes) / u128::from(self.bytes)) as u64
    }
}

/// Places what `operators` keep in each of `layers` decoders, with `state_bytes` per parameter.
/// Returns one share per decoder and operator, decoder by decoder.
///
/// An operator that keeps nothing (an addition) works on data of the one before it and shares its
/// place.
///
/// # Errors
/// `local` when the data do not fit into `capacity_bytes`.
pub fn place(
    policy: MemoryPolicy,
    operators: &[Operator],
    layers: u32,
    state_bytes: u64,
    capacity_bytes: Option<u64>,
) -> Result<(Vec<Share>, MemorySummary), BuildError> {
    let kept = |operator: &Operator| {
        u128::from(state_bytes) * u128::from(operator.parameters) + u128::from(operator.kept_bytes)
    };
    let total = u128::from(layers) * operators.iter().map(kept).sum::<u128>();
    let Ok(total) = u64::try_from(total) else {
        return Err(BuildError::new("", format!("one rank would keep {total} bytes, more than 2^64")));
    };
    let mut free = match (policy, capacity_bytes) {
        (MemoryPolicy::Home, _) => 0,
        (MemoryPolicy::Local, Some(capacity)) if total > capacity => {
            return Err(BuildError::new(
                "memory",
                format!(
                    "a rank keeps {} (weights, gradients, optimiser state, activations), its local memory has {}; use `auto` or `home`, on a machine with memory nodes",
                    gigabytes(total),
                    gigabytes(capacity)
                ),
            ));
        }
        (MemoryPolicy::Local, _) => u64::MAX,
        (MemoryPolicy::Auto, capacity) => capacity.unwrap_or(u64::MAX),
    };
    let local_total = total.min(free);
    let mut before = Share { bytes: 1, remote_bytes: u64::from(free == 0) };
    let mut shares = Vec::with_capacity(layers as usize * operators.len());
    for _ in 0..layers {
        for operator in operators {
            // every operator's part is below the total, which fits
            let bytes = kept(operator) as u64;
            if bytes > 0 {
                let local = bytes.min(free);
                free -= local;
                before = Share { bytes, remote_bytes: bytes - local };
            }
            shares.push(before);
        }
    }
    Ok((shares, MemorySummary { local_bytes: local_total, remote_bytes: total - local_total }))
}

fn gigabytes(bytes: u64) -> String {
    let rounded = (bytes as f64 / 1e8).round() / 10.0;
    if rounded > 0.0 { format!("{rounded} GB") } else { Bytes(bytes).to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::costs::Cost;
    use super::*;

    fn operator(parameters: u64, kept_bytes: u64) -> Operator {
        Operator { name: "", forward: Cost::default(), backward: Cost::default(), parameters, kept_bytes }
    }

    #[test]
    fn local_memory_is_filled_in_layer_order_and_to_the_last_byte() {
        // 2 layers of 30 + 0 + 7 bytes with 10 bytes of state per parameter
        let operators = [operator(3, 0), operator(0, 0), operator(0, 7)];
        let (shares, summary) = place(MemoryPolicy::Auto, &operators, 2, 10, Some(50)).unwrap();
        let remote: Vec<_> = shares.iter().map(|share| (share.bytes, share.remote_bytes)).collect();
        // 30 + 7 fit, 13 of the next 30 do
        assert_eq!(remote, [(30, 0), (30, 0), (7, 0), (30, 17), (30, 17), (7, 7)]);
        assert_eq!(summary, MemorySummary { local_bytes: 50, remote_bytes: 24 });
        assert_eq!(shares[3].remote_part(3000), 1700);
    }

    #[test]
    fn home_places_everything_remotely_and_unbounded_memory_nothing() {
        let operators = [operator(0, 0), operator(3, 1)];
        let (shares, summary) = place(MemoryPolicy::Home, &operators, 1, 10, Some(1000)).unwrap();
        assert!(shares.iter().all(|share| share.remote_part(123) == 123));
        assert_eq!(summary, MemorySummary { local_bytes: 0, remote_bytes: 31 });
        let (shares, summary) = place(MemoryPolicy::Auto, &operators, 1, 10, None).unwrap();
        assert!(shares.iter().all(|share| share.remote_part(123) == 0));
        assert_eq!(summary, MemorySummary { local_bytes: 31, remote_bytes: 0 });
    }

    #[test]
    fn local_refuses_what_does_not_fit() {
        let operators = [operator(1 << 30, 0)];
        let error = place(MemoryPolicy::Local, &operators, 2, 16, Some(80_000_000_000)).err();
        assert_eq!(error, None, "34.4 GB fit");
        let error = place(MemoryPolicy::Local, &operators, 5, 16, Some(80_000_000_000)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "memory: a rank keeps 85.9 GB (weights, gradients, optimiser state, activations), its local memory has 80 GB; use `auto` or `home`, on a machine with memory nodes"
        );
    }
}
