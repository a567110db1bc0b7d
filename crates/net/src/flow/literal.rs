//! The reference semantics, word by word and slowly: what the fast solver is checked against.
//!
//! The rounds of the specification (SimGrid's linear max-min): the least "remaining capacity over
//! remaining use" of all constraints is found by a scan; the flows of all constraints that have
//! exactly this value are fixed, either at that level or, when some of them have a bound below it,
//! those with the least bound first. `precision` is SimGrid's work precision with all its effects
//! (a constraint left with less than that fraction is dropped); 0 gives exact max-min.

/// A capacity and whether its users share it.
#[derive(Debug, Clone, Copy)]
pub struct Constraint {
    /// Capacity.
    pub capacity: f64,
    /// Users do not add up, the largest counts.
    pub fat_pipe: bool,
}

/// A flow.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Constraint and weight; no constraint twice.
    pub uses: Vec<(usize, f64)>,
    /// Penalty `p`: at a bottleneck flows get rates in proportion to `1 / p`.
    pub penalty: f64,
    /// Own limit of the rate, infinite when there is none.
    pub bound: f64,
}

/// The rate of every variable. Each variable must use a shared constraint or have a bound.
pub fn solve(constraints: &[Constraint], variables: &[Variable], precision: f64) -> Vec<f64> {
    let mut value = vec![0.0_f64; variables.len()];
    let mut fixed = vec![false; variables.len()];
    let mut left: Vec<f64> = constraints.iter().map(|c| c.capacity).collect();
    let mut light = vec![false; constraints.len()];
    let mut used = vec![0.0_f64; constraints.len()];
    let usage = |c: usize, fixed: &[bool]| {
        let of = |v: &Variable| v.uses.iter().find(|(at, _)| *at == c).map_or(0.0, |(_, w)| w / v.penalty);
        let open = variables.iter().zip(fixed).filter(|(_, fixed)| !**fixed).map(|(v, _)| of(v));
        if constraints[c].fat_pipe { open.fold(0.0, f64::max) } else { open.sum::<f64>() }
    };
    for c in 0..constraints.len() {
        used[c] = usage(c, &fixed);
        light[c] = used[c] > 0.0;
    }
    loop {
        let level = |c: usize, left: &[f64], used: &[f64]| left[c] / used[c];
        let least = (0..constraints.len())
            .filter(|&c| light[c])
            .map(|c| level(c, &left, &used))
            .fold(f64::INFINITY, f64::min);
        if least == f64::INFINITY {
            break;
        }
        let here: Vec<bool> =
            (0..constraints.len()).map(|c| light[c] && level(c, &left, &used) == least).collect();
        let todo: Vec<usize> = (0..variables.len())
            .filter(|&v| !fixed[v] && variables[v].uses.iter().any(|&(c, _)| here[c]))
            .collect();
        let bound = |v: usize| variables[v].bound * variables[v].penalty;
        let least_bound = todo.iter().map(|&v| bound(v)).filter(|&b| b < least).fold(f64::INFINITY, f64::min);
        for v in todo {
            value[v] = if least_bound == f64::INFINITY {
                least / variables[v].penalty
            } else if (bound(v) - least_bound).abs() <= precision {
                variables[v].bound
            } else {
                continue;
            };
            fixed[v] = true;
            for &(c, weight) in &variables[v].uses {
                if !constraints[c].fat_pipe {
                    left[c] -= weight * value[v];
                }
                used[c] = usage(c, &fixed);
                if used[c] <= precision || left[c] <= constraints[c].capacity * precision {
                    light[c] = false;
                }
            }
        }
    }
    // what no constraint limits runs at its own bound
    for v in (0..variables.len()).filter(|&v| !fixed[v]) {
        value[v] = variables[v].bound;
    }
    value
}

/// The max-min certificate: no constraint is exceeded, and every variable is at its bound or uses a
/// full constraint on which nobody has a higher level. `None` when it holds, else what is wrong.
/// For constraints that are shared (not fat pipes).
pub fn certificate(
    constraints: &[Constraint],
    variables: &[Variable],
    rates: &[f64],
    tolerance: f64,
) -> Option<String> {
    let mut load = vec![0.0; constraints.len()];
    let mut top = vec![0.0_f64; constraints.len()];
    for (variable, rate) in variables.iter().zip(rates) {
        for &(c, weight) in &variable.uses {
            let taken = weight * rate;
            load[c] = if constraints[c].fat_pipe { f64::max(load[c], taken) } else { load[c] + taken };
            top[c] = top[c].max(rate * variable.penalty);
        }
    }
    for (c, constraint) in constraints.iter().enumerate() {
        if load[c] > constraint.capacity * (1.0 + tolerance) {
            return Some(format!("constraint {c} carries {} of {}", load[c], constraint.capacity));
        }
    }
    for (v, (variable, rate)) in variables.iter().zip(rates).enumerate() {
        let level = rate * variable.penalty;
        let at_bound = *rate >= variable.bound * (1.0 - tolerance);
        let limited = variable.uses.iter().any(|&(c, _)| {
            load[c] >= constraints[c].capacity * (1.0 - tolerance) && level >= top[c] * (1.0 - tolerance)
        });
        if !at_bound && !limited {
            return Some(format!("nothing limits variable {v} at {rate}"));
        }
    }
    None
}
