//! Training workloads: what a model computes, what it reads and keeps, and the program that trains it.
//!
//! [`shape`] knows models, [`costs`] what each operator of a decoder costs, [`hcsim_table`] the
//! numbers that the HCSim paper prints for the same operators, [`placement`] which data fit into
//! local memory, [`transformer`] writes the program, and [`volume`] counts what is exchanged inside a card. `docs/src/concepts/transformer-costs.md`
//! puts formula and table side by side, entry by entry.

pub mod costs;
pub mod hcsim_table;
pub mod placement;
pub mod shape;
pub mod transformer;
pub mod volume;
