//! A port at work: what a hop does to it.

use stratasim_core::Time;
use stratasim_transport::{HopRecord, Telemetry};

use super::engine::Flying;
use super::link_kind::{LinkKind, MARK_UNIT};
use super::port::{NOTHING, Port, Waiting};
use super::service::{MARKED, Service};

/// A port with all that is known of it; what is not in `service` and `kind` lies elsewhere, and is mostly not looked at.
#[derive(Debug)]
pub(super) struct AtWork<'a> {
    pub(super) number: u32,
    pub(super) service: &'a mut Service,
    pub(super) kind: &'a LinkKind,
    pub(super) beside: &'a mut Beside,
}

/// What is seldom looked at of all ports.
#[derive(Debug, Clone)]
pub(super) struct Beside {
    /// By port.
    pub(super) ports: Vec<Port>,
    /// Packets with payload of all classes but the first, by port and class.
    lines: Vec<Waiting>,
    /// Classes but the first.
    classes: usize,
}

impl Beside {
    /// For so many classes, at least one.
    pub(super) fn new(ports: Vec<Port>, classes: u8) -> Self {
        let classes = usize::from(classes) - 1;
        Self { lines: vec![Waiting::EMPTY; ports.len() * classes], classes, ports }
    }

    /// The lines of a port.
    #[inline]
    pub(super) fn lines(&self, number: u32) -> &[Waiting] {
        &self.lines[number as usize * self.classes..][..self.classes]
    }

    /// Where the line of a class, not the first, stands.
    #[inline]
    const fn place(&self, number: u32, class: u8) -> usize {
        number as usize * self.classes + class as usize - 1
    }

    /// Packets of a class that wait at a port, whose service knows those of the first.
    #[inline]
    pub(super) fn line<'a>(&'a self, service: &'a Service, number: u32, class: u8) -> &'a Waiting {
        if class == 0 { &service.line } else { &self.lines[self.place(number, class)] }
    }
}

