//! Transports as htsim runs them, by the names of its reference cases: for comparison, not for use.
//!
//! The rules are our own; where htsim departs from what is published, a preset of the rule follows htsim. Its defects are not
//! repeated: NDP flows that never finish after a lost header, DCQCN's and HPCC's shared or stale state, the penalty of a path for
//! packets that timed out on others (here none has one).

use stratasim_core::{Bandwidth, Bytes, Duration};

use crate::congestion::constant_rate::ConstantRate;
use crate::congestion::dcqcn::Dcqcn;
use crate::congestion::dctcp::{self, Dctcp};
use crate::congestion::eqds::Eqds;
use crate::congestion::fixed_window::FixedWindow;
use crate::congestion::hpcc::Hpcc;
use crate::congestion::mprdma::{self, Mprdma};
use crate::congestion::ndp::Ndp;
use crate::congestion::nscc::Nscc;
use crate::congestion::rccc::Rccc;
use crate::congestion::swift::{self, Swift};
use crate::entropy::{
    bitmap::Bitmap, fixed::Fixed, mixed::Mixed, oblivious::Oblivious, permutation::Permutation,
};
use crate::entropy::{reps::Reps, round_robin::RoundRobin};
use crate::recovery::go_back_n::{GoBackN, Nak};
use crate::recovery::sack::Sack;
use crate::recovery::trimming::Trimming;
use crate::{CongestionSpec, EntropySpec, PacketSizes, RecoverySpec, TransportSpec};

/// Names that [`htsim`] knows; a name may be followed by a suffix of the fabric, such as `_q8` or `_1MiB`.
pub const HTSIM: &[&str] = &[
    "uec_nscc_notrim_sleek",
    "uec_nscc_notrim",
    "uec_nscc_oblivious",
    "uec_nscc_bitmap",
    "uec_nscc_reps",
    "uec_nscc_ecmp1",
    "uec_nscc",
    "uec_dctcp",
    "uec_const",
    "uec_rccc",
    "uec_both",
    "eqds",
    "ndp",
    "roce_pfc",
    "uet_roce_pfc",
    "dcqcn",
    "hpcc",
    "swift",
    "atlahs_const",
    "atlahs_mprdma",
    "atlahs_swift",
    "atlahs_ndp",
];

/// The transport of a reference case (`uec_nscc`, `atlahs_mprdma_1MiB`, ...) on links of `rate`; none where the name is
/// unknown.
pub fn htsim(protocol: &str, rate: Bandwidth) -> Option<TransportSpec> {
    let name = HTSIM.iter().find(|name| protocol == **name || protocol.starts_with(&format!("{name}_")))?;
    let spec = if name.starts_with("uec_") {
        ultra_ethernet(&protocol.split('_').skip(1).collect::<Vec<_>>())
    } else if let Some(variant) = name.strip_prefix("atlahs_") {
        atlahs(variant)
    } else {
        classic(name, protocol, rate)
    };
    Some(spec)
}

/// Kinds of congestion control that htsim has, and its plainest case of each.
pub const HTSIM_KINDS: [(&str, &str); 11] = [
    ("nscc", "uec_nscc"),
    ("rccc", "uec_rccc"),
    ("dctcp", "uec_dctcp"),
    ("fixed-window", "uec_const"),
    ("mprdma", "atlahs_mprdma"),
    ("ndp", "ndp"),
    ("eqds", "eqds"),
    ("swift", "swift"),
    ("dcqcn", "dcqcn"),
    ("hpcc", "hpcc"),
    ("constant-rate", "roce_pfc"),
];

/// The transport of htsim with a kind of congestion control; none where it has none.
pub fn htsim_of(kind: &str, rate: Bandwidth) -> Option<TransportSpec> {
    let (_, protocol) = HTSIM_KINDS.iter().find(|(known, _)| *known == kind)?;
    htsim(protocol, rate)
}

/// uet-htsim: 4,150 bytes with 64 of headers, short last packets, acknowledgements every 16 KiB. The words of a name are the congestion
/// control, and what else differs from usual: any choice of paths with any control.
fn ultra_ethernet(words: &[&str]) -> TransportSpec {
    let packets = PacketSizes {
        payload_bytes: 4086,
        header_bytes: 64,
        control_bytes: 64,
        full_packets: false,
        count_headers: true,
    };
    let has = |word| words.contains(&word);
    let congestion = match words.first().copied() {
        Some("dctcp") => CongestionSpec::Dctcp(Dctcp { preset: dctcp::Preset::Htsim, ..Dctcp::default() }),
        Some("const") => CongestionSpec::FixedWindow(FixedWindow { window: None, factor: 1.5 }),
        Some("rccc") => CongestionSpec::Rccc(Rccc { htsim_leftovers: true, ..Rccc::default() }),
        Some("both") => CongestionSpec::Rccc(Rccc {
            sender: Some(Nscc::default()),
            htsim_leftovers: true,
            ..Rccc::default()
        }),
        _ => CongestionSpec::Nscc(Nscc::default()),
    };
    let entropy = if has("bitmap") {
        EntropySpec::Bitmap(Bitmap { timeout_penalty: 0, ..Bitmap::default() })
    } else if has("oblivious") {
        EntropySpec::Oblivious(Oblivious::default())
    } else if has("reps") {
        EntropySpec::Reps(Reps::default())
    } else if has("ecmp1") {
        EntropySpec::Fixed(Fixed::default())
    } else {
        EntropySpec::Mixed(Mixed { timeout_penalty: 0, ..Mixed::default() })
    };
    let recovery = RecoverySpec::Trimming(Trimming {
        acknowledge_every: Some(Bytes(16_384)),
        asks_in_time: false,
        sleek: has("sleek"),
        ..Trimming::default()
    });
    TransportSpec { congestion, recovery: Some(recovery), entropy: Some(entropy), packets }
}

