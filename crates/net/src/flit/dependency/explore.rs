//! Every state that packets to one destination can be in.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use stratasim_core::BuildError;

use super::Question;
use super::graph::{Dependencies, Range};
use crate::flit::fabric::End;
use crate::flit::routing::{Candidate, Head, Place, Surroundings};

/// Whether the work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    TooMuch,
}

/// Where a packet is, as far as routing looks: the router, the input and virtual channel if they count, and what
/// routing remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    router: u32,
    input: u16,
    vc: u8,
    memory: u64,
}

/// A way on from a state.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// The input (index in the fabric) and the virtual channels that it leads to.
    input: u32,
    vcs: Range,
    /// The state there.
    to: u32,
    escape: bool,
}

/// Virtual channels that a packet may hold in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    input: u32,
    vcs: Range,
    escape: bool,
}

/// Follows packets and gathers dependencies.
pub(super) struct Explorer<'a> {
    question: &'a Question<'a>,
    most: u64,
    left: u64,
    looks_at_vc: bool,
    looks_at_input: bool,
    has_escape: bool,
    /// Dependencies between all channels.
    pub(super) all: Dependencies,
    /// Dependencies between escape channels, those by way of other channels among them.
    pub(super) escape: Dependencies,
    number: FxHashMap<State, u32>,
    states: Vec<State>,
    /// What packets hold in each state.
    held: Vec<Vec<Held>>,
    /// Steps of state `s`: `steps[first[s]..first[s + 1]]`.
    first: Vec<u32>,
    steps: Vec<Step>,
    candidates: Vec<Candidate>,
    /// Virtual channels of each input that packets take as escape channels, and otherwise.
    uses: Vec<[u32; 2]>,
}

impl<'a> Explorer<'a> {
    pub(super) fn new(question: &'a Question<'a>, most: u64) -> Self {
        Self {
            most,
            left: most,
            looks_at_vc: question.routing.looks_at_vc(),
            looks_at_input: question.routing.looks_at_input(),
            has_escape: question.routing.has_escape(),
            question,
            all: Dependencies::default(),
            escape: Dependencies::default(),
            number: FxHashMap::default(),
            states: Vec::new(),
            held: Vec::new(),
            first: Vec::new(),
            steps: Vec::new(),
            candidates: Vec::new(),
            uses: vec![[0; 2]; question.fabric.channels().len()],
        }
    }

    /// Follows all packets to `dest` that may use the virtual channels of `range`.
    pub(super) fn toward(&mut self, dest: u32, range: Range) -> Result<Outcome, BuildError> {
        self.number.clear();
        self.states.clear();
        self.held.clear();
        self.first.clear();
        self.steps.clear();
        for source in 0..self.question.fabric.terminals().len() as u32 {
            if (self.question.joined)(source, dest) && !self.begin(source, dest, range) {
                return Ok(Outcome::TooMuch);
            }
        }
        let mut at = 0;
        while at < self.states.len() {
            self.first.push(self.steps.len() as u32);
            if !self.follow(self.states[at], dest, range)? {
                return Ok(Outcome::TooMuch);
            }
            at += 1;
        }
        self.first.push(self.steps.len() as u32);
        for state in 0..self.states.len() {
            for step in &self.steps[self.first[state] as usize..self.first[state + 1] as usize] {
                for held in &self.held[state] {
                    self.all.add((held.input, held.vcs), (step.input, step.vcs));
                }
            }
        }
        if self.has_escape && !self.escapes() {
            return Ok(Outcome::TooMuch);
        }
        Ok(Outcome::Done)
    }

    /// Decisions that were followed, of `most`.
    pub(super) fn spent(&self) -> u64 {
        self.most - self.left
    }

    /// Follows at most so many decisions in all.
    pub(super) fn limit(&mut self, most: u64) {
        self.left = most.saturating_sub(self.spent());
        self.most = most;
    }

    fn spend(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }

    /// The states in which packets of `source` enter.
    fn begin(&mut self, source: u32, dest: u32, range: Range) -> bool {
        let (router, input) = self.question.fabric.terminal(source).entry();
        let mut script = Script::default();
        loop {
            if !self.spend() {
                return false;
            }
            let mut head = Head { source, dest, range, memory: 0 };
            let vcs = self.question.routing.start(&mut head, &mut script);
            self.each_state((router, input), vcs, head.memory, |_, _, _| {});
            if !script.next() {
                return true;
            }
        }
    }

    /// Numbers the states of a packet that is in one of `vcs` of an input: one, or one for each virtual channel
    /// where those count. Calls `visit` with each and its virtual channels.
    fn each_state(
        &mut self,
        (router, input): (u32, u16),
        vcs: Range,
        memory: u64,
        mut visit: impl FnMut(&mut Self, u32, Range),
    ) {
        let parts = if self.looks_at_vc { vcs.1 - vcs.0 + 1 } else { 1 };
        for part in 0..parts {
            let vc = vcs.0 + part;
            let state = State {
                router,
                input: if self.looks_at_input { input } else { 0 },
                vc: if self.looks_at_vc { vc } else { 0 },
                memory,
            };
            let next = self.states.len() as u32;
            let number = *self.number.entry(state).or_insert(next);
            if number == next {
                self.states.push(state);
                self.held.push(Vec::new());
            }
            visit(self, number, if self.looks_at_vc { (vc, vc) } else { vcs });
        }
    }

