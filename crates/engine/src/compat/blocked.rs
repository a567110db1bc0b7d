//! Events that found their resource busy.
//!
//! A peer puts such an event back into its queue, due when the resource will be free as far as is known
//! at that moment, under its old number, and does so again each time it is due and finds the resource
//! taken by another one: a quadratic cost where many wait. Here the events of one rank that wait for the
//! same resource and the same date are a group. Only the group is in the queue, with the number of its
//! first event; when that one finds the resource busy, the others would find the same, so the group
//! moves to the new date as a whole.
//!
//! "The same" holds for what is due later in the same instant only until a clock of the rank changes in
//! that instant. Those that would have been looked at after the change are then taken out of the moved
//! group and looked at ([`Blocked::changed`]). So every event is looked at on the dates, and in the
//! order, in which the peer does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use smallvec::SmallVec;

use super::queue::{Event, EventQueue, GROUP};

/// A resource of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    /// A stream, for a computation.
    Cpu(u16),
    /// A stream and a NIC that sends.
    Send(u16, u16),
    /// A stream and a NIC that receives.
    Receive(u16, u16),
}

/// The clocks that say when a resource is free.
pub(super) trait Clocks {
    fn free_at(&self, rank: u32, resource: Resource) -> u64;
}

#[derive(Debug)]
struct Group {
    rank: u32,
    resource: Resource,
    /// When it is due.
    time: u64,
    /// The instant in which it was moved to that date; before, it was due then.
    moved_at: Option<u64>,
    events: BinaryHeap<Reverse<Event>>,
}

/// All groups.
#[derive(Debug)]
pub(super) struct Blocked {
    groups: Vec<Group>,
    free: Vec<u32>,
    of_rank: Vec<SmallVec<[u32; 4]>>,
}

impl Blocked {
    pub(super) fn new(ranks: u32) -> Self {
        Self { groups: Vec::new(), free: Vec::new(), of_rank: vec![SmallVec::new(); ranks as usize] }
    }

    /// `event` was due and found its resource busy until `free`.
    pub(super) fn block(
        &mut self,
        queue: &mut EventQueue,
        rank: u32,
        resource: Resource,
        free: u64,
        event: Event,
    ) {
        // one that was due in the past was not there when a group moved in the instant in hand
        let was_due = event.number <= queue.reached().1;
        let same = |&&id: &&u32| {
            let group = &self.groups[id as usize];
            group.resource == resource && group.time == free && (was_due || group.moved_at.is_none())
        };
        match self.of_rank[rank as usize].iter().find(same) {
            Some(&id) => self.add(queue, id, event),
            None => {
                let id = self.group(rank, resource, free);
                self.add(queue, id, event);
            }
        }
    }

    /// Adds a new event that is due at `time` to a group that is; false where there is none, or where it
    /// is in the middle of its instant.
    pub(super) fn join(&mut self, rank: u32, resource: Resource, time: u64, event: Event) -> bool {
        let same = |&&id: &&u32| {
            let group = &self.groups[id as usize];
            group.resource == resource && group.time == time && group.moved_at.is_none()
        };
        let Some(&id) = self.of_rank[rank as usize].iter().find(same) else { return false };
        self.groups[id as usize].events.push(Reverse(event));
        true
    }

    fn group(&mut self, rank: u32, resource: Resource, time: u64) -> u32 {
        let id = match self.free.pop() {
            Some(id) => {
                let group = &mut self.groups[id as usize];
                (group.rank, group.resource, group.time, group.moved_at) = (rank, resource, time, None);
                id
            }
            None => {
                self.groups.push(Group { rank, resource, time, moved_at: None, events: BinaryHeap::new() });
                self.groups.len() as u32 - 1
            }
        };
        self.of_rank[rank as usize].push(id);
        id
    }

    fn add(&mut self, queue: &mut EventQueue, id: u32, event: Event) {
        let group = &mut self.groups[id as usize];
        let first = group.events.peek().is_none_or(|Reverse(first)| event < *first);
        group.events.push(Reverse(event));
        if first {
            self.schedule(queue, id);
        }
    }

    fn schedule(&self, queue: &mut EventQueue, id: u32) {
        let group = &self.groups[id as usize];
        if let Some(Reverse(first)) = group.events.peek() {
            queue.push(group.time, Event { number: first.number, what: id, on: GROUP });
        }
    }

    /// The first event of a group that is due at `time` as `event` says; `None` when the group has moved
    /// since, or has another first event, or its resource is still busy.
    pub(super) fn due(
        &mut self,
        queue: &mut EventQueue,
        clocks: &impl Clocks,
        time: u64,
        event: Event,
    ) -> Option<Event> {
        let group = &mut self.groups[event.what as usize];
        let first = group.events.peek().map(|Reverse(first)| *first);
        let first = first.filter(|first| group.time == time && first.number == event.number)?;
        group.moved_at = None;
        let free = clocks.free_at(group.rank, group.resource);
        if free > time {
            self.postpone(queue, event.what, time, free);
            return None;
        }
        group.events.pop();
        Some(first)
    }

