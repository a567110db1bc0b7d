//! Loads on a command line: numbers, ranges, lists.

/// More loads than this are refused before anything is allocated.
const MOST_LOADS: usize = 10_000;

/// Loads of a curve, in flits per cycle and terminal: numbers, ranges `from:to:step`, and lists of both.
#[derive(Debug, Clone, PartialEq)]
pub struct Loads(pub Vec<f64>);

impl std::str::FromStr for Loads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = |part: &str, reason: &str| {
            Err(format!("`{part}` {reason}; write loads like 0.3, 0.05:0.45:0.05 or 0.1,0.2,0.4:0.5:0.01"))
        };
        let mut loads = Vec::new();
        for part in text.split(',').map(str::trim) {
            let numbers: Result<Vec<f64>, _> =
                part.split(':').map(|number| number.trim().parse::<f64>()).collect();
            match numbers.as_deref() {
                Ok([load]) => loads.push(*load),
                Ok(&[from, to, step]) => {
                    let steps = ((to - from) / step + 1e-9).floor();
                    if step > 0.0 && steps >= MOST_LOADS as f64 && steps.is_finite() {
                        return Err(format!(
                            "`{part}` is {} loads; at most {MOST_LOADS} are run at once",
                            steps + 1.0
                        ));
                    }
                    if !(step > 0.0 && steps >= 0.0 && steps.is_finite()) {
                        return fail(part, "is no range from a smaller to a larger load");
                    }
                    // 0.05 + 5 * 0.05 is 0.30000000000000004; nobody means that
                    loads.extend(
                        (0..=steps as u32).map(|at| ((from + f64::from(at) * step) * 1e9).round() / 1e9),
                    );
                }
                _ => return fail(part, "is no load"),
            }
        }
        if let Some(bad) = loads.iter().find(|load| !(0.0..=1.0).contains(*load)) {
            return Err(format!("a load of {bad}: a terminal injects 0 to 1 flits per cycle"));
        }
        if loads.len() > MOST_LOADS {
            return Err(format!("{} loads; at most {MOST_LOADS} are run at once", loads.len()));
        }
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        Ok(Self(loads))
    }
}

#[cfg(test)]
mod tests {
    use super::Loads;

    #[test]
    fn loads_are_numbers_ranges_and_lists() {
        let read = |text: &str| text.parse::<Loads>().map(|loads| loads.0);
        assert_eq!(read("0.3"), Ok(vec![0.3]));
        assert_eq!(read("0.05:0.3:0.05"), Ok(vec![0.05, 0.1, 0.15, 0.2, 0.25, 0.3]));
        assert_eq!(read("0.4:0.42:0.01, 0.1,0.4"), Ok(vec![0.1, 0.4, 0.41, 0.42]));
        for bad in
            ["", "a", "0.1:0.2", "0.2:0.1:0.05", "0.1:0.2:0", "1.5", "-0.1", "0:1:1e-9", "nan", "0:1:nan"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
