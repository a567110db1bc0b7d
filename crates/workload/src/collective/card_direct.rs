//! Reading the memory of the other core groups, in one kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CollectiveKind;
use super::kernel::{Family, Held};
use super::on_card::{OnCard, Script};

/// All-gather, reduce-scatter, all-reduce and broadcast between the core groups of one card, in one kernel in which
/// every group reads what it needs in the Local memories of the others: `card-csc` without a copy in between,
/// on cards whose groups can address each other's memory.
///
/// The members must be core groups of one card, see topology `cards`; in `hierarchical` it serves the innermost
/// dimension.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CardDirect {}

impl OnCard for CardDirect {
    const NAME: &'static str = "card-direct";

    fn all_gather(script: &mut Script) {
        script.launch();
        script.synchronise();
        script.gather(Held::ByMember);
    }

    fn reduce_scatter(script: &mut Script) {
        script.launch();
        script.synchronise();
        script.add_up(Held::ByMember);
    }

    fn broadcast(script: &mut Script) {
        script.scatter(Family::Kernel);
        Self::all_gather(script);
    }

    fn shared_bytes(_: CollectiveKind, _: u32, _: u64) -> u64 {
        0
    }
}
