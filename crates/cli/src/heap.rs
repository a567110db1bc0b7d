//! The heap of the command: large pages, and an end in one line where the system has no more memory.
//!
//! A short run spends a third of its time on the first touch of its memory, 4 KiB at a time. Where the
//! system has transparent huge pages, asking for them saves half of that.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Cursor, Write as _};

/// Exit code where memory runs out: that of a run that failed.
const EXHAUSTED: i32 = 3;

/// The system's heap. Where it has nothing left the command says so and ends; the files that it has finished stay.
pub struct Heap;

#[expect(
    unsafe_code,
    reason = "every call is the system's, which keeps the promises; only a refusal is looked at"
)]
// SAFETY: what the system's heap returns is passed on, and a null pointer ends the process.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the system asks for
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above
        given(unsafe { System.realloc(block, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above
        unsafe { System.dealloc(block, layout) }
    }
}

/// The block that was asked for.
#[inline(always)]
fn given(block: *mut u8, bytes: usize) -> *mut u8 {
    if block.is_null() {
        exhausted(bytes)
    }
    block
}

/// The end, without another allocation.
#[cold]
fn exhausted(bytes: usize) -> ! {
    let mut text = [0; 320];
    let mut line = Cursor::new(&mut text[..]);
    // what does not fit is cut
    let _ = writeln!(
        line,
        "  × out of memory: the system refuses another {} MiB; give it more, or simulate a smaller machine or \
         fewer messages. Files that were finished are there.",
        bytes.div_ceil(1 << 20)
    );
    let end = line.position() as usize;
    let _ = std::io::stderr().write_all(&text[..end]);
    leave()
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "one call of the C library, which never returns")]
fn leave() -> ! {
    // SAFETY: nothing runs after it, not even what would have to allocate
    unsafe { libc::_exit(EXHAUSTED) }
}

#[cfg(not(unix))]
fn leave() -> ! {
    std::process::exit(EXHAUSTED)
}

/// Makes the heap grow in one piece and asks for large pages behind it. Does nothing where the system
/// or its C library has no such calls; nothing depends on it but speed.
pub fn prefer_large_pages() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    linux();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "three calls of the C library that only tune it; no memory is touched")]
fn linux() {
    /// Address space that is asked for; memory is taken only where it is used.
    const RESERVED: i32 = 256 << 20;
    const PAGE: usize = 2 << 20;
    // SAFETY: `mallopt` sets tunables of malloc. `sbrk(0)` reads where the heap ends. `madvise` gets a
    // range of whole pages within what the allocation in between added to the heap, and only advises.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, RESERVED);
        libc::mallopt(libc::M_MMAP_THRESHOLD, RESERVED);
        libc::mallopt(libc::M_TRIM_THRESHOLD, RESERVED);
        let start = libc::sbrk(0).addr();
        drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 20)));
        let end = libc::sbrk(0);
        let length = end.addr().saturating_sub(start.next_multiple_of(PAGE)) / PAGE * PAGE;
        if length > 0 {
            let first = end.with_addr(start.next_multiple_of(PAGE));
            libc::madvise(first, length, libc::MADV_HUGEPAGE);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn memory_is_as_good_as_before() {
        super::prefer_large_pages();
        let blocks: Vec<Vec<u8>> = (0..64).map(|index| vec![index; 300_000]).collect();
        assert!(
            blocks.iter().enumerate().all(|(index, block)| block.iter().all(|&byte| byte == index as u8))
        );
    }
}
