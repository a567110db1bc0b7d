//! How the virtual channels of an input share its buffer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

/// How the virtual channels of an input share its places: `virtual-channels` x `buffer-flits` of them, unless
/// [`SharedBuffer::flits`] says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferPolicy {
    /// Each has `buffer-flits` of its own.
    #[default]
    Private,
    /// Parts of them have places of their own, one each unless said otherwise, and the rest is for all.
    Shared,
    /// Shared; each holds at most `most-held`.
    Limited,
    /// Shared; each holds at most the places / the virtual channels in use.
    Dynamic,
    /// Shared; each holds at most the places / the virtual channels in use, rounded up to a power of two.
    Shifting,
    /// Shared; each holds the less, the longer its credits take. Of twice the cycles that a credit takes at least, what
    /// they took on average is left, 1 at least (Becker et al. 2012).
    Feedback,
    /// Feedback from one flit at a time instead of each.
    SimpleFeedback,
}

/// Shared buffers in detail.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SharedBuffer {
    /// Flits that the buffer of an input holds; `virtual-channels` x `buffer-flits` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flits: Option<u32>,
    /// Parts of the virtual channels that have places of their own; one place for each virtual channel when absent. Those
    /// that are in no part have only the common places.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<BufferPart>>,
    /// Most flits of a virtual channel with `limited`; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_held: Option<u32>,
    /// How slowly the mean of the cycles of credits follows with `feedback`: a new value counts 1 / 2^this. 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback_aging: Option<u8>,
    /// Flits that `feedback` grants more; less when negative.
    #[serde(skip_serializing_if = "is_zero")]
    pub feedback_offset: i32,
}

/// Virtual channels with places of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BufferPart {
    /// First and last of them.
    pub channels: [u8; 2],
    /// Places that only they use.
    pub flits: u32,
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// Most flits of a shared buffer.
const MOST_FLITS: u32 = 4096 * 32;

impl SharedBuffer {
    /// Whether nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Places of the whole buffer of an input.
    pub(in crate::flit) fn places(&self, virtual_channels: u8, buffer_flits: u16) -> u32 {
        self.flits.unwrap_or(u32::from(virtual_channels) * u32::from(buffer_flits))
    }

    /// The parts, which are disjoint.
    pub(in crate::flit) fn parts(&self, virtual_channels: u8) -> Vec<BufferPart> {
        let single = || (0..virtual_channels).map(|vc| BufferPart { channels: [vc, vc], flits: 1 }).collect();
        self.parts.clone().unwrap_or_else(single)
    }

    /// Refuses what makes no buffer, and values that `policy` does not look at.
    ///
    /// # Errors
    /// The value, and what is possible.
    pub fn check(
        &self,
        policy: BufferPolicy,
        virtual_channels: u8,
        buffer_flits: u16,
    ) -> Result<(), BuildError> {
        let refuse = |field: &str, reason: String| Err(BuildError::new(field, reason));
        let feedback = matches!(policy, BufferPolicy::Feedback | BufferPolicy::SimpleFeedback);
        for (given, field, used, by) in [
            (!self.is_default(), "", policy != BufferPolicy::Private, "shared buffers"),
            (
                self.most_held.is_some(),
                "most-held",
                policy == BufferPolicy::Limited,
                "`buffers = \"limited\"`",
            ),
            (self.feedback_aging.is_some(), "feedback-aging", feedback, "`feedback` and `simple-feedback`"),
            (self.feedback_offset != 0, "feedback-offset", feedback, "`feedback` and `simple-feedback`"),
        ] {
            if given && !used {
                return refuse(field, format!("only {by} have it"));
            }
        }
        if policy == BufferPolicy::Private {
            return Ok(());
        }
        let places = self.places(virtual_channels, buffer_flits);
        if !(1..=MOST_FLITS).contains(&places) {
            return refuse("flits", format!("{places} flits; 1 to {MOST_FLITS} are possible"));
        }
        let parts = self.parts(virtual_channels);
        let mut taken = 0_u32;
        for BufferPart { channels: [first, last], .. } in &parts {
            if first > last || *last >= virtual_channels {
                let most = virtual_channels - 1;
                return refuse("parts", format!("[{first}, {last}]; the virtual channels are 0 to {most}"));
            }
            let mask = (*first..=*last).fold(0, |mask, vc| mask | 1 << vc);
            if taken & mask != 0 {
                return refuse("parts", format!("[{first}, {last}] has virtual channels of another part"));
            }
            taken |= mask;
        }
        let own: u64 = parts.iter().map(|part| u64::from(part.flits)).sum();
        if own > places.into() {
            return refuse("parts", format!("{own} flits in a buffer of {places}"));
        }
        let empty = parts.iter().filter(|part| part.flits == 0).count() > 0;
        if own == u64::from(places) && (empty || taken.count_ones() < virtual_channels.into()) {
            let reason =
                "all places belong to parts; virtual channels without a place of their own have none";
            return refuse("parts", reason.into());
        }
        if self.most_held == Some(0) {
            return refuse("most-held", "0 flits; 1 or more are possible".into());
        }
        if self.feedback_aging.is_some_and(|aging| aging > 16) {
            return refuse("feedback-aging", "0 to 16 are possible".into());
        }
        Ok(())
    }
}
