//! Loads on a command line: numbers or rates, ranges, lists.

use stratasim_core::{Bandwidth, BuildError};

use super::spec::Load;

/// More loads than this are refused before anything is allocated.
const MOST_LOADS: usize = 10_000;

/// Loads of a curve: flits per cycle and terminal or rates such as `40 Gbps`, ranges `from:to:step` of either, and lists of
/// all of these.
#[derive(Debug, Clone, PartialEq)]
pub struct Loads(Vec<Load>);

impl Loads {
    /// In flits per cycle and terminal, in order and each once. `flit_rate` is the rate of one flit per cycle; `None` of
    /// what has no clock.
    ///
    /// # Errors
    /// A rate above that of the terminals, or where there is no clock.
    pub fn flits_per_cycle(&self, flit_rate: Option<Bandwidth>) -> Result<Vec<f64>, BuildError> {
        let in_flits = |load: &Load| load.flits_per_cycle(flit_rate);
        let mut loads: Vec<f64> = self.0.iter().map(in_flits).collect::<Result<_, _>>()?;
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        Ok(loads)
    }
}

/// A number of flits, or a rate in bytes per second.
fn number(text: &str) -> Option<Load> {
    let text = text.trim();
    let flits = text.parse().map(Load::FlitsPerCycle);
    flits.or_else(|_| text.parse().map(Load::Rate)).ok()
}

impl std::str::FromStr for Loads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = |part: &str, reason: &str| {
            Err(format!(
                "`{part}` {reason}; write loads like 0.3, 0.05:0.45:0.05, 0.1,0.2,0.4:0.5:0.01 or \"10 Gbps:50 Gbps:5 Gbps\""
            ))
        };
        let mut loads = Vec::new();
        for part in text.split(',').map(str::trim) {
            let numbers: Option<Vec<Load>> = part.split(':').map(number).collect();
            match numbers.as_deref() {
                Some([load]) => loads.push(*load),
                Some(&[Load::FlitsPerCycle(from), Load::FlitsPerCycle(to), Load::FlitsPerCycle(step)]) => {
                    let Some(range) = range(part, [from, to, step])? else {
                        return fail(part, "is no range from a smaller to a larger load");
                    };
                    // 0.05 + 5 * 0.05 is 0.30000000000000004; nobody means that
                    loads.extend(range.map(|load| Load::FlitsPerCycle((load * 1e9).round() / 1e9)));
                }
                Some(&[Load::Rate(from), Load::Rate(to), Load::Rate(step)]) => {
                    let Some(range) = range(part, [from, to, step].map(|rate| rate.bytes_per_s()))? else {
                        return fail(part, "is no range from a smaller to a larger rate");
                    };
                    loads.extend(range.map(|rate| Load::Rate(Bandwidth(rate))));
                }
                Some([_, _, _]) => return fail(part, "has flits per cycle and rates in one range"),
                _ => return fail(part, "is no load"),
            }
        }
        let bad = |load: &&Load| matches!(load, Load::FlitsPerCycle(flits) if !(0.0..=1.0).contains(flits));
        if let Some(Load::FlitsPerCycle(bad)) = loads.iter().find(bad) {
            return Err(format!("a load of {bad}: a terminal injects 0 to 1 flits per cycle"));
        }
        if loads.len() > MOST_LOADS {
            return Err(format!("{} loads; at most {MOST_LOADS} are run at once", loads.len()));
        }
        Ok(Self(loads))
    }
}

/// All numbers from the first to the second of `part` in steps of the third; `None` where there is no way.
///
/// # Errors
/// Too many of them.
fn range(part: &str, [from, to, step]: [f64; 3]) -> Result<Option<impl Iterator<Item = f64>>, String> {
    let steps = ((to - from) / step + 1e-9).floor();
    if step > 0.0 && steps >= MOST_LOADS as f64 && steps.is_finite() {
        return Err(format!("`{part}` is {} loads; at most {MOST_LOADS} are run at once", steps + 1.0));
    }
    let is_range = step > 0.0 && steps >= 0.0 && steps.is_finite();
    Ok(is_range.then(|| (0..=steps as u32).map(move |at| from + f64::from(at) * step)))
}

#[cfg(test)]
mod tests {
    use stratasim_core::Bandwidth;

    use super::Loads;

    /// Loads where a flit per cycle is 100 Gbps.
    fn read(text: &str) -> Result<Vec<f64>, String> {
        let loads: Loads = text.parse()?;
        loads.flits_per_cycle(Some(Bandwidth(12.5e9))).map_err(|error| error.to_string())
    }

    #[test]
    fn loads_are_numbers_ranges_and_lists() {
        assert_eq!(read("0.3"), Ok(vec![0.3]));
        assert_eq!(read("0.05:0.3:0.05"), Ok(vec![0.05, 0.1, 0.15, 0.2, 0.25, 0.3]));
        assert_eq!(read("0.4:0.42:0.01, 0.1,0.4"), Ok(vec![0.1, 0.4, 0.41, 0.42]));
        for bad in
            ["", "a", "0.1:0.2", "0.2:0.1:0.05", "0.1:0.2:0", "1.5", "-0.1", "0:1:1e-9", "nan", "0:1:nan"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_are_loads_where_there_is_a_clock() {
        assert_eq!(read("50 Gbps"), Ok(vec![0.5]));
        assert_eq!(read("10 Gbps:50 Gbps:5 Gbps"), Ok(vec![0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]));
        // a list may have both, and the same load in both ways is one
        assert_eq!(read("0.25, 1.25 GB/s, 25 Gbps,0.5:1:0.5"), Ok(vec![0.1, 0.25, 0.5, 1.0]));
        for (bad, reason) in [
            ("200 Gbps", "200 Gbps is expected to lie between 0 and 1 flit per cycle, which is 100 Gbps"),
            ("10 Gbps:0.5:0.1", "flits per cycle and rates in one range"),
            ("50 Gbps:10 Gbps:5 Gbps", "no range from a smaller to a larger rate"),
            ("1 Gbps:2 Gbps:0 Gbps", "no range"),
            ("0 bps:100 Gbps:1 bps", "loads; at most 10000"),
            ("50 GHz", "`50 GHz` is no load"),
        ] {
            let found = read(bad).unwrap_err();
            assert!(found.contains(reason), "{bad}: {found}");
        }
        let rate: Loads = "0.3,50 Gbps".parse().unwrap();
        let found = rate.flits_per_cycle(None).unwrap_err().to_string();
        assert!(found.contains("50 Gbps") && found.contains("no clock"), "{found}");
    }
}
