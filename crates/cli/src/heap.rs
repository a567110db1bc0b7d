//! Large pages for the heap of the command.
//!
//! A short run spends a third of its time on the first touch of its memory, 4 KiB at a time. Where the
//! system has transparent huge pages, asking for them saves half of that.

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
