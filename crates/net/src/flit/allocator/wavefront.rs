//! The wavefront allocator: the diagonals of the request matrix, one after the other.

use super::requests::Requests;

/// Source: Tamir, Chi, "Symmetric Crossbar Arbiters for VLSI Communication Switches" (1993).
#[derive(Debug, Clone)]
pub(super) struct Wavefront {
    /// The matrix is filled up to a square.
    size: u32,
    /// The diagonal that comes first. It stays where nobody asks.
    first: u32,
    /// Whether the next one to come first is behind the first that was granted, not just the next.
    skips: bool,
    /// Scratch: requests in the order in which the wave meets them.
    order: Vec<(i64, i64, u32, u32, u32)>,
}

impl Wavefront {
    pub(super) fn new(inputs: u32, outputs: u32, skips: bool) -> Self {
        Self { size: inputs.max(outputs), first: 0, skips, order: Vec::new() }
    }

    pub(super) fn allocate(&mut self, requests: &mut Requests) {
        if requests.all().len() == 0 {
            return;
        }
        self.order.clear();
        for (number, request) in requests.all().enumerate() {
            // On the p-th diagonal from the first one, input + output = first + p (mod size).
            let diagonal = (request.input + request.output + self.size - self.first) % self.size;
            self.order.push((
                -request.output_priority,
                -request.input_priority,
                diagonal,
                request.output,
                number as u32,
            ));
        }
        self.order.sort_unstable();
        let mut first_granted = None;
        for &(.., number) in &self.order {
            let request = *requests.request(number);
            if requests.input_is_free(request.input) && requests.output_is_free(request.output) {
                requests.grant(number);
                first_granted.get_or_insert(request.input + request.output);
            }
        }
        let last = if self.skips { first_granted.unwrap_or(self.first) } else { self.first };
        self.first = (last + 1) % self.size;
    }
}
