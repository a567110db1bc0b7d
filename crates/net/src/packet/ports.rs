//! The ports of a network: what each hop looks at, one line after the other, and the rest of them beside it.

use std::ops::{Deref, DerefMut};

use rustc_hash::FxHashMap;
use stratasim_core::BuildError;
use stratasim_core::memory::prefetch;

use super::at_work::{AtWork, Beside};
use super::link_kind::LinkKind;
use super::port::{NOTHING, Port, Waiting};
use super::service::Service;

/// All ports, by number. As a slice they are what is seldom looked at, and what is said of them before anything happens.
#[derive(Debug, Clone)]
pub(super) struct Ports {
    services: Vec<Service>,
    kinds: Vec<LinkKind>,
    beside: Beside,
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
    pub(super) fn new(ports: Vec<Port>, classes: u8) -> Self {
        Self { services: Vec::new(), kinds: Vec::new(), beside: Beside::new(ports, classes) }
    }

    /// All has been said of them.
    ///
    /// # Errors
    /// Links of more kinds than there are numbers.
    pub(super) fn open(&mut self) -> Result<(), BuildError> {
        debug_assert!(self.services.is_empty(), "they are opened once");
        let mut known: FxHashMap<LinkKind, u32> = FxHashMap::default();
        for port in &self.beside.ports {
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
        AtWork { number, service, kind, beside: &mut self.beside }
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
            let port = &self[number as usize];
            prefetch(&port.lanes);
            prefetch(&port.leaving_from);
        }
    }

    /// Packets with payload of a class that wait.
    #[inline]
    pub(super) fn line(&self, number: u32, class: u8) -> &Waiting {
        self.beside.line(self.service(number), number, class)
    }

    /// Bytes of data of a class in a port at `now`.
    pub(super) fn lane_bytes(&self, number: u32, class: u8, now: u64) -> u64 {
        self.line(number, class).bytes + self.service(number).busy_with_class(class, now)
    }

    /// Bytes of data in a port at `now`.
    #[inline]
    pub(super) fn data_bytes(&self, number: u32, now: u64) -> u64 {
        self.view(number as usize).data_bytes(now)
    }

    /// All that is known of a port.
    #[inline]
    pub(super) fn view(&self, number: usize) -> PortView<'_> {
        let further = self.beside.lines(number as u32);
        PortView { rest: &self[number], service: &self.services[number], further }
    }
}

impl Deref for Ports {
    type Target = [Port];

    #[inline]
    fn deref(&self) -> &[Port] {
        &self.beside.ports
    }
}

impl DerefMut for Ports {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Port] {
        &mut self.beside.ports
    }
}

impl PortView<'_> {
    /// Bytes that its link has carried by `now`; of what is on it, the part that has left.
    pub(super) fn carried_bytes(&self, now: u64) -> f64 {
        let under_way_s = self.service.busy_until.saturating_sub(now) as f64 * 1e-12;
        let carried = self.service.sent_bytes as f64 - under_way_s * self.rest.kind.rate.bytes_per_s();
        // what began in this instant is rounding
        if carried < 1e-6 { 0.0 } else { carried }
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
