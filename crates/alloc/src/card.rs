//! The memories of a card: one per core group, and one that they share.

use std::fmt;

use crate::backing::Backing;
use crate::error::AllocError;
use crate::heap::{Heap, Statistics};
use crate::pages::Pages;

/// Which memory of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Local-HBM of a core group.
    Local(u32),
    /// Global-HBM, interleaved over all groups.
    Global,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(group) => write!(f, "Local memory of core group {group}"),
            Self::Global => f.write_str("Global memory"),
        }
    }
}

/// An address of a card. Every tier has its own range, so that an address says where it belongs; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Bits of an offset within a tier.
const OFFSET_BITS: u32 = 44;
const _: () = assert!(Pages::MOST_BYTES <= 1 << OFFSET_BITS);

/// Most core groups of a card.
const MOST_GROUPS: u32 = 4096;

/// The memories of a card with `N` core groups. What a group does not keep as Local memory is part of Global:
/// `global = N * (memory per group - local)`, and [`CardMemory::reserve`] moves the border.
#[derive(Debug, Clone)]
pub struct CardMemory<B> {
    memory_per_group_bytes: u64,
    local: Vec<Heap<B>>,
    global: Heap<B>,
}

impl<B: Backing> CardMemory<B> {
    /// A card whose `groups` groups have `memory_per_group_bytes` each, `local_bytes` of it Local. `backing` gives the
    /// memory of each tier.
    ///
    /// # Errors
    /// No or too many groups as [`AllocError::UnknownGroup`], [`AllocError::TooLarge`] for a tier beyond 4 TiB, or for
    /// more Local memory than a group has.
    pub fn new(
        groups: u32,
        memory_per_group_bytes: u64,
        local_bytes: u64,
        mut backing: impl FnMut(Tier) -> B,
    ) -> Result<Self, AllocError> {
        if groups == 0 || groups > MOST_GROUPS {
            return Err(AllocError::UnknownGroup { group: groups, groups: MOST_GROUPS });
        }
        let global_bytes = global_bytes(groups, memory_per_group_bytes, local_bytes)?;
        let local = (0..groups).map(|group| Heap::new(local_bytes, backing(Tier::Local(group))));
        Ok(Self {
            memory_per_group_bytes,
            local: local.collect::<Result<_, _>>()?,
            global: Heap::new(global_bytes, backing(Tier::Global))?,
        })
    }

    /// Number of core groups.
    pub const fn groups(&self) -> u32 {
        self.local.len() as u32
    }

    /// Gives each group `local_bytes` of Local memory, and the rest to Global. What is allocated stays where it is.
    ///
    /// # Errors
    /// [`AllocError::InUse`] when a block lies where a tier would end, [`AllocError::TooLarge`] as [`Self::new`];
    /// nothing has changed then.
    pub fn reserve(&mut self, local_bytes: u64) -> Result<(), AllocError> {
        let global_bytes = global_bytes(self.groups(), self.memory_per_group_bytes, local_bytes)?;
        let before = (self.local[0].capacity_bytes(), self.global.capacity_bytes());
        let wanted = self.tiers().map(|tier| {
            let bytes = if tier == Tier::Global { global_bytes } else { local_bytes };
            (tier, bytes)
        });
        for (tier, wanted_bytes) in wanted.collect::<Vec<_>>() {
            let Err(error) = self.heap_mut(tier)?.resize(wanted_bytes) else { continue };
            // back to what it was, which fitted
            for tier in self.tiers().collect::<Vec<_>>() {
                let bytes = if tier == Tier::Global { before.1 } else { before.0 };
                self.heap_mut(tier)?.resize(bytes)?;
            }
            return Err(match error {
                AllocError::OutsideMemory { offset_bytes, .. } => {
                    AllocError::InUse { tier, wanted_bytes, used_until_bytes: offset_bytes }
                }
                other => other,
            });
        }
        Ok(())
    }

    /// Takes a block of Local memory of `group` (`sdaaMalloc`).
    ///
    /// # Errors
    /// As [`Heap::allocate`], and [`AllocError::UnknownGroup`].
    pub fn allocate(&mut self, group: u32, bytes: u64) -> Result<Address, AllocError> {
        self.allocate_in(Tier::Local(group), bytes)
    }

