//! Statistics of windows: confidence intervals, the end of the warm-up, saturation; how evenly all were served.

use std::fmt;

use stratasim_report::flows::jain;
use stratasim_report::traffic::Fairness;

/// 97.5 % quantiles of Student's t by degrees of freedom, from 1.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Mean of values and half of its 95 % confidence interval; no interval for fewer than two.
pub(crate) fn mean_and_half_width(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    if values.is_empty() {
        return (0.0, None);
    }
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, None);
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // the normal quantile with the first term of its expansion
    let quantile = STUDENT.get(values.len() - 2).copied().unwrap_or(1.96 + 2.4 / (count - 1.0));
    (mean, Some(quantile * (variance / count).sqrt()))
}

/// Whether a series of window means has settled: the standard error of the mean is least when fewer than half
/// of them are left out from the front (MSER; White, "An effective truncation heuristic for bias reduction in
/// simulation output", 1997).
pub(super) fn has_settled(means: &[f64]) -> bool {
    let count = means.len();
    if count < 4 {
        return false;
    }
    let error = |left_out: usize| {
        let rest = &means[left_out..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (rest.len() * rest.len()) as f64
    };
    let best = (0..=count - 2).min_by(|&a, &b| error(a).total_cmp(&error(b)));
    best.is_some_and(|best| 2 * best < count)
}

/// Whether the network still fills: in the later half of the windows less than 90 % of what entered arrived, and the
/// rest is more than chance makes of what is under way, packets of so many flits. Where ways are longer than windows, the first
/// arrivals are those from nearby, and their latencies settle long before the network does. Windows are flits that entered
/// and flits that arrived.
pub(super) fn still_fills(windows: &[(u64, u64)], length: f64) -> bool {
    let left = |windows: &[(u64, u64)]| {
        windows.iter().map(|&(entered, arrived)| entered as f64 - arrived as f64).sum::<f64>()
    };
    let later = &windows[windows.len() / 2..];
    let entered: u64 = later.iter().map(|window| window.0).sum();
    let chance = CHANCE_DEVIATIONS * (left(windows).max(0.0) * length).sqrt();
    left(later) > (FILLING * entered as f64).max(chance)
}

/// What a sample says about saturation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Evidence {
    /// Whether it began while the network filled, and most of what did not arrive in it is under way: that is no loss.
    pub(super) fills: bool,
    /// Whether it is shorter than a way there and back, for which credits are under way.
    pub(super) short: bool,
    /// Offered less accepted flits of each batch, per cycle and terminal.
    pub(super) missing: Vec<f64>,
    /// Offered load.
    pub(super) offered: f64,
    /// Mean time that packets at the heads of source queues had been waiting at the end of each batch, cycles.
    pub(super) waits: Vec<f64>,
    /// Cycles of a batch.
    pub(super) window: f64,
    /// Classes of load, and of replies to it.
    pub(super) classes: Vec<ClassEvidence>,
}

/// A part of a run: how long the heads of source queues had been waiting at its ends, by terminal.
#[derive(Debug)]
pub(super) struct Half<'a> {
    pub(super) cycles: f64,
    pub(super) waits: [&'a [u64]; 2],
}

/// Terminals whose queues grew all through the sample, whatever the others do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stuck {
    /// How many there are, and the first of them.
    pub(super) count: usize,
    pub(super) first: usize,
    /// By so many of 100 cycles its head waited longer.
    pub(super) growth: f64,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, first, growth } = *self;
        let others = match count {
            1 => String::new(),
            2 => ", and that of another one,".to_owned(),
            _ => format!(", and those of {} others,", count - 1),
        };
        write!(
            f,
            "the source queue of terminal {first}{others} grew: every 100 cycles its head waited {growth:.1} longer"
        )
    }
}

