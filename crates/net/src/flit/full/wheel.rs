//! What is on its way and arrives in a known cycle.

/// Slots that the cycles go around; more would not fit in the caches, fewer would visit items too early.
const LARGEST: u64 = 4096;

/// Items by the cycle in which they arrive. Those that are farther away than one turn stay in their slot
/// until it is their turn.
#[derive(Debug)]
pub(super) struct Wheel<T> {
    slots: Vec<Vec<(u64, T)>>,
    mask: u64,
    len: u64,
}

impl<T: Copy> Wheel<T> {
    /// A wheel for items that arrive up to `longest` cycles after they were put in.
    pub(super) fn new(longest: u64) -> Self {
        let size = longest.saturating_add(2).next_power_of_two().min(LARGEST);
        Self { slots: vec![Vec::new(); size as usize], mask: size - 1, len: 0 }
    }

    /// Items on their way.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    pub(super) fn insert(&mut self, cycle: u64, item: T) {
        self.slots[(cycle & self.mask) as usize].push((cycle, item));
        self.len += 1;
    }

    /// Hands over what arrives in `cycle`; none of it may be due earlier.
    #[inline]
    pub(super) fn arrive(&mut self, cycle: u64, mut take: impl FnMut(T)) {
        let slot = &mut self.slots[(cycle & self.mask) as usize];
        let before = slot.len();
        slot.retain(|&(due, item)| {
            if due == cycle {
                take(item);
            }
            due != cycle
        });
        self.len -= (before - slot.len()) as u64;
    }

    /// The first cycle, from `now` on, in which something arrives.
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        let turn = (now..=now + self.mask)
            .find(|&cycle| self.slots[(cycle & self.mask) as usize].iter().any(|&(due, _)| due == cycle));
        turn.or_else(|| self.slots.iter().flatten().map(|&(due, _)| due).min())
    }

    /// All items, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten().map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_arrive_in_their_cycle_also_many_turns_later() {
        let mut wheel = Wheel::new(5);
        for cycle in [3, 3, 7, 100, 8] {
            wheel.insert(cycle, cycle);
        }
        let mut now = 0;
        let mut seen = Vec::new();
        while let Some(next) = wheel.next(now) {
            assert!(next >= now);
            wheel.arrive(next, |item| {
                assert_eq!(item, next);
                seen.push(item);
            });
            now = next + 1;
        }
        assert_eq!(seen, [3, 3, 7, 8, 100]);
        assert_eq!((wheel.len(), wheel.iter().count()), (0, 0));
    }
}
