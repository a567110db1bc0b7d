//! The requests of one router in one cycle, and the matching made of them.

/// No request, no partner.
pub const NONE: u32 = u32::MAX;

/// An input asks for an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The input.
    pub input: u32,
    /// The output.
    pub output: u32,
    /// Who asks, where several share the input; the allocator does not look at it.
    pub label: u32,
    /// How much the input wants this output: compared between the requests of one input.
    pub input_priority: i64,
    /// How much the output wants this input: compared between the requests for one output.
    pub output_priority: i64,
}

/// Requests by input and by output, and which of them were granted. Cleared in proportion to what is in it.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    all: Vec<Request>,
    inputs: Side,
    outputs: Side,
}

/// What one side of the matching sees: numbers of requests by input, or by output.
#[derive(Debug, Clone, Default)]
struct Side {
    /// Requests of each.
    lists: Vec<Vec<u32>>,
    /// Those that have requests, in the order of their first.
    used: Vec<u32>,
    /// The granted request of each.
    granted: Vec<u32>,
    /// Scratch of the allocators: the request that was proposed to each.
    proposed: Vec<u32>,
}

impl Side {
    fn new(size: usize) -> Self {
        Self {
            lists: vec![Vec::new(); size],
            used: Vec::new(),
            granted: vec![NONE; size],
            proposed: vec![NONE; size],
        }
    }

    fn clear(&mut self) {
        for &place in &self.used {
            self.lists[place as usize].clear();
            self.granted[place as usize] = NONE;
        }
        self.used.clear();
    }

    fn add(&mut self, place: u32, number: u32) {
        let list = &mut self.lists[place as usize];
        if list.is_empty() {
            self.used.push(place);
        }
        list.push(number);
    }
}

impl Requests {
    /// Room for routers with up to `inputs` x `outputs`.
    pub fn new(inputs: usize, outputs: usize) -> Self {
        Self { all: Vec::new(), inputs: Side::new(inputs), outputs: Side::new(outputs) }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.all.clear();
        self.inputs.clear();
        self.outputs.clear();
    }

    /// Adds a request; one for this input and output must not be there yet.
    pub fn add(&mut self, request: Request) {
        let number = self.all.len() as u32;
        self.all.push(request);
        self.inputs.add(request.input, number);
        self.outputs.add(request.output, number);
    }

    /// The request of `input` for `output`, to be looked at or replaced by another of the two.
    pub fn find(&mut self, input: u32, output: u32) -> Option<&mut Request> {
        let all = &mut self.all;
        let number = self.inputs.lists[input as usize]
            .iter()
            .find(|&&number| all[number as usize].output == output)?;
        Some(&mut all[*number as usize])
    }

    /// All requests in the order in which they were added.
    pub fn all(&self) -> &[Request] {
        &self.all
    }

    /// The granted request of an input.
    pub fn granted_to(&self, input: u32) -> Option<&Request> {
        self.all.get(self.inputs.granted[input as usize] as usize)
    }

    /// The granted request for an output.
    pub fn granted_of(&self, output: u32) -> Option<&Request> {
        self.all.get(self.outputs.granted[output as usize] as usize)
    }

    pub(super) fn grant(&mut self, number: u32) {
        let request = self.all[number as usize];
        self.inputs.granted[request.input as usize] = number;
        self.outputs.granted[request.output as usize] = number;
    }

    /// Puts the requests of every input in the order of their outputs.
    pub(super) fn sort_by_output(&mut self) {
        for &input in &self.inputs.used {
            let all = &self.all;
            self.inputs.lists[input as usize].sort_unstable_by_key(|&number| all[number as usize].output);
        }
    }

    pub(super) fn input_is_free(&self, input: u32) -> bool {
        self.inputs.granted[input as usize] == NONE
    }

    pub(super) fn output_is_free(&self, output: u32) -> bool {
        self.outputs.granted[output as usize] == NONE
    }

    pub(super) fn request(&self, number: u32) -> &Request {
        &self.all[number as usize]
    }

    /// Numbers of the requests of an input.
    pub(super) fn of_input(&self, input: u32) -> &[u32] {
        &self.inputs.lists[input as usize]
    }

    /// Numbers of the requests for an output.
    pub(super) fn of_output(&self, output: u32) -> &[u32] {
        &self.outputs.lists[output as usize]
    }

    /// Inputs with requests.
    pub(super) fn used_inputs(&self) -> &[u32] {
        &self.inputs.used
    }

    /// Outputs with requests.
    pub(super) fn used_outputs(&self) -> &[u32] {
        &self.outputs.used
    }

    /// The request proposed to an input; [`NONE`] at first.
    pub(super) fn proposed_to_input(&mut self, input: u32) -> &mut u32 {
        &mut self.inputs.proposed[input as usize]
    }

    /// The request proposed to an output; [`NONE`] at first.
    pub(super) fn proposed_to_output(&mut self, output: u32) -> &mut u32 {
        &mut self.outputs.proposed[output as usize]
    }
}
