//! Large pages for large arrays, and memory asked for early.
//!
//! A state of some megabytes in pages of 4 KiB needs more translations than a core keeps, and each access
//! waits for one: up to a third of the time of a model that goes through its state in no order. Where the
//! system has transparent huge pages, it is enough to ask before the memory is first touched.

/// Arrays of fewer bytes are left alone: their pages fit in the tables of a core.
const LEAST_BYTES: usize = 1 << 20;

/// An empty vector with room for `capacity` items, in huge pages where it is large and the system has them.
/// Fill it at once: pages are made by the first touch.
///
/// # Panics
/// As `Vec::with_capacity`.
pub fn large_vec<T>(capacity: usize) -> Vec<T> {
    let vec = Vec::with_capacity(capacity);
    prefer_huge_pages(&vec);
    vec
}

/// Asks for huge pages behind all of `vec`'s capacity, and behind what shares its first and its last page;
/// what has been touched stays where it is. Does nothing to small vectors, and nothing where the system has
/// no such call; nothing depends on it but speed.
pub fn prefer_huge_pages<T>(vec: &Vec<T>) {
    let bytes = vec.capacity() * size_of::<T>();
    if bytes >= LEAST_BYTES {
        advise(vec.as_ptr().cast(), bytes);
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "one call of the C library that only advises; no memory is touched")]
fn advise(start: *const u8, bytes: usize) {
    /// Of the processors that matter; elsewhere the advice is for other ranges, and as harmless.
    const HUGE_PAGE: usize = 2 << 20;
    // An array starts anywhere, and a page of two megabytes is made whole or not at all.
    let first = start.addr() / HUGE_PAGE * HUGE_PAGE;
    let end = (start.addr() + bytes).next_multiple_of(HUGE_PAGE);
    // SAFETY: this advice changes what pages look like, never what is in them, and ranges that are not
    // mapped are refused. The result does not matter.
    unsafe {
        libc::madvise(start.with_addr(first).cast_mut().cast(), end - first, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *const u8, _: usize) {}

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// Asks for the cache line in which `item` begins, without waiting for it: a loop that knows what it will need soon has many
/// of them fetched at the same time. Nothing depends on it but speed; other processors than x86-64 do without.
#[inline(always)]
#[allow(clippy::inline_always, reason = "one instruction")]
pub fn prefetch<T>(item: &T) {
    prefetch_part(item, 0);
}

/// The same for the item of a list that has this number, or would have it.
#[inline(always)]
#[allow(clippy::inline_always, reason = "one instruction")]
pub fn prefetch_at<T>(list: &[T], index: usize) {
    prefetch_address(list.as_ptr().addr().wrapping_add(index.wrapping_mul(size_of::<T>())));
}

/// The same for all of `item`, a line's length after the other from its beginning on.
#[inline(always)]
#[allow(clippy::inline_always, reason = "some instructions")]
pub fn prefetch_all<T>(item: &T) {
    for offset_bytes in (0..size_of::<T>()).step_by(LINE_BYTES) {
        prefetch_part(item, offset_bytes);
    }
}

/// The same for the line that lies `offset_bytes` behind the beginning of `item`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "one instruction")]
pub fn prefetch_part<T>(item: &T, offset_bytes: usize) {
    prefetch_address(std::ptr::from_ref(item).addr().wrapping_add(offset_bytes));
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "one instruction")]
fn prefetch_address(address: usize) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "one instruction that reads nothing and never faults")]
    // SAFETY: a hint about an address; every address is allowed.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Memory that is asked for some lines at a time, while something else is at work.
#[derive(Debug, Clone, Copy, Default)]
pub struct Approach {
    at: usize,
    end: usize,
}

impl Approach {
    /// The first `bytes` behind the beginning of `item`.
    pub fn new<T: ?Sized>(item: &T, bytes: usize) -> Self {
        let at = std::ptr::from_ref(item).addr();
        Self { at, end: at + bytes }
    }

    /// Lines that are left.
    pub fn lines(self) -> usize {
        self.end.saturating_sub(self.at).div_ceil(LINE_BYTES)
    }

    /// Whether none is left.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one instruction")]
    pub fn is_over(self) -> bool {
        self.at >= self.end
    }

    /// Asks for the next `pairs` of lines, as far as there are some; the last line may be one behind the end.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "some instructions")]
    pub fn go_on(&mut self, pairs: usize) {
        let end = self.end.min(self.at + pairs * (2 * LINE_BYTES));
        while self.at < end {
            prefetch_address(self.at);
            prefetch_address(self.at.wrapping_add(LINE_BYTES));
            self.at += 2 * LINE_BYTES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_vector_holds_what_is_put_in() {
        for len in [0, 1, 1000, 3 << 20] {
            let mut vec = large_vec(len);
            vec.resize(len, 0x1234_5678_u32);
            assert!(vec.len() == len && vec.iter().all(|&item| item == 0x1234_5678));
        }
        let mut vec = large_vec(1 << 20);
        vec.extend(0..1_u64 << 20);
        assert!((0..).zip(&vec).all(|(index, &item): (u64, _)| item == index));
        let mut vec = large_vec(7);
        vec.resize(7, ());
        assert_eq!(vec.len(), 7);
    }

    #[test]
    fn what_is_asked_for_stays_as_it_is() {
        let items = vec![[7_u64; 40]; 9];
        items.iter().for_each(prefetch_all);
        items.iter().for_each(prefetch);
        prefetch_part(&items[8], 1 << 40);
        prefetch_all(&());
        assert!(items.iter().flatten().all(|&item| item == 7));
    }

    #[test]
    fn an_approach_ends_behind_the_last_line() {
        let items = [7_u8; 1000];
        let mut approach = Approach::new(&items, size_of_val(&items));
        let mut lines = Vec::new();
        while !approach.is_over() {
            lines.push(approach.lines());
            approach.go_on(3);
        }
        assert_eq!(lines, [16, 10, 4]);
        assert!(Approach::default().is_over() && Approach::new(&items, 0).is_over());
    }

    /// The flags of the mapping that holds an address, from the system's own account.
    #[cfg(target_os = "linux")]
    fn flags(address: usize) -> Option<String> {
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let mut inside = false;
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let hex = |text: &str| usize::from_str_radix(text, 16).ok();
            if let Some((start, end)) = range.and_then(|(start, end)| Some((hex(start)?, hex(end)?))) {
                inside = (start..end).contains(&address);
            } else if inside && let Some(flags) = line.strip_prefix("VmFlags:") {
                return Some(flags.to_owned());
            }
        }
        None
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_has_taken_the_advice() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
            return;
        }
        // from a thread as well, whose memory comes from another place
        let check = || {
            let vec: Vec<u64> = large_vec(1 << 20);
            for at in [0, (1 << 19), (1 << 20) - 1] {
                let address = vec.as_ptr().wrapping_add(at).addr();
                let Some(flags) = flags(address) else { return };
                assert!(flags.split(' ').any(|flag| flag == "hg"), "{flags}");
            }
        };
        check();
        std::thread::spawn(check).join().expect("the same there");
    }
}
