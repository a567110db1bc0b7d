//! The order of events within a slot.

/// Shares of a slot into which its events are put at first.
const SHARE_BITS: u32 = 5;
const SHARES: usize = 1 << SHARE_BITS;

/// So many events are put in order by counting for each how many come before it; bits of a number below.
const FEW: usize = 1 << FEW_BITS;
const FEW_BITS: u32 = 6;
/// That takes slots of at most 2 to this many picoseconds: their words have room for the number of an event beside its rank.
const FEW_SHIFT: u32 = 32 - FEW_BITS;

/// Of more events, so many within a share are put in order one by one,
const MANY: usize = 24;
/// more than these by comparing any two, and more than so many digit by digit: as where hosts that do the same at the same
/// time all send at one instant.
const CROWD: usize = 256;

/// An event of the present slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Present {
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
}

/// Adds an event behind all that are not later, of those from `head` on.
#[inline]
pub(super) fn insert(present: &mut Vec<Present>, head: usize, event: Present) {
    present.push(event);
    sift(&mut present[head..]);
}

/// Puts what was loaded, the newest first, in order into the empty `present`: by the upper bits of its offset in a slot of 2 to
/// `slot_shift` picoseconds, and then, as hardly anything is out of place, by all of them.
#[inline]
pub(super) fn distribute(present: &mut Vec<Present>, loaded: &mut [Present], slot_shift: u32) {
    debug_assert!(present.is_empty());
    if loaded.len() <= 3 {
        present.extend(loaded.iter().rev());
        return insert_all(present);
    }
    if loaded.len() <= FEW && slot_shift <= FEW_SHIFT {
        return match loaded.len().div_ceil(8) {
            ..2 => count::<8>(present, loaded),
            2 => count::<16>(present, loaded),
            3 => count::<24>(present, loaded),
            4 => count::<32>(present, loaded),
            5 | 6 => count::<48>(present, loaded),
            _ => count::<64>(present, loaded),
        };
    }
    // the key has the offset in its upper half
    let shift = 32 + slot_shift.saturating_sub(SHARE_BITS);
    let share_of = |event: &Present| (event.key >> shift) as usize % SHARES;
    let mut ends = [0_u32; SHARES];
    for event in &*loaded {
        ends[share_of(event)] += 1;
    }
    let most = ends.iter().copied().max().unwrap_or(0);
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum;
    }
    present.resize(sum as usize, Present::new(0, 0, 0));
    for event in &*loaded {
        let end = &mut ends[share_of(event)];
        *end -= 1;
        present[*end as usize] = *event;
    }
    if most as usize > MANY {
        // each share begins where the last of its events was put, and ends where the next one begins
        let mut end = present.len();
        for &begin in ends.iter().rev() {
            sort(&mut present[begin as usize..end], loaded);
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

/// Puts at most `N` events, the newest first, in order into the empty `present`: the place of each is the number of those that
/// come before it. No branch depends on their dates, which nobody can foresee, and any two are compared several at a time.
#[inline]
fn count<const N: usize>(present: &mut Vec<Present>, loaded: &[Present]) {
    const { assert!(N <= FEW, "numbers have so many bits") };
    // words without equals, of which the lowest come first: of equal events, the oldest. What is not there comes last
    let mut words = [u64::MAX; N];
    for ((number, word), event) in (0..).zip(&mut words).zip(loaded) {
        *word = event.key << FEW_BITS | (FEW as u64 - 1 - number);
    }
    let mut places = [0_u64; N];

    for other in words {
        for (place, &word) in places.iter_mut().zip(&words) {
            *place += u64::from(other < word);
        }
    }
    present.resize(loaded.len(), Present::new(0, 0, 0));
    for (event, &place) in loaded.iter().zip(&places) {
        present[place as usize] = *event;
    }
}

/// Puts events in order; those that are equal stay as they are. What is in `scratch`, which is as long, is lost.
fn sort(events: &mut [Present], scratch: &mut [Present]) {
    if events.len() > CROWD {
        sort_digits(events, scratch);
    } else if events.len() > MANY {
        events.sort_by_key(|event| event.key);
    } else {
        insert_all(events);
    }
}

/// The same one by one.
fn insert_all(events: &mut [Present]) {
    for end in 1..=events.len() {
        sift(&mut events[..end]);
    }
}

/// The same by one digit of the key after the other, the lowest first, as far as keys differ in them.
fn sort_digits(events: &mut [Present], scratch: &mut [Present]) {
    const BITS: u32 = 8;
    let (all, any) =
        events.iter().fold((u64::MAX, 0), |(all, any), event| (all & event.key, any | event.key));
    let mut differing = all ^ any;
    let count = events.len();
    let (mut from, mut to) = (events, &mut scratch[..count]);
    let mut is_in_scratch = false;
    while differing != 0 {
        let shift = differing.trailing_zeros();
        let digit = |event: &Present| (event.key >> shift) as usize % (1 << BITS);
        let mut begins = [0_u32; 1 << BITS];
        from.iter().for_each(|event| begins[digit(event)] += 1);
        let mut sum = 0;
        for begin in &mut begins {
            sum += std::mem::replace(begin, sum);
        }
        for event in &*from {
            let place = &mut begins[digit(event)];
            to[*place as usize] = *event;
            *place += 1;
        }
        (from, to) = (to, from);
        is_in_scratch = !is_in_scratch;
        differing &= u64::MAX.checked_shl(shift + BITS).unwrap_or(0);
    }
    if is_in_scratch {
        to.copy_from_slice(from);
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

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;

    use super::*;

    #[test]
    fn events_are_in_order_however_many_there_are() {
        let mut draws = Draws::new(3);
        for count in [0, 1, 7, 8, 9, 17, 20, 32, 33, 200, 257, 3000] {
            // all at one instant, at few, and at many
            for bits in [0, 1, 5, 27, 31] {
                let event =
                    |item| Present::new(draws.bits() as u32 & ((1 << bits) - 1), draws.below(1 << 14), item);
                let mut events: Vec<Present> = (0..count).map(event).collect();
                let mut expected = events.clone();
                expected.sort_by_key(|event| event.key);
                let mut present = Vec::new();
                events.reverse();
                distribute(&mut present, &mut events, bits);
                let words = |events: &[Present]| -> Vec<_> {
                    events.iter().map(|event| (event.key, event.item)).collect()
                };
                assert_eq!(words(&present), words(&expected), "{count} events, {bits} bits");
            }
        }
    }
}
