//! Layers of virtual channels: dependencies that never lead round in a circle.

/// Dependencies of one layer, always without a circle. Channels have positions in a topological order, which
/// is repaired when a dependency goes against it (Pearce, Kelly 2006).
pub(super) struct Layer {
    next: Vec<Vec<u32>>,
    previous: Vec<Vec<u32>>,
    position: Vec<u32>,
}

impl Layer {
    pub(super) fn new(channels: usize) -> Self {
        Self {
            next: vec![Vec::new(); channels],
            previous: vec![Vec::new(); channels],
            position: (0..channels as u32).collect(),
        }
    }

    /// Adds all of `pairs`, or none when there would be a circle.
    pub(super) fn add(&mut self, pairs: &[(u32, u32)]) -> bool {
        for (index, &(from, to)) in pairs.iter().enumerate() {
            if !self.add_one(from, to) {
                for &(from, to) in pairs[..index].iter().rev() {
                    // each was added last, unless it was known
                    if self.next[from as usize].last() == Some(&(to | FRESH)) {
                        self.next[from as usize].pop();
                        self.previous[to as usize].pop();
                    }
                }
                return false;
            }
        }
        for &(from, _) in pairs {
            for to in self.next[from as usize].iter_mut().rev().take_while(|to| **to & FRESH != 0) {
                *to &= !FRESH;
            }
        }
        true
    }

    fn add_one(&mut self, from: u32, to: u32) -> bool {
        if self.next[from as usize].iter().any(|known| known & !FRESH == to) {
            return true;
        }
        let (low, high) = (self.position[to as usize], self.position[from as usize]);
        if low <= high {
            // everything from `to` on, up to where `from` is
            let (mut ahead, mut behind) = (vec![to], vec![from]);
            let mut seen = rustc_hash::FxHashSet::default();
            seen.insert(to);
            let mut at = 0;
            while at < ahead.len() {
                for next in self.next[ahead[at] as usize].iter().map(|next| next & !FRESH) {
                    if next == from {
                        return false;
                    }
                    if self.position[next as usize] < high && seen.insert(next) {
                        ahead.push(next);
                    }
                }
                at += 1;
            }
            seen.clear();
            seen.insert(from);
            let mut at = 0;
            while at < behind.len() {
                for &previous in &self.previous[behind[at] as usize] {
                    if self.position[previous as usize] > low && seen.insert(previous) {
                        behind.push(previous);
                    }
                }
                at += 1;
            }
            let by_position =
                |list: &mut Vec<u32>, position: &[u32]| list.sort_unstable_by_key(|&c| position[c as usize]);
            by_position(&mut ahead, &self.position);
            by_position(&mut behind, &self.position);
            behind.extend(ahead);
            let mut places: Vec<u32> =
                behind.iter().map(|&channel| self.position[channel as usize]).collect();
            places.sort_unstable();
            for (channel, place) in behind.into_iter().zip(places) {
                self.position[channel as usize] = place;
            }
        }
        self.next[from as usize].push(to | FRESH);
        self.previous[to as usize].push(from);
        true
    }
}

/// Marks dependencies of the destination in hand.
const FRESH: u32 = 1 << 31;
