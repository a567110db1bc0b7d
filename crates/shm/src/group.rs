//! The processes that take part, and what they call.

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use stratasim_alloc::{AllocError, Heap, Statistics};

use crate::algorithm::{Algorithm, Operation};
use crate::control::{Call, Kind, LEFT, LEFT_AFTER_THE_END};
use crate::element::{ElementType, Reduction};
use crate::error::ShmError;
use crate::exchange::Through;
use crate::join::{self, Options};
use crate::map::{Mapping, Segment};
use crate::partition::{Parts, part};
use crate::process::Process;
use crate::view::View;

/// Bytes of a bounce buffer; each rank has two.
pub(crate) const BOUNCE_BYTES: usize = 256 << 10;

/// What a rank asks while it waits; an error ends the wait.
type Pause = Box<dyn Fn() -> Result<(), ShmError> + Send + Sync>;

/// A process's place in a group. Every collective is called by all ranks, in the same order and with the same
/// arguments but for the data.
///
/// Dropping it leaves the group; who calls a collective afterwards gets [`ShmError::Left`].
pub struct Group {
    pub(crate) options: Options,
    pub(crate) mapping: Arc<Mapping>,
    pub(crate) processes: Vec<Process>,
    pub(crate) spin: bool,
    pub(crate) pause: Pause,
    heap: Arc<Mutex<Heap<Segment>>>,
    /// Where the bounce buffers lie in every Local segment.
    bounce: usize,
    sequence: u64,
    /// Pieces that went through staging: their parity says which half is next.
    pieces: u32,
    /// Steps of one-copy rings, the same in all ranks.
    pub(crate) steps: u32,
    ended: bool,
    /// Where the caller has mapped the memory once more.
    alias: Option<usize>,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {} in `{}`", self.rank(), self.ranks(), self.options.name)
    }
}

impl Group {
    /// Waits until all ranks are there.
    ///
    /// # Errors
    /// Settings that do not fit or differ, a name or rank that is taken, ranks that do not come or die, no shared memory.
    pub fn join(options: Options) -> Result<Self, ShmError> {
        Self::join_with(options, Box::new(|| Ok(())))
    }