/// The terminals at which the head of the queue waited longer at the end of each part than at its beginning, by
/// more than 5 cycles in 100, and by more than ten times what the head of the middle one of all waited at its end (the median): a
/// part that is overloaded, of which the mean of all says little. Among thousands, chance may hold one up through both halves
/// of a short sample; then parts after it, each as long as all before, tell.
pub(super) fn stuck(parts: &[Half<'_>]) -> Option<Stuck> {
    let terminals = parts.first()?.waits[0].len();
    let least: Vec<f64> = parts
        .iter()
        .map(|part| {
            let mut waits = part.waits[1].to_vec();
            let median = waits.select_nth_unstable(terminals / 2).1;
            (STUCK * part.cycles).max(STUCK_MEDIANS * *median as f64)
        })
        .collect();
    let rise =
        |part: &Half<'_>, terminal: usize| part.waits[1][terminal] as f64 - part.waits[0][terminal] as f64;
    let grows =
        |&terminal: &usize| parts.iter().zip(&least).all(|(part, &least)| rise(part, terminal) > least);
    let mut all = (0..terminals).filter(grows);
    let first = all.next()?;
    let cycles: f64 = parts.iter().map(|part| part.cycles).sum();
    let risen: f64 = parts.iter().map(|part| rise(part, first)).sum();
    Some(Stuck { count: 1 + all.count(), first, growth: 100.0 * risen / cycles })
}

/// What became of a class in the sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClassEvidence {
    pub(super) name: String,
    /// Flits that came into being, and that arrived.
    pub(super) offered: f64,
    pub(super) accepted: f64,
    /// Of those that came into being, as many as did so when they could not arrive any more.
    pub(super) late: f64,
    /// Mean flits of a packet.
    pub(super) length: f64,
}

/// A loss or a growth below this part of the load is no saturation.
const TOLERANCE: f64 = 0.01;
/// A loss below this part of what a class offered is none, as packets are few;
const CLASS_TOLERANCE: f64 = 0.05;
/// nor is one of fewer packets than so many times the square root of all.
const CLASS_DEVIATIONS: f64 = 4.0;

/// A network fills where more than this part of what enters stays in it, and more flits than so many times the square root of those
/// under way.
const FILLING: f64 = 0.1;
const CHANCE_DEVIATIONS: f64 = 2.0;

/// Parts of the time by which the head of a queue that is stuck waits longer, and how many times the median wait of all.
const STUCK: f64 = 0.05;
const STUCK_MEDIANS: f64 = 10.0;

impl ClassEvidence {
    /// The part that did not arrive, where that is more than chance.
    fn loss(&self) -> Option<f64> {
        let missing = self.offered - self.accepted - self.late;
        let chance = CLASS_DEVIATIONS * (self.offered * self.length).sqrt();
        (missing > CLASS_TOLERANCE * self.offered && missing > chance).then(|| missing / self.offered)
    }
}

impl Evidence {
    /// Why the network is saturated; `None` where it carries the load.
    ///
    /// It is, when over the sample it accepted less than was offered, by more than 1 % and by more than the 95 %
    /// confidence interval of the difference; or when the packets at the heads of the source queues waited longer
    /// and longer: the line through the waits at the ends of the batches (least squares) rises by more than one
    /// cycle in 100 and by more than three times its standard error; or when of one class more than 5 %
    /// did not arrive, and more packets than four times the square root of those offered, what came into being too late for
    /// that aside; of a single class, too, as intervals of few batches are wide. Terminals that are [`stuck`] are another matter.
    /// In a network that fills, only the queues tell.
    pub(super) fn saturation(&self) -> Option<String> {
        let lost = |lost: Option<String>| lost.filter(|_| !self.fills);
        lost(self.loss()).or_else(|| self.queues_grow()).or_else(|| lost(self.loss_of_class()))
    }

    /// Whether something did not arrive because it is still under way: then nobody knows whether the network carries it.
    pub(super) fn is_early(&self) -> bool {
        self.fills && (self.loss().is_some() || self.loss_of_class().is_some())
    }

    /// Whether it is too short to tell: sources that wait for credits send in bursts, as far apart as those are under way, and
    /// in one of them all that is offered arrives. Their packets wait longer than the sample then.
    pub(super) fn is_short(&self) -> bool {
        let waits = self.waits.iter().sum::<f64>() / self.waits.len().max(1) as f64;
        self.short && waits > self.window * self.waits.len() as f64
    }

