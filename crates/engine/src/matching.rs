//! Sends meet receives: first in, first out among those that fit.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use stratasim_core::Rank;

use crate::instances::Instance;

/// A send that no receive has taken yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope {
    pub(crate) from: Rank,
    pub(crate) tag: u32,
    pub(crate) send: Instance,
    /// Whether its message has arrived (eager messages travel before they are matched).
    pub(crate) arrived: bool,
}

/// A receive that no send has met yet.
#[derive(Debug, Clone, Copy)]
struct Posted {
    from: Option<Rank>,
    tag: Option<u32>,
    receive: Instance,
}

impl Posted {
    fn takes(&self, from: Rank, tag: u32) -> bool {
        self.from.is_none_or(|wanted| wanted == from) && self.tag.is_none_or(|wanted| wanted == tag)
    }
}

/// Unmatched sends and receives of every rank, and the pairs under way.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    posted: FxHashMap<Rank, VecDeque<Posted>>,
    unexpected: FxHashMap<Rank, VecDeque<Envelope>>,
    /// The receive that waits for the message of a send.
    partner: FxHashMap<Instance, Instance>,
}

impl Matching {
    /// A send to `to` begins: the receive that it meets, if one waits.
    pub(crate) fn send(&mut self, to: Rank, from: Rank, tag: u32, send: Instance) -> Option<Instance> {
        let waiting = self.posted.entry(to).or_default();
        if let Some(at) = waiting.iter().position(|posted| posted.takes(from, tag)) {
            let receive = waiting.remove(at).expect("just found").receive;
            self.partner.insert(send, receive);
            return Some(receive);
        }
        let envelope = Envelope { from, tag, send, arrived: false };
        self.unexpected.entry(to).or_default().push_back(envelope);
        None
    }

    /// A receive on `rank` begins: the send that it meets, if one came.
    pub(crate) fn receive(
        &mut self,
        rank: Rank,
        from: Option<Rank>,
        tag: Option<u32>,
        receive: Instance,
    ) -> Option<Envelope> {
        let posted = Posted { from, tag, receive };
        let came = self.unexpected.entry(rank).or_default();
        if let Some(at) = came.iter().position(|envelope| posted.takes(envelope.from, envelope.tag)) {
            let envelope = came.remove(at).expect("just found");
            if !envelope.arrived {
                self.partner.insert(envelope.send, receive);
            }
            return Some(envelope);
        }
        self.posted.entry(rank).or_default().push_back(posted);
        None
    }

    /// The message of a send has arrived at `to`: the receive that it completes, if it is matched.
    pub(crate) fn arrived(&mut self, to: Rank, send: Instance) -> Option<Instance> {
        if let Some(receive) = self.partner.remove(&send) {
            return Some(receive);
        }
        let came = self.unexpected.entry(to).or_default();
        if let Some(envelope) = came.iter_mut().find(|envelope| envelope.send == send) {
            envelope.arrived = true;
        }
        None
    }
}
