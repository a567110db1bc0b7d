//! A largest matching.

use super::arbiter::distance;
use super::requests::{NONE, Requests};

/// Shortest augmenting paths until there is none (Ford, Fulkerson 1956). The input at which the search
/// starts moves on by one in every cycle, so that ties do not favour the
/// same ones in every cycle.
#[derive(Debug, Clone)]
pub(super) struct MaximumSize {
    inputs: u32,
    start: u32,
    /// Scratch: the request by which the search came to each output.
    from: Vec<u32>,
    /// Scratch: inputs whose requests are looked at now, and next, as places in `order`.
    front: Vec<u32>,
    next: Vec<u32>,
    /// Scratch: place in `order` of each input.
    place: Vec<u32>,
    /// Scratch: inputs with requests in the order of the search, each with its part of `numbers`.
    order: Vec<(u32, usize, usize)>,
    /// Scratch: numbers of requests, those of an input together and in the order of their outputs.
    numbers: Vec<u32>,
}

impl MaximumSize {
    pub(super) fn new(inputs: u32, outputs: u32) -> Self {
        Self {
            inputs,
            start: 0,
            from: vec![NONE; outputs as usize],
            front: Vec::new(),
            next: Vec::new(),
            place: vec![NONE; inputs as usize],
            order: Vec::new(),
            numbers: Vec::new(),
        }
    }

    pub(super) fn allocate(&mut self, requests: &mut Requests) {
        self.order.clear();
        self.numbers.clear();
        for &input in requests.used_inputs() {
            let first = self.numbers.len();
            self.numbers.extend(requests.of_input(input));
            self.numbers[first..].sort_unstable_by_key(|&number| requests.request(number).output);
            self.order.push((input, first, self.numbers.len()));
        }
        let (start, inputs) = (self.start, self.inputs);
        self.order.sort_unstable_by_key(|&(input, ..)| distance(start, input, inputs));
        for (place, &(input, ..)) in self.order.iter().enumerate() {
            self.place[input as usize] = place as u32;
        }
        while self.augment(requests) {}
        self.start = if self.start + 1 == self.inputs { 0 } else { self.start + 1 };
    }

    /// Makes the matching larger by one, along a shortest augmenting path; false when there is none.
    fn augment(&mut self, requests: &mut Requests) -> bool {
        for &output in requests.used_outputs() {
            self.from[output as usize] = NONE;
        }
        self.front.clear();
        let places = (0..).zip(&self.order);
        let free = places.filter(|&(_, &(input, ..))| requests.input_is_free(input));
        self.front.extend(free.map(|(place, _)| place));
        while !self.front.is_empty() {
            self.next.clear();
            for &place in &self.front {
                let (_, first, end) = self.order[place as usize];
                for &number in &self.numbers[first..end] {
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
                        Some(granted) => self.next.push(self.place[granted.input as usize]),
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
