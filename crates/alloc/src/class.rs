//! Size classes of small blocks: four to each doubling, so that rounding up costs at most a fifth.

/// Alignment of every block, and the smallest class.
const SMALLEST_BYTES: u64 = 64;

/// The largest block that is cut from a slab; larger ones are pages.
pub const LARGEST_SMALL_BYTES: u64 = 7168;

/// Number of classes: 64, 128, 192, 256, then four to each doubling up to [`LARGEST_SMALL_BYTES`].
pub const CLASSES: usize = 23;

/// The class of the smallest blocks that hold `bytes`; `None` when they are not small.
pub fn class_of(bytes: u64) -> Option<usize> {
    if bytes > LARGEST_SMALL_BYTES {
        return None;
    }
    let units = bytes.div_ceil(SMALLEST_BYTES).max(1);
    if units <= 4 {
        return Some(units as usize - 1);
    }
    // units in (2^k, 2^(k+1)], in quarters of 2^k
    let doubling = 63 - (units - 1).leading_zeros();
    let quarter = (units - (1 << doubling)).div_ceil(1 << (doubling - 2));
    Some((4 * (doubling as usize - 1) - 1) + quarter as usize)
}

/// Bytes of the blocks of `class`, a multiple of 64.
///
/// # Panics
/// When there is no such class.
pub fn class_bytes(class: usize) -> u64 {
    assert!(class < CLASSES, "there are {CLASSES} classes, not {class}");
    if class < 4 {
        return SMALLEST_BYTES * (class as u64 + 1);
    }
    let (doubling, quarter) = (class / 4 + 1, class as u64 % 4 + 1);
    SMALLEST_BYTES * ((1 << doubling) + (quarter << (doubling - 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_gets_the_smallest_class_that_holds_it() {
        assert_eq!(class_bytes(CLASSES - 1), LARGEST_SMALL_BYTES);
        for bytes in 0..=LARGEST_SMALL_BYTES {
            let smallest = (0..CLASSES).find(|&class| class_bytes(class) >= bytes);
            assert_eq!(class_of(bytes), smallest, "{bytes} B");
        }
        assert_eq!(class_of(LARGEST_SMALL_BYTES + 1), None);
    }

    #[test]
    fn rounding_up_wastes_at_most_a_fifth_of_a_block_beyond_the_smallest() {
        for bytes in 257..=LARGEST_SMALL_BYTES {
            let class = class_bytes(class_of(bytes).expect("small"));
            assert!((class - bytes) * 5 < class, "{bytes} B in {class} B");
        }
    }
}