    /// Takes a block of Global memory (`sdaaMallocCross`).
    ///
    /// # Errors
    /// As [`Heap::allocate`].
    pub fn allocate_cross(&mut self, bytes: u64) -> Result<Address, AllocError> {
        self.allocate_in(Tier::Global, bytes)
    }

    /// Gives a block of Local memory of `group` back.
    ///
    /// # Errors
    /// As [`Heap::free`]; [`AllocError::WrongTier`] when the address belongs elsewhere, [`AllocError::UnknownAddress`]
    /// when it belongs nowhere.
    pub fn free(&mut self, group: u32, address: Address) -> Result<(), AllocError> {
        self.free_in(Tier::Local(group), address)
    }

    /// Gives a block of Global memory back.
    ///
    /// # Errors
    /// As [`Self::free`].
    pub fn free_cross(&mut self, address: Address) -> Result<(), AllocError> {
        self.free_in(Tier::Global, address)
    }

    /// Takes a block of `tier`.
    ///
    /// # Errors
    /// As [`Self::allocate`].
    pub fn allocate_in(&mut self, tier: Tier, bytes: u64) -> Result<Address, AllocError> {
        let offset = self.heap_mut(tier)?.allocate(bytes)?;
        Ok(self.address(tier, offset))
    }

    /// Gives a block of `tier` back.
    ///
    /// # Errors
    /// As [`Self::free`].
    pub fn free_in(&mut self, tier: Tier, address: Address) -> Result<(), AllocError> {
        let (found, offset) = self.resolve(address)?;
        if found != tier {
            self.heap_mut(tier)?;
            return Err(AllocError::WrongTier { address, found, expected: tier });
        }
        self.heap_mut(tier)?.free(offset)
    }

    /// The tier that `address` belongs to, and its offset there.
    ///
    /// # Errors
    /// [`AllocError::UnknownAddress`].
    pub fn resolve(&self, address: Address) -> Result<(Tier, u64), AllocError> {
        let (number, offset) = (address.0 >> OFFSET_BITS, address.0 & ((1 << OFFSET_BITS) - 1));
        let groups = u64::from(self.groups());
        match number {
            0 => Err(AllocError::UnknownAddress(address)),
            _ if number <= groups => Ok((Tier::Local(number as u32 - 1), offset)),
            _ if number == groups + 1 => Ok((Tier::Global, offset)),
            _ => Err(AllocError::UnknownAddress(address)),
        }
    }

    /// What `tier` looks like.
    ///
    /// # Errors
    /// [`AllocError::UnknownGroup`].
    pub fn statistics(&self, tier: Tier) -> Result<Statistics, AllocError> {
        match tier {
            Tier::Global => Ok(self.global.statistics()),
            Tier::Local(group) => {
                let unknown = AllocError::UnknownGroup { group, groups: self.groups() };
                self.local.get(group as usize).map(Heap::statistics).ok_or(unknown)
            }
        }
    }

    /// All tiers: Local memory by group, then Global.
    pub fn tiers(&self) -> impl Iterator<Item = Tier> + use<B> {
        (0..self.groups()).map(Tier::Local).chain([Tier::Global])
    }

    fn address(&self, tier: Tier, offset: u64) -> Address {
        let number = match tier {
            Tier::Local(group) => u64::from(group) + 1,
            Tier::Global => u64::from(self.groups()) + 1,
        };
        Address(number << OFFSET_BITS | offset)
    }

    fn heap_mut(&mut self, tier: Tier) -> Result<&mut Heap<B>, AllocError> {
        match tier {
            Tier::Global => Ok(&mut self.global),
            Tier::Local(group) => {
                let groups = self.local.len() as u32;
                self.local.get_mut(group as usize).ok_or(AllocError::UnknownGroup { group, groups })
            }
        }
    }
}

/// Capacity of the Global tier.
fn global_bytes(groups: u32, memory_per_group_bytes: u64, local_bytes: u64) -> Result<u64, AllocError> {
    let too_large = |capacity_bytes, most_bytes| AllocError::TooLarge { capacity_bytes, most_bytes };
    let rest = memory_per_group_bytes.checked_sub(local_bytes);
    let rest = rest.ok_or_else(|| too_large(local_bytes, memory_per_group_bytes))?;
    let bytes = u64::from(groups).saturating_mul(rest);
    if bytes > Pages::MOST_BYTES || local_bytes > Pages::MOST_BYTES {
        return Err(too_large(bytes.max(local_bytes), Pages::MOST_BYTES));
    }
    Ok(bytes)
}
