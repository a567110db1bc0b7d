//! Where ports lead.

/// The other end of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    /// The block there, or, from [`Link::REMOTE`] on, the number of its first channel in the fabric.
    place: u32,
    /// Number of its first channel in the block.
    first: u16,
    /// Cycles from the grant until the flit can be used, or the credit.
    pub(super) delay: u16,
    /// Whether the channel is narrower than a flit per cycle.
    is_narrow: bool,
}

impl Link {
    /// Channels that it can name.
    pub(super) const NUMBERS: usize = 1 << 31;
    const REMOTE: u32 = 1 << 31;

    /// A port that is joined to nothing.
    pub(super) const NOTHING: Self = Self { place: u32::MAX, first: 0, delay: 0, is_narrow: false };

    /// To the port whose first channel has number `first` in a block of this part.
    pub(super) fn near(block: usize, first: usize, delay: u32) -> Self {
        Self { place: block as u32, first: first as u16, delay: delay as u16, is_narrow: false }
    }

    /// To the port of another part whose first channel has this number in the fabric.
    pub(super) fn remote(number: u32, delay: u32) -> Self {
        Self { place: Self::REMOTE | number, first: 0, delay: delay as u16, is_narrow: false }
    }

    /// The same, narrower than a flit per cycle.
    pub(super) fn narrow(self) -> Self {
        let is_narrow = self != Self::NOTHING;
        Self { is_narrow, ..self }
    }

    /// Whether it is narrower than a flit per cycle.
    pub(super) fn is_narrow(self) -> bool {
        self.is_narrow
    }

    /// Whether it leads to another part.
    pub(super) fn is_remote(self) -> bool {
        self.place & Self::REMOTE != 0
    }

    /// The block there, in this part.
    #[inline(always)]
    pub(super) fn block(self) -> usize {
        self.place as usize
    }

    /// The first channel there, in its block.
    #[inline(always)]
    pub(super) fn first(self) -> usize {
        self.first.into()
    }

    /// The first channel there, in the fabric, in another part.
    pub(super) fn number(self) -> u32 {
        self.place & !Self::REMOTE
    }
}

/// The same in four bytes, of nearly all ports. The others are looked up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Short {
    /// The block there, or the upper bits of a place among those that are looked up.
    block: u16,
    /// The port there and the class of its delay, or the lower bits of that place and [`Short::OTHER`].
    port: u16,
}

/// log2 of the classes of delays, and of what a port is numbered by.
const CLASS_BITS: u32 = 4;
const PORT_BITS: u32 = u16::BITS - CLASS_BITS;

impl Short {
    /// Classes of delays, with that of those that are looked up.
    pub(super) const CLASSES: usize = 1 << CLASS_BITS;
    /// The class of those that are looked up.
    pub(super) const OTHER: usize = Self::CLASSES - 1;

    /// A port that is joined to nothing.
    pub(super) const NOTHING: Self = Self { block: u16::MAX, port: u16::MAX };

    /// The block there.
    #[inline(always)]
    pub(super) fn block(self) -> usize {
        self.block.into()
    }

    /// The class of its delay.
    #[inline(always)]
    pub(super) fn class(self) -> usize {
        usize::from(self.port) % Self::CLASSES
    }

    /// Channel `vc` of the port there, of `VS` each.
    #[inline(always)]
    pub(super) fn channel<const VS: usize>(self, vc: usize) -> usize {
        (usize::from(self.port) >> CLASS_BITS) * VS + vc
    }

    /// Its place among those that are looked up.
    fn place(self) -> usize {
        usize::from(self.block) << PORT_BITS | usize::from(self.port) >> CLASS_BITS
    }
}

/// Makes links short.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Delays by class.
    delays: Vec<u16>,
    others: Vec<Link>,
}

impl Links {
    /// A link to ports of `vs` channels in four bytes.
    pub(super) fn shorten(&mut self, link: Link, vs: usize) -> Short {
        if link == Link::NOTHING {
            return Short::NOTHING;
        }
        let known = self.delays.iter().position(|&delay| delay == link.delay);
        let is_plain = !link.is_remote() && !link.is_narrow;
        let class = known.unwrap_or(self.delays.len());
        if is_plain && class < Short::OTHER && link.block() < usize::from(u16::MAX) {
            if known.is_none() {
                self.delays.push(link.delay);
            }
            let port = link.first() / vs;
            return Short { block: link.block() as u16, port: (port << CLASS_BITS | class) as u16 };
        }
        let place = self.others.len();
        self.others.push(link);
        let port = ((place % (1 << PORT_BITS)) << CLASS_BITS) | Short::OTHER;
        Short { block: (place >> PORT_BITS) as u16, port: port as u16 }
    }

    /// Delays by class, in cycles.
    pub(super) fn delays(&self) -> &[u16] {
        &self.delays
    }

    /// The whole of a link that is looked up.
    pub(super) fn other(&self, short: Short) -> Link {
        self.others[short.place()]
    }
}