    /// The same, with something to ask about 20 times a second while waiting; its error ends the wait, and the group.
    ///
    /// # Errors
    /// As [`Self::join`], and what `pause` gives.
    pub fn join_with(
        options: Options,
        pause: Box<dyn Fn() -> Result<(), ShmError> + Send + Sync>,
    ) -> Result<Self, ShmError> {
        let mapping = Arc::new(join::join(&options, Process::own()?, &pause)?);
        let slots = &mapping.control().slots[..options.ranks as usize];
        let processes: Vec<Process> =
            slots.iter().map(|slot| slot.process.get().expect("all have joined")).collect();
        let segment = Segment { mapping: mapping.clone(), offset: options.local_start(options.rank) };
        let mut heap = Heap::new(options.local() as u64, segment)?;
        // the same first blocks in every rank, so at the same places
        let staging = heap.allocate(options.staging() as u64)?;
        let bounce = heap.allocate(2 * BOUNCE_BYTES as u64)?;
        assert_eq!(staging, 0, "the first block of a new segment");
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self {
            spin: options.ranks as usize <= cores,
            heap: Arc::new(Mutex::new(heap)),
            bounce: bounce as usize,
            sequence: 0,
            pieces: 0,
            steps: 0,
            ended: false,
            alias: None,
            options,
            mapping,
            processes,
            pause,
        })
    }

    /// This process, from 0.
    pub const fn rank(&self) -> u32 {
        self.options.rank
    }

    /// How many processes there are.
    pub const fn ranks(&self) -> u32 {
        self.options.ranks
    }

    /// The processes, by rank.
    pub fn pids(&self) -> Vec<u32> {
        self.processes.iter().map(|process| process.pid).collect()
    }

    /// The algorithm for a vector of `bytes` in all: what the group's [`Choices`] say.
    pub fn choose(&self, operation: Operation, bytes: usize) -> Algorithm {
        self.mapping.control().choices.get(operation, bytes as u64)
    }

    /// The file behind the memory of the group, for mappings of the caller.
    pub fn file(&self) -> &File {
        self.mapping.file()
    }

    /// Bytes of the memory of the group.
    pub fn file_bytes(&self) -> usize {
        self.mapping.length()
    }

    /// Says that the caller has mapped [`Self::file`] at `address` as well, so that vectors there are known to be in
    /// shared memory.
    pub const fn mapped_at(&mut self, address: usize) {
        self.alias = Some(address);
    }

    /// Takes memory of this rank's Local segment, aligned to 64 bytes. Vectors there are read by the other ranks where
    /// they are, without a copy.
    ///
    /// # Errors
    /// When no run of memory is long enough.
    pub fn allocate(&self, bytes: usize) -> Result<Block, AllocError> {
        let offset = self.heap.lock().unwrap_or_else(PoisonError::into_inner).allocate(bytes as u64)?;
        let at = self.options.local_start(self.rank()) + offset as usize;
        Ok(Block { mapping: self.mapping.clone(), heap: self.heap.clone(), offset, at, length: bytes })
    }

    /// What this rank's Local segment looks like; its staging and bounce buffers are two blocks of it.
    pub fn memory(&self) -> Statistics {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner).statistics()
    }

    /// Waits until all ranks are here.
    ///
    /// # Errors
    /// As all collectives: a rank that died, left, called something else, or does not come in time.
    pub fn barrier(&mut self) -> Result<(), ShmError> {
        self.guarded(|group| {
            let call = group.begin(Operation::Barrier, None, (0, 0), 0, false, 0, None);
            group.synchronise(&call)
        })
    }

    /// Every rank gets the parts of all, one after the other. Parts are equally long.
    ///
    /// # Errors
    /// As [`Self::barrier`]; [`ShmError::Argument`] when `output` is not as long as all parts.
    pub fn all_gather(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        algorithm: Algorithm,
    ) -> Result<(), ShmError> {
        let wanted = input.len().checked_mul(self.ranks() as usize);
        if wanted != Some(output.len()) {
            let (ranks, part, found) = (self.ranks(), input.len(), output.len());
            let text = format!("the output of all-gather holds {ranks} parts of {part} B, found {found} B");
            return Err(ShmError::Argument(text));
        }
        let parts = Parts { count: output.len(), element_bytes: 1, ranks: self.ranks() };
        let (input, output) = (View::reading(input), View::writing(output));
        self.guarded(|group| group.gather(Operation::AllGather, input, output, parts, algorithm, (0, 0)))
    }

    /// Every rank gets its part of the combination of all inputs: see [`part`] and the crate for the order.
    ///
    /// # Errors
    /// As [`Self::barrier`]; [`ShmError::Argument`] when `input` is not whole elements or `output` not as long as the
    /// part.
    pub fn reduce_scatter(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        element: ElementType,
        reduction: Reduction,
        algorithm: Algorithm,
    ) -> Result<(), ShmError> {
        let parts = self.parts(input.len(), element)?;
        let own = parts.range(self.rank());
        if output.len() != own.len() {
            let text = format!(
                "the output of reduce-scatter holds part {} of {} elements, which is {} B, found {} B",
                self.rank(),
                parts.count,
                own.len(),
                output.len()
            );
            return Err(ShmError::Argument(text));
        }
        let (input, output) = (View::reading(input), View::writing(output));
        self.guarded(|group| {
            group.scatter(Operation::ReduceScatter, input, output, parts, algorithm, (element, reduction))
        })
    }

    /// Every rank gets the combination of all inputs: a reduce-scatter and an all-gather, or one phase when it is short.
    ///
    /// # Errors
    /// As [`Self::barrier`]; [`ShmError::Argument`] when the lengths differ or are not whole elements.
    pub fn all_reduce(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        element: ElementType,
        reduction: Reduction,
        algorithm: Algorithm,
    ) -> Result<(), ShmError> {
        if input.len() != output.len() {
            let text = format!("all-reduce of {} B into {} B; both must be equal", input.len(), output.len());
            return Err(ShmError::Argument(text));
        }
        let output = View::writing(output);
        self.reduce_all(View::reading(input), output, element, reduction, algorithm)
    }

    /// The same, in place.
    ///
    /// # Errors
    /// As [`Self::all_reduce`].
    pub fn all_reduce_in_place(
        &mut self,
        data: &mut [u8],
        element: ElementType,
        reduction: Reduction,
        algorithm: Algorithm,
    ) -> Result<(), ShmError> {
        let view = View::writing(data);
        self.reduce_all(view, view, element, reduction, algorithm)
    }

    /// Every rank gets what `root` has.
    ///
    /// # Errors
    /// As [`Self::barrier`]; [`ShmError::Argument`] when there is no such root.
    pub fn broadcast(&mut self, data: &mut [u8], root: u32, algorithm: Algorithm) -> Result<(), ShmError> {
        if root >= self.ranks() {
            let text = format!("root: 0 to {} is expected, found {root}", self.ranks() - 1);
            return Err(ShmError::Argument(text));
        }
        let view = View::writing(data);
        self.guarded(|group| {
            let length = view.length();
            let offset = group.read_in_place(algorithm, length, view);
            let call =
                group.begin(Operation::Broadcast, Some(algorithm), (0, 0), root, false, length, offset);
            match algorithm {
                _ if group.ranks() == 1 => Ok(()),
                Algorithm::Ring => group.ring_broadcast(&call, view, root),
                Algorithm::RingTwoSided => group.two_sided_broadcast(&call, view, root),
                Algorithm::Csc => group.exchange_broadcast(&call, view, root, Through::Global),
                Algorithm::Direct => group.exchange_broadcast(&call, view, root, Through::Local),
            }
        })
    }

    fn reduce_all(
        &mut self,
        input: View,
        output: View,
        element: ElementType,
        reduction: Reduction,
        algorithm: Algorithm,
    ) -> Result<(), ShmError> {
        let parts = self.parts(input.length(), element)?;
        self.guarded(|group| {
            let kind = (element as u8, reduction as u8);
            if algorithm == Algorithm::Direct && group.fits_one_phase(input.length()) && group.ranks() > 1 {
                let length = input.length();
                let call = group.begin(Operation::AllReduce, Some(algorithm), kind, 0, false, length, None);
                return group.one_phase_all_reduce(&call, input, output, parts, (element, reduction));
            }
            let own = output.part(parts.range(group.rank()));
            group.scatter(Operation::AllReduce, input, own, parts, algorithm, (element, reduction))?;
            group.gather(Operation::AllReduce, own, output, parts, algorithm, kind)
        })
    }

    /// Part `rank` of `output` is `input`; gets the others.
    fn gather(
        &mut self,
        operation: Operation,
        input: View,
        output: View,
        parts: Parts,
        algorithm: Algorithm,
        kind: (u8, u8),
    ) -> Result<(), ShmError> {
        // what the others read: of a ring the output as it grows, of a direct read the part
        let readable = if algorithm == Algorithm::Ring { output } else { input };
        let length = output.length();
        let offset = self.read_in_place(algorithm, length, readable);
        let second = operation == Operation::AllReduce;
        let call = self.begin(operation, Some(algorithm), kind, 0, second, length, offset);
        match algorithm {
            _ if self.ranks() == 1 => {
                output.copy(input);
                Ok(())
            }
            Algorithm::Ring => self.ring_gather(&call, input, output, parts),
            Algorithm::RingTwoSided => self.two_sided_gather(&call, input, output, parts),
            Algorithm::Csc => self.exchange_gather(&call, input, output, parts, Through::Global),
            Algorithm::Direct => self.exchange_gather(&call, input, output, parts, Through::Local),
        }
    }

    /// Combines part `rank` of all inputs in `output`, which may be that part of `input`.
    fn scatter(
        &mut self,
        operation: Operation,
        input: View,
        output: View,
        parts: Parts,
        algorithm: Algorithm,
        (element, reduction): (ElementType, Reduction),
    ) -> Result<(), ShmError> {
        let offset = self.read_in_place(algorithm, input.length(), input);
        let kind = (element as u8, reduction as u8);
        let call = self.begin(operation, Some(algorithm), kind, 0, false, input.length(), offset);
        let own = input.part(parts.range(self.rank()));
        if self.ranks() == 1 {
            output.copy(own);
            return Ok(());
        }
        // a sum must not overwrite what is still to be added
        let mut aside = vec![0; if own.address() == output.address() { own.length() } else { 0 }];
        let target = if aside.is_empty() { output } else { View::writing(&mut aside) };
        let how = (element, reduction);
        match algorithm {
            Algorithm::Ring => self.ring_scatter(&call, input, target, parts, how),
            Algorithm::RingTwoSided => self.two_sided_scatter(&call, input, target, parts, how),
            Algorithm::Csc => self.exchange_scatter(&call, input, target, parts, how, Through::Global),
            Algorithm::Direct => self.exchange_scatter(&call, input, target, parts, how, Through::Local),
        }?;
        output.copy(target);
        Ok(())
    }

    fn parts(&self, bytes: usize, element: ElementType) -> Result<Parts, ShmError> {
        let element_bytes = element.bytes();
        if !bytes.is_multiple_of(element_bytes) {
            let text = format!("{bytes} B are no whole number of {} ({element_bytes} B)", element.name());
            return Err(ShmError::Argument(text));
        }
        Ok(Parts { count: bytes / element_bytes, element_bytes, ranks: self.ranks() })
    }

    /// Runs a collective; an error ends the group, here and for the others.
    pub(crate) fn guarded(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<(), ShmError>,
    ) -> Result<(), ShmError> {
        if self.ended {
            let rank = self.mapping.control().ended.load(Ordering::Acquire).saturating_sub(1);
            return Err(ShmError::Ended { rank });
        }
        let done = run(self);
        if done.is_err() {
            self.ended = true;
            self.end();
        }
        done
    }

    /// Counts a call and says what it is.
    #[allow(clippy::too_many_arguments, reason = "what a call is")]
    pub(crate) fn begin(
        &mut self,
        operation: Operation,
        algorithm: Option<Algorithm>,
        (element, reduction): (u8, u8),
        root: u32,
        second: bool,
        length: usize,
        offset: Option<usize>,
    ) -> Call {
        self.sequence += 1;
        let kind = Kind { operation, algorithm, element, reduction, root: root as u8, second };
        let call = Call { sequence: self.sequence, kind, bytes: length as u64, offset };
        self.slot(self.rank()).publish(&call);
        call
    }

    /// Where the others read `view` of a vector of `length` bytes, if they do so where it is: a short one is copied into
    /// staging sooner than one more synchronisation says that all have read it.
    fn read_in_place(&self, algorithm: Algorithm, length: usize, view: View) -> Option<usize> {
        let copied = algorithm == Algorithm::Direct && self.fits_one_phase(length);
        if copied { None } else { self.shared(view) }
    }

    /// Where the bytes lie in this rank's Local segment, as an offset in the memory of the group.
    fn shared(&self, view: View) -> Option<usize> {
        let aliased = |address: usize| {
            let offset = address.checked_sub(self.alias?)?;
            (offset < self.mapping.length()).then_some(offset)
        };
        let offset = self.mapping.offset_of(view.address()).or_else(|| aliased(view.address()))?;
        let start = self.options.local_start(self.rank());
        let inside = (start..start + self.options.local()).contains(&offset);
        // what is empty has no address of its own
        (inside && view.length() > 0 && view.length() <= self.mapping.length() - offset).then_some(offset)
    }

    /// Half of a staging area of `rank`; halves take turns from piece to piece.
    pub(crate) fn staging(&self, through: Through, rank: u32, piece: u32) -> View {
        let start = match through {
            Through::Local => self.options.local_start(rank),
            Through::Global => self.options.global_start(rank),
        };
        let half = self.half_bytes();
        self.mapping.view(start + (piece % 2) as usize * half, half)
    }

    /// Bytes of half a staging area.
    pub(crate) const fn half_bytes(&self) -> usize {
        self.options.staging() / 2
    }

    /// Bytes of a slot for the piece of one part in half a staging area: whole elements of every type.
    pub(crate) const fn part_slot_bytes(&self) -> usize {
        self.half_bytes() / self.ranks() as usize / 64 * 64
    }

    /// The number of the next piece to go through staging.
    pub(crate) const fn next_piece(&mut self) -> u32 {
        self.pieces = self.pieces.wrapping_add(1);
        self.pieces
    }

    /// The bounce buffer of `rank` for message `number`.
    pub(crate) fn bounce(&self, rank: u32, number: u32) -> View {
        let start = self.options.local_start(rank) + self.bounce;
        self.mapping.view(start + (number % 2) as usize * BOUNCE_BYTES, BOUNCE_BYTES)
    }

    /// The rank `steps` further round the ring.
    pub(crate) const fn after(&self, steps: u32) -> u32 {
        (self.rank() + steps) % self.ranks()
    }

    /// The rank `steps` back round the ring; at most as many as there are.
    pub(crate) const fn before(&self, steps: u32) -> u32 {
        (self.rank() + self.ranks() - steps) % self.ranks()
    }

    /// Elements of this rank's part of a vector.
    pub fn own_part(&self, count: usize) -> Range<usize> {
        part(count, self.ranks(), self.rank())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // who goes because of an error is not why the others cannot go on
        let left = if self.ended { LEFT_AFTER_THE_END } else { LEFT };
        self.slot(self.rank()).left.store(left, Ordering::Release);
    }
}

/// Memory of a Local segment. It goes back when this is dropped.
#[derive(Debug)]
pub struct Block {
    mapping: Arc<Mapping>,
    heap: Arc<Mutex<Heap<Segment>>>,
    offset: u64,
    at: usize,
    length: usize,
}

impl Block {
    /// Where it starts; it has [`Self::len`] bytes, stays there as long as this lives, and is read by other ranks only
    /// while this rank is in a collective.
    pub fn pointer(&self) -> *mut u8 {
        self.mapping.pointer(self.at, self.length)
    }

    /// All of it.
    pub(crate) fn view(&mut self) -> View {
        self.mapping.view(self.at, self.length)
    }

    /// Where it starts in [`Group::file`].
    pub const fn file_offset(&self) -> usize {
        self.at
    }

    /// Bytes.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let mut heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        // fails only when someone has broken the lists in the memory; then the block stays in use
        let _ = heap.free(self.offset);
    }
}
