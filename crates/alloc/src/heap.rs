//! Blocks of any size in one memory.

use crate::backing::Backing;
use crate::class::{CLASSES, LARGEST_SMALL_BYTES, class_bytes, class_of};
use crate::error::AllocError;
use crate::pages::{PAGE_BYTES, PAGES_PER_SEGMENT, Pages, SEGMENT_BYTES};
use crate::slabs::Slabs;

/// An allocator over one memory: small blocks from slabs, others as runs of pages.
///
/// Blocks up to [`LARGEST_SMALL_BYTES`] are aligned to 64 bytes, larger ones to a page, those of a segment and more to a
/// segment. A block of 0 bytes is one of 64. When no segment is left for a slab, a small block gets a page of its own.
#[derive(Debug, Clone)]
pub struct Heap<B> {
    pages: Pages,
    slabs: Slabs,
    memory: B,
    /// Bytes of blocks in use, as they were given.
    in_use_bytes: u64,
    peak_bytes: u64,
    blocks: u64,
    allocations: u64,
    frees: u64,
    failures: u64,
}

/// What a memory looks like.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Bytes that can be allocated in all.
    pub capacity_bytes: u64,
    /// Bytes of the blocks in use; what was asked for, rounded up to classes and pages.
    pub in_use_bytes: u64,
    /// Most bytes that were in use at a time.
    pub peak_bytes: u64,
    /// Bytes of slabs that are in no block: reserved for small blocks.
    pub slab_idle_bytes: u64,
    /// Bytes of free pages.
    pub free_bytes: u64,
    /// The largest block that could be allocated now.
    pub largest_free_bytes: u64,
    /// Blocks in use.
    pub blocks: u64,
    /// Allocations that succeeded.
    pub allocations: u64,
    /// Frees that succeeded.
    pub frees: u64,
    /// Operations that were refused.
    pub failures: u64,
    /// Classes of small blocks with a slab.
    pub classes: Vec<ClassStatistics>,
}

impl Statistics {
    /// Share of the free pages that the largest block cannot reach, 0 to 1; 0 when nothing is free.
    pub fn fragmentation(&self) -> f64 {
        match self.free_bytes {
            0 => 0.0,
            free => 1.0 - self.largest_free_bytes as f64 / free as f64,
        }
    }
}

/// Blocks of one size class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassStatistics {
    /// Bytes of each block.
    pub block_bytes: u64,
    /// Blocks in use.
    pub blocks: u64,
    /// Slabs, of one segment each.
    pub slabs: u64,
}

impl<B: Backing> Heap<B> {
    /// An allocator of as many whole pages as `capacity_bytes` holds; `memory` must have words up to there.
    ///
    /// # Errors
    /// [`AllocError::TooLarge`].
    pub fn new(capacity_bytes: u64, memory: B) -> Result<Self, AllocError> {
        Ok(Self {
            pages: Pages::new(capacity_bytes)?,
            slabs: Slabs::new(),
            memory,
            in_use_bytes: 0,
            peak_bytes: 0,
            blocks: 0,
            allocations: 0,
            frees: 0,
            failures: 0,
        })
    }

    /// The memory behind.
    pub const fn memory(&self) -> &B {
        &self.memory
    }

    /// The memory behind, to write into blocks in use.
    pub const fn memory_mut(&mut self) -> &mut B {
        &mut self.memory
    }

    /// The memory behind, when the allocator is no longer needed.
    pub fn into_memory(self) -> B {
        self.memory
    }

    /// Bytes that can be allocated in all.
    pub const fn capacity_bytes(&self) -> u64 {
        self.pages.capacity_bytes()
    }

