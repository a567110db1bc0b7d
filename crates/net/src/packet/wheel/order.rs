//! The order of events within a slot.

/// Shares of a slot into which its events are put at first.
const SHARE_BITS: u32 = 5;
const SHARES: usize = 1 << SHARE_BITS;

/// So few events are put in order one by one,
const FEW: usize = 8;
/// and more than so many by sorting.
const MANY: usize = 24;

/// An event of the present slot.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Present {
    /// Picoseconds since the slot began, and the rank in the lower half: what the order is by, in one word.
    key: u64,
    pub(super) item: u32,
}

impl Present {
    #[inline]
    pub(super) const fn new(offset: u32, rank: u32, item: u32) -> Self {
        Self { key: (offset as u64) << 32 | rank as u64, item }
    }

    /// Picoseconds since the slot began.
    #[inline]
    pub(super) const fn offset(self) -> u64 {
        self.key >> 32
    }

    /// Its rank and its item.
    #[inline]
    pub(in super::super) const fn rank_and_item(self) -> (u32, u32) {
        (self.key as u32, self.item)
    }
}

/// Adds an event behind all that are not later, of those from `head` on.
#[inline]
pub(super) fn insert(present: &mut Vec<Present>, head: usize, event: Present) {
    present.push(event);
    sift(&mut present[head..]);
}

/// Puts what was loaded, the newest first, in order behind what is there: by the upper bits of its offset in a slot of 2 to
/// `slot_shift` picoseconds, and then, as hardly anything is out of place, by all of them.
#[inline]
pub(super) fn distribute(present: &mut Vec<Present>, loaded: &[Present], slot_shift: u32) {
    let begin = present.len();
    if loaded.len() <= FEW {
        present.extend(loaded.iter().rev());
        return sort(present);
    }
    // the key has the offset in its upper half
    let shift = 32 + slot_shift.saturating_sub(SHARE_BITS);
    let share_of = |event: &Present| (event.key >> shift) as usize % SHARES;
    let mut ends = [0_u32; SHARES];
    for event in loaded {
        ends[share_of(event)] += 1;
    }
    let most = ends.iter().copied().max().unwrap_or(0);
    let mut sum = begin as u32;
    for end in &mut ends {
        sum += *end;
        *end = sum;
    }
    present.resize(sum as usize, Present::new(0, 0, 0));
    for event in loaded {
        let end = &mut ends[share_of(event)];
        *end -= 1;
        present[*end as usize] = *event;
    }
    if begin > 0 {
        return sort(present);
    }
    if most as usize > MANY {
        // each share begins where the last of its events was put, and ends where the next one begins
        let mut end = present.len();
        for &begin in ends.iter().rev() {
            sort(&mut present[begin as usize..end]);
            end = begin as usize;
        }
        return;
    }
    let mut greatest = 0;
    for at in 0..present.len() {
        let key = present[at].key;
        if key < greatest {
            sift(&mut present[..=at]);
        } else {
            greatest = key;
        }
    }
}

/// Puts events in order; those that are equal stay as they are.
fn sort(events: &mut [Present]) {
    if events.len() > MANY {
        return events.sort_by_key(|event| event.key);
    }
    for end in 1..=events.len() {
        sift(&mut events[..end]);
    }
}

/// Moves the last event before those that come after it; the others are in order.
#[inline]
fn sift(events: &mut [Present]) {
    let Some(mut at) = events.len().checked_sub(1) else { return };
    let entry = events[at];
    while at > 0 && events[at - 1].key > entry.key {
        events[at] = events[at - 1];
        at -= 1;
    }
    events[at] = entry;
}
