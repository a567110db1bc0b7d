//! Separable allocators: one row of arbiters proposes, the other one accepts. iSLIP is one of them.

use super::arbiter::{Arbiters, Rank};
use super::requests::{NONE, Request, Requests};
use crate::flit::router::Arbiter;

/// Which side proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Inputs choose an output, outputs choose among the inputs that chose them.
    InputFirst,
    /// Outputs choose an input, inputs choose among the outputs that chose them.
    OutputFirst,
}

/// Two rows of arbiters. Both of a final match move on, in the first iteration only: that is what keeps
/// iSLIP from starving anybody (McKeown, "The iSLIP Scheduling Algorithm for Input-Queued Switches", 1999).
#[derive(Debug, Clone)]
pub(super) struct Separable {
    order: Order,
    heeds_priority: bool,
    /// What an output granted stands in the iterations that follow.
    grants_last: bool,
    iterations: u8,
    /// One per input, over outputs.
    inputs: Arbiters,
    /// One per output, over inputs.
    outputs: Arbiters,
}

impl Separable {
    pub(super) fn new(order: Order, arbiter: Arbiter, iterations: u8, inputs: u32, outputs: u32) -> Self {
        Self {
            order,
            heeds_priority: true,
            grants_last: false,
            iterations,
            inputs: Arbiters::new(arbiter, inputs, outputs),
            outputs: Arbiters::new(arbiter, outputs, inputs),
        }
    }

    pub(super) fn blind_to_priority(self) -> Self {
        Self { heeds_priority: false, ..self }
    }

    pub(super) fn with_lasting_grants(self) -> Self {
        Self { grants_last: true, ..self }
    }

    pub(super) fn allocate(&mut self, requests: &mut Requests) {
        if self.grants_last && self.iterations > 1 {
            self.allocate_lasting(requests);
            return;
        }
        if let &[input] = requests.used_inputs() {
            // Nobody competes: every output proposes to this input, or it chooses first; it is the same.
            let best =
                requests.of_input(input).min_by_key(|&number| self.rank_at_input(requests.request(number)));
            self.settle(requests, best.unwrap_or(NONE), true);
            return;
        }
        for iteration in 0..self.iterations {
            let any = match self.order {
                Order::OutputFirst => self.outputs_propose(requests, iteration == 0),
                Order::InputFirst => self.inputs_propose(requests, iteration == 0),
            };
            if !any {
                break;
            }
        }
    }

    /// Outputs that nobody has accepted grant anew where an input is free. Then inputs accept among all that is granted to them,
    /// again where they have accepted before, and by then with an arbiter that has moved on: the output that they had stays
    /// taken, and nothing goes there.
    fn allocate_lasting(&mut self, requests: &mut Requests) {
        for iteration in 0..self.iterations {
            for index in 0..requests.used_outputs().len() {
                let output = requests.used_outputs()[index];
                if let Some(number) = self.choice_of_output(requests, output) {
                    *requests.proposed_to_output(output) = number;
                }
            }
            for index in 0..requests.used_inputs().len() {
                let input = requests.used_inputs()[index];
                let granted = requests
                    .of_input(input)
                    .filter(|&number| requests.is_proposed(requests.request(number).output, number));
                let best = granted.min_by_key(|&number| self.rank_at_input(requests.request(number)));
                self.settle(requests, best.unwrap_or(NONE), iteration == 0);
            }
        }
    }

    /// Place of a request in the eyes of its input's arbiter; the lowest wins.
    fn rank_at_input(&self, request: &Request) -> (i64, Rank) {
        let priority = if self.heeds_priority { -request.input_priority } else { 0 };
        (priority, self.inputs.rank(request.input, request.output))
    }

    /// Place of a request in the eyes of its output's arbiter; the lowest wins.
    fn rank_at_output(&self, request: &Request) -> (i64, Rank) {
        let priority = if self.heeds_priority { -request.output_priority } else { 0 };
        (priority, self.outputs.rank(request.output, request.input))
    }

    /// The request of a free input that an output chooses, where it is free itself.
    #[inline]
    fn choice_of_output(&self, requests: &Requests, output: u32) -> Option<u32> {
        if !requests.output_is_free(output) {
            return None;
        }
        let open = requests.of_output(output);
        let open = open.filter(|&number| requests.input_is_free(requests.request(number).input));
        open.min_by_key(|&number| self.rank_at_output(requests.request(number)))
    }

    /// One iteration with the outputs first; whether anybody was matched.
    fn outputs_propose(&mut self, requests: &mut Requests, first: bool) -> bool {
        for index in 0..requests.used_outputs().len() {
            let output = requests.used_outputs()[index];
            let Some(number) = self.choice_of_output(requests, output) else { continue };
            let request = *requests.request(number);
            let present = *requests.proposed_to_input(request.input);
            if present == NONE || self.rank_at_input(&request) < self.rank_at_input(requests.request(present))
            {
                *requests.proposed_to_input(request.input) = number;
            }
        }
        let mut any = false;
        for index in 0..requests.used_inputs().len() {
            let input = requests.used_inputs()[index];
            let number = std::mem::replace(requests.proposed_to_input(input), NONE);
            any |= self.settle(requests, number, first);
        }
        any
    }

    /// One iteration with the inputs first; whether anybody was matched.
    fn inputs_propose(&mut self, requests: &mut Requests, first: bool) -> bool {
        for index in 0..requests.used_inputs().len() {
            let input = requests.used_inputs()[index];
            if !requests.input_is_free(input) {
                continue;
            }
            let open = requests.of_input(input);
            let open = open.filter(|&number| requests.output_is_free(requests.request(number).output));
            let Some(number) = open.min_by_key(|&number| self.rank_at_input(requests.request(number))) else {
                continue;
            };
            let request = *requests.request(number);
            let present = *requests.proposed_to_output(request.output);
            if present == NONE
                || self.rank_at_output(&request) < self.rank_at_output(requests.request(present))
            {
                *requests.proposed_to_output(request.output) = number;
            }
        }
        let mut any = false;
        for index in 0..requests.used_outputs().len() {
            let output = requests.used_outputs()[index];
            let number = std::mem::replace(requests.proposed_to_output(output), NONE);
            any |= self.settle(requests, number, first);
        }
        any
    }

    /// Grants an accepted proposal and moves its arbiters on.
    fn settle(&mut self, requests: &mut Requests, number: u32, first: bool) -> bool {
        if number == NONE {
            return false;
        }
        requests.grant(number);
        if first {
            let Request { input, output, .. } = *requests.request(number);
            self.inputs.won(input, output);
            self.outputs.won(output, input);
        }
        true
    }
}