/// The sender of ATLAHS: windows in whole packets of 4,096 bytes, an acknowledgement per packet, no time-out.
fn atlahs(variant: &str) -> TransportSpec {
    let preset = match variant {
        "mprdma" => mprdma::Preset::Htsim,
        "swift" => mprdma::Preset::HtsimSwiftLike,
        _ => mprdma::Preset::HtsimConstant,
    };
    let recovery = RecoverySpec::Trimming(Trimming { without_timeout: true, ..Trimming::default() });
    let (congestion, entropy) = if variant == "ndp" {
        let ndp = Ndp { initial_packets: Some(50), ..Ndp::default() };
        (CongestionSpec::Ndp(ndp), EntropySpec::Permutation(Permutation { paths: 128 }))
    } else {
        let window = Mprdma { preset, ..Mprdma::default() };
        (CongestionSpec::Mprdma(window), EntropySpec::RoundRobin(RoundRobin { paths: 128 }))
    };
    let packets = PacketSizes { full_packets: true, count_headers: false, ..PacketSizes::default() };
    TransportSpec { congestion, recovery: Some(recovery), entropy: Some(entropy), packets }
}

/// csg-htsim's and uet-htsim's older transports.
fn classic(name: &str, protocol: &str, rate: Bandwidth) -> TransportSpec {
    let full = PacketSizes { full_packets: true, ..PacketSizes::default() };
    let trimming = RecoverySpec::Trimming(Trimming::default());
    let go_back_n = |nak| RecoverySpec::GoBackN(GoBackN { nak, ..GoBackN::default() });
    let fixed = EntropySpec::Fixed(Fixed::default());
    let share = |factor: f64| Bandwidth(rate.bytes_per_s() * factor);
    let (congestion, recovery, entropy, packets) = match name {
        "ndp" => {
            let initial = if protocol.contains("q8") { 30 } else { 50 };
            let ndp = Ndp { initial_packets: Some(initial), ..Ndp::default() };
            (CongestionSpec::Ndp(ndp), trimming, EntropySpec::Permutation(Permutation { paths: 128 }), full)
        }
        "eqds" => {
            let eqds = Eqds {
                max_window: Some(Bytes(50 * 4160)),
                htsim_pace: true,
                htsim_leftovers: true,
                ..Eqds::default()
            };
            let bitmap = Bitmap { paths: 128, trim_penalty: 1, timeout_penalty: 0, skip_all: true };
            (CongestionSpec::Eqds(eqds), trimming, EntropySpec::Bitmap(bitmap), PacketSizes::default())
        }
        "dcqcn" => {
            let dcqcn = Dcqcn { additive: share(0.05), hyper: share(0.1), ..Dcqcn::default() };
            (CongestionSpec::Dcqcn(dcqcn), go_back_n(Nak::OncePerGap), fixed, full)
        }
        "hpcc" => {
            let hpcc = Hpcc {
                base_rtt: Some(Duration::from_ns(12_000)),
                additive: Some(Bytes(4096)),
                ..Hpcc::default()
            };
            (CongestionSpec::Hpcc(hpcc), go_back_n(Nak::Always), fixed, full)
        }
        "swift" => {
            let base = Duration::from_ns(20_000);
            let swift = Swift {
                preset: swift::Preset::Htsim,
                base_target: Some(base),
                hop_delay: Duration::from_ps((base.as_ps() as f64 / 6.55) as u64),
                flow_scaling_range: base * 5,
                // the smallest window of htsim is 10 bytes
                window_limits: [0.0025, 1000.0],
                initial_packets: 15.0,
                ..Swift::default()
            };
            let sizes = PacketSizes {
                payload_bytes: 4000,
                header_bytes: 0,
                control_bytes: 40,
                full_packets: true,
                count_headers: true,
            };
            let sack = Sack { min_timeout: Duration::from_ns(100_000), ..Sack::default() };
            (CongestionSpec::Swift(swift), RecoverySpec::Sack(sack), fixed, sizes)
        }
        _ => {
            let nak = if name.starts_with("uet") { Nak::OncePerGap } else { Nak::Always };
            (CongestionSpec::ConstantRate(ConstantRate::default()), go_back_n(nak), fixed, full)
        }
    };
    TransportSpec { congestion, recovery: Some(recovery), entropy: Some(entropy), packets }
}
