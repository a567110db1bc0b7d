//! The equations of SW-IntraCC (F0), for any number of core groups.
//!
//! Sizes are bytes, rates bytes per second, results seconds unless the name says otherwise. V is the
//! whole vector: what an all-gather leaves with each group. Nothing is rounded.

/// Equation 3, the time of it: `N - 1` rounds, each with a launch, a synchronisation, a step and a chunk.
pub fn rounds_s(groups: f64, bytes: f64, launch_s: f64, sync_s: f64, step_s: f64, rate: f64) -> f64 {
    (groups - 1.0) * (launch_s + sync_s + bytes / (groups * rate) + step_s)
}

/// Equation 4, the time of it: one launch, one synchronisation, `N - 1` steps with a chunk each. Without the
/// PUT of the group's own chunk that algorithm 1 has.
pub fn one_kernel_s(groups: f64, bytes: f64, launch_s: f64, sync_s: f64, step_s: f64, rate: f64) -> f64 {
    if groups < 2.0 {
        return 0.0;
    }
    launch_s + sync_s + (groups - 1.0) * (bytes / (groups * rate) + step_s)
}

/// Algorithm 1: equation 4 with the PUT of the group's own chunk.
pub fn one_kernel_with_put_s(
    groups: f64,
    bytes: f64,
    launch_s: f64,
    sync_s: f64,
    step_s: f64,
    rate: f64,
) -> f64 {
    if groups < 2.0 {
        return 0.0;
    }
    one_kernel_s(groups, bytes, launch_s, sync_s, step_s, rate) + bytes / (groups * rate)
}

/// Equations 5 and 6: how many times as fast the one kernel is for vectors so small that only fixed costs
/// count.
pub fn small_vector_gain(groups: f64, launch_s: f64, sync_s: f64, step_s: f64) -> f64 {
    (groups - 1.0) * (launch_s + sync_s + step_s) / (launch_s + sync_s + (groups - 1.0) * step_s)
}

/// Equations 7 and 8: the same where only data count, of equation 4 (`put` false) or algorithm 1 (`put` true).
pub fn large_vector_gain(groups: f64, ring_rate: f64, global_rate: f64, put: bool) -> f64 {
    let chunks = groups - 1.0 + if put { 1.0 } else { 0.0 };
    ((groups - 1.0) / ring_rate) / (chunks / global_rate)
}

/// The vector in bytes for which the ring and algorithm 1 take the same time; above it the ring is faster.
/// `None` where one of them is always faster.
pub fn crossover_bytes(
    groups: f64,
    launch_s: f64,
    sync_s: f64,
    step_s: [f64; 2],
    ring_rate: f64,
    global_rate: f64,
) -> Option<f64> {
    let [ring_step_s, csc_step_s] = step_s;
    let fixed = rounds_s(groups, 0.0, launch_s, sync_s, ring_step_s, ring_rate)
        - one_kernel_with_put_s(groups, 0.0, launch_s, sync_s, csc_step_s, global_rate);
    // seconds per byte by which algorithm 1 is slower
    let slope = 1.0 / global_rate - (groups - 1.0) / (groups * ring_rate);
    let bytes = fixed / slope;
    (bytes.is_finite() && bytes > 0.0).then_some(bytes)
}

/// The rate of a group in Local and Global memory, and what a launch costs, as equations 9 to 11 use them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tiers {
    /// Number of core groups.
    pub groups: f64,
    /// Bytes per second of Local memory.
    pub local: f64,
    /// Bytes per second of Global memory over the ring.
    pub global: f64,
    /// Seconds of a launch.
    pub launch_s: f64,
}

impl Tiers {
    /// Equation 9: layer normalisation, CSC all-gather and matrix product as three kernels. `shard` is what
    /// one group normalises: 1/N of what is gathered.
    pub fn unfused_s(&self, shard: f64) -> f64 {
        self.data_s(shard) + 3.0 * self.launch_s
    }

    /// Equation 10: the same as two kernels, which pass data through Global memory and the scratch-pads.
    pub fn fused_s(&self, shard: f64) -> f64 {
        shard * (self.groups / self.global + 1.0 / self.local) + 2.0 * self.launch_s
    }

    /// Equation 11: the share of the data movement that fusion saves, launches left out.
    pub fn fusion_gain(&self) -> f64 {
        (self.groups / self.local) / self.data_s(1.0)
    }

    /// What fusion saves, launches included, as a share of equation 9.
    pub fn fusion_gain_with_launches(&self, shard: f64) -> f64 {
        1.0 - self.fused_s(shard) / self.unfused_s(shard)
    }

    fn data_s(&self, shard: f64) -> f64 {
        shard * ((1.0 + self.groups) / self.local + self.groups / self.global)
    }
}

/// Seconds in which the host gives the same bytes to all groups by a copy to the Local memory of each, one
/// after the other.
pub fn two_tier_copy_s(groups: f64, bytes: f64, link_rate: f64, copy_s: f64) -> f64 {
    groups * (copy_s + bytes / link_rate)
}

/// The same by one copy to Global memory, from where each group copies to its Local memory: one after the
/// other (`sequential`), which gives the paper's 2.5 times, or all at once.
pub fn three_tier_copy_s(
    groups: f64,
    bytes: f64,
    link_rate: f64,
    copy_s: f64,
    global_rate: f64,
    sequential: bool,
) -> f64 {
    copy_s + bytes / link_rate + if sequential { groups } else { 1.0 } * bytes / global_rate
}

/// Share of the time in which data move: figure 13's utilisation.
pub fn utilisation(total_s: f64, data_s: f64) -> f64 {
    data_s / total_s
}
