//! The simplex method of Nelder and Mead (The Computer Journal 7, 1965).

/// A minimum.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Minimum {
    pub(super) at: Vec<f64>,
    pub(super) value: f64,
}

/// Looks for a minimum of `function` from `start`, with a simplex of edges `size`. Values that are no numbers are
/// worse than all others. Ends when the values of the simplex differ by less than `precision` of the best and
/// its corners by less than `precision`, or after `most` evaluations.
pub(super) fn minimise(
    function: impl Fn(&[f64]) -> f64,
    start: &[f64],
    size: f64,
    precision: f64,
    most: usize,
) -> Minimum {
    let count = std::cell::Cell::new(0);
    let at = |point: Vec<f64>| {
        count.set(count.get() + 1);
        let value = function(&point);
        Minimum { at: point, value: if value.is_nan() { f64::INFINITY } else { value } }
    };
    let mut simplex = vec![at(start.to_vec())];
    for axis in 0..start.len() {
        let mut corner = start.to_vec();
        corner[axis] += size;
        simplex.push(at(corner));
    }
    loop {
        simplex.sort_by(|a, b| a.value.total_cmp(&b.value));
        let (best, worst) = (&simplex[0], &simplex[simplex.len() - 1]);
        let spread =
            simplex.iter().flat_map(|corner| corner.at.iter().zip(&best.at).map(|(a, b)| (a - b).abs()));
        let flat =
            worst.value - best.value <= precision * best.value.abs() || worst.value <= f64::MIN_POSITIVE;
        let small = spread.fold(0.0, f64::max) <= precision;
        if start.is_empty() || (flat && small) || count.get() >= most {
            return simplex.swap_remove(0);
        }
        let others = simplex.len() - 1;
        let centre: Vec<f64> = (0..start.len())
            .map(|axis| simplex[..others].iter().map(|corner| corner.at[axis]).sum::<f64>() / others as f64)
            .collect();
        // the point on the line through the worst corner and the centre of the others
        let along = |by: f64| {
            let worst = &simplex[others].at;
            centre.iter().zip(worst).map(|(centre, worst)| centre + by * (centre - worst)).collect::<Vec<_>>()
        };
        let reflected = at(along(1.0));
        let next = if reflected.value < simplex[0].value {
            let expanded = at(along(2.0));
            if expanded.value < reflected.value { Some(expanded) } else { Some(reflected) }
        } else if reflected.value < simplex[others - 1].value {
            Some(reflected)
        } else {
            let outside = reflected.value < simplex[others].value;
            let contracted = at(along(if outside { 0.5 } else { -0.5 }));
            let limit = if outside { reflected.value } else { simplex[others].value };
            (contracted.value < limit).then_some(contracted)
        };
        match next {
            Some(next) => simplex[others] = next,
            None => {
                let best = simplex[0].at.clone();
                for corner in &mut simplex[1..] {
                    let halfway = corner.at.iter().zip(&best).map(|(a, b)| f64::midpoint(*a, *b)).collect();
                    *corner = at(halfway);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::minimise;

    #[test]
    fn the_valley_of_rosenbrock_is_followed_to_its_end() {
        let valley = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2);
        let found = minimise(valley, &[-1.2, 1.0], 0.5, 1e-10, 10_000);
        assert!(found.at.iter().all(|x| (x - 1.0).abs() < 1e-6), "{found:?}");
    }

    #[test]
    fn one_dimension_and_holes_are_no_trouble() {
        let found =
            minimise(|x| if x[0] < 0.0 { f64::NAN } else { (x[0] - 3.0).powi(2) }, &[0.1], 1.0, 1e-9, 1000);
        assert!((found.at[0] - 3.0).abs() < 1e-6, "{found:?}");
    }
}
