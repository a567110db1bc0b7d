//! Axes: from numbers to pixels, with round tick values.

use crate::units::{Unit, axis_prefix, tick};

/// What an axis shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Name of the quantity, such as `accelerators` or `CXL bandwidth`.
    pub title: String,
    /// Its unit; values are in its base.
    pub unit: Unit,
    /// Logarithmic; values that are not positive are left out.
    pub log: bool,
    /// Whether a linear axis begins at zero even if no value is near.
    pub from_zero: bool,
}

impl Axis {
    /// A linear axis that begins at zero.
    pub fn linear(title: impl Into<String>, unit: Unit) -> Self {
        Self { title: title.into(), unit, log: false, from_zero: true }
    }

    /// A logarithmic axis.
    pub fn log(title: impl Into<String>, unit: Unit) -> Self {
        Self { title: title.into(), unit, log: true, from_zero: false }
    }

    /// Whether a value can be shown.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }
}

/// An axis fitted to its values.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    log: bool,
    /// Pixels of `low` and `high`.
    pixels: (f64, f64),
    /// Values and labels.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Title with unit.
    pub(crate) title: String,
}

/// Shares below it have other labels on logarithmic axes, where nothing is nearly 0.
const SMALL_SHARE: f64 = 1e-3;

/// A small percentage with two digits that count.
fn small_percent(percent: f64) -> String {
    let leading = -percent.log10().floor();
    match leading {
        ..5.0 => format!("{percent:.*} %", leading as usize + 1),
        _ => format!("{percent:.1e} %"),
    }
}

