//! Slabs: segments cut into blocks of one size class, with the free ones linked through themselves.

use crate::backing::Backing;
use crate::class::{CLASSES, class_bytes};
use crate::error::AllocError;
use crate::pages::SEGMENT_BYTES;

/// No slab, no block.
const NONE: u32 = u32::MAX;

/// In the second word of every free block, mixed with its offset: says that the block may be free. Only a walk along
/// the list makes sure, as a user's data may happen to look like it.
const FREE_MARK: u64 = 0x9E6C_63D0_876A_3F6B;

/// What is known of a slab. It is kept outside of the slab, so that writing past a block cannot break it.
#[derive(Debug, Clone, Copy)]
struct Slab {
    /// Neighbours in the list of slabs of this class that have a free block.
    next: u32,
    previous: u32,
    /// The first block of the list of free blocks.
    head: u32,
    /// Blocks that were given out at least once; those behind have never been touched.
    carved: u32,
    /// Blocks in use.
    used: u32,
    class: u8,
}

/// The slabs of one memory.
#[derive(Debug, Clone)]
pub(crate) struct Slabs {
    /// By segment, as far as slabs have reached; `None` where the segment is no slab.
    slabs: Vec<Option<Slab>>,
    /// Of each class, the first slab that has a free block.
    partial: [u32; CLASSES],
    /// Of each class, slabs and blocks in use.
    counts: [(u64, u64); CLASSES],
}

impl Slabs {
    pub(crate) const fn new() -> Self {
        Self { slabs: Vec::new(), partial: [NONE; CLASSES], counts: [(0, 0); CLASSES] }
    }

    /// Whether `segment` is a slab.
    pub(crate) fn contains(&self, segment: u32) -> bool {
        self.slabs.get(segment as usize).is_some_and(Option::is_some)
    }

    /// Slabs and blocks in use of `class`.
    pub(crate) const fn count(&self, class: usize) -> (u64, u64) {
        self.counts[class]
    }

    /// Bytes of slabs that are in no block in use.
    pub(crate) fn idle_bytes(&self) -> u64 {
        (0..CLASSES)
            .map(|class| self.counts[class].0 * SEGMENT_BYTES - self.counts[class].1 * class_bytes(class))
            .sum()
    }

    /// Makes `segment` a slab of `class`.
    pub(crate) fn add(&mut self, segment: u32, class: usize) {
        if self.slabs.len() <= segment as usize {
            self.slabs.resize(segment as usize + 1, None);
        }
        let slab = Slab { next: NONE, previous: NONE, head: NONE, carved: 0, used: 0, class: class as u8 };
        self.slabs[segment as usize] = Some(slab);
        self.counts[class].0 += 1;
        self.link(segment);
    }

    /// The offset of a free block of `class`, now in use; `None` when all slabs are full.
    ///
    /// # Errors
    /// [`AllocError::Corrupted`] when someone wrote into a free block.
    pub(crate) fn allocate(
        &mut self,
        class: usize,
        memory: &mut impl Backing,
    ) -> Result<Option<u64>, AllocError> {
        let segment = self.partial[class];
        if segment == NONE {
            return Ok(None);
        }
        let slab = self.slab_mut(segment);
        let block = if slab.head == NONE { slab.carved } else { slab.head };
        let offset = offset_of(segment, class, block);
        if slab.head == NONE {
            slab.carved += 1;
        } else {
            slab.head = follow(slab, offset, memory)?;
        }
        // also of fresh blocks: the segment may have been a slab before
        memory.store(offset + 8, 0);
        slab.used += 1;
        let full = slab.used == capacity(class);
        self.counts[class].1 += 1;
        if full {
            self.unlink(segment);
        }
        Ok(Some(offset))
    }

