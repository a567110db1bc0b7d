//! Which of two flits goes first.

use super::chains::{Chain, Chains};
use super::packet::Packets;
use super::router::Waiting;
use crate::flit::router::{Precedence, RequestRules};

/// Precedence of the first flit of a virtual channel of an input; higher goes first.
#[inline]
pub(super) fn precedence(
    rules: &RequestRules,
    packets: &Packets,
    waiting: &Chains<Waiting>,
    flits: &Chain,
) -> i64 {
    let first = waiting.first(flits).expect("who asks has a flit");
    if rules.precedence == Precedence::Given && !rules.donation {
        return packets[first.flit.packet].priority;
    }
    let of = |here: &Waiting| match rules.precedence {
        Precedence::Given | Precedence::Age => packets[here.flit.packet].priority,
        Precedence::NetworkAge => earliest_first(here.flit.entered),
        Precedence::LocalAge => earliest_first(here.since),
        Precedence::Hops => here.flit.hops.into(),
        Precedence::QueueLength => flits.len.into(),
    };
    let behind = if rules.donation { waiting.iter(flits).map(of).max() } else { None };
    behind.unwrap_or_else(|| of(first))
}

/// The precedence that a date gives.
pub(super) fn earliest_first(date: u64) -> i64 {
    -(date as i64)
}
