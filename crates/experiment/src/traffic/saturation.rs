//! The load at which a network saturates: looked for along a curve, and told in words.

use super::curve::{Curve, Progress, Subject};
use crate::error::Error;

/// The load that a search begins with when no other is known.
pub(super) const FIRST_LOAD: f64 = 0.1;

/// Digits behind the point of numbers that lie so far apart.
fn digits(step: f64) -> usize {
    (0.5 - step.log10()).ceil().clamp(4.0, 9.0) as usize
}

impl Curve {
    /// Looks for the load at which the network saturates, to within `precision`: between the largest load of the
    /// curve up to which all are carried and the next one, then by halving. Where that one is not saturated but not known at
    /// the end, more cannot be said; nor where a run fails, which ends the search.
    ///
    /// # Errors
    /// As [`Curve::run`].
    pub fn find_saturation(
        &mut self,
        subject: &impl Subject,
        precision: f64,
        seeds: u32,
        threads: Option<usize>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        // the least load so far that the sources cannot make
        let mut beyond = f64::INFINITY;
        while self.failures.is_empty() {
            let carried = self.points.iter().take_while(|point| point.carried()).count();
            let low = self.points[..carried].last().map_or(0.0, |point| point.load);
            let next = match self.points.get(carried) {
                Some(high) if high.load - low <= precision => {
                    let found = Some((low, high.load));
                    if high.saturated() {
                        self.saturation = found
                    } else {
                        self.not_known = found
                    }
                    return Ok(());
                }
                // of few digits, as it is a name, too
                Some(high) => ((low + high.load) / 2.0 * 1e9).round() / 1e9,
                // all are carried so far: towards the most that a terminal can inject
                None if low >= 1.0 || beyond - low <= precision => return Ok(()),
                None if beyond.is_finite() => ((low + beyond) / 2.0 * 1e9).round() / 1e9,
                None => (2.0 * low).clamp(FIRST_LOAD, 1.0),
            };
            // sources that are all carried at less may not be able to make so much
            let may_be_less = carried == self.points.len() && (low > 0.0 || next > precision);
            if may_be_less && subject.at(next, subject.seed()).is_err() {
                beyond = next;
                continue;
            }
            let before = self.points.len();
            self.add(subject, &[next], seeds, threads, progress)?;
            if self.points.len() == before {
                break;
            }
        }
        Ok(())
    }

    /// What [`Curve::find_saturation`] found, in words.
    pub fn finding(&self) -> String {
        let own = (self.own_load * 1e9).round() / 1e9;
        let of = match own {
            0.0 => "flits per cycle and terminal".to_owned(),
            own => {
                format!("flits per cycle and terminal, beside the {own} of classes with a load of their own")
            }
        };
        // as many digits as tell both ends apart
        let between = |(low, high): (f64, f64)| {
            let digits = digits(high - low);
            [low, high].map(|load| format!("{load:.digits$}"))
        };
        if let Some([low, high]) = self.saturation.map(between) {
            return format!("saturates between {low} and {high} {of}");
        }
        if let Some([low, high]) = self.not_known.map(between) {
            return format!(
                "carries {low} {of}; whether it carries {high} is not known: the verdicts say what would show"
            );
        }
        // the last point is the largest load that was carried
        match self.points.last().map_or(1.0, |point| point.load) {
            1.0.. => "is not saturated at one flit per cycle and terminal, the most that can be injected"
                .to_owned(),
            most => {
                let digits = digits(most / 100.0);
                format!("carries {most:.digits$} {of}, about the most that the sources can make")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_has_the_digits_that_tell_its_ends_apart() {
        let curve = |saturation, own_load| Curve {
            title: String::new(),
            points: Vec::new(),
            left: 0,
            failures: Vec::new(),
            own_load,
            saturation: Some(saturation),
            not_known: None,
        };
        let text = curve((0.7, 0.75), 0.0).finding();
        assert_eq!(text, "saturates between 0.7000 and 0.7500 flits per cycle and terminal");
        let text = curve((0.736_816, 0.736_826), 0.0).finding();
        assert!(text.starts_with("saturates between 0.736816 and 0.736826 "), "{text}");
        let text = curve((0.0, 0.00625), 0.1 + 0.2).finding();
        assert!(text.ends_with("beside the 0.3 of classes with a load of their own"), "{text}");
    }
}
