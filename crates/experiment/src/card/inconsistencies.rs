//! Where the SW-IntraCC paper contradicts itself, with what the equations give.

use stratasim_device::card::closed_form::{
    Tiers, crossover_bytes, one_kernel_with_put_s, small_vector_gain, three_tier_copy_s, two_tier_copy_s,
};
use stratasim_workload::training::volume::{EXCHANGES, Step};

/// One contradiction.
#[derive(Debug, Clone, PartialEq)]
pub struct Inconsistency {
    /// Where in the paper.
    pub place: &'static str,
    /// What it says there.
    pub printed: &'static str,
    /// What follows from its own constants, tables and texts.
    pub ours: String,
    /// Why the two differ.
    pub why: &'static str,
}

/// The constants of equations 3 and 4.
const LAUNCH_S: f64 = 25e-6;
const SYNC_S: f64 = 15e-6;
const STEP_S: f64 = 5e-6;
const RATE: f64 = 100e9;
/// Ring-AG and Ring-RS as section 1.2 measures them, in GB/s.
const RING_AG: f64 = 34.1;
const RING_RS: f64 = 54.9;

/// Every contradiction, in the order of the paper.
pub fn all() -> Vec<Inconsistency> {
    let llama_gib = |sequence| {
        let step = Step {
            exchanges: EXCHANGES,
            value_bytes: 2,
            batch: 2048,
            data_parallel: 8,
            sequence,
            hidden: 8192,
            layers: 80,
            pipeline: 16,
        };
        step.bytes_per_stage() / f64::from(1 << 30)
    };
    let csc_put = 8e6 / one_kernel_with_put_s(4.0, 8e6, LAUNCH_S, SYNC_S, STEP_S, RATE) / 1e9;
    let crossover = crossover_bytes(4.0, LAUNCH_S, SYNC_S, [STEP_S; 2], RATE, RATE).unwrap_or(f64::NAN);
    let equation_4 =
        8e6 / (one_kernel_with_put_s(4.0, 8e6, LAUNCH_S, SYNC_S, STEP_S, RATE) - 8e6 / 4.0 / RATE) / 1e9;
    // what Ring-AG at 8 MB takes beyond launch, synchronisation and data
    let fitted_step_s = 8e6 / (RING_AG * 1e9) / 3.0 - LAUNCH_S - SYNC_S - 8e6 / 4.0 / RATE;
    let fitted_gain = 3.0 * (LAUNCH_S + SYNC_S + fitted_step_s) / (LAUNCH_S + SYNC_S + 3.0 * STEP_S);
    let tiers = |local| Tiers { groups: 4.0, local, global: RATE, launch_s: LAUNCH_S };
    let share = |part: f64| format!("{:.1} %", 100.0 * part);
    let table_4 = 32.0 * 1024.0 * 1024.0 / 631e-6 / 1e9;
    let host = two_tier_copy_s(4.0, 1.0, 15e9, 0.0) / three_tier_copy_s(4.0, 1.0, 15e9, 0.0, RATE, true);
    vec![
        Inconsistency {
            place: "equations 1 and 2",
            printed: "120 GB",
            ours: format!(
                "{:.0} GiB with s = 1024, {:.0} GiB with s = 2048",
                llama_gib(1024),
                llama_gib(2048)
            ),
            why: "s is not given; the days of table 5 need 2^22 tokens per iteration, which is s = 2048, and so twice the \
                  traffic. The row of GPT-NeoX has no such factor",
        },
        Inconsistency {
            place: "table 5, \"fused CSC\"",
            printed: "0.80 s and 0.71 s per layer",
            ours: format!(
                "{:.2} s and {:.2} s without any fusion",
                27.035 / equation_4 + 27.035 / (1.2 * RING_RS),
                24.0 / equation_4 + 24.0 / (1.2 * RING_RS)
            ),
            why: "the row is the bound of equation 4 and 1.2 times Ring-RS; it contains no gain of fusion",
        },
        Inconsistency {
            place: "equation 4 against algorithm 1",
            printed: "69.6 GB/s at 8 MB",
            ours: format!("{csc_put:.1} GB/s; the ring wins above {:.0} MB", crossover / 1e6),
            why: "the equation leaves out the PUT of the own shard to Global memory (line 5 of the algorithm, and equation 9): \
                  for large vectors CSC has 0.75 of the ring's bandwidth, not 1",
        },
        Inconsistency {
            place: "equations 5 and 6",
            printed: "about 3 times",
            ours: format!(
                "{:.2} times; {fitted_gain:.2} with the ring step of {:.1} us that 34.1 GB/s needs",
                small_vector_gain(4.0, LAUNCH_S, SYNC_S, STEP_S),
                fitted_step_s * 1e6
            ),
            why: "the paper's own constants give less",
        },
        Inconsistency {
            place: "equation 11",
            printed: "about 50 %",
            ours: format!(
                "{} with Local at 75 GB/s, {} at 160, {} at 208",
                share(tiers(75e9).fusion_gain()),
                share(tiers(160e9).fusion_gain()),
                share(tiers(208e9).fusion_gain())
            ),
            why: "50 % needs Local memory slower than the ring; what tables 3 and 4 save implies 160 to 209 GB/s. The equation \
                  drops the launch that (9) - (10) contains",
        },
        Inconsistency {
            place: "table 3, 8192 KB",
            printed: "46 of 200 us are 54 %",
            ours: share(46.0 / 200.0),
            why: "200 us is more than the 195 us of twice the size: a misprint of 85 to 100",
        },
        Inconsistency {
            place: "tables 3 and 4",
            printed: "communication time",
            ours: format!(
                "{:.1} us for 2048 KB in the kernel alone",
                3.0 * STEP_S * 1e6 + 2048.0 * 1024.0 / RATE * 1e6
            ),
            why: "the 32 us of table 3 are less than launch and synchronisation take together: the tables have the kernel only",
        },
        Inconsistency {
            place: "table 4 against figure 15",
            printed: "1.2 times Ring-RS at 32 MB",
            ours: format!("{table_4:.1} GB/s of the kernel alone, {:.1} in figure 15", 1.2 * RING_RS),
            why: "631 us in the kernel are already slower than Ring-RS with 54.9 GB/s; no parameters meet both",
        },
        Inconsistency {
            place: "abstract and section 1.2",
            printed: "about 30 % of the ring's bandwidth",
            ours: format!("{} (AG), {} (RS)", share(RING_AG / 100.0), share(RING_RS / 100.0)),
            why: "true of all-gather, not of reduce-scatter",
        },
        Inconsistency {
            place: "contribution 1 against abstract",
            printed: "3 times and 2.5 times the host bandwidth",
            ours: format!("{host:.2} times with 15 GB/s and copies in turn"),
            why: "two numbers for one thing",
        },
        Inconsistency {
            place: "table 5, GPT-NeoX",
            printed: "0.4 T tokens",
            ours: format!("{:.3} T", 150_000.0 * 1538.0 * 2048.0 / 1e12),
            why: "the days need 150,000 steps of 1538 samples of 2048 tokens",
        },
        Inconsistency {
            place: "abstract",
            printed: "59 % better communication",
            ours: format!("{} at 2 MB, {} at 16 MB", share(19.0 / 32.0), share(84.0 / 195.0)),
            why: "59 % is the smallest size only; 8 to 32 MB have 43 to 54 %",
        },
    ]
}
