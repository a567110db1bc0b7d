//! What no plan can be made for.

use stratasim_core::BuildError;
use stratasim_core::words::thousands;

use super::{CollectiveKind, Parts};

/// Refuses what no plan of `algorithm` can be made for: a kind that it does not do, no members, or
/// more bytes than can be counted.
///
/// # Errors
/// One of these.
pub fn check(
    algorithm: &str,
    does: &[CollectiveKind],
    kind: CollectiveKind,
    members: u32,
    bytes: u64,
) -> Result<(), BuildError> {
    if !does.contains(&kind) {
        return Err(unsupported(algorithm, kind, does));
    }
    // twice the members must fit into 32 bits, with room for sums of indices
    if !(1..=1 << 30).contains(&members) {
        return Err(BuildError::new(
            "",
            format!("{} over {members} members; it needs at least 1 and at most 2^30", kind.name()),
        ));
    }
    // most algorithms send no more than every member twice its vector
    countable(members, bytes, 2)
}

/// Refuses what an algorithm cannot count in which every member sends `vectors` times its vector.
pub(super) fn countable(members: u32, bytes: u64, vectors: u32) -> Result<(), BuildError> {
    if bytes.checked_mul(u64::from(vectors) * u64::from(members)).is_none() {
        return Err(BuildError::new(
            "",
            format!(
                "{bytes} bytes at each of {members} members, sent {vectors} times, are more than can be \
                 counted (2^64 together)"
            ),
        ));
    }
    Ok(())
}

/// As [`check`] for parts that may differ; of the kinds in `uneven` only.
pub(super) fn check_parts(
    algorithm: &str,
    does: &[CollectiveKind],
    uneven: &[CollectiveKind],
    kind: CollectiveKind,
    parts: &Parts,
) -> Result<(), BuildError> {
    check(algorithm, does, kind, parts.members(), parts.total())?;
    if !parts.is_equal() && !uneven.contains(&kind) {
        return Err(BuildError::new("kind", needs_equal_parts(kind)));
    }
    if parts.has_rows() && kind != CollectiveKind::AllToAll {
        let reason = format!("a matrix of sizes is for all-to-all; {} has one size per member", kind.name());
        return Err(BuildError::new("matrix", reason));
    }
    Ok(())
}

/// Refuses an all-to-all whose chunks, one per pair, cannot be numbered.
pub(super) fn check_pairs(kind: CollectiveKind, members: u32) -> Result<(), BuildError> {
    if kind == CollectiveKind::AllToAll && members >= 1 << 16 {
        return Err(BuildError::new("", format!("an all-to-all is limited to 65535 members, got {members}")));
    }
    Ok(())
}

/// Most messages that members send before any of them must have arrived. A run keeps more than a hundred bytes of each, on coarse
/// networks, too: these take 200 GiB.
const MOST_AT_ONCE: u64 = 1 << 31;

/// Refuses an exchange of all members with all others that no machine could hold: with so many messages at once of each.
pub(super) fn check_at_once(
    algorithm: &str,
    kind: CollectiveKind,
    members: u32,
    window: u32,
) -> Result<(), BuildError> {
    let messages = u64::from(members) * u64::from(window);
    if members > 1 && messages > MOST_AT_ONCE {
        let most = MOST_AT_ONCE / u64::from(members);
        return Err(BuildError::new(
            "window",
            format!(
                "{} by `{algorithm}` over {} members begins with {} messages at once, which take more than {} GB of \
                 memory; at most 2^31 are possible: give a window of {} messages or less",
                kind.name(),
                thousands(&members.to_string()),
                thousands(&messages.to_string()),
                thousands(&(messages / 10_000_000).to_string()),
                thousands(&most.max(1).to_string()),
            ),
        ));
    }
    Ok(())
}

/// The error of a kind that an algorithm does not do.
pub fn unsupported(algorithm: &str, kind: CollectiveKind, does: &[CollectiveKind]) -> BuildError {
    let does: Vec<_> = does.iter().map(|kind| kind.name()).collect();
    BuildError::new("kind", format!("`{algorithm}` does not do {}, it does {}", kind.name(), does.join(", ")))
}

/// Why parts must be equal, and who does not mind.
pub(super) fn needs_equal_parts(kind: CollectiveKind) -> String {
    format!(
        "this algorithm does {} with equal parts only; parts of different sizes are done by `direct` \
         (gather, scatter, all-gather, all-to-all), `binomial` (gather, scatter), `ring`, `bruck` and \
         `neighbour-exchange` (all-gather) and `pairwise` (all-to-all)",
        kind.name()
    )
}