    /// The first event of a group has been handled at `time`: the next one is due, or all move on.
    pub(super) fn handled(&mut self, queue: &mut EventQueue, clocks: &impl Clocks, time: u64, id: u32) {
        let group = &self.groups[id as usize];
        if group.events.is_empty() {
            return self.remove(id);
        }
        let free = clocks.free_at(group.rank, group.resource);
        if free > time { self.postpone(queue, id, time, free) } else { self.schedule(queue, id) }
    }

    fn remove(&mut self, id: u32) {
        let groups = &mut self.of_rank[self.groups[id as usize].rank as usize];
        if let Some(at) = groups.iter().position(|&other| other == id) {
            groups.swap_remove(at);
            self.free.push(id);
        }
    }

    /// Moves a group from `time` to `free`, and unites it with one that moved there in the same instant.
    fn postpone(&mut self, queue: &mut EventQueue, id: u32, time: u64, free: u64) {
        let group = &mut self.groups[id as usize];
        (group.time, group.moved_at) = (free, Some(time));
        let (rank, resource) = (group.rank, group.resource);
        let same = |&&other: &&u32| {
            let group = &self.groups[other as usize];
            other != id && group.resource == resource && group.time == free && group.moved_at == Some(time)
        };
        let Some(&other) = self.of_rank[rank as usize].iter().find(same) else {
            return self.schedule(queue, id);
        };
        let mut events = std::mem::take(&mut self.groups[id as usize].events);
        self.groups[other as usize].events.append(&mut events);
        self.groups[id as usize].events = events;
        self.remove(id);
        self.schedule(queue, other);
    }

    /// Clocks of `rank` changed by the event `number` at `time`. Events of groups that were moved in this
    /// instant, or in the one that a look at the past interrupts, and whose turn comes after, are looked
    /// at in their turn.
    #[inline]
    pub(super) fn changed(
        &mut self,
        queue: &mut EventQueue,
        clocks: &impl Clocks,
        rank: u32,
        time: u64,
        number: u64,
    ) {
        if !self.of_rank[rank as usize].is_empty() {
            self.take_back(queue, clocks, rank, [(time, number), queue.reached()]);
        }
    }

    fn take_back(
        &mut self,
        queue: &mut EventQueue,
        clocks: &impl Clocks,
        rank: u32,
        instants: [(u64, u64); 2],
    ) {
        for place in 0..self.of_rank[rank as usize].len() {
            let id = self.of_rank[rank as usize][place];
            let group = &mut self.groups[id as usize];
            let moved = group.moved_at.and_then(|at| instants.iter().find(|(time, _)| *time == at));
            let Some(&(time, number)) = moved else { continue };
            let resource = group.resource;
            if clocks.free_at(rank, resource) == group.time {
                continue;
            }
            let later = |Reverse(event): &Reverse<Event>| event.number > number;
            if !group.events.iter().any(later) {
                continue;
            }
            let (later, earlier): (Vec<_>, Vec<_>) =
                std::mem::take(&mut group.events).into_vec().into_iter().partition(later);
            group.events = earlier.into();
            if group.events.is_empty() {
                // the place of the group in the list stays valid: the new one is put there
                (group.time, group.moved_at) = (time, None);
                group.events = later.into();
                self.schedule(queue, id);
            } else {
                self.schedule(queue, id);
                let new = self.group(rank, resource, time);
                self.groups[new as usize].events = later.into();
                self.schedule(queue, new);
            }
        }
    }

    /// Takes the events that `chosen` picks out of the groups of `rank` and puts them back into the queue
    /// one by one, each on its date.
    pub(super) fn extract(
        &mut self,
        queue: &mut EventQueue,
        rank: u32,
        (time, number): (u64, u64),
        chosen: impl Fn(Event) -> bool,
    ) {
        let instants = [(time, number), queue.reached()];
        for place in (0..self.of_rank[rank as usize].len()).rev() {
            let id = self.of_rank[rank as usize][place];
            let group = &mut self.groups[id as usize];
            if !group.events.iter().any(|Reverse(event)| chosen(*event)) {
                continue;
            }
            let (taken, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut group.events)
                .into_vec()
                .into_iter()
                .partition(|Reverse(event)| chosen(*event));
            group.events = kept.into();
            let moved = group.moved_at.and_then(|at| instants.iter().find(|(time, _)| *time == at));
            for Reverse(event) in taken {
                let due = match moved {
                    Some(&(time, number)) if event.number > number => time,
                    _ => group.time,
                };
                queue.push(due, event);
            }
            self.schedule(queue, id);
        }
    }
}