    fn loss(&self) -> Option<String> {
        let (missing, half) = mean_and_half_width(&self.missing);
        let lost = missing > TOLERANCE * self.offered && half.is_some_and(|half| missing > half);
        lost.then(|| {
            let accepted = self.offered - missing;
            format!("accepted {accepted:.4} flits per cycle and terminal of the {:.4} offered", self.offered)
        })
    }

    fn queues_grow(&self) -> Option<String> {
        let (slope, error) = slope(&self.waits);
        let (slope, error) = (slope / self.window, error / self.window);
        (slope > TOLERANCE && slope > 3.0 * error).then(|| {
            format!("source queues grew: every 100 cycles their heads waited {:.1} longer", 100.0 * slope)
        })
    }

    fn loss_of_class(&self) -> Option<String> {
        let (class, loss) = self.classes.iter().find_map(|class| Some((class, class.loss()?)))?;
        let whose = if self.classes.len() > 1 {
            format!("class {} offered", class.name)
        } else {
            "was offered".to_owned()
        };
        Some(format!("{:.1} % of what {whose} was not accepted", 100.0 * loss))
    }

    /// By how many cycles the heads of source queues waited longer at the end of the sample, where that is more than
    /// chance and than they waited in the mean: too slow to count as saturation, and no rest either.
    pub(super) fn growth(&self) -> Option<String> {
        let (slope, error) = slope(&self.waits);
        let rise = slope * self.waits.len() as f64;
        let mean = self.waits.iter().sum::<f64>() / self.waits.len().max(1) as f64;
        (slope > 3.0 * error && rise > mean.max(10.0)).then(|| {
            format!("source queues grew, their heads waited {rise:.0} cycles longer at the end of the sample")
        })
    }
}

/// Slope of the least-squares line through values at 0, 1, 2, ..., and its standard error.
fn slope(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    if values.len() < 3 {
        return (0.0, f64::INFINITY);
    }
    let (middle, mean) = ((count - 1.0) / 2.0, values.iter().sum::<f64>() / count);
    let places = || (0..values.len()).map(|at| at as f64 - middle);
    let squares: f64 = places().map(|place| place * place).sum();
    let slope = places().zip(values).map(|(place, value)| place * (value - mean)).sum::<f64>() / squares;
    let rest = places().zip(values).map(|(place, value)| (value - mean - slope * place).powi(2)).sum::<f64>();
    (slope, (rest / (count - 2.0) / squares).sqrt())
}

/// Loads of more terminals are not listed one by one.
const LISTED_TERMINALS: usize = 1024;