    /// Every way on from `state`.
    fn follow(&mut self, state: State, dest: u32, range: Range) -> Result<bool, BuildError> {
        let fabric = self.question.fabric;
        let place = Place { router: state.router, input: state.input, vc: state.vc };
        let begin = self.steps.len();
        let mut script = Script::default();
        let mut candidates = std::mem::take(&mut self.candidates);
        loop {
            if !self.spend() {
                return Ok(false);
            }
            let mut head = Head { source: dest, dest, range, memory: state.memory };
            candidates.clear();
            self.question.routing.route(place, &mut head, &mut script, &mut candidates);
            let mut safe = !self.has_escape;
            for candidate in &candidates {
                let vcs = (candidate.first_vc, candidate.last_vc);
                if vcs.0 > vcs.1 || vcs.0 < range.0 || vcs.1 > range.1 {
                    return Err(self.wrong(
                        state,
                        dest,
                        "offers virtual channels that the packet may not use",
                    ));
                }
                if candidate.output >= fabric.output_count(state.router) {
                    return Err(self.wrong(state, dest, "offers an output that does not exist"));
                }
                match fabric.channel(state.router, candidate.output).end {
                    End::Nothing => {
                        return Err(self.wrong(state, dest, "offers an output that leads nowhere"));
                    }
                    End::Terminal(terminal) if terminal != dest => {
                        return Err(self.wrong(state, dest, "ends at another terminal"));
                    }
                    End::Terminal(_) => safe = true,
                    End::Router { router, port } => {
                        let escape = candidate.priority <= 0;
                        safe |= escape;
                        self.step(begin, (router, port), vcs, head.memory, escape && self.has_escape);
                    }
                }
            }
            if !safe || candidates.is_empty() {
                let what =
                    if candidates.is_empty() { "offers no way on" } else { "offers no escape channel" };
                return Err(self.wrong(state, dest, what));
            }
            if !script.next() {
                break;
            }
        }
        self.candidates = candidates;
        Ok(true)
    }

    /// Notes a way on, unless it is known among the steps from `begin` on.
    fn step(&mut self, begin: usize, (router, port): (u32, u16), vcs: Range, memory: u64, escape: bool) {
        let input = self.question.fabric.index(router, port) as u32;
        self.uses[input as usize][usize::from(!escape)] |= mask(vcs);
        self.each_state((router, port), vcs, memory, |explorer, to, vcs| {
            let known = explorer.steps[begin..]
                .iter()
                .any(|step| (step.to, step.input, step.vcs, step.escape) == (to, input, vcs, escape));
            if known {
                return;
            }
            explorer.steps.push(Step { input, vcs, to, escape });
            let held = Held { input, vcs, escape };
            if !explorer.held[to as usize].contains(&held) {
                explorer.held[to as usize].push(held);
            }
        });
    }

    /// Whether some virtual channel is an escape channel for some packets only.
    pub(super) fn mixes(&self) -> bool {
        self.uses.iter().any(|[escape, other]| escape & other != 0)
    }

    fn wrong(&self, state: State, dest: u32, what: &str) -> BuildError {
        let name = (self.question.name)(state.router);
        BuildError::new(
            "routing",
            format!("at router {name}, for terminal {dest}, the routing function {what}"),
        )
    }

    /// From every escape channel to the next ones that its packets may take, by way of others or not.
    fn escapes(&mut self) -> bool {
        let mut seen = vec![u32::MAX; self.states.len()];
        for start in 0..self.states.len() as u32 {
            let held: Vec<Held> =
                self.held[start as usize].iter().copied().filter(|held| held.escape).collect();
            if held.is_empty() {
                continue;
            }
            let mut stack = vec![start];
            seen[start as usize] = start;
            while let Some(state) = stack.pop() {
                let steps = self.first[state as usize] as usize..self.first[state as usize + 1] as usize;
                self.left = self.left.saturating_sub(steps.len() as u64);
                if self.left == 0 {
                    return false;
                }
                for step in &self.steps[steps] {
                    if step.escape {
                        for held in &held {
                            self.escape.add((held.input, held.vcs), (step.input, step.vcs));
                        }
                    } else if seen[step.to as usize] != start {
                        seen[step.to as usize] = start;
                        stack.push(step.to);
                    }
                }
            }
        }
        true
    }
}

/// One bit for each virtual channel.
fn mask((first, last): Range) -> u32 {
    (u32::MAX >> (31 - (last - first))) << first
}

/// Surroundings that give one outcome after the other: every draw has each of its values, every output is idle
/// or crowded.
#[derive(Debug, Default)]
struct Script(RefCell<Answers>);

#[derive(Debug, Default)]
struct Answers {
    /// Value and bound of each question, in order.
    given: Vec<(u32, u32)>,
    at: usize,
    /// Outputs asked for in this run, and what was said.
    outputs: Vec<(u16, u32)>,
}

/// Flits at a crowded output.
const CROWDED: u32 = 1 << 20;

impl Script {
    /// Goes on to the next outcome, if there is one.
    fn next(&mut self) -> bool {
        let answers = self.0.get_mut();
        answers.at = 0;
        answers.outputs.clear();
        while let Some((value, bound)) = answers.given.last_mut() {
            *value += 1;
            if *value < *bound {
                return true;
            }
            answers.given.pop();
        }
        false
    }
}

impl Answers {
    fn ask(&mut self, bound: u32) -> u32 {
        if self.at == self.given.len() {
            self.given.push((0, bound));
        }
        self.at += 1;
        self.given[self.at - 1].0
    }
}

impl Surroundings for Script {
    fn draw(&mut self, bound: u32) -> u32 {
        self.0.get_mut().ask(bound)
    }

    fn used(&self, output: u16) -> u32 {
        let mut answers = self.0.borrow_mut();
        if let Some(&(_, said)) = answers.outputs.iter().find(|&&(known, _)| known == output) {
            return said;
        }
        let said = answers.ask(2) * CROWDED;
        answers.outputs.push((output, said));
        said
    }
}
