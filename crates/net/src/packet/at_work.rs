//! A port at work: what a hop does to it.

use super::engine::Flying;
use super::link_kind::LinkKind;
use super::port::Waiting;
use super::ports::further_place;
use super::service::Service;

/// What hops look at of a port.
#[derive(Debug)]
pub(super) struct AtWork<'a> {
    pub(super) number: u32,
    pub(super) service: &'a mut Service,
    pub(super) kind: &'a LinkKind,
    /// Packets with payload of all classes but the first, of all ports, and how many classes that are.
    pub(super) further: &'a mut [Waiting],
    pub(super) further_classes: usize,
}

impl AtWork<'_> {
    /// Packets with payload of a class that wait.
    #[inline]
    pub(super) fn line(&self, class: u8) -> &Waiting {
        match class {
            0 => &self.service.line,
            _ => &self.further[further_place(self.number, class, self.further_classes)],
        }
    }

    #[inline]
    pub(super) fn line_mut(&mut self, class: u8) -> &mut Waiting {
        match class {
            0 => &mut self.service.line,
            _ => &mut self.further[further_place(self.number, class, self.further_classes)],
        }
    }

    /// The first class of which data waits.
    #[inline]
    pub(super) fn first_class(&self) -> Option<u8> {
        (0..=self.further_classes as u8).find(|&class| !self.line(class).is_empty())
    }

    /// Whether anything waits.
    #[inline]
    pub(super) fn is_waited_for(&self) -> bool {
        !self.service.high.is_empty() || self.has_data()
    }

    /// Whether data waits.
    #[inline]
    pub(super) fn has_data(&self) -> bool {
        // asked with every hop, and mostly there is one class
        !self.service.line.is_empty() || self.further_classes != 0 && self.first_class().is_some()
    }

    /// Bytes of data of a class in it at `now`.
    #[inline]
    pub(super) fn lane_bytes(&self, class: u8, now: u64) -> u64 {
        self.line(class).bytes + self.service.busy_with_class(class, now)
    }

    /// The same for the class of the packet whose service has just begun, where that may be more than it ever held.
    #[inline]
    pub(super) fn more_in_service(&self) -> Option<u64> {
        self.more(self.line(self.service.class()).bytes + u64::from(self.service.data_bytes()))
    }

    /// So many bytes of data of a class, where they may be more than it ever held: tell [`note_most`](super::ports::Ports::note_most).
    #[inline]
    pub(super) fn more(&self, bytes: u64) -> Option<u64> {
        (bytes > u64::from(self.service.most_bytes)).then_some(bytes)
    }

    /// The service of `packet` begins at `start`. Something waits for its end where it waits here, or where `others` do: they
    /// are told whether the port is a host's. When it arrives at the other end of the link, and whether nothing else is to be
    /// noted.
    #[inline]
    pub(super) fn begin(
        &mut self,
        packet: u32,
        flying: &mut Flying,
        start: u64,
        others: impl FnOnce(bool) -> bool,
    ) -> (u64, bool) {
        let Flying { bytes, class, control, .. } = *flying;
        let end = start + self.kind.time_of(bytes);
        self.service.begin(packet, end, (bytes, if control { 0 } else { bytes }), class);
        let waits = self.is_waited_for() || others(self.service.is_of_host());
        self.service.set_noted(waits);
        flying.port = self.number;
        let chained = self.service.is_chained();
        if chained {
            flying.signs = flying.signs & !Flying::LEADS | if waits { Flying::LEADS } else { 0 };
        }
        (end + self.kind.delay, chained && self.more_in_service().is_none())
    }
}
