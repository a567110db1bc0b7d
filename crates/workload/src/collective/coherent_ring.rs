//! The coherent ring all-reduce: no all-gather, because memory is shared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::check::check_at_once;
use super::direct::window;
use super::ring::Ring;
use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Guarantee, PipelineShape, Plan};
use super::{bytes_of, check};

/// All-reduce of the HCSim paper's section 3.3 (figure 12b): a ring reduce-scatter of `n - 1` rounds.
/// Then the sum exists once in the machine, each part at one member, and the others read it there
/// through cache-coherent memory, so that the all-gather of the ring is left out.
///
/// The paper stops counting at that point: half of the ring's messages are gone. The sum must still
/// come to whoever uses it, and those reads are as many bytes as the all-gather that they replace.
/// `fetch = "free"` keeps the paper's account, which is a lower bound: it is right only as far as
/// the reads hide behind something else. `fetch = "charged"` appends the reads, each directly
/// from the member that holds the part: the bytes of an all-gather, in one latency instead of
/// `n - 1`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CoherentRing {
    /// Who pays for reading the parts of the sum that other members hold.
    #[serde(default)]
    pub fetch: Fetch,
    /// Parts that a member reads at once when reads are charged; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

/// How a coherent all-reduce counts the reads of the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fetch {
    /// Nobody: the paper's account.
    #[default]
    Free,
    /// The collective: it ends when every member has read every part.
    Charged,
}

impl CollectiveAlgorithm for CoherentRing {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        check("coherent-ring", &[CollectiveKind::AllReduce], kind, members, bytes)?;
        let window = window(self.window, members)?;
        let ring = Ring::default().plan(CollectiveKind::ReduceScatter, members, bytes)?;
        let read_rounds = match self.fetch {
            Fetch::Free => 0,
            Fetch::Charged => {
                check_at_once("coherent-ring", kind, members, window)?;
                (members - 1).div_ceil(window)
            }
        };
        Ok(Box::new(CoherentRingPlan { ring, members, bytes, read_rounds, window }))
    }
}

#[derive(Debug)]
struct CoherentRingPlan {
    /// The reduce-scatter.
    ring: Box<dyn Plan>,
    members: u32,
    bytes: u64,
    read_rounds: u32,
    window: u32,
}

impl CoherentRingPlan {
    /// The chunk that `member` holds after the reduce-scatter.
    fn held_by(&self, member: u32) -> u32 {
        (member + 1) % self.members
    }
}

impl Plan for CoherentRingPlan {
    fn rounds(&self, member: u32) -> u32 {
        self.ring.rounds(member) + self.read_rounds
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let Some(read) = round.checked_sub(self.ring.rounds(member)) else {
            self.ring.round(member, round, out);
            return;
        };
        let n = self.members;
        let first = read * self.window + 1;
        for distance in first..(first + self.window).min(n) {
            // a read moves data from the holder to the reader
            let (reader, holder) = ((member + n - distance) % n, (member + distance) % n);
            let (mine, theirs) = (self.held_by(member), self.held_by(holder));
            let bytes = bytes_of(self.bytes, n, mine..mine + 1);
            out.push(Action::Send { to: reader, chunks: mine..mine + 1, bytes });
            out.push(Action::Receive { from: holder, chunks: theirs..theirs + 1, combine: Combine::Copy });
        }
    }

    fn chunks(&self) -> u32 {
        self.members
    }

    fn owner(&self, chunk: u32) -> u32 {
        self.ring.owner(chunk)
    }

    fn pipeline(&self) -> Option<PipelineShape> {
        if self.read_rounds == 0 { self.ring.pipeline() } else { None }
    }

    fn total_bytes(&self) -> u64 {
        // the reads take every part to all but its holder: (n - 1) B, as the reduce-scatter
        let phases = if self.read_rounds == 0 { 1 } else { 2 };
        phases * self.ring.total_bytes()
    }

    fn guarantee(&self) -> Guarantee {
        if self.read_rounds == 0 { Guarantee::AtOwners } else { Guarantee::Result }
    }
}
