//! Cross shared communication without its PUT phase, as the paper's equation has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::card_csc::CardCsc;
use super::kernel::{Family, Held};
use super::on_card::{OnCard, Script};
use super::{CollectiveKind, Combine};

/// `card-csc` for inputs that are in Global memory already, put there by the kernel that made them: all-gather,
/// reduce-scatter and broadcast between the core groups of one card in one launch, one synchronisation and `n - 1`
/// steps that get what the others brought (SW-IntraCC paper, equation 4, which leaves the PUT out).
///
/// A reduce-scatter adds to the member's own part in Local memory. There is no all-reduce: its all-gather would begin
/// with sums that are in Local memory only. For the same reason it is no phase of `hierarchical`. The members must be
/// core groups of one card, see topology `cards`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CardCscEquation {}

impl OnCard for CardCscEquation {
    const NAME: &'static str = "card-csc-equation";
    const DOES: &'static [CollectiveKind] =
        &[CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::Broadcast];
    const HOLDS_INPUTS: bool = true;

    fn all_gather(script: &mut Script) {
        script.launch();
        script.synchronise();
        script.gather(Held::InShared);
    }

    fn reduce_scatter(script: &mut Script) {
        script.launch();
        script.synchronise();
        let own = script.member..script.member + 1;
        for other in script.others() {
            script.load(other, Held::InShared, own.clone(), Combine::Reduce, Family::InPlace);
        }
    }

    fn broadcast(script: &mut Script) {
        script.launch();
        script.synchronise();
        if script.member > 0 {
            script.load(0, Held::InShared, 0..script.members, Combine::Copy, Family::Kernel);
        }
    }

    fn shared_bytes(kind: CollectiveKind, members: u32, bytes: u64) -> u64 {
        CardCsc::shared_bytes(kind, members, bytes)
    }
}