    /// Takes a block of at least `bytes`; its offset.
    ///
    /// # Errors
    /// [`AllocError::OutOfMemory`]; [`AllocError::Corrupted`] when someone wrote into a free block.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, AllocError> {
        let taken = match class_of(bytes) {
            Some(class) => self.allocate_small(class),
            None => Ok(self.allocate_pages(bytes.div_ceil(PAGE_BYTES))),
        };
        match taken {
            Ok(Some((offset, given))) => {
                self.in_use_bytes += given;
                self.peak_bytes = self.peak_bytes.max(self.in_use_bytes);
                self.blocks += 1;
                self.allocations += 1;
                Ok(offset)
            }
            Ok(None) => {
                self.failures += 1;
                let free_bytes = self.pages.free_bytes();
                let largest_bytes = self.pages.largest_bytes();
                Err(AllocError::OutOfMemory { requested_bytes: bytes, free_bytes, largest_bytes })
            }
            Err(error) => {
                self.failures += 1;
                Err(error)
            }
        }
    }

    /// Gives the block at `offset_bytes` back; what is free around it is one run at once.
    ///
    /// # Errors
    /// When no block in use starts there: [`AllocError::DoubleFree`], [`AllocError::Misaligned`],
    /// [`AllocError::OutsideMemory`]; [`AllocError::Corrupted`] when someone wrote into a free block.
    pub fn free(&mut self, offset_bytes: u64) -> Result<(), AllocError> {
        match self.try_free(offset_bytes) {
            Ok(given) => {
                self.in_use_bytes -= given;
                self.blocks -= 1;
                self.frees += 1;
                Ok(())
            }
            Err(error) => {
                self.failures += 1;
                Err(error)
            }
        }
    }

    /// Bytes of the block in use that starts at `offset_bytes`: what was asked for, rounded up.
    ///
    /// # Errors
    /// As [`Self::free`].
    pub fn block_bytes(&self, offset_bytes: u64) -> Result<u64, AllocError> {
        self.check_inside(offset_bytes)?;
        if self.slabs.contains((offset_bytes / SEGMENT_BYTES) as u32) {
            return self.slabs.block_bytes(offset_bytes, &self.memory);
        }
        Ok(self.pages.run_at(self.page(offset_bytes)?)? * PAGE_BYTES)
    }

    /// Another capacity.
    ///
    /// # Errors
    /// [`AllocError::TooLarge`], or [`AllocError::OutsideMemory`] with the end of the last block when that would be cut.
    pub fn resize(&mut self, capacity_bytes: u64) -> Result<(), AllocError> {
        self.pages.resize(capacity_bytes)
    }

    /// What the memory looks like.
    pub fn statistics(&self) -> Statistics {
        let classes = (0..CLASSES).map(|class| {
            let (slabs, blocks) = self.slabs.count(class);
            ClassStatistics { block_bytes: class_bytes(class), blocks, slabs }
        });
        Statistics {
            capacity_bytes: self.pages.capacity_bytes(),
            in_use_bytes: self.in_use_bytes,
            peak_bytes: self.peak_bytes,
            slab_idle_bytes: self.slabs.idle_bytes(),
            free_bytes: self.pages.free_bytes(),
            largest_free_bytes: self.pages.largest_bytes(),
            blocks: self.blocks,
            allocations: self.allocations,
            frees: self.frees,
            failures: self.failures,
            classes: classes.filter(|class| class.slabs > 0).collect(),
        }
    }

    fn allocate_pages(&mut self, count: u64) -> Option<(u64, u64)> {
        let first = self.pages.allocate(count)?;
        Some((first * PAGE_BYTES, count * PAGE_BYTES))
    }

    fn allocate_small(&mut self, class: usize) -> Result<Option<(u64, u64)>, AllocError> {
        if let Some(offset) = self.slabs.allocate(class, &mut self.memory)? {
            return Ok(Some((offset, class_bytes(class))));
        }
        let Some(first) = self.pages.allocate(u64::from(PAGES_PER_SEGMENT)) else {
            return Ok(self.allocate_pages(LARGEST_SMALL_BYTES.div_ceil(PAGE_BYTES)));
        };
        self.slabs.add((first / u64::from(PAGES_PER_SEGMENT)) as u32, class);
        let offset = self.slabs.allocate(class, &mut self.memory)?;
        Ok(offset.map(|offset| (offset, class_bytes(class))))
    }

    fn try_free(&mut self, offset: u64) -> Result<u64, AllocError> {
        self.check_inside(offset)?;
        let segment = offset / SEGMENT_BYTES;
        if !self.slabs.contains(segment as u32) {
            let page = self.page(offset)?;
            return Ok(self.pages.free(page)? * PAGE_BYTES);
        }
        let (class, empty) = self.slabs.free(offset, &mut self.memory)?;
        if empty {
            self.pages.free(segment * u64::from(PAGES_PER_SEGMENT))?;
        }
        Ok(class_bytes(class))
    }

    const fn check_inside(&self, offset_bytes: u64) -> Result<(), AllocError> {
        let capacity_bytes = self.pages.capacity_bytes();
        if offset_bytes < capacity_bytes {
            return Ok(());
        }
        Err(AllocError::OutsideMemory { offset_bytes, capacity_bytes })
    }

    /// The page that starts at `offset_bytes`, which is inside.
    fn page(&self, offset_bytes: u64) -> Result<u64, AllocError> {
        let page = offset_bytes / PAGE_BYTES;
        if offset_bytes.is_multiple_of(PAGE_BYTES) {
            return Ok(page);
        }
        match self.pages.start_of(page) {
            None => Err(AllocError::DoubleFree { offset_bytes }),
            Some(start) => Err(AllocError::Misaligned { offset_bytes, start_bytes: start * PAGE_BYTES }),
        }
    }
}
