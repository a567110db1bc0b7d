//! Parameters of a card from measurements.
//!
//! The sum of squared relative residuals is made small by the simplex method, over the logarithms of the
//! free parameters, so that none becomes negative. Measurements that no choice of the free parameters meets
//! together are named: a set of them from which none can be left out.

mod anchors;
mod simplex;

pub use anchors::{Anchor, Measured, read as read_anchors};

use stratasim_core::{Bandwidth, Duration};
use stratasim_device::card::{Card, Fidelity};
use stratasim_report::Unit;
use stratasim_report::table::{Cell, Table};

use super::bench::unknown;
use simplex::{Minimum, minimise};

/// Most parameters that are fitted at once.
const MOST_FREE: usize = 8;
/// Most anchors among which contradictions are looked for one by one.
const MOST_EXAMINED: usize = 64;

/// A parameter that can be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// A fixed cost.
    Cost(&'static str),
    /// A bandwidth.
    Rate(&'static str),
}

/// Their names, as `--free` takes them. `step` is both steps at once.
const COSTS: [&str; 6] = ["step", "ring-step", "csc-step", "launch", "sync", "kernel"];
const RATES: [&str; 5] = ["ring", "global", "local", "reduce-ring", "reduce-csc"];

impl Parameter {
    /// The parameter of that name.
    ///
    /// # Errors
    /// No such parameter; the message suggests one.
    pub fn named(name: &str) -> Result<Self, String> {
        let cost = COSTS.into_iter().find(|known| *known == name).map(Self::Cost);
        let rate = RATES.into_iter().find(|known| *known == name).map(Self::Rate);
        cost.or(rate).ok_or_else(|| unknown("parameter", name, &[COSTS.as_slice(), &RATES].concat()))
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cost(name) | Self::Rate(name) => name,
        }
    }

    /// Its value on a card, in seconds or bytes per second; a typical one where the card has none.
    fn of(self, card: &Card) -> f64 {
        let (cost, rate) = (&card.cost, &card.bandwidth);
        match self {
            Self::Cost(name) => {
                let length = match name {
                    "step" | "ring-step" => cost.ring_step,
                    "csc-step" => cost.csc_step,
                    "launch" => cost.launch,
                    "sync" => cost.sync,
                    _ => cost.kernel,
                };
                if length == Duration::ZERO { 1e-6 } else { length.as_secs_f64() }
            }
            Self::Rate(name) => {
                let found = match name {
                    "ring" => Some(rate.ring),
                    "global" => Some(rate.global),
                    "local" => Some(rate.local),
                    "reduce-ring" => rate.reduce_ring,
                    _ => rate.reduce_csc,
                };
                found.unwrap_or(rate.ring).bytes_per_s()
            }
        }
    }

    /// The nearest value that a card may have: a rate that takes no time at all is the largest there is.
    fn within(self, value: f64) -> f64 {
        match self {
            Self::Cost(_) => value,
            Self::Rate(_) => value.min(Bandwidth::MOST.bytes_per_s()),
        }
    }

    fn set(self, card: &mut Card, value: f64) {
        let value = self.within(value);
        let (cost, rate) = (&mut card.cost, &mut card.bandwidth);
        let (length, bandwidth) = (Duration::from_secs_f64(value), Bandwidth(value));
        match self.name() {
            "step" => (cost.ring_step, cost.csc_step) = (length, length),
            "ring-step" => cost.ring_step = length,
            "csc-step" => cost.csc_step = length,
            "launch" => cost.launch = length,
            "sync" => cost.sync = length,
            "kernel" => cost.kernel = length,
            "ring" => rate.ring = bandwidth,
            "global" => rate.global = bandwidth,
            "local" => rate.local = bandwidth,
            "reduce-ring" => rate.reduce_ring = Some(bandwidth),
            _ => rate.reduce_csc = Some(bandwidth),
        }
    }

    const fn unit(self) -> Unit {
        match self {
            Self::Cost(_) => Unit::Seconds,
            Self::Rate(_) => Unit::BytesPerSecond,
        }
    }
}

/// A fitted parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Which.
    pub parameter: Parameter,
    /// Where it began, in seconds or bytes per second.
    pub before: f64,
    /// Where it ended.
    pub after: f64,
    /// Whether any anchor depends on it there. One that none depends on keeps its value.
    pub determined: bool,
}

/// What came out.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The card with the fitted parameters.
    pub card: Card,
    /// The free parameters.
    pub parameters: Vec<Fitted>,
    /// The measurements.
    pub anchors: Vec<Anchor>,
    /// Of each measurement what the fitted card gives, in seconds.
    pub model_s: Vec<f64>,
    /// Sets of anchors (by index) that cannot be met together within the tolerance; leaving out any one of a set
    /// makes it possible.
    pub conflicts: Vec<Vec<usize>>,
    /// The largest relative residual that counts as met.
    pub tolerance: f64,
}

