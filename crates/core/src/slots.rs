//! Numbered places for things that come and go.

use std::ops::{Index, IndexMut};

/// A column whose places are used again: the one that became free last first.
#[derive(Debug, Clone)]
pub struct Slots<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Puts `item` into a free place, or a new one; the number of the place.
    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.items[slot as usize] = item;
                slot
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        }
    }

    /// Frees a place. What is in it stays there until the place is used again.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Every place by number, with what is or was in it.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// The same, to change it.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Forgets all places.
    pub fn clear(&mut self) {
        self.items.clear();
        self.free.clear();
    }

    /// Whether no place is in use.
    pub fn is_empty(&self) -> bool {
        self.items.len() == self.free.len()
    }
}

impl<T> Index<u32> for Slots<T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: u32) -> &T {
        &self.items[slot as usize]
    }
}

impl<T> IndexMut<u32> for Slots<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.items[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_that_became_free_last_is_used_first() {
        let mut slots = Slots::default();
        assert_eq!([slots.insert('a'), slots.insert('b'), slots.insert('c')], [0, 1, 2]);
        slots.release(0);
        slots.release(2);
        assert_eq!(slots[0], 'a');
        assert_eq!([slots.insert('d'), slots.insert('e'), slots.insert('f')], [2, 0, 3]);
        assert_eq!([slots[0], slots[1], slots[2], slots[3]], ['e', 'b', 'd', 'f']);
        (0..4).for_each(|slot| slots.release(slot));
        assert!(slots.is_empty());
        slots.iter_mut().for_each(|item| *item = 'g');
        assert_eq!(slots.iter().collect::<String>(), "gggg");
        slots.clear();
        assert_eq!((slots.insert('h'), slots.iter().len()), (0, 1));
    }
}
