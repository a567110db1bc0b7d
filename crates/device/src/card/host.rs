//! Copies from the host to all core groups, with two and with three tiers of memory.

use super::algorithm::Numbers;
use super::closed_form::{three_tier_copy_s, two_tier_copy_s};
use super::description::Card;

/// How the host gives the same bytes to all core groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostCopy {
    /// A copy over the host link to the Local memory of each group, one after the other.
    TwoTiers,
    /// One copy over the host link to Global memory, from where the groups copy one after the other: what gives
    /// the paper's 2.5 times.
    ThreeTiersInTurn,
    /// The same with all groups copying at once.
    ThreeTiersAtOnce,
}

impl HostCopy {
    /// Seconds until every group has `bytes` bytes (SW-IntraCC, section 2.1 and figure 12).
    pub fn seconds(self, card: &Card, bytes: u64) -> f64 {
        let it = Numbers::of(card);
        let (bytes, link, copy_s) =
            (bytes as f64, card.host.link.bytes_per_s(), card.host.copy.as_secs_f64());
        match self {
            Self::TwoTiers => two_tier_copy_s(it.groups, bytes, link, copy_s),
            Self::ThreeTiersInTurn => {
                three_tier_copy_s(it.groups, bytes, link, copy_s, it.global_and_local(1.0), true)
            }
            Self::ThreeTiersAtOnce => {
                three_tier_copy_s(it.groups, bytes, link, copy_s, it.global_and_local(it.groups), false)
            }
        }
    }
}
