//! Cards for tests.

use stratasim_core::{Bandwidth, Bytes, Duration};
use stratasim_device::card::{Card, Compute, Cost, Dma, Host, Memory, Rates};

/// The constants that the paper prints, Local memory out of the way.
pub(crate) fn nominal(groups: u32) -> Card {
    Card {
        name: "nominal".to_owned(),
        about: String::new(),
        core_groups: groups,
        compute: Compute::default(),
        memory: Memory {
            per_group: Bytes(1 << 40),
            local: Bytes(1 << 39),
            global: Bytes(u64::from(groups) << 39),
            page: Bytes(8192),
            segment: Bytes(1 << 20),
        },
        bandwidth: Rates {
            ring: Bandwidth(100e9),
            global: Bandwidth(100e9),
            local: Bandwidth(400e9),
            ring_total: None,
            reduce_ring: None,
            reduce_csc: None,
        },
        cost: Cost {
            launch: Duration::from_ns(25_000),
            sync: Duration::from_ns(15_000),
            ring_step: Duration::from_ns(5_000),
            csc_step: Duration::from_ns(5_000),
            kernel: Duration::ZERO,
        },
        dma: Dma::default(),
        host: Host { link: Bandwidth(15e9), copy: Duration::ZERO },
    }
}
