//! Cables of one class, numbered one after the other, so that rules find a link by arithmetic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{LinkId, NodeId};

use crate::graph::{LinkType, TopologyBuilder};

/// Whether the two directions of a cable have a capacity each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// Each direction has the full rate.
    #[default]
    Full,
    /// Both directions share one capacity.
    Half,
}

impl Duplex {
    /// Links that one cable takes.
    pub(crate) const fn links(self) -> u32 {
        match self {
            Self::Full => 2,
            Self::Half => 1,
        }
    }

    /// Adds a cable from `lower` to `upper`; the lower end is where a half-duplex link starts.
    pub(crate) fn add(self, builder: &mut TopologyBuilder, lower: NodeId, upper: NodeId, link: LinkType) {
        match self {
            Self::Full => {
                builder.duplex(lower, upper, link);
            }
            Self::Half => {
                builder.half_duplex(lower, upper, link);
            }
        }
    }
}

/// A run of cables, added one after the other from [`Cables::start`] on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cables {
    first: u32,
    links: u32,
    duplex: Duplex,
}

impl Cables {
    /// The run that starts with the next cable of `builder`.
    pub(crate) fn start(builder: &TopologyBuilder, duplex: Duplex) -> Self {
        Self { first: LinkId::from_index(builder.links().len()).0, links: duplex.links(), duplex }
    }

    /// Adds the next cable of the run.
    pub(crate) fn add(self, builder: &mut TopologyBuilder, lower: NodeId, upper: NodeId, link: LinkType) {
        self.duplex.add(builder, lower, upper, link);
    }

    /// The link of cable `index` from its lower to its upper end.
    #[inline]
    pub(crate) const fn up(self, index: u32) -> LinkId {
        LinkId(self.first + index * self.links)
    }

    /// The link of cable `index` from its upper to its lower end.
    #[inline]
    pub(crate) const fn down(self, index: u32) -> LinkId {
        LinkId(self.first + index * self.links + self.links - 1)
    }
}