/// What is fitted to what.
struct Problem<'a> {
    card: &'a Card,
    free: &'a [Parameter],
    fidelity: Fidelity,
}

impl Problem<'_> {
    fn card_at(&self, point: &[f64]) -> Card {
        let mut card = self.card.clone();
        // e^±46 is 1e±20: farther away there is no card
        let values = point.iter().map(|x| x.clamp(-46.0, 46.0).exp());
        self.free.iter().zip(values).for_each(|(parameter, value)| parameter.set(&mut card, value));
        card
    }

    fn residual(&self, card: &Card, anchor: &Anchor) -> f64 {
        let seconds = anchor.model_s(card, self.fidelity);
        seconds.map_or(f64::NAN, |seconds| seconds / anchor.seconds - 1.0)
    }

    /// The point where `norm` of the residuals is smallest.
    fn least(&self, anchors: &[&Anchor], start: &[f64], norm: impl Fn(f64, f64) -> f64) -> Minimum {
        let value = |point: &[f64]| {
            let card = self.card_at(point);
            anchors.iter().map(|anchor| self.residual(&card, anchor)).fold(0.0, &norm)
        };
        let mut least = minimise(value, start, 0.5, 1e-9, 4000);
        // a simplex may collapse before it is there: begin again around the best point until that is no better
        for _ in 0..10 {
            let again = minimise(value, &least.at, 0.1, 1e-9, 4000);
            let better = again.value < least.value * (1.0 - 1e-6);
            if again.value <= least.value {
                least = again;
            }
            if !better {
                break;
            }
        }
        least
    }

    fn least_squares(&self, anchors: &[&Anchor], start: &[f64]) -> Minimum {
        self.least(anchors, start, |sum, residual| sum + residual * residual)
    }

    /// Whether some choice of the parameters meets all anchors.
    fn possible(&self, anchors: &[&Anchor], start: &[f64], tolerance: f64) -> bool {
        let squares = self.least_squares(anchors, start);
        let worst =
            |most: f64, residual: f64| if residual.is_nan() { residual } else { most.max(residual.abs()) };
        squares.value.sqrt() <= tolerance || self.least(anchors, &squares.at, worst).value <= tolerance
    }

    /// A set of anchors that cannot be met, none of which can be left out; `None` where all can be met.
    fn conflict(
        &self,
        anchors: &[Anchor],
        among: &[usize],
        start: &[f64],
        tolerance: f64,
    ) -> Option<Vec<usize>> {
        let pick = |set: &[usize]| set.iter().map(|&at| &anchors[at]).collect::<Vec<_>>();
        if self.possible(&pick(among), start, tolerance) {
            return None;
        }
        let mut set = among.to_vec();
        for &at in among {
            let without: Vec<usize> = set.iter().copied().filter(|&other| other != at).collect();
            if !self.possible(&pick(&without), start, tolerance) {
                set = without;
            }
        }
        Some(set)
    }
}

impl Fit {
    /// Fits the `free` parameters of `card` to `anchors`.
    ///
    /// # Errors
    /// No free parameter, more than anchors, one given twice; an anchor that the card cannot do.
    pub fn run(
        card: &Card,
        anchors: Vec<Anchor>,
        free: &[Parameter],
        tolerance: f64,
        fidelity: Fidelity,
    ) -> Result<Self, String> {
        check_free(free, anchors.len())?;
        let problem = Problem { card, free, fidelity };
        for anchor in &anchors {
            anchor.model_s(card, fidelity).map_err(|reason| format!("line {}: {reason}", anchor.line))?;
        }
        let all: Vec<&Anchor> = anchors.iter().collect();
        let start: Vec<f64> = free.iter().map(|parameter| parameter.of(card).ln()).collect();
        let found = problem.least_squares(&all, &start);
        let mut fitted = card.clone();
        let mut parameters = Vec::new();
        for (at, &parameter) in free.iter().enumerate() {
            let matters = |point: &[f64]| {
                let moves = |by: f64| {
                    let mut point = point.to_vec();
                    point[at] += by;
                    let card = problem.card_at(&point);
                    all.iter().map(|anchor| problem.residual(&card, anchor)).collect::<Vec<_>>()
                };
                let here = moves(0.0);
                let differs =
                    |by: f64| moves(by).iter().zip(&here).any(|(there, here)| (there - here).abs() > 1e-7);
                differs(0.01) || differs(-0.01)
            };
            // a cost that has become nothing matters no more where it is, but did where it was
            let determined = matters(&found.at) || matters(&start);
            let before = parameter.of(card);
            let after = if determined { parameter.within(found.at[at].exp()) } else { before };
            if determined {
                parameter.set(&mut fitted, after);
            }
            parameters.push(Fitted { parameter, before, after, determined });
        }
        let model_s: Result<Vec<f64>, String> =
            anchors.iter().map(|anchor| anchor.model_s(&fitted, fidelity)).collect();
        let mut fit =
            Self { card: fitted, parameters, anchors, model_s: model_s?, conflicts: Vec::new(), tolerance };
        fit.find_conflicts(&problem, &found.at);
        Ok(fit)
    }