/// How evenly terminals were served: flits per cycle that each of them injected, and got.
pub(crate) fn fairness_of(injected: &[f64], accepted: &[f64]) -> Fairness {
    // the first of equals
    let ends = |list: &[f64]| {
        let mut found = [(list.first().copied().unwrap_or(0.0), 0); 2];
        for (terminal, &load) in (0..).zip(list) {
            if load < found[0].0 {
                found[0] = (load, terminal);
            }
            if load > found[1].0 {
                found[1] = (load, terminal);
            }
        }
        found
    };
    let [(injected_min, injected_min_at), (injected_max, injected_max_at)] = ends(injected);
    let [(accepted_min, accepted_min_at), (accepted_max, accepted_max_at)] = ends(accepted);
    let each = if injected.len() <= LISTED_TERMINALS { injected.len() } else { 0 };
    Fairness {
        injected_min,
        injected_min_at,
        injected_max,
        injected_max_at,
        injected_jain: jain(injected.iter().copied()),
        accepted_min,
        accepted_min_at,
        accepted_max,
        accepted_max_at,
        accepted_jain: jain(accepted.iter().copied()),
        by_terminal: injected
            .iter()
            .zip(accepted)
            .take(each)
            .map(|(&injected, &accepted)| [injected as f32, accepted as f32])
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;

    use super::*;

    /// About normal, mean 0 and variance 1.
    fn noise(draws: &mut Draws) -> f64 {
        (0..12).map(|_| draws.unit()).sum::<f64>() - 6.0
    }

    #[test]
    fn nineteen_of_twenty_intervals_hold_the_mean() {
        for count in [2_usize, 5, 10, 30, 60] {
            let mut draws = Draws::new(count as u64);
            let inside = (0..4000).filter(|_| {
                let values: Vec<f64> = (0..count).map(|_| 7.0 + 3.0 * noise(&mut draws)).collect();
                let (mean, half) = mean_and_half_width(&values);
                (mean - 7.0).abs() <= half.unwrap()
            });
            let share = inside.count() as f64 / 4000.0;
            assert!((share - 0.95).abs() < 0.018, "{count}: {share}");
        }
    }

    #[test]
    fn a_series_has_settled_when_its_beginning_is_over() {
        let mut draws = Draws::new(3);
        let flat: Vec<f64> = (0..20).map(|_| 50.0 + noise(&mut draws)).collect();
        assert!((6..20).any(|count| has_settled(&flat[..count])));
        let rising: Vec<f64> = (0..20).map(|at| f64::from(at) * 10.0 + noise(&mut draws)).collect();
        assert!((0..20).all(|count| !has_settled(&rising[..count])));
        let late: Vec<f64> =
            (0..80).map(|at| 50.0 - 40.0 * (-f64::from(at) / 4.0).exp() + 0.1 * noise(&mut draws)).collect();
        let settled = (4..80).find(|&count| has_settled(&late[..count])).unwrap();
        // after 17 windows the rest of the beginning is as large as six deviations of the noise
        assert!((17..80).contains(&settled), "{settled}");
    }

    fn evidence(missing: f64, growth_per_window: f64, spread: f64) -> Evidence {
        let mut draws = Draws::new(9);
        Evidence {
            fills: false,
            short: false,
            missing: (0..12).map(|_| missing + 0.001 * noise(&mut draws)).collect(),
            offered: 0.4,
            waits: (0..12)
                .map(|at| (30.0 + growth_per_window * f64::from(at) + spread * noise(&mut draws)).max(0.0))
                .collect(),
            window: 1000.0,
            classes: Vec::new(),
        }
    }

    #[test]
    fn one_terminal_of_many_that_is_overloaded_is_found() {
        let all = |wait: u64| {
            let mut waits = vec![3; 200];
            waits[17] = wait;
            waits
        };
        let of = |waits: [u64; 3]| {
            let waits = waits.map(all);
            let part = |at: usize| Half { cycles: 5000.0, waits: [&waits[at], &waits[at + 1]] };
            stuck(&[part(0), part(1)])
        };
        let stuck = of([600, 3600, 6600]).expect("it grows by 60 cycles in 100");
        assert_eq!((stuck.count, stuck.first), (1, 17));
        assert!((stuck.growth - 60.0).abs() < 1e-9);
        assert!(stuck.to_string().starts_with("the source queue of terminal 17 grew"), "{stuck}");
        assert_eq!(of([600, 3600, 3000]), None, "it has become shorter again");
        assert_eq!(of([0, 240, 480]), None, "4.8 cycles in 100 are tolerated");
    }

    #[test]
    fn who_is_held_up_by_chance_has_gone_on_when_as_much_time_has_passed_again() {
        let waits =
            |wait: u64| (0..200).map(|terminal| if terminal == 17 { wait } else { 3 }).collect::<Vec<u64>>();
        let of = |at_ends: [u64; 4]| {
            let [a, b, c, d] = at_ends.map(waits);
            let part = |cycles: f64, waits| Half { cycles, waits };
            stuck(&[part(750.0, [&a, &b]), part(750.0, [&b, &c]), part(1500.0, [&c, &d])])
        };
        for after in [0, 3, 440, 470] {
            assert_eq!(of([0, 200, 400, after]), None, "{after}");
        }
        let stuck = of([0, 200, 400, 900]).expect("it waited 900 cycles longer after 3000");
        assert_eq!((stuck.count, stuck.first), (1, 17));
        assert!((stuck.growth - 30.0).abs() < 1e-9);
    }

    #[test]
    fn a_network_fills_while_less_arrives_than_enters() {
        // nothing arrives, then from nearby, then from everywhere
        let from = |first: usize, whole: usize| -> Vec<(u64, u64)> {
            (0..40)
                .map(|at| {
                    (100, if at < first { 0 } else { (100 * (at - first) / (whole - first)).min(100) as u64 })
                })
                .collect()
        };
        let long = from(10, 30);
        assert!((4..30).all(|count| still_fills(&long[..count], 4.0)));
        assert!(!still_fills(&from(0, 1), 4.0) && !still_fills(&[], 4.0));
        // a few packets that are under way by chance
        assert!(!still_fills(&[(3, 3), (2, 2), (4, 4), (3, 1)], 1.0));
        assert!(!still_fills(&[(0, 0), (0, 0), (0, 0), (16, 0)], 16.0));
    }

    #[test]
    fn what_is_under_way_for_the_first_time_is_no_loss() {
        let early = Evidence { fills: true, ..evidence(0.02, 0.0, 5.0) };
        assert!(early.saturation().is_none() && early.is_early());
        let grows = Evidence { fills: true, ..evidence(0.02, 50.0, 5.0) };
        assert!(grows.saturation().unwrap().contains("grew"));
        assert!(!Evidence { fills: true, ..evidence(0.0, 0.0, 5.0) }.is_early());
    }

    #[test]
    fn a_burst_between_credits_tells_nothing() {
        let waiting = |short, wait: f64| {
            Evidence { short, waits: vec![wait; 12], ..evidence(0.0, 0.0, 0.0) }.is_short()
        };
        assert!(waiting(true, 26_000.0) && !waiting(false, 26_000.0) && !waiting(true, 11_000.0));
    }

    #[test]
    fn a_class_that_does_not_get_through_is_saturation() {
        let of = |offered: f64, accepted: f64| {
            let name = "hot".to_owned();
            let hot = ClassEvidence { name, offered, accepted, late: 0.0, length: 1.0 };
            let rest = ClassEvidence {
                name: "rest".to_owned(),
                offered: 1e6,
                accepted: 1e6,
                late: 0.0,
                length: 1.0,
            };
            let several =
                Evidence { classes: vec![hot.clone(), rest], ..evidence(0.0, 0.0, 5.0) }.saturation();
            // of two batches, that of which everything gets through, an interval says nothing
            let alone = Evidence { classes: vec![hot], missing: vec![0.0, 0.5], ..evidence(0.0, 0.0, 5.0) }
                .saturation();
            assert_eq!(several.is_some(), alone.is_some());
            several
        };
        assert_eq!(of(10_000.0, 7200.0).unwrap(), "28.0 % of what class hot offered was not accepted");
        assert_eq!(of(10_000.0, 9600.0), None, "4 % is tolerated");
        assert_eq!(of(100.0, 72.0), None, "few packets prove nothing");
        assert_eq!(of(100.0, 130.0), None);
    }

    #[test]
    fn a_slow_growth_is_told() {
        assert_eq!(evidence(0.0, 0.0, 5.0).growth(), None);
        let slow =
            Evidence { waits: (0..50).map(|at| 8.0 * f64::from(at)).collect(), ..evidence(0.0, 0.0, 1.0) };
        assert_eq!(slow.saturation(), None);
        assert!(slow.growth().unwrap().contains("waited 400 cycles longer"));
    }

    #[test]
    fn saturation_is_a_loss_or_a_growing_queue() {
        assert_eq!(evidence(0.0, 0.0, 5.0).saturation(), None);
        assert_eq!(evidence(0.002, 0.0, 5.0).saturation(), None, "half a percent is tolerated");
        assert!(evidence(0.02, 0.0, 5.0).saturation().unwrap().contains("of the"));
        assert!(evidence(0.0, 50.0, 5.0).saturation().unwrap().contains("grew"));
        assert_eq!(evidence(0.0, 4.0, 5.0).saturation(), None);
    }

    #[test]
    fn the_fairness_index_is_one_for_equals_and_a_part_for_one() {
        assert_eq!(jain([0.3; 8].into_iter()), 1.0);
        assert!((jain([1.0, 0.0, 0.0, 0.0].into_iter()) - 0.25).abs() < 1e-12);
        assert_eq!(jain([0.0; 4].into_iter()), 1.0);
    }
}
