//! The card's closed forms fitted to what was measured here: each schedule by itself, for the choice among them, and all
//! together, for a card of this machine.

use stratasim_core::{Bandwidth, Bytes, Duration};
use stratasim_device::card::{AlgorithmSpec, Card, Cost, Fidelity, Memory, Operation, Rates, time_s};
use stratasim_experiment::card::fit::{Anchor, Fit, Fitted, Measured, Parameter};
use stratasim_shm::Algorithm;

use super::Point;

/// Relative residual up to which a measurement counts as met.
const TOLERANCE: f64 = 0.25;

/// The schedule of a card that an algorithm is, and what its time depends on.
const fn on_card(algorithm: Algorithm) -> (&'static str, [&'static str; 2]) {
    match algorithm {
        Algorithm::Ring | Algorithm::RingTwoSided => ("ring", ["ring-step", "ring"]),
        Algorithm::Csc => ("csc", ["csc-step", "global"]),
        Algorithm::Direct => ("direct", ["csc-step", "ring"]),
    }
}

/// Memory of a group of a card of processes, of which it keeps half: more than any vector that is timed.
const PLENTY: Bytes = Bytes(1 << 50);

/// `card` with a group per process and nothing that processes do not have: no host that launches and synchronises, no
/// limit but that of reading what others have, memory for any vector.
fn of_processes(card: &Card, processes: u32) -> Card {
    let unlimited = Bandwidth(1e18);
    let start = Bandwidth(5e9);
    let mut card = card.clone();
    card.core_groups = processes;
    let memory = &mut card.memory;
    (memory.per_group, memory.local) = (PLENTY, Bytes(PLENTY.0 / 2));
    memory.global = memory.global_beside(memory.local, processes).expect("half of what there is");
    let nothing = Duration::ZERO;
    let step = Duration::from_ns(10_000);
    card.cost = Cost { launch: nothing, sync: nothing, ring_step: step, csc_step: step, kernel: nothing };
    card.bandwidth = Rates {
        ring: start,
        global: start,
        local: unlimited,
        ring_total: None,
        reduce_ring: None,
        reduce_csc: None,
    };
    card
}

fn anchors<'a>(operation: Operation, points: impl IntoIterator<Item = &'a Point>) -> Vec<Anchor> {
    let anchor = |(line, point): (u64, &Point)| {
        let algorithm = AlgorithmSpec::named(on_card(point.algorithm).0)?;
        let name = format!("{} {} B", point.algorithm.name(), point.bytes);
        let measured = Measured::Collective(operation, algorithm);
        let (bytes, seconds) = (point.bytes, point.median_s);
        Some(Anchor { line, name, measured, bytes, groups: None, kernel_only: false, seconds })
    };
    (1..).zip(points).filter_map(anchor).collect()
}

fn fit(card: &Card, anchors: Vec<Anchor>, free: &[&str]) -> Result<Fit, String> {
    let free = free.iter().take(anchors.len());
    let free = free.map(|name| Parameter::named(name)).collect::<Result<Vec<_>, _>>()?;
    Fit::run(card, anchors, &free, TOLERANCE, Fidelity::F0)
}

/// One schedule, with a step and a rate of its own.
pub(super) struct Model {
    pub(super) algorithm: Algorithm,
    operation: Operation,
    spec: AlgorithmSpec,
    fit: Fit,
}

impl Model {
    /// Fitted to those of the points that are of this algorithm: a step, and with more than one size a rate.
    ///
    /// # Errors
    /// As [`Fit::run`].
    pub(super) fn fit(
        card: &Card,
        processes: u32,
        operation: Operation,
        algorithm: Algorithm,
        points: &[Point],
    ) -> Result<Self, String> {
        let (name, free) = on_card(algorithm);
        let spec = AlgorithmSpec::named(name).ok_or_else(|| format!("no algorithm `{name}`"))?;
        let of = points.iter().filter(|point| point.algorithm == algorithm);
        let fit = fit(&of_processes(card, processes), anchors(operation, of), &free)?;
        Ok(Self { algorithm, operation, spec, fit })
    }

    /// Seconds of a vector of so many bytes.
    pub(super) fn seconds(&self, bytes: u64) -> f64 {
        time_s(&self.fit.card, &self.spec, self.operation, bytes, Fidelity::F0)
            .expect("a schedule that was fitted")
    }

    /// What was found.
    pub(super) fn parameters(&self) -> &[Fitted] {
        &self.fit.parameters
    }
}

