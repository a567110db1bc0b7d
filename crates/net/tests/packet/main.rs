//! The packet level: networks, queues, balancing, faults, statistics.
//!
//! One program for all of them: each further one takes several seconds to compile and to link.

mod aimd;
mod classes;
mod collapse;
mod connections;
mod contract;
mod efficiency;
mod faults;
mod hosts_between;
mod limits;
mod markings;
mod network;
mod nics;
mod notes;
mod packets;
mod parts_contract;
mod paths;
mod power_tcp;
mod returning;
mod routing;
mod slow_memories;
mod statistics;
#[path = "../support/mod.rs"]
mod support;
mod switching;
mod threads;
mod thresholds;