impl Scale {
    /// An axis that holds `values`, with about `count` ticks. A logarithmic axis has its ticks at the
    /// values themselves when these are few.
    pub(crate) fn fit(axis: &Axis, values: impl Iterator<Item = f64>, count: usize) -> Self {
        let mut values: Vec<f64> = values.filter(|value| axis.shows(*value)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (low, high) = match (values.first(), values.last()) {
            (Some(&low), Some(&high)) => (low, high),
            _ if axis.log => (1.0, 10.0),
            _ => (0.0, 1.0),
        };
        if axis.log {
            Self::logarithmic(axis, low, high, &values, count)
        } else {
            Self::linear(axis, low, high, count)
        }
    }

    /// A time axis from exactly `low` to exactly `high`.
    pub(crate) fn exact(title: &str, unit: Unit, low: f64, high: f64, count: usize) -> Self {
        let axis = Axis::linear(title, unit);
        // where nothing lasts, there is still an axis
        let high = if high > low { high } else { low + low.abs().max(1e-9) * 1e-3 };
        let step = round_step((high - low) / count as f64);
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        Self::labelled(&axis, (low, high), step, first..=last)
    }

    fn linear(axis: &Axis, low: f64, high: f64, count: usize) -> Self {
        let low = if axis.from_zero { low.min(0.0) } else { low };
        let high = if axis.from_zero { high.max(0.0) } else { high };
        let (low, high) = if high > low { (low, high) } else { (low, low + low.abs().max(1.0)) };
        let step = round_step((high - low) / count as f64);
        let first = (low / step + 1e-9).floor() as i64;
        let last = (high / step - 1e-9).ceil() as i64;
        Self::labelled(axis, (first as f64 * step, last as f64 * step), step, first..=last)
    }

    fn labelled(
        axis: &Axis,
        (low, high): (f64, f64),
        step: f64,
        steps: std::ops::RangeInclusive<i64>,
    ) -> Self {
        let (prefix, scale) = axis_prefix(axis.unit, low.abs().max(high.abs()));
        let percent = matches!(axis.unit, Unit::Share | Unit::Difference);
        let scale = if percent { 0.01 } else { scale };
        let ticks = steps.map(|at| at as f64 * step).map(|value| (value, tick(value, step, scale))).collect();
        let unit = format!("{}{}", if prefix == "u" { "µ" } else { prefix }, axis.unit.symbol());
        Self { low, high, log: false, pixels: (0.0, 1.0), ticks, title: titled(&axis.title, &unit) }
    }

    fn logarithmic(axis: &Axis, low: f64, high: f64, values: &[f64], count: usize) -> Self {
        let label = |value: f64| {
            let text = match axis.unit {
                Unit::Share | Unit::Difference if value < SMALL_SHARE => small_percent(100.0 * value),
                unit => in_pictures(&unit.format(value)),
            };
            // 100.0 ns is 100 ns on an axis
            let (number, unit) = text.split_at(text.find(' ').unwrap_or(text.len()));
            let (mantissa, exponent) = number.split_at(number.find('e').unwrap_or(number.len()));
            let mantissa = match mantissa.contains('.') {
                true => mantissa.trim_end_matches('0').trim_end_matches('.'),
                false => mantissa,
            };
            format!("{mantissa}{exponent}{unit}")
        };
        let labelled = |ticks: Vec<f64>| ticks.into_iter().map(|value| (value, label(value))).collect();
        // what differs by less than its label says must not look like a rise
        let (low, high, values) = if high > low && label(low) == label(high) {
            let middle = (low * high).sqrt();
            (middle / 1.01, middle * 1.01, &[middle][..])
        } else {
            (low, high, values)
        };
        let decades = (high / low).log10();
        let ticks: Vec<(f64, String)> = if (1..=count + 4).contains(&values.len()) {
            labelled(values.to_vec())
        } else {
            let factors: &[f64] = match decades {
                ..1.0 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
                1.0..2.5 => &[1.0, 2.0, 5.0],
                _ => &[1.0],
            };
            let stride = ((decades / count as f64).ceil() as i32).max(1);
            let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
            let candidates = exponents
                .filter(|exponent| exponent % stride == 0)
                .flat_map(|exponent| factors.iter().map(move |factor| factor * 10f64.powi(exponent)));
            let round: Vec<f64> =
                candidates.filter(|value| (low * 0.999..=high * 1.001).contains(value)).collect();
            // values so close together that hardly a power of ten lies between them
            if round.len() < 2 && high > low { between(axis.unit, low, high, count) } else { labelled(round) }
        };
        // a little room beyond the outermost points, less than lies between them
        let least = if decades > 0.0 { decades.min(0.02) * 0.2 } else { 0.02 };
        let margin = 10f64.powf((0.04 * decades).max(least));
        Self {
            low: low / margin,
            high: high * margin,
            log: true,
            pixels: (0.0, 1.0),
            ticks,
            title: axis.title.clone(),
        }
    }

    /// The same axis from pixel `low` to pixel `high`.
    pub(crate) fn over(mut self, low: f64, high: f64) -> Self {
        self.pixels = (low, high);
        self
    }

    /// The pixel of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }
}

/// The text of a quantity with the prefix for a millionth that pictures have.
pub(super) fn in_pictures(text: &str) -> String {
    text.replace(" u", " µ")
}

/// Round values in equal steps from `low` to `high`, with as many digits as the step needs.
fn between(unit: Unit, low: f64, high: f64, count: usize) -> Vec<(f64, String)> {
    let step = round_step((high - low) / count as f64);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    let (scale, symbol) = match unit {
        Unit::Share | Unit::Difference => (0.01, " %".to_owned()),
        Unit::Factor => (1.0, "x".to_owned()),
        _ => {
            let (prefix, scale) = axis_prefix(unit, high);
            let prefix = if prefix == "u" { "µ" } else { prefix };
            let space = if prefix.is_empty() && unit.symbol().is_empty() { "" } else { " " };
            (scale, format!("{space}{prefix}{}", unit.symbol()))
        }
    };
    let label = |value: f64| format!("{}{symbol}", tick(value, step, scale));
    (first..=last).map(|at| at as f64 * step).map(|value| (value, label(value))).collect()
}

/// `title (unit)`
fn titled(title: &str, unit: &str) -> String {
    match (title.is_empty(), unit.is_empty()) {
        (_, true) => title.to_owned(),
        (true, false) => unit.to_owned(),
        (false, false) => format!("{title} ({unit})"),
    }
}

/// The next of 1, 2, 2.5 and 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let least = least.max(1e-15);
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn linear_axes_have_round_ticks_in_a_fitting_unit() {
        let scale = Scale::fit(&Axis::linear("step time", Unit::Seconds), [0.0021, 0.0079].into_iter(), 5);
        assert_eq!(labels(&scale), ["0", "2", "4", "6", "8"]);
        assert_eq!(scale.title, "step time (ms)");
        let scale = Scale::fit(&Axis::linear("latency", Unit::Seconds), [0.0, 3e-6].into_iter(), 3);
        assert_eq!(scale.title, "latency (µs)");
        let scale = Scale::fit(&Axis::linear("full", Unit::Share), [0.0, 0.9].into_iter(), 5);
        assert_eq!(
            (labels(&scale), scale.title.as_str()),
            (vec!["0", "20", "40", "60", "80", "100"], "full (%)")
        );
    }

