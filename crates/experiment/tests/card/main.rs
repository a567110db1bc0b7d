//! The inside of cards, and cards in machines.

mod blocks;
mod conformance;
mod files;
mod fit;
mod forecast;
mod machines;
