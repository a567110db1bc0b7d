//! The solver against the literal rounds and the max-min certificate, on random instances.

use proptest::prelude::*;
use stratasim_topo::Sharing;

use super::levels::Patience;
use super::literal::{self, Constraint, Variable};
use super::system::System;

#[derive(Debug, Clone)]
enum Step {
    Enable(Variable),
    Disable(usize),
    Capacity(usize, f64),
}

const RESOURCES: usize = 8;

fn variable(weights: bool, penalties: bool) -> impl Strategy<Value = Variable> {
    let uses =
        prop::collection::btree_map(0..RESOURCES, prop_oneof![Just(1.0), Just(0.05), Just(1.05)], 1..4);
    let penalty = prop_oneof![Just(1.0), 0.1..10.0_f64, Just(2.0)];
    let bound = prop_oneof![3 => Just(f64::INFINITY), 1 => 0.5..50.0_f64];
    (uses, penalty, bound).prop_map(move |(uses, penalty, bound)| Variable {
        uses: uses.into_iter().map(|(c, w)| (c, if weights { w } else { 1.0 })).collect(),
        penalty: if penalties { penalty } else { 1.0 },
        bound,
    })
}

fn steps(weights: bool, penalties: bool) -> impl Strategy<Value = Vec<Vec<Step>>> {
    let step = prop_oneof![
        4 => variable(weights, penalties).prop_map(Step::Enable),
        3 => any::<prop::sample::Index>().prop_map(|at| Step::Disable(at.index(1 << 20))),
        1 => (0..RESOURCES, 1.0..100.0_f64).prop_map(|(c, capacity)| Step::Capacity(c, capacity)),
    ];
    // several steps per instant, several instants
    prop::collection::vec(prop::collection::vec(step, 1..6), 1..25)
}

/// Plays `steps` on the fast solver and compares every instant with the literal one. Each solve is given up before it, as often
/// as there are numbers in `given_up`, when it has looked at so many uses.
fn play(
    capacities: &[f64],
    steps: Vec<Vec<Step>>,
    fat: &[usize],
    all_at_once: bool,
    given_up: &[usize],
) -> Result<(), TestCaseError> {
    let mut system = System::default();
    let mut constraints: Vec<Constraint> = Vec::new();
    for (index, &capacity) in capacities.iter().enumerate() {
        let fat_pipe = fat.contains(&index);
        constraints.push(Constraint { capacity, fat_pipe });
        system.add_resource(capacity, if fat_pipe { Sharing::FatPipe } else { Sharing::Shared });
    }
    let mut alive: Vec<(u32, Variable)> = Vec::new();
    let mut known: Vec<(u32, f64)> = Vec::new();
    let mut free: Vec<u32> = Vec::new();
    let mut next = 0;
    for instant in steps {
        for step in instant {
            match step {
                Step::Enable(variable) => {
                    let id = free.pop().unwrap_or_else(|| {
                        next += 1;
                        next - 1
                    });
                    let uses: Vec<(u32, f64)> = variable.uses.iter().map(|&(c, w)| (c as u32, w)).collect();
                    system.enable(id, &uses, variable.penalty, variable.bound);
                    alive.push((id, variable));
                }
                Step::Disable(at) if !alive.is_empty() => {
                    let (id, _) = alive.swap_remove(at % alive.len());
                    system.disable(id);
                    known.retain(|(other, _)| *other != id);
                    free.push(id);
                }
                Step::Disable(_) => {}
                Step::Capacity(c, capacity) if !fat.contains(&c) => {
                    constraints[c].capacity = capacity;
                    // caps of the users' own come back through the variables
                    system.set_capacity(c as u32, capacity, true);
                    for (id, variable) in &alive {
                        if variable.uses.iter().any(|&(used, _)| used == c) {
                            system.disable(*id);
                            let uses: Vec<(u32, f64)> =
                                variable.uses.iter().map(|&(c, w)| (c as u32, w)).collect();
                            system.enable(*id, &uses, variable.penalty, variable.bound);
                        }
                    }
                }
                Step::Capacity(..) => {}
            }
        }
        let mut changed = Vec::new();
        for patience in given_up.iter().copied().map(Some).chain([None]) {
            let mut goes_on = || patience.is_none();
            let patience = &mut Patience::new(patience.unwrap_or(0), &mut goes_on);
            let is_solved = match all_at_once {
                true => system.solve_all(&mut changed, patience),
                false => system.solve(&mut changed, patience),
            };
            if is_solved {
                break;
            }
            prop_assert!(system.is_dirty() && changed.is_empty());
        }
        prop_assert!(!system.is_dirty());
        for id in changed {
            known.retain(|(other, _)| *other != id);
            known.push((id, system.rate(id)));
        }
        let variables: Vec<Variable> = alive.iter().map(|(_, v)| v.clone()).collect();
        let expected = literal::solve(&constraints, &variables, 0.0);
        // rates as a listener of `changed` knows them
        let rates: Vec<f64> =
            alive.iter().map(|(id, _)| known.iter().find(|(other, _)| other == id).unwrap().1).collect();
        for (v, (rate, expected)) in rates.iter().zip(&expected).enumerate() {
            prop_assert!(
                (rate - expected).abs() <= 1e-12 * expected,
                "flow {v} runs at {rate}, the rounds give {expected}"
            );
        }
        if fat.is_empty() {
            prop_assert_eq!(literal::certificate(&constraints, &variables, &rates, 1e-9), None);
        }
    }
    Ok(())
}

fn capacities() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![Just(10.0), 1.0..100.0_f64], RESOURCES)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn plain_max_min_agrees_with_the_rounds(capacities in capacities(), steps in steps(false, false)) {
        play(&capacities, steps, &[], false, &[])?;
    }

    #[test]
    fn weights_and_penalties_agree_with_the_rounds(capacities in capacities(), steps in steps(true, true)) {
        play(&capacities, steps, &[], false, &[])?;
    }

    #[test]
    fn fat_pipes_agree_with_the_rounds(capacities in capacities(), steps in steps(false, true)) {
        play(&capacities, steps, &[0, 1, 2], false, &[])?;
    }

    #[test]
    fn filling_agrees_with_the_rounds(capacities in capacities(), steps in steps(true, true)) {
        play(&capacities, steps, &[5], true, &[])?;
    }

    #[test]
    fn solves_that_were_given_up_before_agree_with_the_rounds(
        capacities in capacities(),
        steps in steps(true, true),
        given_up in prop::collection::vec(0..40_usize, 1..3),
        all_at_once in any::<bool>(),
    ) {
        play(&capacities, steps, &[5], all_at_once, &given_up)?;
    }
}