impl AtWork<'_> {
    /// What is seldom looked at.
    #[inline]
    pub(super) fn port(&mut self) -> &mut Port {
        &mut self.beside.ports[self.number as usize]
    }

    /// Packets with payload of a class that wait.
    #[inline]
    pub(super) fn line(&self, class: u8) -> &Waiting {
        self.beside.line(self.service, self.number, class)
    }

    #[inline]
    pub(super) fn line_mut(&mut self, class: u8) -> &mut Waiting {
        if class == 0 {
            return &mut self.service.line;
        }
        let place = self.beside.place(self.number, class);
        &mut self.beside.lines[place]
    }

    /// The first class of which data waits.
    #[inline]
    pub(super) fn first_class(&self) -> Option<u8> {
        (0..=self.beside.classes as u8).find(|&class| !self.line(class).is_empty())
    }

    /// Whether anything waits.
    #[inline]
    pub(super) fn is_waited_for(&self) -> bool {
        !self.service.high.is_empty() || self.has_data()
    }

    /// Whether data waits.
    #[inline]
    fn has_data(&self) -> bool {
        // asked with every hop, and mostly there is one class
        !self.service.line.is_empty() || self.beside.classes != 0 && self.first_class().is_some()
    }

    /// Whether control goes next, before data that waits, too; `most` go one after the other. Ask when something begins.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is called in the loop, and else where speed does not matter")]
    pub(super) fn control_goes(&mut self, most: u32) -> bool {
        !self.service.high.is_empty()
            && (most == u32::MAX
                || self.service.is_of_host()
                || !self.has_data()
                || self.port().control_has_turn(most))
    }

    /// Whether what is behind it lets it send so much of a class, where its network `holds` packets.
    #[inline]
    pub(super) fn lets(&mut self, holds: bool, class: u8, bytes: u32) -> bool {
        !holds || self.port().lanes.get(class).lets(bytes)
    }

    /// The buffer that it shares with others, where somebody `keeps_count`.
    #[inline]
    pub(super) fn pool(&mut self, keeps_count: bool) -> Option<usize> {
        if !keeps_count {
            return None;
        }
        let pool = self.port().pool;
        (pool != NOTHING).then_some(pool as usize)
    }

    /// Bytes of data of a class in it at `now`.
    #[inline]
    pub(super) fn lane_bytes(&self, class: u8, now: u64) -> u64 {
        self.line(class).bytes + self.service.busy_with_class(class, now)
    }

    /// So many bytes of data of a class are in it, which may be more than ever.
    #[inline]
    pub(super) fn note_held(&mut self, bytes: u64) {
        if bytes > u64::from(self.service.most_bytes) {
            self.note_most(bytes);
        }
    }

    /// It holds more bytes of data of a class than before, as far as its service could tell.
    #[inline(never)]
    fn note_most(&mut self, bytes: u64) {
        self.service.most_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let counts = &mut self.port().counts;
        counts.most_bytes = counts.most_bytes.max(bytes);
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
        let data_bytes = if control { 0 } else { bytes };
        self.service.begin(packet, end, (bytes, data_bytes), class);
        let waits = self.is_waited_for() || others(self.service.is_of_host());
        self.service.set_noted(waits);
        flying.port = self.number;
        let chained = self.service.is_chained();
        if chained {
            flying.signs = flying.signs & !Flying::LEADS | if waits { Flying::LEADS } else { 0 };
        }
        self.note_held(self.line(class).bytes + u64::from(data_bytes));
        (end + self.kind.delay, self.service.is_plain())
    }

    /// The packet in service has left; what it leaves behind is noted in it.
    #[inline]
    pub(super) fn finish(&mut self, packets: &mut [Flying], telemetry: &mut [Telemetry]) {
        let packet = std::mem::replace(&mut self.service.current, NOTHING);
        if packet != MARKED {
            self.mark(packet, packets, telemetry);
        }
    }

    /// What a packet in service leaves behind is noted in it: control neither counts in queues nor is marked.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is called in the loop, and else where speed does not matter")]
    pub(super) fn mark(&mut self, packet: u32, packets: &mut [Flying], telemetry: &mut [Telemetry]) {
        if self.service.data_bytes() == 0 {
            return;
        }
        // a sender learns of the way of its data; where acknowledgements are not ahead of all, they wait in the same lines
        let is_back = || packets[packet as usize].signs & Flying::BACK != 0;
        let queue_bytes = self.line(self.service.class()).bytes;
        if let Some(telemetry) = telemetry.get_mut(packet as usize)
            && self.port().is_queue()
            && !is_back()
        {
            // the queue of the port, of which the class may be a part (HPCC, section 3.1)
            let further = self.beside.lines(self.number).iter().map(|line| line.bytes);
            telemetry.push(self.record(self.service.line.bytes + further.sum::<u64>()));
        }
        // ports of hosts that serve nobody else have no threshold
        if queue_bytes > self.kind.mark_from && !is_back() && self.is_marked(queue_bytes) {
            let was_marked = std::mem::replace(&mut packets[packet as usize].mark.ecn, true);
            self.port().counts.marked_packets += u64::from(!was_marked);
        }
    }

    /// The packet in service has left in this very instant and nothing was behind it, though the port looks at it later for the
    /// room that it took: what comes now has not waited for it.
    #[inline(never)]
    pub(super) fn mark_alone(&mut self, packets: &mut [Flying], telemetry: &mut [Telemetry]) {
        let Service { current, .. } = *self.service;
        let is_alone = self.line(self.service.class()).is_empty();
        if is_alone && !self.service.is_chained() && current != NOTHING && current != MARKED {
            self.mark(current, packets, telemetry);
            self.service.current = MARKED;
        }
    }

    /// What telemetry says of the packet that leaves.
    fn record(&self, queue_bytes: u64) -> HopRecord {
        HopRecord {
            queue_bytes: queue_bytes.min(u64::from(u32::MAX)) as u32,
            bytes_per_s: self.kind.rate.bytes_per_s(),
            at: Time::from_ps(self.service.busy_until),
            sent_bytes: self.service.sent_bytes,
            port: self.number,
        }
    }

    /// Whether a packet is marked that leaves so much behind: as likely as the share of the way from the first threshold to the
    /// second, times the largest probability (DCQCN, section 3.1; RED).
    fn is_marked(&mut self, queue_bytes: u64) -> bool {
        let LinkKind { mark_from: from, mark_all: all, mark_share, .. } = *self.kind;
        let port = self.port();
        // at most 2^40 bytes, of 2^20 parts: no product overflows
        let sought = (u128::from(queue_bytes - from) * u128::from(mark_share)) << (64 - MARK_UNIT.ilog2());
        let marked = queue_bytes > all || u128::from(port.draws.bits()) * u128::from(all - from) < sought;
        port.counts.marks += u64::from(marked);
        marked
    }
}
