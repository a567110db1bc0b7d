//! The lonely output allocator: outputs with fewest requests first.

use super::arbiter::distance;
use super::requests::{NONE, Requests};

/// Each input asks only for the output with fewest requests, each output takes one of those that ask it.
/// Source: Dally, Towles (2004), section 19.4.
#[derive(Debug, Clone)]
pub(super) struct LonelyOutput {
    /// Of each input, the output from which it looks for the loneliest.
    input_next: Vec<u32>,
    /// Of each output, the input from which it looks for one that asks.
    output_next: Vec<u32>,
}

impl LonelyOutput {
    pub(super) fn new(inputs: u32, outputs: u32) -> Self {
        Self { input_next: vec![0; inputs as usize], output_next: vec![0; outputs as usize] }
    }

    pub(super) fn allocate(&mut self, requests: &mut Requests) {
        let (inputs, outputs) = (self.input_next.len() as u32, self.output_next.len() as u32);
        for index in 0..requests.used_inputs().len() {
            let input = requests.used_inputs()[index];
            let lonely = requests.of_input(input).min_by_key(|&number| {
                let output = requests.request(number).output;
                let steps = distance(self.input_next[input as usize], output, outputs);
                (requests.count_of_output(output), steps)
            });
            let Some(number) = lonely else { continue };
            let output = requests.request(number).output;
            let start = self.output_next[output as usize];
            let present = *requests.proposed_to_output(output);
            let steps = |number| distance(start, requests.request(number).input, inputs);
            if present == NONE || steps(number) < steps(present) {
                *requests.proposed_to_output(output) = number;
            }
        }
        for index in 0..requests.used_outputs().len() {
            let output = requests.used_outputs()[index];
            let number = std::mem::replace(requests.proposed_to_output(output), NONE);
            if number != NONE {
                let input = requests.request(number).input;
                requests.grant(number);
                step(&mut self.input_next[input as usize], outputs);
                step(&mut self.output_next[output as usize], inputs);
            }
        }
    }
}

/// Moves a pointer on by one place of a ring.
fn step(pointer: &mut u32, size: u32) {
    *pointer = if *pointer + 1 == size { 0 } else { *pointer + 1 };
}
