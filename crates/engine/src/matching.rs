//! Sends meet receives: first in, first out among those that fit.

use std::collections::hash_map::Entry as Place;

use rustc_hash::FxHashMap;
use stratasim_core::Rank;
use stratasim_workload::goal::ANY;

use crate::fifo::{Entry, Fifo, Fifos};
use crate::instances::Instance;

/// A send that a receive takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope {
    pub(crate) send: Instance,
    /// Whether its message has arrived (eager messages travel before they are matched).
    pub(crate) arrived: bool,
}

/// Unmatched sends and receives of every rank, and the pairs under way.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    fifos: Fifos,
    posted: FxHashMap<Rank, Fifo>,
    unexpected: FxHashMap<Rank, Fifo>,
    /// Messages of a send, one of each of its iterations, that have arrived before a receive took them.
    arrived: FxHashMap<Instance, u32>,
    /// The receive that waits for the message of a send.
    partner: FxHashMap<Instance, Instance>,
}

impl Matching {
    /// A send to `to` begins: the receive that it meets, if one waits.
    pub(crate) fn send(&mut self, to: Rank, from: Rank, tag: u32, send: Instance) -> Option<Instance> {
        let waiting = self.posted.entry(to).or_default();
        if let Some(posted) = self.fifos.take(waiting, from.0, tag) {
            self.partner.insert(send, posted.item);
            return Some(posted.item);
        }
        let entry = Entry { source: from.0, tag, item: send };
        self.fifos.push(self.unexpected.entry(to).or_default(), entry);
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
        let (source, tag) = (from.map_or(ANY, |rank| rank.0), tag.unwrap_or(ANY));
        let came = self.unexpected.entry(rank).or_default();
        if let Some(sent) = self.fifos.take(came, source, tag) {
            let arrived = self.take_arrived(sent.item);
            if !arrived {
                self.partner.insert(sent.item, receive);
            }
            return Some(Envelope { send: sent.item, arrived });
        }
        let entry = Entry { source, tag, item: receive };
        self.fifos.push(self.posted.entry(rank).or_default(), entry);
        None
    }

    /// The message of a send has arrived: the receive that it completes, if it is matched.
    pub(crate) fn arrived(&mut self, send: Instance) -> Option<Instance> {
        let receive = self.partner.remove(&send);
        if receive.is_none() {
            *self.arrived.entry(send).or_default() += 1;
        }
        receive
    }

    /// Whether the oldest message of a send that no receive took has arrived, which is noted no longer. They arrive in the
    /// order in which they are taken, one after the other.
    fn take_arrived(&mut self, send: Instance) -> bool {
        let Place::Occupied(mut count) = self.arrived.entry(send) else { return false };
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
        true
    }
}