    #[test]
    fn logarithmic_axes_have_ticks_at_the_values_or_at_powers_of_ten() {
        let sizes = [64.0, 128.0, 1024.0, 4096.0];
        let scale = Scale::fit(&Axis::log("accelerators", Unit::Count), sizes.into_iter(), 6);
        assert_eq!(labels(&scale), ["64", "128", "1,024", "4,096"]);
        // none of them is 0
        let scale = Scale::fit(&Axis::log("full", Unit::Share), [2.1e-9, 2.5e-8, 4e-4, 0.5].into_iter(), 6);
        assert_eq!(labels(&scale), ["2.1e-7 %", "2.5e-6 %", "0.04 %", "50 %"]);
        let many = (0..40).map(|n| 1e-7 * 1.5f64.powi(n));
        let scale = Scale::fit(&Axis::log("latency", Unit::Seconds), many, 7);
        assert_eq!(labels(&scale), ["100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]);
        assert_eq!(scale.title, "latency");
        let small = [1e-10, 1e-8, 1e-3, 0.5];
        let scale = Scale::fit(&Axis::log("loss", Unit::Count), small.into_iter(), 6);
        assert_eq!(labels(&scale)[..2], ["1e-10", "1e-8"]);
        let near = (0..40).map(|n| 8.2 + 0.01 * f64::from(n));
        let scale = Scale::fit(&Axis::log("batches/s", Unit::Count), near, 4);
        assert_eq!(labels(&scale), ["8.2", "8.3", "8.4", "8.5"]);
        let slower = (0..40).map(|n| 1.004 + 0.0004 * f64::from(n));
        let scale = Scale::fit(&Axis::log("slow-down", Unit::Factor), slower, 4);
        assert_eq!(labels(&scale), ["1.005x", "1.010x", "1.015x"]);
        let later = (0..40).map(|n| 1.021e-3 + 4e-7 * f64::from(n));
        let scale = Scale::fit(&Axis::log("time", Unit::Seconds), later, 7);
        assert_eq!(labels(&scale)[..2], ["1.0225 ms", "1.0250 ms"]);
        let wide = (0..40).map(|n| 73.0 * 1.047f64.powi(n));
        let scale = Scale::fit(&Axis::log("cycles", Unit::Count), wide, 6);
        assert_eq!(labels(&scale), ["100", "150", "200", "300", "400"]);
        let nearer = (0..40).map(|n| 46.0 + 0.01 * f64::from(n));
        let scale = Scale::fit(&Axis::log("cycles", Unit::Count), nearer, 4).over(0.0, 100.0);
        assert!(scale.at(46.39) - scale.at(46.0) > 60.0, "they fill the axis");
    }

    #[test]
    fn what_differs_by_less_than_its_label_is_flat() {
        let scale = Scale::fit(&Axis::log("slow-down", Unit::Factor), [1.0, 1.000_03].into_iter(), 5);
        let scale = scale.over(0.0, 100.0);
        assert_eq!(labels(&scale), ["1.00x"]);
        assert!((scale.at(1.000_03) - scale.at(1.0)).abs() < 1.0, "{scale:?}");
    }

    #[test]
    fn values_map_to_pixels_in_order() {
        let scale = Scale::fit(&Axis::log("x", Unit::Count), [1.0, 100.0].into_iter(), 5).over(0.0, 100.0);
        assert!((scale.at(10.0) - 50.0).abs() < 1e-9);
        let scale = Scale::exact("time", Unit::Seconds, 1.0, 3.0, 4).over(100.0, 300.0);
        assert_eq!(scale.at(2.0), 200.0);
        assert_eq!(labels(&scale), ["1.0", "1.5", "2.0", "2.5", "3.0"]);
    }

    #[test]
    fn empty_and_single_values_still_give_an_axis() {
        for axis in [Axis::linear("x", Unit::Count), Axis::log("x", Unit::Count)] {
            for values in [vec![], vec![5.0], vec![f64::NAN, 3.0]] {
                let scale = Scale::fit(&axis, values.into_iter(), 5);
                assert!(scale.high > scale.low && !scale.ticks.is_empty(), "{scale:?}");
            }
        }
    }
}
