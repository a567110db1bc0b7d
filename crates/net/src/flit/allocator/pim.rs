//! Parallel iterative matching.

use super::arbiter::distance;
use super::requests::{NONE, Requests};

/// Outputs and then inputs choose at random, some times over. Source: Anderson et al., "High-Speed Switch
/// Scheduling for Local-Area Networks" (1993).
#[derive(Debug, Clone)]
pub(super) struct Pim {
    inputs: u32,
    outputs: u32,
    iterations: u8,
}

impl Pim {
    pub(super) fn new(inputs: u32, outputs: u32, iterations: u8) -> Self {
        Self { inputs, outputs, iterations }
    }

    /// Every output and every input draws in every iteration, asked or not, so that the numbers that one of
    /// them gets do not depend on who else is busy.
    pub(super) fn allocate(&mut self, requests: &mut Requests, draw: &mut dyn FnMut(u32) -> u32) {
        for _ in 0..self.iterations {
            for output in 0..self.outputs {
                let start = draw(self.inputs);
                if !requests.output_is_free(output) {
                    continue;
                }
                let open = requests.of_output(output);
                let open = open.filter(|&number| requests.input_is_free(requests.request(number).input));
                let chosen =
                    open.min_by_key(|&number| distance(start, requests.request(number).input, self.inputs));
                *requests.proposed_to_output(output) = chosen.unwrap_or(NONE);
            }
            for input in 0..self.inputs {
                let start = draw(self.outputs);
                let output = |number| requests.request(number).output;
                let mine =
                    requests.of_input(input).filter(|&number| requests.is_proposed(output(number), number));
                let chosen = mine.min_by_key(|&number| distance(start, output(number), self.outputs));
                if let Some(number) = chosen {
                    requests.grant(number);
                }
            }
            for index in 0..requests.used_outputs().len() {
                let output = requests.used_outputs()[index];
                *requests.proposed_to_output(output) = NONE;
            }
        }
    }
}
