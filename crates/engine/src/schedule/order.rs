//! Messages from one rank to another do not overtake each other.
//!
//! Where a network may deliver a later message first (another NIC, a shorter message that shares a link),
//! it waits here for those that were sent before, as MPI demands of messages that could match the same
//! receive.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

/// Messages under way by (sender, receiver), in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// (operation, whether it has arrived)
    under_way: FxHashMap<(u32, u32), VecDeque<(u32, bool)>>,
}

impl Order {
    pub(super) fn sent(&mut self, from: u32, to: u32, operation: u32) {
        self.under_way.entry((from, to)).or_default().push_back((operation, false));
    }

    /// A message is there; calls `release` for each that none before holds back.
    pub(super) fn arrived(&mut self, from: u32, to: u32, operation: u32, mut release: impl FnMut(u32)) {
        let Some(messages) = self.under_way.get_mut(&(from, to)) else {
            unreachable!("what arrives was sent");
        };
        if let Some(message) = messages.iter_mut().find(|message| message.0 == operation) {
            message.1 = true;
        }
        while let Some(&(operation, true)) = messages.front() {
            messages.pop_front();
            release(operation);
        }
        if messages.is_empty() {
            self.under_way.remove(&(from, to));
        }
    }
}
