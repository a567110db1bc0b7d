//! What kernels of collectives cost where a rank runs.

use stratasim_core::{Bandwidth, Duration, KernelCosts};
use stratasim_workload::collective::kernel::{Family, Fixed, Held};

use crate::collectives::Way;
use crate::engine::Place;

/// How long a fixed part of a collective takes.
pub(crate) fn fixed(costs: &KernelCosts, fixed: Fixed) -> Duration {
    match fixed {
        Fixed::Launch => costs.launch,
        Fixed::Synchronise => costs.synchronise,
        Fixed::Step(Family::Ring) => costs.ring_step,
        Fixed::Step(Family::Kernel | Family::InPlace) => costs.kernel_step,
    }
}

/// How long `bytes` take in the rank's own memory.
pub(crate) fn local(place: &Place, bytes: u64) -> Duration {
    let rate = place.local_bandwidth.map(Bandwidth::bytes_per_s);
    rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(bytes as f64 / rate))
}

/// The most at which an access moves its bytes: the rate of the own memories that it touches, and that of
/// additions. Sums are kept in scratch-pads, but for that of a ring, which is read for every addition.
pub(crate) fn cap(place: &Place, way: Way) -> Option<Bandwidth> {
    let memory = |part: f64| place.local_bandwidth.map(|rate| Bandwidth(rate.bytes_per_s() * part));
    let caps = match way {
        Way::Store | Way::Load { adds: None, .. } => [memory(1.0), None],
        Way::Load { adds: Some(Family::Ring), .. } => [memory(0.5), place.kernels.ring_add],
        Way::Load { adds: Some(Family::InPlace), .. } => [memory(1.0), place.kernels.kernel_add],
        Way::Load { at: Held::InShared, .. } => [None, place.kernels.kernel_add],
        Way::Load { at: Held::ByMember, .. } => [memory(1.0), place.kernels.kernel_add],
    };
    caps.into_iter().flatten().reduce(|a, b| if b.bytes_per_s() < a.bytes_per_s() { b } else { a })
}
