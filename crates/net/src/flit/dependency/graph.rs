//! Dependencies between virtual channels, and circles among them.

use rustc_hash::FxHashSet;

/// First and last virtual channel.
pub(super) type Range = (u8, u8);

/// Dependencies between ranges of virtual channels of input ports.
#[derive(Debug, Clone, Default)]
pub(super) struct Dependencies {
    ranges: Vec<Range>,
    known: FxHashSet<(u64, u64)>,
    /// Pairs in the order in which they were found: `input << 16 | range`.
    pairs: Vec<(u64, u64)>,
    /// The pair that was added last.
    last: Option<(u64, u64)>,
}

/// Vertices are numbered `input * atoms + atom`.
struct Frozen {
    start: Vec<u32>,
    next: Vec<u32>,
}

impl Dependencies {
    /// The number of a range.
    fn range(&mut self, range: Range) -> u64 {
        let found = self.ranges.iter().position(|&known| known == range);
        found.unwrap_or_else(|| {
            self.ranges.push(range);
            self.ranges.len() - 1
        }) as u64
    }

    /// A packet that holds one channel may want the other.
    pub(super) fn add(&mut self, from: (u32, Range), to: (u32, Range)) {
        let mut key = |(input, range): (u32, Range)| (u64::from(input) << 16) | self.range(range);
        let pair = (key(from), key(to));
        if self.last == Some(pair) {
            return;
        }
        self.last = Some(pair);
        if self.known.insert(pair) {
            self.pairs.push(pair);
        }
    }

    /// Dependencies between ranges.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Input port (by its index in the fabric) and virtual channels of a vertex of [`Dependencies::circle`].
    pub(super) fn channel(&self, vertex: u32) -> (usize, Range) {
        let atoms = self.atoms();
        (vertex as usize / atoms.len(), atoms[vertex as usize % atoms.len()])
    }

    /// Virtual channels that no range divides, in order.
    fn atoms(&self) -> Vec<Range> {
        let mut cuts: Vec<u16> = Vec::new();
        for &(first, last) in &self.ranges {
            cuts.extend([u16::from(first), u16::from(last) + 1]);
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts.windows(2).map(|pair| (pair[0] as u8, (pair[1] - 1) as u8)).collect()
    }

    fn freeze(&self) -> Frozen {
        let atoms = self.atoms();
        let within = |&(first, last): &Range| -> Vec<u32> {
            (0..)
                .zip(&atoms)
                .filter(|(_, atom)| first <= atom.0 && atom.1 <= last)
                .map(|(atom, _)| atom)
                .collect()
        };
        let members: Vec<Vec<u32>> = self.ranges.iter().map(within).collect();
        let inputs =
            self.pairs.iter().flat_map(|&(from, to)| [from >> 16, to >> 16]).max().map_or(0, |last| last + 1);
        let vertices = inputs as usize * atoms.len();
        let each = |visit: &mut dyn FnMut(u32, u32)| {
            for &(from, to) in &self.pairs {
                for &a in &members[(from & 0xffff) as usize] {
                    for &b in &members[(to & 0xffff) as usize] {
                        let vertex = |key: u64, atom: u32| (key >> 16) as u32 * atoms.len() as u32 + atom;
                        visit(vertex(from, a), vertex(to, b));
                    }
                }
            }
        };
        let mut start = vec![0_u32; vertices + 1];
        each(&mut |from, _| start[from as usize + 1] += 1);
        for vertex in 0..vertices {
            start[vertex + 1] += start[vertex];
        }
        let mut place = start.clone();
        let mut next = vec![0; start[vertices] as usize];
        each(&mut |from, to| {
            next[place[from as usize] as usize] = to;
            place[from as usize] += 1;
        });
        Frozen { start, next }
    }

    /// A circle, if there is one: as short as can be through the vertex at which it was found.
    pub(super) fn circle(&self) -> Option<Vec<u32>> {
        let graph = self.freeze();
        let on_circle = graph.on_circle()?;
        Some(graph.shortest_circle(on_circle))
    }
}

impl Frozen {
    fn next(&self, vertex: u32) -> &[u32] {
        &self.next[self.start[vertex as usize] as usize..self.start[vertex as usize + 1] as usize]
    }

    /// A vertex that is on a circle: depth first, without recursion.
    fn on_circle(&self) -> Option<u32> {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let vertices = self.start.len() - 1;
        let mut state = vec![NEW; vertices];
        let mut stack: Vec<(u32, u32)> = Vec::new();
        for root in 0..vertices as u32 {
            if state[root as usize] != NEW {
                continue;
            }
            state[root as usize] = OPEN;
            stack.push((root, 0));
            while let Some((vertex, at)) = stack.last_mut() {
                let Some(&next) = self.next(*vertex).get(*at as usize) else {
                    state[*vertex as usize] = DONE;
                    stack.pop();
                    continue;
                };
                *at += 1;
                match state[next as usize] {
                    OPEN => return Some(next),
                    NEW => {
                        state[next as usize] = OPEN;
                        stack.push((next, 0));
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// The shortest circle through `vertex`, which is on one.
    fn shortest_circle(&self, vertex: u32) -> Vec<u32> {
        let mut before = vec![u32::MAX; self.start.len() - 1];
        let mut queue = std::collections::VecDeque::from([vertex]);
        while let Some(at) = queue.pop_front() {
            for &next in self.next(at) {
                if next == vertex {
                    let mut circle = vec![at];
                    let mut at = at;
                    while at != vertex {
                        at = before[at as usize];
                        circle.push(at);
                    }
                    circle.reverse();
                    return circle;
                }
                if before[next as usize] == u32::MAX {
                    before[next as usize] = at;
                    queue.push_back(next);
                }
            }
        }
        unreachable!("the vertex is on a circle")
    }
}
