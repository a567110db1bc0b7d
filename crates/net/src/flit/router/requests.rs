//! What heads and flits ask allocators for, and whose requests count more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{AllocatorSpec, Speculation};

/// What heads and flits ask allocators for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RequestRules {
    /// Heads ask for virtual channels that have a credit only.
    pub with_credit: bool,
    /// Virtual channels in whose buffer there is no flit go before others, where the allocator heeds priorities.
    pub empty_first: bool,
    /// The allocator counts the virtual channels of inputs by channel and then by input: its pointers turn from input to
    /// input.
    pub by_channel: bool,
    /// When heads without a virtual channel ask for the switch. This and what else is said of guesses matters with
    /// `speculation` only.
    pub guess: Guess,
    /// A guess yields wherever others ask for its output, not only where they get it.
    pub yield_to_requests: bool,
    /// The allocator of guesses, where they have one of their own; as `switch-allocator` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guess_allocator: Option<AllocatorSpec>,
    /// A head that gets the switch takes a virtual channel of that output with it: one of those that are free and have a
    /// credit, of the highest priority, in turn. There is no allocator of virtual channels; `speculation` says how heads
    /// ask for the switch.
    pub combined_allocation: bool,
    /// Heads ask for the virtual channels that are set aside for the output by which they leave the next router, so that
    /// none waits behind one that goes elsewhere. The range that routing gives in the next router is divided evenly by
    /// that router's outputs. With lookahead, and for routing with one way.
    pub next_output_queues: bool,
    /// What decides which of two flits goes first, where an allocator heeds priorities; of the virtual channels of one
    /// input that want the same output it always decides.
    pub precedence: Precedence,
    /// A flit has the highest precedence of all that wait in its virtual channel, as it holds them up.
    pub donation: bool,
}

/// For which outputs heads without a virtual channel ask for the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Guess {
    /// Those that have a free virtual channel for it with a credit.
    #[default]
    Credit,
    /// Those that have a free virtual channel for it.
    Free,
    /// All. A switch allocator that is blind to priorities may prefer guesses that come to nothing to flits that could go; the
    /// `maximum-size` does so for ever in places.
    Always,
    /// None.
    Never,
}

/// What decides which of two flits goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precedence {
    /// The priority that the packet was given: that of its class.
    #[default]
    Given,
    /// The packet that came into being first.
    Age,
    /// The flit that entered the network first.
    NetworkAge,
    /// The flit that came to this router first.
    LocalAge,
    /// The virtual channel with most flits.
    QueueLength,
    /// The flit that came through most routers.
    Hops,
}

impl Precedence {
    /// Whether a flit that waits keeps the place that it has before others.
    pub(crate) fn lasts(self) -> bool {
        matches!(self, Self::Age | Self::NetworkAge | Self::LocalAge | Self::Hops)
    }
}

impl RequestRules {
    /// Whether nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses rules that contradict each other, or the rest of the router.
    ///
    /// # Errors
    /// What contradicts what.
    pub(super) fn check(&self, speculation: Speculation, routing_delay: u16) -> Result<(), BuildError> {
        let refuse = |field: &str, reason: &str| Err(BuildError::new(field, reason));
        if self.combined_allocation && speculation == Speculation::None {
            return refuse(
                "combined-allocation",
                "heads ask for the switch before they have a virtual channel: `speculation` is `none`, expected \
                 `separate` or `prioritised`",
            );
        }
        if self.combined_allocation && self.guess == Guess::Never {
            return refuse(
                "guess",
                "`never`, and heads get virtual channels with the switch only: they never go",
            );
        }
        if self.next_output_queues && routing_delay > 0 {
            return refuse(
                "next-output-queues",
                "the next router's output must be known one router ahead: `routing-delay` is expected to be 0",
            );
        }
        Ok(())
    }
}
