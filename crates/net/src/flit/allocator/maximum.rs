//! A largest matching.

use super::requests::{NONE, Requests};

/// Shortest augmenting paths until there is none (Ford, Fulkerson 1956). The input at which the search
/// starts moves on by one in every cycle, so that ties do not always favour the same ones.
#[derive(Debug, Clone)]
pub(super) struct MaximumSize {
    inputs: u32,
    start: u32,
    /// Scratch: the request by which the search came to each output.
    from: Vec<u32>,
    /// Scratch: inputs whose requests are looked at now, and next.
    front: Vec<u32>,
    next: Vec<u32>,
    /// Scratch: inputs with requests, in the order of the search.
    order: Vec<u32>,
}

impl MaximumSize {
    pub(super) fn new(inputs: u32, outputs: u32) -> Self {
        let from = vec![NONE; outputs as usize];
        Self { inputs, start: 0, from, front: Vec::new(), next: Vec::new(), order: Vec::new() }
    }

    pub(super) fn allocate(&mut self, requests: &mut Requests) {
        requests.sort_by_output();
        self.order.clear();
        self.order.extend_from_slice(requests.used_inputs());
        let (start, inputs) = (self.start, self.inputs);
        self.order.sort_unstable_by_key(|&input| super::arbiter::distance(start, input, inputs));
        while self.augment(requests) {}
        self.start = if self.start + 1 == self.inputs { 0 } else { self.start + 1 };
    }

    /// Makes the matching larger by one, along a shortest augmenting path; false when there is none.
    fn augment(&mut self, requests: &mut Requests) -> bool {
        for &output in requests.used_outputs() {
            self.from[output as usize] = NONE;
        }
        self.front.clear();
        self.front.extend(self.order.iter().copied().filter(|&input| requests.input_is_free(input)));
        while !self.front.is_empty() {
            self.next.clear();
            for &input in &self.front {
                for &number in requests.of_input(input) {
                    let output = requests.request(number).output;
                    if self.from[output as usize] != NONE {
                        continue;
                    }
                    self.from[output as usize] = number;
                    match requests.granted_of(output) {
                        None => {
                            self.turn(requests, output);
                            return true;
                        }
                        Some(granted) => self.next.push(granted.input),
                    }
                }
            }
            std::mem::swap(&mut self.front, &mut self.next);
        }
        false
    }

    /// Turns the edges of the path that ends in `output`: those outside of the matching come in.
    fn turn(&self, requests: &mut Requests, mut output: u32) {
        loop {
            let number = self.from[output as usize];
            let before = requests.granted_to(requests.request(number).input).map(|granted| granted.output);
            requests.grant(number);
            match before {
                None => return,
                Some(left) => output = left,
            }
        }
    }
}
