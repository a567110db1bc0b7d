//! Where ports lead.

/// The other end of a port, in eight bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// The block there; or, from `REMOTE` on, the number of its first channel in the fabric.
    place: u32,
    /// Number of its first channel in the block.
    first: u16,
    /// Cycles from the grant until the flit can be used, or the credit.
    pub(super) delay: u16,
}

impl Link {
    /// Channels that it can name.
    pub(super) const NUMBERS: usize = 1 << 31;
    const REMOTE: u32 = 1 << 31;

    /// A port that is joined to nothing.
    pub(super) const NOTHING: Self = Self { place: u32::MAX, first: 0, delay: 0 };

    /// To the port whose first channel has number `first` in a block of this part.
    pub(super) fn near(block: usize, first: usize, delay: u32) -> Self {
        Self { place: block as u32, first: first as u16, delay: delay as u16 }
    }

    /// To the port of another part whose first channel has this number in the fabric.
    pub(super) fn remote(number: u32, delay: u32) -> Self {
        Self { place: Self::REMOTE | number, first: 0, delay: delay as u16 }
    }

    /// Whether it leads to another part.
    #[inline(always)]
    pub(super) fn is_remote(self) -> bool {
        self.place >= Self::REMOTE
    }

    /// The block there.
    #[inline(always)]
    pub(super) fn block(self) -> usize {
        self.place as usize
    }

    /// The first channel there, in its block.
    #[inline(always)]
    pub(super) fn first(self) -> usize {
        self.first.into()
    }

    /// The first channel there, in the fabric.
    #[inline(always)]
    pub(super) fn number(self) -> u32 {
        self.place & !Self::REMOTE
    }
}
