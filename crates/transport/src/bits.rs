//! A ring of bits indexed by packet number: what has arrived, what is lost.

use smallvec::SmallVec;

/// So many words lie in the ring itself: most windows need no more, and nothing that lies elsewhere.
const HERE: usize = 2;

/// Bits for the packets from `first` on. Only packets from `first` to `first + capacity` have a bit; the ring grows
/// when a later one is set.
#[derive(Debug, Clone, Default)]
pub(crate) struct BitRing {
    /// A power of two of words, or none.
    words: SmallVec<[u64; HERE]>,
    first: u64,
    /// Past the last packet that has a bit: the word of `first` is shared with no later packet.
    end: u64,
}

impl BitRing {
    /// No bits, from packet `first` on.
    pub(crate) fn new(first: u64) -> Self {
        Self { words: SmallVec::new(), first, end: first / 64 * 64 }
    }

    #[inline]
    fn at(&self, packet: u64) -> (usize, u64) {
        ((packet / 64) as usize & (self.words.len() - 1), 1 << (packet % 64))
    }

    /// The bit of `packet`; false outside of the ring.
    #[inline]
    pub(crate) fn get(&self, packet: u64) -> bool {
        if packet < self.first || packet >= self.end {
            return false;
        }
        let (word, bit) = self.at(packet);
        self.words[word] & bit != 0
    }

    /// Sets the bit of `packet`, at least `first`; says whether it was clear.
    #[inline]
    pub(crate) fn set(&mut self, packet: u64) -> bool {
        debug_assert!(packet >= self.first);
        if packet >= self.end {
            self.grow(packet);
        }
        let (word, bit) = self.at(packet);
        let was = self.words[word];
        self.words[word] = was | bit;
        was & bit == 0
    }

    /// Clears the bit of `packet`; says whether it was set.
    #[inline]
    pub(crate) fn clear(&mut self, packet: u64) -> bool {
        if !self.get(packet) {
            return false;
        }
        let (word, bit) = self.at(packet);
        self.words[word] &= !bit;
        true
    }

    /// Forgets everything below `packet`.
    #[inline]
    pub(crate) fn advance(&mut self, packet: u64) {
        if packet <= self.first {
            return;
        }
        if !self.words.is_empty() {
            if packet >= self.end {
                self.words.fill(0);
            } else {
                let mut word = self.first / 64;
                while word < packet / 64 {
                    let at = word as usize & (self.words.len() - 1);
                    self.words[at] = 0;
                    word += 1;
                }
                let at = (packet / 64) as usize & (self.words.len() - 1);
                self.words[at] &= !0 << (packet % 64);
            }
        }
        self.first = packet;
        self.end = packet / 64 * 64 + self.words.len() as u64 * 64;
    }

    /// The lowest packet from `from` on whose bit is set, below `to`.
    #[inline]
    pub(crate) fn next_set(&self, from: u64, to: u64) -> Option<u64> {
        let (mut at, to) = (from.max(self.first), to.min(self.end));
        while at < to {
            let (word, _) = self.at(at);
            let rest = self.words[word] >> (at % 64);
            if rest != 0 {
                let found = at + u64::from(rest.trailing_zeros());
                return (found < to).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// The lowest packet from `from` (at least `first`) on whose bit is clear.
    #[inline]
    pub(crate) fn next_clear(&self, from: u64) -> u64 {
        let (mut at, end) = (from, self.end);
        while at < end {
            let (word, _) = self.at(at);
            let rest = !self.words[word] >> (at % 64);
            if rest != 0 {
                return at + u64::from(rest.trailing_zeros());
            }
            at = (at / 64 + 1) * 64;
        }
        at
    }

    /// The bits of the 64 packets from `from` on; those outside of the ring are clear.
    #[inline]
    pub(crate) fn word(&self, from: u64) -> u64 {
        if self.words.is_empty() {
            return 0;
        }
        let whole = |index: u64| {
            let inside = index * 64 < self.end && index >= self.first / 64;
            if inside { self.words[index as usize & (self.words.len() - 1)] } else { 0 }
        };
        let (index, shift) = (from / 64, from % 64);
        let low = whole(index) >> shift;
        // bits below `first` are clear already: `advance` cleared them
        if shift == 0 { low } else { low | whole(index + 1) << (64 - shift) }
    }

    #[cold]
    fn grow(&mut self, packet: u64) {
        let base = self.first / 64;
        let needed = packet / 64 - base + 1;
        let len = (needed as usize).next_power_of_two().max(HERE);
        let mut words = SmallVec::from_elem(0, len);
        for index in base..base + self.words.len() as u64 {
            words[index as usize & (len - 1)] = self.words[index as usize & (self.words.len() - 1)];
        }
        self.words = words;
        self.end = (base + len as u64) * 64;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_ring_of_bits_is_a_set_of_numbers(start in 0_u64..200, steps in prop::collection::vec((0_u8..4, 0_u64..300), 0..200)) {
            let (mut ring, mut set, mut first) = (BitRing::new(start), BTreeSet::new(), start);
            for (what, offset) in steps {
                let packet = first + offset;
                match what {
                    0 | 1 => prop_assert_eq!(ring.set(packet), set.insert(packet)),
                    2 => prop_assert_eq!(ring.clear(packet), set.remove(&packet)),
                    _ => {
                        first += offset / 4;
                        ring.advance(first);
                        set.retain(|&p| p >= first);
                    }
                }
                prop_assert_eq!(ring.get(packet), set.contains(&packet));
                prop_assert_eq!(ring.next_set(first, packet), set.range(first..packet).next().copied());
                prop_assert_eq!(ring.next_clear(packet.max(first)), (packet.max(first)..).find(|p| !set.contains(p)).unwrap());
                let expected = (0..64).filter(|bit| set.contains(&(packet + bit))).fold(0, |word, bit| word | 1_u64 << bit);
                prop_assert_eq!(ring.word(packet), expected);
            }
        }
    }
}
