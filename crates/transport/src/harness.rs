//! Two ends and an impaired way between them, with a clock of its own: runs a connection from the first packet to the last
//! acknowledgement, the same way for the same seed, and checks what must always hold.

pub mod channel;
mod frames;
mod reading;
mod setting;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use stratasim_core::{Duration, Time};

use crate::{
    Header, HopRecord, Kind, Mark, Pacer, Poll, Profile, Receiver, Sender, SenderStatistics, Telemetry,
};
use channel::{Channel, Fate};
use reading::Reading;
use setting::ps;
pub use setting::{Outcome, Reader, Setting, Violation};

#[derive(Debug, Clone)]
enum Event {
    Link,
    // of the one queue that writes records
    Forward { header: Header, mark: Mark, record: Option<HopRecord> },
    Back { header: Header, record: Option<HopRecord> },
    ForwardBytes { bytes: Vec<u8>, damaged: bool, mark: Mark },
    BackBytes { bytes: Vec<u8>, damaged: bool },
    Sender,
    Receiver,
    Pacer,
    Reader,
}

impl Event {
    /// Where it is noted when it comes, of those that come once at a time.
    const fn slot(&self) -> Option<usize> {
        match self {
            Self::Sender => Some(0),
            Self::Receiver => Some(1),
            Self::Pacer => Some(2),
            Self::Link => Some(3),
            Self::Reader => Some(4),
            _ => None,
        }
    }
}

/// Entries of the queue are ordered by time, then by the order in which they were made.
struct Entry(Time, u64, Event);

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// A run in progress.
struct Run<'a> {
    setting: &'a Setting,
    profile: &'a Profile,
    sender: Sender,
    receiver: Receiver,
    pacer: Pacer,
    forward: Channel,
    back: Channel,
    events: BinaryHeap<Reverse<Entry>>,
    made: u64,
    link_free: Time,
    back_free: Vec<Time>,
    forward_free: Vec<Time>,
    /// Leaving times and sizes of what is in the queue.
    queue: std::collections::VecDeque<(Time, u64)>,
    queue_free: Time,
    queue_bytes: u64,
    queue_sent: u64,
    armed: [Time; 5],
    reading: Reading,
    arrived: Vec<bool>,
    outcome: Outcome,
}

/// Runs a connection that posts `messages` (bytes) at the start.
///
/// # Errors
/// What did not hold.
pub fn run(profile: &Arc<Profile>, setting: &Setting, messages: &[u64]) -> Result<Outcome, Violation> {
    let mut sender = Sender::new(profile, setting.seed);
    if let Some(reader) = setting.reader {
        // as the connection was made
        sender.on_room(reader.room_packets);
    }
    let packets = messages.iter().map(|&bytes| sender.post(Time::ZERO, bytes).end).max().unwrap_or(0);
    let mut run = Run {
        setting,
        profile,
        sender,
        receiver: Receiver::new(profile, 0),
        pacer: Pacer::new(),
        forward: Channel::new(&setting.forward, setting.seed, "forward"),
        back: Channel::new(&setting.back, setting.seed, "back"),
        events: BinaryHeap::new(),
        made: 0,
        link_free: Time::ZERO,
        back_free: vec![Time::ZERO; setting.hops as usize],
        forward_free: vec![Time::ZERO; setting.hops.saturating_sub(1) as usize],
        queue: std::collections::VecDeque::new(),
        queue_free: Time::ZERO,
        queue_bytes: 0,
        queue_sent: 0,
        armed: [Time::MAX; 5],
        reading: Reading::new(setting.reader),
        arrived: vec![false; packets as usize],
        outcome: Outcome {
            delivered_at: Time::ZERO,
            acknowledged_at: Time::ZERO,
            packets,
            sender: SenderStatistics::default(),
            control_packets: 0,
            lost: 0,
            trimmed: 0,
            queue_bytes: 0,
            least_window_bytes: u64::MAX,
        },
    };
    run.drive()?;
    run.outcome.sender = *run.sender.statistics();
    Ok(run.outcome)
}

/// So many events of one instant are more than there can be.
const MOST_TURNS: u64 = 1 << 20;

