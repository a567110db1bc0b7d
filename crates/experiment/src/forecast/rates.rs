//! Rates of the two collectives of a method: as given, or those of a card's own models.

use std::path::Path;

use stratasim_core::{Bandwidth, BuildError};
use stratasim_device::card::{AlgorithmSpec, Between, Card, Fidelity, Operation, Operators, time_s};

use super::spec::{ForecastSpec, MethodSpec, positive};
use crate::card;
use crate::card::bench::algorithm;

/// A method with the card that it runs on.
#[derive(Debug, Clone)]
pub(super) struct Method {
    given: [Option<f64>; 2],
    on_card: Option<OnCard>,
}

#[derive(Debug, Clone)]
struct OnCard {
    card: Card,
    algorithm: AlgorithmSpec,
    fused: bool,
    fidelity: Fidelity,
}

/// The two collectives, with their keys.
const COLLECTIVES: [(&str, Operation, Between); 2] = [
    ("all-gather", Operation::AllGather, Between::AllGather),
    ("reduce-scatter", Operation::ReduceScatter, Between::ReduceScatter),
];

impl Method {
    /// What a method of a forecast means. Paths of cards start from `base`.
    ///
    /// # Errors
    /// Neither rates nor a card, a card or algorithm that is not there, with the field of the method or of the
    /// forecast (`card`) in front.
    pub(super) fn new(
        at: usize,
        method: &MethodSpec,
        forecast: &ForecastSpec,
        base: &Path,
    ) -> Result<Self, BuildError> {
        let place = format!("method.{at}");
        let fail = |field: &str, reason: String| Err(BuildError::new(field, reason).within(&place));
        for (field, rate) in [("all-gather", method.all_gather), ("reduce-scatter", method.reduce_scatter)] {
            if let Some(rate) = rate {
                positive(field, rate.bytes_per_s()).map_err(|error| error.within(&place))?;
            }
        }
        let given = [method.all_gather, method.reduce_scatter].map(|rate| rate.map(Bandwidth::bytes_per_s));
        let Some(name) = &method.algorithm else {
            if let Some((field, ..)) =
                COLLECTIVES.iter().zip(given).find_map(|(it, rate)| rate.is_none().then_some(it))
            {
                let reason = format!(
                    "how fast is it? `{field}` (a bandwidth) or `algorithm` (ring, csc, csc-equation, direct; with a card) is expected"
                );
                return fail("", reason);
            }
            for (field, said) in [("card", method.card.is_some()), ("fused", method.fused)] {
                if said {
                    return fail(field, "it is for rates of a card: give an `algorithm`, too".to_owned());
                }
            }
            return Ok(Self { given, on_card: None });
        };
        if given.iter().all(Option::is_some) {
            return fail("algorithm", "both rates are given; leave one of them out, or this".to_owned());
        }
        let algorithm = match algorithm(name) {
            Ok(algorithm) => algorithm,
            Err(reason) => return fail("algorithm", reason),
        };
        if method.fused && algorithm.kind() != "csc" {
            return fail("fused", format!("csc is what is fused with operators, not {name}"));
        }
        let card = match (&method.card, &forecast.card) {
            (Some(own), _) => card::chosen(own, base).map_err(|error| error.within("card").within(&place))?,
            (None, Some(common)) => card::chosen(common, base).map_err(|error| error.within("card"))?,
            (None, None) => {
                return fail("algorithm", "on which card? give `card` here or to the forecast".to_owned());
            }
        };
        let on_card = OnCard { card, algorithm, fused: method.fused, fidelity: forecast.fidelity };
        Ok(Self { given, on_card: Some(on_card) })
    }

    /// Name of the card that rates come from, where they do.
    pub(super) fn card(&self) -> Option<&str> {
        self.on_card.as_ref().map(|it| it.card.name.as_str())
    }

    /// Rates of an all-gather and a reduce-scatter of a vector of `bytes`, in bytes of the vector per second.
    ///
    /// # Errors
    /// A vector that does not fit into the card; a fusion that hides all of a collective.
    pub(super) fn rates(&self, bytes: u64) -> Result<[f64; 2], BuildError> {
        let mut rates = [0.0; 2];
        for ((rate, given), (_, operation, between)) in rates.iter_mut().zip(self.given).zip(COLLECTIVES) {
            *rate = match (given, &self.on_card) {
                (Some(given), _) => given,
                (None, Some(it)) => bytes as f64 / it.seconds(operation, between, bytes)?,
                (None, None) => unreachable!("a rate or a card was asked for"),
            };
        }
        Ok(rates)
    }
}

impl OnCard {
    /// Seconds of a collective; what fusion saves is not in it.
    fn seconds(&self, operation: Operation, between: Between, bytes: u64) -> Result<f64, BuildError> {
        let alone_s = time_s(&self.card, &self.algorithm, operation, bytes, self.fidelity)?;
        if self.card.core_groups < 2 {
            return Err(BuildError::new("", "a card with one core group exchanges nothing".to_owned()));
        }
        if !self.fused {
            return Ok(alone_s);
        }
        // data only: what the operators compute is not a part of the forecast
        let (first_flops, second_flops, keep_local) = (0.0, 0.0, false);
        let it = Operators { between, bytes, first_flops, second_flops, keep_local };
        let left_s = alone_s - it.saved_s(&self.card, self.fidelity)?;
        if left_s <= 0.0 {
            let name = operation.name();
            let reason = format!(
                "fusion saves more than the {:.3} us of this {name}: the card's Local memory is slow beside its ring, or beside its access to Global memory. Nothing is left to be counted; leave `fused` out",
                1e6 * alone_s
            );
            return Err(BuildError::new("fused", reason));
        }
        Ok(left_s)
    }
}
