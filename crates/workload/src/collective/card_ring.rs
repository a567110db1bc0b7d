//! The ring on a card: the host starts every round.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernel::{Family, Held};
use super::on_card::{OnCard, Script};
use super::{CollectiveKind, Combine};

/// All-gather, reduce-scatter, all-reduce and broadcast between the core groups of one card by a ring: the `n - 1`
/// rounds are kernels of their own, each with a launch, a step, a chunk from the group before, and a
/// synchronisation (SW-IntraCC paper, equation 3).
///
/// The members must be core groups of one card, see topology `cards`; what launches, steps and synchronisations
/// cost is a property of the card. In `hierarchical` it serves the innermost dimension.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CardRing {}

/// In round `k` every member gets chunk `first - k` of what the member before it has.
fn rounds(script: &mut Script, first: u32, combine: Combine) {
    let n = script.members;
    let before = (script.member + n - 1) % n;
    for round in 0..n - 1 {
        script.launch();
        let chunk = (first + 2 * n - round) % n;
        script.load(before, Held::ByMember, chunk..chunk + 1, combine, Family::Ring);
        script.synchronise();
    }
}

impl OnCard for CardRing {
    const NAME: &'static str = "card-ring";

    fn all_gather(script: &mut Script) {
        // the member before has its own chunk first
        rounds(script, script.member + script.members - 1, Combine::Copy);
    }

    fn reduce_scatter(script: &mut Script) {
        // in the last round the own chunk comes, which has been with all others
        rounds(script, script.member + 2 * script.members - 2, Combine::Reduce);
    }

    fn broadcast(script: &mut Script) {
        script.scatter(Family::Ring);
        Self::all_gather(script);
    }

    fn shared_bytes(_: CollectiveKind, _: u32, _: u64) -> u64 {
        0
    }
}