impl Run<'_> {
    fn push(&mut self, at: Time, event: Event) {
        self.made += 1;
        self.events.push(Reverse(Entry(at, self.made, event)));
    }

    /// Puts an event of those that are [armed](Event::slot) to `at` unless there is an earlier one of its kind.
    fn arm(&mut self, at: Time, event: Event) {
        if let Some(slot) = event.slot()
            && at < self.armed[slot]
        {
            self.armed[slot] = at;
            self.push(at, event);
        }
    }

    fn arm_all(&mut self, now: Time) {
        self.arm(self.sender.deadline().max(now), Event::Sender);
        self.arm(self.receiver.deadline().max(now), Event::Receiver);
        self.arm(self.pacer.deadline().max(now), Event::Pacer);
        self.arm(self.reading.deadline(self.receiver.delivered_to()).max(now), Event::Reader);
        match self.sender.readiness(now.max(self.link_free)) {
            crate::Readiness::Ready => self.arm(now.max(self.link_free), Event::Link),
            crate::Readiness::Wait(at) => self.arm(at.max(self.link_free), Event::Link),
            crate::Readiness::Blocked => {}
        }
    }

    fn drive(&mut self) -> Result<(), Violation> {
        self.arm_all(Time::ZERO);
        let packets = self.arrived.len() as u64;
        let (mut last, mut turns) = (Time::ZERO, 0_u64);
        while !self.sender.is_done() {
            let next = self.events.pop();
            let Some(Reverse(Entry(now, _, event))) =
                next.filter(|entry| entry.0.0 <= Time::ZERO + self.setting.limit)
            else {
                let at = Time::ZERO + self.setting.limit;
                return Err(Violation::Unfinished {
                    delivered_to: self.receiver.delivered_to(),
                    packets,
                    at,
                });
            };
            turns = if now > last { 0 } else { turns + 1 };
            last = now;
            if turns > MOST_TURNS {
                return Err(Violation::StandsStill(now));
            }
            // what an earlier one of its kind has replaced
            if let Some(slot) = event.slot() {
                if self.armed[slot] != now {
                    continue;
                }
                self.armed[slot] = Time::MAX;
            }
            self.step(now, event)?;
            self.check(now)?;
            self.arm_all(now);
            self.outcome.acknowledged_at = now;
        }
        if self.receiver.delivered_to() < packets {
            return Err(Violation::FalselyAcknowledged(self.receiver.delivered_to()));
        }
        Ok(())
    }

    fn step(&mut self, now: Time, event: Event) -> Result<(), Violation> {
        let mut answers = Vec::new();
        let mut recorded = None;
        match event {
            Event::Sender => {
                self.sender.on_timer(now);
            }
            Event::Receiver => {
                self.receiver.on_timer(now, &mut |header| answers.push(header));
            }
            Event::Pacer => {
                if self.pacer.next(now).is_some() {
                    self.receiver.on_turn(now, &mut self.pacer, &mut |header| answers.push(header));
                }
            }
            Event::Reader => self.read(now),
            Event::Link => {
                if now >= self.link_free
                    && let Poll::Send(header) = self.sender.poll_send(now, 1)
                {
                    self.transmit(now, header);
                }
            }
            Event::Forward { header, mark, record } => {
                recorded = record;
                self.arrive(now, &header, mark, &mut answers)?;
            }
            Event::ForwardBytes { bytes, damaged, mark } => {
                if let Some(header) = frames::arrived(&bytes, damaged, &self.receiver)? {
                    self.arrive(now, &header, mark, &mut answers)?;
                }
            }
            Event::BackBytes { bytes, damaged } => frames::answered(now, &bytes, damaged, &mut self.sender)?,
            Event::Back { header, record } => {
                let mut telemetry = Telemetry::default();
                record.into_iter().for_each(|record| telemetry.push(record));
                self.sender.on_feedback(now, &header, Some(&telemetry));
            }
        }
        for header in answers {
            self.answer(now, header, recorded);
        }
        Ok(())
    }

    /// A packet has reached the receiver: nothing twice, nothing before what is in front of it.
    fn arrive(
        &mut self,
        now: Time,
        header: &Header,
        mark: Mark,
        answers: &mut Vec<Header>,
    ) -> Result<(), Violation> {
        let before = self.receiver.delivered_to();
        self.reading.read(now, before);
        if header.kind == Kind::Data && header.sequence >= self.reading.room_to() {
            return Err(Violation::Overrun(header.sequence));
        }
        let arrival =
            self.receiver.on_packet(now, header, mark, &mut self.pacer, &mut |header| answers.push(header));
        if arrival.fresh {
            match self.arrived.get_mut(header.sequence as usize) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => return Err(Violation::DeliveredTwice(header.sequence)),
                None => return Err(Violation::OutOfOrder(header.sequence)),
            }
        }
        let after = self.receiver.delivered_to();
        let gap = self.arrived[before as usize..after.max(before) as usize].iter().any(|seen| !seen);
        if after < before || gap || arrival.delivered_to != after {
            return Err(Violation::OutOfOrder(after));
        }
        if after == self.arrived.len() as u64 && before < after {
            self.outcome.delivered_at = now;
        }
        Ok(())
    }

    /// Puts a packet on the link, through the queue, onto the way.
    fn transmit(&mut self, now: Time, header: Header) {
        let mut bytes = u64::from(self.profile.wire_bytes(&header));
        self.link_free = now + Duration::from_ps(ps(bytes, self.setting.rate));
        let (mut mark, mut record) = (Mark::default(), None);
        let mut leaves = self.link_free;
        if self.setting.has_queue() {
            while self.queue.front().is_some_and(|&(at, _)| at <= leaves) {
                self.queue_bytes -= self.queue.pop_front().expect("checked").1;
            }
            if header.kind == Kind::Data && self.queue_bytes + bytes > self.setting.buffer_bytes {
                if !self.setting.trims {
                    self.outcome.lost += 1;
                    return;
                }
                self.outcome.trimmed += 1;
                mark.trimmed = true;
                bytes = u64::from(self.profile.sizes().control_bytes);
                // headers overtake in a queue of their own
                leaves += Duration::from_ps(ps(bytes, self.setting.bottleneck));
            } else {
                // what is behind the packet when it leaves is not known yet: what is before it is as much
                mark.ecn = self.queue_bytes > self.setting.mark_above_bytes;
                self.queue_free =
                    self.queue_free.max(leaves) + Duration::from_ps(ps(bytes, self.setting.bottleneck));
                leaves = self.queue_free;
                self.queue_bytes += bytes;
                self.queue.push_back((leaves, bytes));
                self.queue_sent += bytes;
                record = Some(HopRecord {
                    queue_bytes: self.queue_bytes.saturating_sub(bytes) as u32,
                    bytes_per_s: self.setting.bottleneck.bytes_per_s(),
                    at: leaves,
                    sent_bytes: self.queue_sent,
                    port: 1,
                });
                self.outcome.queue_bytes = self.outcome.queue_bytes.max(self.queue_bytes);
            }
        } else {
            record = Some(HopRecord {
                queue_bytes: 0,
                bytes_per_s: self.setting.rate.bytes_per_s(),
                at: leaves,
                sent_bytes: self.sender.statistics().packets * self.profile.sizes().wire_bytes(),
                port: 0,
            });
        }
        let mut arrives = leaves + self.setting.delay;
        for free in &mut self.forward_free {
            *free = (*free).max(arrives) + Duration::from_ps(ps(bytes, self.setting.rate));
            arrives = *free + self.setting.delay;
        }
        let fate = self.forward.fate();
        self.outcome.lost += u64::from(header.kind == Kind::Data && !matches!(fate, Fate::Arrives { .. }));
        let event = match fate {
            Fate::Lost => return,
            _ if self.setting.frames => {
                let mut bytes = frames::forward(&header, now);
                let damaged = frames::damage(&mut bytes, fate);
                Event::ForwardBytes { bytes, damaged, mark }
            }
            // the checksum gives it away
            Fate::Damaged(_) => return,
            Fate::Arrives { .. } => Event::Forward { header, mark, record },
        };
        self.put(arrives, fate, event);
    }

    fn answer(&mut self, now: Time, header: Header, record: Option<HopRecord>) {
        self.outcome.control_packets += 1;
        let arrives = self.way_back(now, self.profile.wire_bytes(&header));
        let fate = self.back.fate();
        let event = match fate {
            Fate::Lost => return,
            _ if self.setting.frames => {
                let to = self.receiver.delivered_to();
                self.reading.read(now, to);
                let bytes = frames::back(&header, &self.receiver, now, self.reading.credit(to));
                Self::back_bytes(bytes, fate)
            }
            Fate::Damaged(_) => return,
            Fate::Arrives { .. } => Event::Back { header, record },
        };
        self.put(arrives, fate, event);
    }

    /// The reader takes what there is, and the sender hears of room where it may be waiting for that.
    fn read(&mut self, now: Time) {
        let to = self.receiver.delivered_to();
        self.reading.read(now, to);
        if !self.reading.has_news(to) {
            return;
        }
        let bytes = frames::news_of_room(&self.receiver, now, self.reading.credit(to));
        self.outcome.control_packets += 1;
        let arrives = self.way_back(now, bytes.len() as u32);
        let fate = self.back.fate();
        self.put(arrives, fate, Self::back_bytes(bytes, fate));
    }

    /// When so many bytes are at the sender.
    fn way_back(&mut self, now: Time, bytes: u32) -> Time {
        let took = Duration::from_ps(ps(bytes.into(), self.setting.rate));
        self.back_free.iter_mut().fold(now, |arrives, free| {
            *free = (*free).max(arrives) + took;
            *free + self.setting.delay
        })
    }

    fn back_bytes(mut bytes: Vec<u8>, fate: Fate) -> Event {
        let damaged = frames::damage(&mut bytes, fate);
        Event::BackBytes { bytes, damaged }
    }

    /// Lets a packet meet its fate.
    fn put(&mut self, arrives: Time, fate: Fate, event: Event) {
        match fate {
            Fate::Lost => {}
            Fate::Damaged(_) => self.push(arrives, event),
            Fate::Arrives { late, again } => {
                if let Some(later) = again {
                    self.push(arrives + late + later, event.clone());
                }
                self.push(arrives + late, event);
            }
        }
    }

    /// What holds at any time.
    fn check(&mut self, now: Time) -> Result<(), Violation> {
        let window = self.sender.window_bytes();
        self.outcome.least_window_bytes = self.outcome.least_window_bytes.min(window);
        if window == 0 {
            return Err(Violation::NoWindow(now));
        }
        if self.sender.acknowledged_to() > self.receiver.delivered_to() {
            return Err(Violation::FalselyAcknowledged(self.sender.acknowledged_to()));
        }
        let outstanding = self.arrived.len() as u64 - self.sender.acknowledged_to();
        if self.sender.in_flight_bytes() > outstanding * self.profile.sizes().packet_bytes() {
            return Err(Violation::Unbounded(self.sender.in_flight_bytes()));
        }
        Ok(())
    }
}