    fn find_conflicts(&mut self, problem: &Problem<'_>, start: &[f64]) {
        let mut among: Vec<usize> = (0..self.anchors.len()).collect();
        if among.len() > MOST_EXAMINED || among.iter().all(|&at| self.residual(at).abs() <= self.tolerance) {
            return;
        }
        while let Some(set) = problem.conflict(&self.anchors, &among, start, self.tolerance) {
            // the one farthest from the model goes, so that what contradicts the rest is found as well
            let farthest = set
                .iter()
                .copied()
                .max_by(|&a, &b| self.residual(a).abs().total_cmp(&self.residual(b).abs()));
            among.retain(|&at| Some(at) != farthest);
            self.conflicts.push(set);
        }
    }

    /// Relative difference of the model from an anchor.
    pub fn residual(&self, at: usize) -> f64 {
        self.model_s[at] / self.anchors[at].seconds - 1.0
    }

    /// Root of the mean squared residual.
    pub fn rms(&self) -> f64 {
        let squares: f64 = (0..self.anchors.len()).map(|at| self.residual(at).powi(2)).sum();
        (squares / self.anchors.len() as f64).sqrt()
    }

    /// The parameters before and after.
    pub fn parameter_table(&self) -> Table {
        let mut table = Table::new(["parameter", "before", "fitted", ""]);
        for it in &self.parameters {
            let note = if it.determined { "" } else { "no measurement depends on it: left as it was" };
            let number = |value: f64| Cell::Number(value, it.parameter.unit());
            // each for itself: a time is not to be shown in the prefix of another
            let text = |value| match number(value) {
                Cell::Number(value, unit) => unit.format(value).into(),
                other => other,
            };
            table.push([it.parameter.name().into(), text(it.before), text(it.after), note.into()]);
        }
        table
    }

    /// The anchors with their residuals.
    pub fn anchor_table(&self) -> Table {
        let mut table = Table::new(["line", "measurement", "measured", "model", "residual", ""]);
        for (at, anchor) in self.anchors.iter().enumerate() {
            let mark = if self.residual(at).abs() > self.tolerance { "not met" } else { "" };
            table.push([
                Cell::Number(anchor.line as f64, Unit::Count),
                anchor.name.as_str().into(),
                (anchor.seconds, Unit::Seconds).into(),
                (self.model_s[at], Unit::Seconds).into(),
                (self.residual(at), Unit::Difference).into(),
                mark.into(),
            ]);
        }
        table
    }

    /// Everything as JSON.
    pub fn json(&self) -> serde_json::Value {
        let parameters: Vec<_> = self
            .parameters
            .iter()
            .map(|it| {
                let unit = it.parameter.unit().symbol();
                serde_json::json!({"name": it.parameter.name(), "unit": unit, "before": it.before, "fitted": it.after, "determined": it.determined})
            })
            .collect();
        let anchors: Vec<_> = self
            .anchors
            .iter()
            .enumerate()
            .map(|(at, it)| {
                serde_json::json!({"line": it.line, "name": it.name, "measured_s": it.seconds, "model_s": self.model_s[at], "residual": self.residual(at)})
            })
            .collect();
        let lines = |set: &Vec<usize>| set.iter().map(|&at| self.anchors[at].line).collect::<Vec<_>>();
        let conflicts: Vec<_> = self.conflicts.iter().map(lines).collect();
        serde_json::json!({
            "card": self.card, "parameters": parameters, "anchors": anchors, "rms_residual": self.rms(),
            "tolerance": self.tolerance, "conflicting_lines": conflicts,
        })
    }
}

fn check_free(free: &[Parameter], anchors: usize) -> Result<(), String> {
    if free.is_empty() || free.len() > MOST_FREE {
        return Err(format!("1 to {MOST_FREE} free parameters are expected, found {}", free.len()));
    }
    if free.len() > anchors {
        return Err(format!("{} free parameters need as many measurements, found {anchors}", free.len()));
    }
    let is = |name: &str| free.iter().any(|parameter| parameter.name() == name);
    let twice = free.iter().enumerate().find(|(at, parameter)| free[..*at].contains(parameter));
    if let Some((_, parameter)) = twice {
        return Err(format!("parameter `{}` is given twice", parameter.name()));
    }
    if is("step") && (is("ring-step") || is("csc-step")) {
        return Err("`step` is ring-step and csc-step at once: give it, or those".to_owned());
    }
    Ok(())
}
