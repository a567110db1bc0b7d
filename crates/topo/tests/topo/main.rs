//! Topologies: generators, routings, formats in and out.
//!
//! One program for all of them: each further one takes several seconds to compile and to link.

mod cards;
mod combinators;
mod contract;
mod direct_networks;
mod formats;
mod graphs;
mod hcsim;
mod help;
mod networkx;
mod random_sizes;
mod routing;
mod simgrid_contents;
mod simgrid_errors;
mod simgrid_platforms;
mod support;
mod trees;