    /// Takes the block at `offset` back; its class, and whether the slab is empty and no slab any more.
    ///
    /// # Errors
    /// [`AllocError::Misaligned`], [`AllocError::DoubleFree`] or [`AllocError::Corrupted`]; nothing has changed then.
    pub(crate) fn free(
        &mut self,
        offset: u64,
        memory: &mut impl Backing,
    ) -> Result<(usize, bool), AllocError> {
        let segment = (offset / SEGMENT_BYTES) as u32;
        let slab = *self.slab_mut(segment);
        let class = usize::from(slab.class);
        let (block, start) = block_at(segment, class, offset);
        if block >= slab.carved {
            return Err(AllocError::DoubleFree { offset_bytes: offset });
        }
        if start != offset {
            let free = is_free(&slab, segment, block, memory)?;
            let error = AllocError::Misaligned { offset_bytes: offset, start_bytes: start };
            return Err(if free { AllocError::DoubleFree { offset_bytes: offset } } else { error });
        }
        if is_free(&slab, segment, block, memory)? {
            return Err(AllocError::DoubleFree { offset_bytes: offset });
        }
        self.counts[class].1 -= 1;
        if slab.used == 1 {
            self.unlink(segment);
            self.counts[class].0 -= 1;
            self.slabs[segment as usize] = None;
            return Ok((class, true));
        }
        memory.store(offset, u64::from(slab.head));
        memory.store(offset + 8, FREE_MARK ^ offset);
        let was_full = slab.used == capacity(class);
        let slab = self.slab_mut(segment);
        slab.head = block;
        slab.used -= 1;
        if was_full {
            self.link(segment);
        }
        Ok((class, false))
    }

    /// The bytes of the block in use that starts at `offset`.
    ///
    /// # Errors
    /// As [`Self::free`].
    pub(crate) fn block_bytes(&self, offset: u64, memory: &impl Backing) -> Result<u64, AllocError> {
        let segment = (offset / SEGMENT_BYTES) as u32;
        let slab = self.slabs[segment as usize].as_ref().expect("the caller asked");
        let class = usize::from(slab.class);
        let (block, start) = block_at(segment, class, offset);
        if block >= slab.carved || is_free(slab, segment, block, memory)? {
            return Err(AllocError::DoubleFree { offset_bytes: offset });
        }
        if start != offset {
            return Err(AllocError::Misaligned { offset_bytes: offset, start_bytes: start });
        }
        Ok(class_bytes(class))
    }

    fn slab_mut(&mut self, segment: u32) -> &mut Slab {
        self.slabs[segment as usize].as_mut().expect("slabs in lists exist, and the caller asked for others")
    }

    fn link(&mut self, segment: u32) {
        let class = usize::from(self.slab_mut(segment).class);
        let next = std::mem::replace(&mut self.partial[class], segment);
        let slab = self.slab_mut(segment);
        (slab.next, slab.previous) = (next, NONE);
        if next != NONE {
            self.slab_mut(next).previous = segment;
        }
    }

    fn unlink(&mut self, segment: u32) {
        let Slab { next, previous, class, .. } = *self.slab_mut(segment);
        match previous {
            NONE => self.partial[usize::from(class)] = next,
            _ => self.slab_mut(previous).next = next,
        }
        if next != NONE {
            self.slab_mut(next).previous = previous;
        }
    }
}

/// Blocks of a slab.
fn capacity(class: usize) -> u32 {
    (SEGMENT_BYTES / class_bytes(class)) as u32
}

fn offset_of(segment: u32, class: usize, block: u32) -> u64 {
    u64::from(segment) * SEGMENT_BYTES + u64::from(block) * class_bytes(class)
}

/// The block that holds `offset`, and where it starts.
fn block_at(segment: u32, class: usize, offset: u64) -> (u32, u64) {
    let block = (offset % SEGMENT_BYTES / class_bytes(class)) as u32;
    (block, offset_of(segment, class, block))
}

/// The successor of the free block at `offset`, checked.
fn follow(slab: &Slab, offset: u64, memory: &impl Backing) -> Result<u32, AllocError> {
    let broken = AllocError::Corrupted { offset_bytes: offset };
    if memory.load(offset + 8) != FREE_MARK ^ offset {
        return Err(broken);
    }
    match u32::try_from(memory.load(offset)) {
        Ok(next) if next < slab.carved || next == NONE => Ok(next),
        _ => Err(broken),
    }
}

/// Whether `block` is in the list of free blocks. The mark answers for nearly all; who has it is looked for.
fn is_free(slab: &Slab, segment: u32, block: u32, memory: &impl Backing) -> Result<bool, AllocError> {
    let class = usize::from(slab.class);
    let offset = offset_of(segment, class, block);
    if memory.load(offset + 8) != FREE_MARK ^ offset {
        return Ok(false);
    }
    let mut at = slab.head;
    // the list holds what was carved and is not used, or it is broken
    for _ in slab.used..slab.carved {
        if at == block {
            return Ok(true);
        }
        if at == NONE {
            return Ok(false);
        }
        at = follow(slab, offset_of(segment, class, at), memory)?;
    }
    Ok(false)
}