/// `card` with the steps and rates of this machine, as far as one card can have them: ring, CSC and direct share the ring,
/// and direct has the steps of CSC.
///
/// # Errors
/// As [`Fit::run`].
pub(super) fn together(
    card: &Card,
    processes: u32,
    operation: Operation,
    points: &[Point],
) -> Result<Fit, String> {
    let of = points.iter().filter(|point| point.algorithm != Algorithm::RingTwoSided);
    let mut fit = fit(
        &of_processes(card, processes),
        anchors(operation, of),
        &["ring-step", "csc-step", "ring", "global"],
    )?;
    // the memory of the card, with the groups that it has now
    let memory = card.memory.global_beside(card.memory.local, processes);
    fit.card.memory = Memory { global: memory.unwrap_or(Bytes(0)), ..card.memory.clone() };
    // as fast as what it was measured through
    let rate = &mut fit.card.bandwidth;
    rate.local = Bandwidth(rate.local.0.min(rate.ring.0.max(rate.global.0) * 1e3));
    fit.card.name = format!("{} as {processes} processes", card.name);
    fit.card.about = format!("Steps and rates of {} between processes of one machine.", operation.name());
    Ok(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(algorithm: Algorithm, seconds: impl Fn(f64) -> f64) -> impl Iterator<Item = Point> {
        [16_384, 262_144, 1 << 20, 1 << 24].into_iter().map(move |bytes| {
            let median_s = seconds(bytes as f64);
            Point { algorithm, bytes, median_s, least_s: median_s }
        })
    }

    #[test]
    fn steps_and_rates_are_found_again() {
        let card = stratasim_experiment::card::load("sw-ai", &[]).expect("shipped");
        // three steps of 15 us, in each of which a quarter passes at 10 GB/s
        let ring = |bytes: f64| 3.0 * (15e-6 + bytes / 4.0 / 10e9);
        let measured: Vec<Point> = points(Algorithm::Ring, ring).collect();
        let model = Model::fit(&card, 4, Operation::AllGather, Algorithm::Ring, &measured).expect("fits");
        let found: Vec<f64> = model.parameters().iter().map(|it| it.after).collect();
        assert!((found[0] / 15e-6 - 1.0).abs() < 1e-3 && (found[1] / 10e9 - 1.0).abs() < 1e-3, "{found:?}");
        assert!((model.seconds(4_000_000) / ring(4e6) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_step_that_costs_nothing_is_nothing() {
        let card = stratasim_experiment::card::load("sw-ai", &[]).expect("shipped");
        // less than nothing, which no step is
        let measured: Vec<Point> =
            points(Algorithm::Direct, |bytes| (0.75 * bytes / 10e9 - 1e-6).max(1e-7)).collect();
        let model = Model::fit(&card, 4, Operation::AllGather, Algorithm::Direct, &measured).expect("fits");
        assert!(model.parameters()[0].after < 1e-8, "{:?}", model.parameters());
    }

    #[test]
    fn a_card_without_global_memory_is_fitted_too() {
        let mut card = stratasim_experiment::card::load("sw-ai", &[]).expect("shipped");
        card = card.with_local(card.memory.per_group).expect("all is local");
        assert_eq!(card.memory.global, Bytes(0));
        let measured: Vec<Point> = points(Algorithm::Csc, |bytes| 15e-6 + bytes / 8e9).collect();
        let model = Model::fit(&card, 4, Operation::AllGather, Algorithm::Csc, &measured).expect("fits");
        assert!((model.parameters()[1].after / 8e9 - 1.0).abs() < 1e-3, "{:?}", model.parameters());
        // the card of this machine has the memory of the card, and is one
        let ring = points(Algorithm::Ring, |bytes| 3.0 * (15e-6 + bytes / 4.0 / 10e9));
        let fit =
            together(&card, 6, Operation::AllGather, &measured.into_iter().chain(ring).collect::<Vec<_>>());
        let fitted = fit.expect("fits").card;
        assert_eq!((fitted.memory.per_group, fitted.memory.global), (card.memory.per_group, Bytes(0)));
        fitted.check().expect("a card");
    }

    #[test]
    fn one_size_gives_a_step() {
        let card = stratasim_experiment::card::load("sw-ai", &[]).expect("shipped");
        let measured = [Point { algorithm: Algorithm::Csc, bytes: 4096, median_s: 30e-6, least_s: 30e-6 }];
        let model = Model::fit(&card, 4, Operation::AllReduce, Algorithm::Csc, &measured).expect("fits");
        assert_eq!(model.parameters().len(), 1);
        assert!((model.seconds(4096) / 30e-6 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn one_card_has_what_its_schedules_share() {
        let card = stratasim_experiment::card::load("sw-ai", &[]).expect("shipped");
        // direct: three steps of 5 us and three quarters at 10 GB/s; CSC: a quarter more, at 8 GB/s
        let all = points(Algorithm::Ring, |bytes| 3.0 * (15e-6 + bytes / 4.0 / 10e9))
            .chain(points(Algorithm::Direct, |bytes| 15e-6 + 0.75 * bytes / 10e9))
            .chain(points(Algorithm::Csc, |bytes| 15e-6 + bytes / 8e9));
        let fit = together(&card, 4, Operation::AllGather, &all.collect::<Vec<_>>()).expect("fits");
        for (index, wanted) in [15e-6, 5e-6, 10e9, 8e9].into_iter().enumerate() {
            let found = fit.parameters[index].after;
            assert!((found / wanted - 1.0).abs() < 1e-2, "{index}: {found}, expected {wanted}");
        }
    }
}
