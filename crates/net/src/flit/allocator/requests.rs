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
    all: Vec<Entry>,
    inputs: Side,
    outputs: Side,
}

/// A request in the list of its input and in that of its output.
#[derive(Debug, Clone, Copy)]
struct Entry {
    request: Request,
    next_of_input: u32,
    next_of_output: u32,
}

/// What one side of the matching sees, by input or by output.
#[derive(Debug, Clone, Default)]
struct Side {
    places: Vec<Place>,
    /// Those that have requests, in the order of their first.
    used: Vec<u32>,
}

/// An input, or an output.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The request that was added last; the others follow it.
    first: u32,
    /// Requests.
    count: u32,
    /// The granted request.
    granted: u32,
    /// Scratch of the allocators: a request that was proposed.
    proposed: u32,
}

impl Place {
    const EMPTY: Self = Self { first: NONE, count: 0, granted: NONE, proposed: NONE };
}

impl Side {
    fn new(size: usize) -> Self {
        Self { places: vec![Place::EMPTY; size], used: Vec::new() }
    }

    fn clear(&mut self) {
        for place in self.used.drain(..) {
            self.places[place as usize] = Place::EMPTY;
        }
    }

    /// Puts a request at the front of a list; the one that follows it.
    #[inline]
    fn add(&mut self, place: u32, number: u32) -> u32 {
        let list = &mut self.places[place as usize];
        if list.count == 0 {
            self.used.push(place);
        }
        list.count += 1;
        std::mem::replace(&mut list.first, number)
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
    #[inline]
    pub fn add(&mut self, request: Request) {
        let number = self.all.len() as u32;
        let next_of_input = self.inputs.add(request.input, number);
        let next_of_output = self.outputs.add(request.output, number);
        self.all.push(Entry { request, next_of_input, next_of_output });
    }

    /// The request of `input` for `output`, to be looked at or replaced by another of the two.
    #[inline]
    pub fn find(&mut self, input: u32, output: u32) -> Option<&mut Request> {
        let number = self.of_input(input).find(|&number| self.request(number).output == output)?;
        Some(&mut self.all[number as usize].request)
    }

    /// All requests in the order in which they were added.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Request> {
        self.all.iter().map(|entry| &entry.request)
    }

    /// The granted request of an input.
    #[inline]
    pub fn granted_to(&self, input: u32) -> Option<&Request> {
        self.all.get(self.inputs.places[input as usize].granted as usize).map(|entry| &entry.request)
    }

    /// The granted request for an output.
    #[inline]
    pub fn granted_of(&self, output: u32) -> Option<&Request> {
        self.all.get(self.outputs.places[output as usize].granted as usize).map(|entry| &entry.request)
    }

    /// Grants a request. Another one of its input or output must be replaced in the same matching.
    #[inline]
    pub(super) fn grant(&mut self, number: u32) {
        let Request { input, output, .. } = self.all[number as usize].request;
        self.inputs.places[input as usize].granted = number;
        self.outputs.places[output as usize].granted = number;
    }

    #[inline]
    pub(super) fn input_is_free(&self, input: u32) -> bool {
        self.inputs.places[input as usize].granted == NONE
    }

    #[inline]
    pub(super) fn output_is_free(&self, output: u32) -> bool {
        self.outputs.places[output as usize].granted == NONE
    }

    #[inline]
    pub(super) fn request(&self, number: u32) -> &Request {
        &self.all[number as usize].request
    }

    /// Numbers of the requests of an input, the last one first.
    #[inline]
    pub(super) fn of_input(&self, input: u32) -> impl Iterator<Item = u32> {
        let mut next = self.inputs.places[input as usize].first;
        std::iter::from_fn(move || {
            let number = next;
            next = self.all.get(number as usize)?.next_of_input;
            Some(number)
        })
    }

    /// Numbers of the requests for an output, the last one first.
    #[inline]
    pub(super) fn of_output(&self, output: u32) -> impl Iterator<Item = u32> {
        let mut next = self.outputs.places[output as usize].first;
        std::iter::from_fn(move || {
            let number = next;
            next = self.all.get(number as usize)?.next_of_output;
            Some(number)
        })
    }

    /// Number of requests for an output.
    pub fn count_of_output(&self, output: u32) -> u32 {
        self.outputs.places[output as usize].count
    }

    /// Inputs with requests.
    #[inline]
    pub(super) fn used_inputs(&self) -> &[u32] {
        &self.inputs.used
    }

    /// Outputs with requests.
    #[inline]
    pub(super) fn used_outputs(&self) -> &[u32] {
        &self.outputs.used
    }

    /// The request proposed to an input; [`NONE`] at first.
    #[inline]
    pub(super) fn proposed_to_input(&mut self, input: u32) -> &mut u32 {
        &mut self.inputs.places[input as usize].proposed
    }

    /// Whether a request is the one proposed to its output.
    pub(super) fn is_proposed(&self, output: u32, number: u32) -> bool {
        self.outputs.places[output as usize].proposed == number
    }

    /// The request proposed to an output; [`NONE`] at first.
    #[inline]
    pub(super) fn proposed_to_output(&mut self, output: u32) -> &mut u32 {
        &mut self.outputs.places[output as usize].proposed
    }
}
