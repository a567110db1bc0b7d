//! Dense ids of nodes, links and ranks.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a column.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the column entry at `index`.
            ///
            /// # Panics
            /// When `index` does not fit into 32 bits.
            #[inline]
            pub const fn from_index(index: usize) -> Self {
                assert!(index <= u32::MAX as usize, "more than 2^32 entries");
                Self(index as u32)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A node of a topology: compute, memory or switch.
    NodeId
}
id! {
    /// A link of a topology: one capacity. A full-duplex cable is two links.
    LinkId
}
id! {
    /// One process of a workload, placed on one compute node.
    Rank
}
