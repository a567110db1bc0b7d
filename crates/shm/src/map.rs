//! A file in /dev/shm, mapped.
#![allow(unsafe_code, reason = "mapping memory and making names of files is done by system calls")]

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use stratasim_alloc::Backing;

use crate::control::Control;
use crate::error::ShmError;
use crate::view::View;

/// Where shared memory has names.
pub(crate) const FOLDER: &str = "/dev/shm";

/// Memory that other processes see as well. It stays mapped until this is dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    at: *mut u8,
    length: usize,
    file: Arc<File>,
}

// SAFETY: a plain range of memory; who may touch which part when is the business of the schedules.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// New memory without a name, all zero, reserved: there will be no shortage when it is touched.
    pub(crate) fn create(length: usize) -> Result<Self, ShmError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC);
        let file = options.open(FOLDER).map_err(|error| ShmError::system(FOLDER, error))?;
        // SAFETY: a call on our own open file.
        let refused = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length as libc::off_t) };
        if refused != 0 {
            let error = std::io::Error::from_raw_os_error(refused);
            return Err(ShmError::system(format!("{FOLDER}: reserving {length} B"), error));
        }
        Self::map(&Arc::new(file), length)
    }

    /// The memory behind a file.
    pub(crate) fn map(file: &Arc<File>, length: usize) -> Result<Self, ShmError> {
        // SAFETY: a fresh mapping at a place that the system chooses.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return Err(ShmError::last(format!("mapping {length} B of shared memory")));
        }
        Ok(Self { at: at.cast(), length, file: file.clone() })
    }

    /// The file behind.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    pub(crate) const fn length(&self) -> usize {
        self.length
    }

    /// The control block, with which the memory begins.
    pub(crate) fn control(&self) -> &Control {
        assert!(self.length >= size_of::<Control>(), "no control block in {} bytes", self.length);
        // SAFETY: mapped, large enough, aligned to a page; the block consists of atomics, for which all bits are fine.
        unsafe { &*self.at.cast::<Control>() }
    }

    /// `length` bytes from `offset` on.
    pub(crate) fn view(&self, offset: usize, length: usize) -> View {
        assert!(offset <= self.length && length <= self.length - offset, "{length} B at {offset}");
        // SAFETY: inside of the mapping, which the group keeps as long as views of it are used.
        unsafe { View::new(self.at.add(offset), length) }
    }

    /// Where `address` lies in the mapping.
    pub(crate) fn offset_of(&self, address: usize) -> Option<usize> {
        address.checked_sub(self.at.addr()).filter(|offset| *offset < self.length)
    }

    /// A pointer to `length` bytes from `offset` on, for arrays of the caller.
    pub(crate) fn pointer(&self, offset: usize, length: usize) -> *mut u8 {
        assert!(offset <= self.length && length <= self.length - offset, "{length} B at {offset}");
        // SAFETY: inside of the mapping.
        unsafe { self.at.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by us, and nothing that borrows from it is left.
        unsafe {
            libc::munmap(self.at.cast(), self.length);
        }
    }
}

/// Gives a file that has no name one; an error of kind `AlreadyExists` when the name is taken.
pub(crate) fn name_file(file: &File, path: &Path) -> std::io::Result<()> {
    let text = |path: &Path| CString::new(path.as_os_str().as_encoded_bytes()).map_err(std::io::Error::other);
    let (from, to) = (text(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))?, text(path)?);
    // SAFETY: both texts end with 0 and live during the call.
    let done = unsafe {
        libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW)
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The user of this process, for names.
pub(crate) fn user() -> u32 {
    // SAFETY: cannot fail and touches nothing.
    unsafe { libc::getuid() }
}

/// A Local segment, as the allocator sees it.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) mapping: Arc<Mapping>,
    pub(crate) offset: usize,
}

impl Segment {
    fn word(&self, offset_bytes: u64) -> *mut u64 {
        assert!(offset_bytes.is_multiple_of(8), "words are aligned");
        self.mapping.pointer(self.offset + offset_bytes as usize, 8).cast()
    }
}

impl Backing for Segment {
    fn load(&self, offset_bytes: u64) -> u64 {
        // SAFETY: inside of the mapping and aligned; free blocks are touched by their owner's allocator only.
        unsafe { self.word(offset_bytes).read() }
    }

    fn store(&mut self, offset_bytes: u64, value: u64) {
        // SAFETY: as above.
        unsafe { self.word(offset_bytes).write(value) }
    }
}
