//! Sets of ports of a node, told by their places among the ports of the node, so that nodes that are alike have the same.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A bit for each port of each node; those of a node begin with a word of their own.
#[derive(Debug)]
pub(super) struct Marks {
    /// First word of each node, and one past the last.
    start: Vec<u32>,
    words: Vec<u64>,
}

/// Which ports of a node are marked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Marked<'a> {
    Nothing,
    /// One only, at this place.
    One(u32),
    /// Several: their bits.
    Several(&'a [u64]),
}

impl Marks {
    /// None is marked, of nodes whose ports begin at `first`, one past the last of all included.
    pub(super) fn new(first: &[u32]) -> Self {
        let mut start = vec![0];
        let mut words = 0;
        for ports in first.windows(2) {
            words += (ports[1] - ports[0]).div_ceil(u64::BITS);
            start.push(words);
        }
        Self { start, words: vec![0; words as usize] }
    }

    /// Where the mark of the port at `place` of a node is: its word and its bit.
    pub(super) fn bit(&self, node: u32, place: u32) -> (u32, u8) {
        (self.start[node as usize] + place / u64::BITS, (place % u64::BITS) as u8)
    }

    /// Marks a port.
    #[inline]
    pub(super) fn set(&mut self, (word, bit): (u32, u8)) {
        self.words[word as usize] |= 1 << bit;
    }

    /// No port of a node is marked.
    pub(super) fn clear(&mut self, node: u32) {
        self.words[self.start[node as usize] as usize..self.start[node as usize + 1] as usize].fill(0);
    }

    /// No port is marked.
    pub(super) fn clear_all(&mut self) {
        self.words.fill(0);
    }

    /// Which ports of a node are marked.
    #[inline]
    pub(super) fn of(&self, node: usize) -> Marked<'_> {
        let words = &self.words[self.start[node] as usize..self.start[node + 1] as usize];
        // mostly one
        if let &[word] = words {
            return match word {
                0 => Marked::Nothing,
                _ if word.is_power_of_two() => Marked::One(word.trailing_zeros()),
                _ => Marked::Several(words),
            };
        }
        let mut places = places(words);
        match (places.next(), places.next()) {
            (None, _) => Marked::Nothing,
            (Some(only), None) => Marked::One(only),
            _ => Marked::Several(words),
        }
    }
}

/// Places of the bits that are set, in order.
fn places(words: &[u64]) -> impl Iterator<Item = u32> {
    (0..).zip(words).flat_map(|(at, &word)| {
        let rest = std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)));
        rest.take_while(|&rest| rest != 0).map(move |rest| at * u64::BITS + rest.trailing_zeros())
    })
}

/// Numbers of sets, by their bits up to the last word that is not empty.
pub(super) type Known = FxHashMap<SmallVec<[u64; 2]>, u32>;

/// Sets of places. Each has a number.
#[derive(Debug, Clone, Default)]
pub(super) struct Sets {
    /// Those of all sets, one set after the other, and where each begins and ends.
    places: Vec<u32>,
    bounds: Vec<(u32, u32)>,
}

impl Sets {
    /// The number of the set of these bits, a new one where it is not known.
    pub(super) fn number(&mut self, known: &mut Known, words: &[u64]) -> u32 {
        let filled = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        let words = &words[..filled];
        if let Some(&number) = known.get(words) {
            return number;
        }
        let number = self.bounds.len() as u32;
        let begin = self.places.len() as u32;
        self.places.extend(places(words));
        self.bounds.push((begin, self.places.len() as u32));
        known.insert(SmallVec::from_slice(words), number);
        number
    }

    /// The places of a set, in order.
    #[inline]
    pub(super) fn places(&self, set: u32) -> &[u32] {
        let (begin, end) = self.bounds[set as usize];
        &self.places[begin as usize..end as usize]
    }

    /// Number of sets.
    pub(super) fn count(&self) -> usize {
        self.bounds.len()
    }
}

/// Ports of a node of which any will do, in order.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Members<'a> {
    /// What they are counted from.
    first: u32,
    places: &'a [u32],
}

impl<'a> Members<'a> {
    /// The ports at these places, counted from port `first`.
    #[inline]
    pub(super) const fn new(first: u32, places: &'a [u32]) -> Self {
        Self { first, places }
    }

    /// These ports.
    pub(in super::super) const fn of(ports: &'a [u32]) -> Self {
        Self { first: 0, places: ports }
    }

    /// How many there are.
    #[inline]
    pub(in super::super) const fn len(self) -> usize {
        self.places.len()
    }

    /// One of them.
    #[inline]
    pub(in super::super) fn port(self, at: usize) -> u32 {
        self.first + self.places[at]
    }

    /// All of them, in order.
    pub(in super::super) fn ports(self) -> impl Iterator<Item = u32> + use<'a> {
        self.places.iter().map(move |place| self.first + place)
    }

    /// Whether a port is one of them.
    pub(in super::super) fn contain(self, port: u32) -> bool {
        self.ports().any(|known| known == port)
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;

    use super::*;

    #[test]
    fn sets_are_told_apart_by_their_places_whatever_node_they_are_of() {
        let first = [0, 3, 3, 67, 131, 331];
        let mut marks = Marks::new(&first);
        let (mut sets, mut known) = (Sets::default(), Known::default());
        let mut numbers: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let mut draws = Draws::new(1);
        for _ in 0..2000 {
            let node = draws.below(5);
            let degree = first[node as usize + 1] - first[node as usize];
            let mut literal: Vec<u32> =
                (0..draws.below(5)).filter(|_| degree > 0).map(|_| draws.below(degree)).collect();
            for &place in &literal {
                marks.set(marks.bit(node, place));
            }
            literal.sort_unstable();
            literal.dedup();
            match marks.of(node as usize) {
                Marked::Nothing => assert!(literal.is_empty()),
                Marked::One(place) => assert_eq!(literal, [place]),
                Marked::Several(words) => {
                    let number = sets.number(&mut known, words);
                    assert_eq!(sets.places(number), literal);
                    assert!(literal.len() > 1);
                    let count = numbers.len() as u32;
                    assert_eq!(*numbers.entry(literal).or_insert(count), number, "each set stands once");
                }
            }
            for other in (0..5).filter(|&other| other != node as usize) {
                assert!(matches!(marks.of(other), Marked::Nothing));
            }
            if draws.below(2) == 0 { marks.clear(node) } else { marks.clear_all() }
        }
        assert_eq!(sets.count(), numbers.len());
    }
}
