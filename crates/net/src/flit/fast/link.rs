//! Where ports lead.

/// What a port is joined to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Far {
    /// A router of this part: 0, so that the word of its link is the channel's number.
    Router,
    /// A terminal of this part.
    Terminal,
    /// A router of another part.
    Remote,
    Nothing,
}

/// The other end of a port, in eight bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// What it is (2 bits), and the first channel or the terminal there (30 bits).
    place: u32,
    /// Cycles from the grant until the flit can be used, or the credit.
    pub(super) delay: u16,
    /// Cycles from a flit's arrival at a terminal until its credit is back.
    pub(super) back: u16,
}

impl Link {
    /// Channels and terminals that it can name.
    pub(super) const NUMBERS: usize = 1 << 30;

    /// A port that is joined to nothing.
    pub(super) const NOTHING: Self = Self { place: (Far::Nothing as u32) << 30, delay: 0, back: 0 };

    /// The other end: the number of the first channel of a port (of the part, or of the fabric when remote)
    /// or of a terminal.
    pub(super) fn new(far: Far, number: u32, delay: u32, back: u32) -> Self {
        Self { place: (far as u32) << 30 | number, delay: delay as u16, back: back as u16 }
    }

    /// What it is.
    #[inline(always)]
    pub(super) fn far(self) -> Far {
        match self.place >> 30 {
            0 => Far::Router,
            1 => Far::Terminal,
            2 => Far::Remote,
            _ => Far::Nothing,
        }
    }

    /// The first channel there, where it is a router of this part.
    #[inline(always)]
    pub(super) fn router(self) -> Option<u32> {
        (self.place < Self::NUMBERS as u32).then_some(self.place)
    }

    /// The first channel there, or the terminal.
    #[inline(always)]
    pub(super) fn number(self) -> u32 {
        self.place & (Self::NUMBERS as u32 - 1)
    }
}
