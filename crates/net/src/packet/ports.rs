//! The ports of a network: what each hop looks at, one line after the other, and the rest of them beside it.

use std::ops::{Deref, DerefMut};

use rustc_hash::FxHashMap;
use stratasim_core::BuildError;
use stratasim_core::memory::prefetch;

use super::at_work::AtWork;
use super::link_kind::LinkKind;
use super::port::{NOTHING, Port, Waiting};
use super::service::Service;

/// All ports, by number. As a slice they are what is seldom looked at, and what is said of them before anything happens.
#[derive(Debug, Clone)]
pub(super) struct Ports {
    services: Vec<Service>,
    rest: Vec<Port>,
    kinds: Vec<LinkKind>,
    /// Packets with payload of all classes but the first, by port and class.
    further: Vec<Waiting>,
    /// Classes but the first.
    further_classes: usize,
}

/// A port with all that is known of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PortView<'a> {
    pub(super) rest: &'a Port,
    pub(super) service: &'a Service,
    /// Packets with payload, by class, but the first.
    further: &'a [Waiting],
}

impl Ports {
    /// For so many classes, at least one. They do nothing before [`Self::open`].
    pub(super) fn new(rest: Vec<Port>, classes: u8) -> Self {
        let further_classes = usize::from(classes) - 1;
        Self {
            services: Vec::new(),
            kinds: Vec::new(),
            further: vec![Waiting::EMPTY; rest.len() * further_classes],
            further_classes,
            rest,
        }
    }

    /// All has been said of them.
    ///
    /// # Errors
    /// Links of more kinds than there are numbers.
    pub(super) fn open(&mut self) -> Result<(), BuildError> {
        debug_assert!(self.services.is_empty(), "they are opened once");
        let mut known: FxHashMap<LinkKind, u32> = FxHashMap::default();
        for port in &self.rest {
            let next = self.kinds.len() as u32;
            let number = *known.entry(port.kind).or_insert_with(|| {
                self.kinds.push(port.kind);
                next
            });
            if number >= Service::MOST {
                let reason = format!("links of more than {} kinds; so many are possible", Service::MOST);
                return Err(BuildError::new("", reason));
            }
            self.services.push(Service::new(number, port.beyond, port.nic != NOTHING));
        }
        Ok(())
    }

    /// What a port does.
    #[inline]
    pub(super) fn service(&self, number: u32) -> &Service {
        &self.services[number as usize]
    }

    #[inline]
    pub(super) fn service_mut(&mut self, number: u32) -> &mut Service {
        &mut self.services[number as usize]
    }

    /// A port at work.
    #[inline]
    pub(super) fn at_work(&mut self, number: u32) -> AtWork<'_> {
        let service = &mut self.services[number as usize];
        let kind = &self.kinds[service.kind()];
        AtWork { number, service, kind, further: &mut self.further, further_classes: self.further_classes }
    }

    /// What a port has in common with others.
    #[inline]
    pub(super) fn kind(&self, number: u32) -> &LinkKind {
        &self.kinds[self.service(number).kind()]
    }

    /// Bytes of what all hops look at.
    #[inline]
    pub(super) fn service_bytes(&self) -> usize {
        size_of_val(&*self.services)
    }

    /// Asks for what a hop needs of a port; where somebody `keeps_count` of room, of the rest of it, too.
    #[inline]
    pub(super) fn prefetch(&self, number: u32, keeps_count: bool) {
        prefetch(self.service(number));
        if keeps_count {
            let port = &self.rest[number as usize];
            prefetch(&port.lanes);
            prefetch(&port.leaving_from);
        }
    }

    /// Packets with payload of a class that wait.
    #[inline]
    pub(super) fn line(&self, number: u32, class: u8) -> &Waiting {
        match class {
            0 => &self.service(number).line,
            _ => &self.further[further_place(number, class, self.further_classes)],
        }
    }

    /// Bytes of data of a class in a port at `now`.
    pub(super) fn lane_bytes(&self, number: u32, class: u8, now: u64) -> u64 {
        self.line(number, class).bytes + self.service(number).busy_with_class(class, now)
    }

    /// Whether control goes next, before data that waits, too; `most` go one after the other. Ask when something begins.
    #[inline]
    pub(super) fn control_goes(&mut self, number: u32, most: u32) -> bool {
        let at_work = self.at_work(number);
        if at_work.service.high.is_empty() {
            return false;
        }
        most == u32::MAX
            || at_work.service.is_of_host()
            || !at_work.has_data()
            || self[number as usize].control_has_turn(most)
    }

    /// A port holds more bytes of data of a class than before, as far as [`AtWork::more`] could tell.
    #[inline(never)]
    pub(super) fn note_most(&mut self, number: u32, bytes: u64) {
        self.service_mut(number).most_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let counts = &mut self[number as usize].counts;
        counts.most_bytes = counts.most_bytes.max(bytes);
    }

    /// Bytes of data in a port at `now`.
    #[inline]
    pub(super) fn data_bytes(&self, number: u32, now: u64) -> u64 {
        self.view(number as usize).data_bytes(now)
    }

    /// All that is known of a port.
    #[inline]
    pub(super) fn view(&self, number: usize) -> PortView<'_> {
        let further = &self.further[number * self.further_classes..][..self.further_classes];
        PortView { rest: &self.rest[number], service: &self.services[number], further }
    }
}

/// Where the line of a class, not the first, stands among those of all ports.
#[inline]
pub(super) const fn further_place(port: u32, class: u8, further_classes: usize) -> usize {
    port as usize * further_classes + class as usize - 1
}

impl Deref for Ports {
    type Target = [Port];

    #[inline]
    fn deref(&self) -> &[Port] {
        &self.rest
    }
}

impl DerefMut for Ports {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Port] {
        &mut self.rest
    }
}

impl PortView<'_> {
    /// Bytes that its link has carried by `now`; of what is on it, the part that has left.
    pub(super) fn carried_bytes(&self, now: u64) -> f64 {
        let under_way_s = self.service.busy_until.saturating_sub(now) as f64 * 1e-12;
        (self.service.sent_bytes as f64 - under_way_s * self.rest.kind.rate.bytes_per_s()).max(0.0)
    }

    /// Bytes of data that wait.
    #[inline]
    pub(super) fn waiting_data_bytes(&self) -> u64 {
        self.service.line.bytes + self.further.iter().map(|line| line.bytes).sum::<u64>()
    }

    /// Bytes of data in it at `now`.
    #[inline]
    pub(super) fn data_bytes(&self, now: u64) -> u64 {
        self.waiting_data_bytes() + self.service.busy_with(now)
    }

    /// Bytes of data and control that wait, without what is in service.
    pub(super) fn waiting_bytes(&self) -> u64 {
        self.service.high.bytes + self.waiting_data_bytes()
    }
}
