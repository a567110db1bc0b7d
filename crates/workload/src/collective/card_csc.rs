//! Cross shared communication: one kernel, through the memory that all core groups reach.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernel::{Family, Held};
use super::on_card::{OnCard, Script};
use super::{CollectiveKind, Combine};

/// All-gather, reduce-scatter, all-reduce and broadcast between the core groups of one card through its Global
/// memory, in one kernel: every group puts what others need there, all are synchronised, every group gets what
/// it needs (SW-IntraCC paper, algorithms 1 and 2, with the PUT that equation 4 leaves out).
///
/// An all-gather needs as much Global memory as its vector, a reduce-scatter as the vectors of all groups. The
/// members must be core groups of one card, see topology `cards`; in `hierarchical` it serves the innermost
/// dimension.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CardCsc {}

impl OnCard for CardCsc {
    const NAME: &'static str = "card-csc";

    fn all_gather(script: &mut Script) {
        script.launch();
        script.store(script.member..script.member + 1);
        script.synchronise();
        script.gather(Held::InShared);
    }

    fn reduce_scatter(script: &mut Script) {
        script.launch();
        for other in script.others() {
            script.store(other..other + 1);
        }
        script.synchronise();
        script.add_up(Held::InShared);
    }

    fn broadcast(script: &mut Script) {
        script.launch();
        if script.member == 0 {
            script.store(0..script.members);
        }
        script.synchronise();
        if script.member > 0 {
            script.load(0, Held::InShared, 0..script.members, Combine::Copy, Family::Kernel);
        }
    }

    fn shared_bytes(kind: CollectiveKind, members: u32, bytes: u64) -> u64 {
        match kind {
            CollectiveKind::AllGather | CollectiveKind::Broadcast => bytes,
            _ => bytes.saturating_mul(members.into()),
        }
    }
}
