//! The full kernel of the flit level against closed forms, invariants and the fast kernel.

mod against_fast;
mod bench;
mod requests;
mod routers;
mod timing;
