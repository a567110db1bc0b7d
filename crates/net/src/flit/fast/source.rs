//! The source side of a terminal: one packet at a time, one flit per cycle, credits of its channel.

use super::flit::Flit;

/// A terminal as a source of flits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<const VS: usize> {
    /// Places at the router, by virtual channel.
    pub(super) credits: [u16; VS],
    /// Whether it is to be asked when its packet has left.
    pub(super) is_due: bool,
    /// The packet that is leaving.
    pub(super) packet: u32,
    /// Its flits still to go; 0 when nothing is leaving.
    pub(super) left: u16,
    /// Its head, while that is still to go.
    pub(super) front: Flit,
    /// Its virtual channel, [`NO_VC`] while it has none.
    pub(super) vc: u8,
    /// The virtual channel used last, [`NO_VC`] at first.
    pub(super) last_vc: u8,
    /// First and last virtual channel that it may use.
    pub(super) range: (u8, u8),
    /// Packets that it has sent, modulo 2^32, for their draws.
    pub(super) number: u32,
    /// The tag of the packet that is leaving.
    pub(super) tag: u32,
    /// First moment at which its channel is free, in 256ths of a cycle.
    pub(super) free_at: u64,
    /// The cycle in which it last sent a packet as soon as it came into being; [`u64::MAX`] before.
    pub(super) sent_at: u64,
}

/// No virtual channel.
pub(super) const NO_VC: u8 = u8::MAX;

impl<const VS: usize> Source<VS> {
    /// A source whose virtual channels have `buffer` places each.
    pub(super) fn new(buffer: u16) -> Self {
        Self {
            credits: [buffer; VS],
            is_due: false,
            packet: 0,
            left: 0,
            front: Flit::default(),
            vc: NO_VC,
            last_vc: NO_VC,
            range: (0, 0),
            number: 0,
            tag: 0,
            free_at: 0,
            sent_at: u64::MAX,
        }
    }

    /// Looks for a virtual channel with a place, the one after the last first. Packets leave one after
    /// the other, so that no channel is in use when a head looks for one. Where the last one is not in the range, sources that
    /// insist look at the first channel only, as the peer does.
    #[inline(always)]
    pub(super) fn choose(&mut self, insists: bool) {
        let (first, last) = self.range;
        let follows = (first..=last).contains(&self.last_vc);
        let count = if insists && !follows { 1 } else { last - first + 1 };
        let mut vc = if !follows || self.last_vc == last { first } else { self.last_vc + 1 };
        for _ in 0..count {
            if self.credits[vc as usize % VS] != 0 {
                self.vc = vc;
                return;
            }
            vc = if vc == last { first } else { vc + 1 };
        }
    }
}
