//! Ring collectives without an event per message.
//!
//! Every message of every member is simulated, but in windows of time instead of one event after the
//! other. A member's link path to the next member is its channel. As long as nobody else uses a
//! channel (`Cold`), a message takes latency + bytes / bandwidth, and within a window the members can
//! be worked off in ring order: message `s` of member `i` starts at the later of the ends of message
//! `s - 1` of `i` and of `i - 1`. One foreign flow that shares exactly one link with a channel and no
//! link with anybody else forms a component with it (`Hot`): both run at one of two fixed rates,
//! worked out once, and the component advances with the channel's messages. Everything else (`Slow`)
//! is a flow of its own per message.
//!
//! A window ends before anything that others could notice: a member being done, a foreign flow
//! ending, a slow message starting. [`Run::bound`] is the earliest such instant.
//!
//! Times here are picoseconds as plain integers; [`NEVER`] is no time.

use std::collections::VecDeque;
use std::sync::Arc;

use stratasim_core::model::Pipeline;
use stratasim_core::observe::MessageSpan;
use stratasim_core::{Duration, Time, Token};

use super::routes::RouteId;

/// No instant.
pub(super) const NEVER: u64 = u64::MAX;

/// About so many messages are worked off at once.
const MOST_AT_ONCE: u64 = 1 << 22;

/// How the messages of a member travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    /// Nobody else on the way.
    Cold,
    /// One foreign flow shares one link; the index of the component.
    Hot(u32),
    /// Each message is a flow of the network.
    Slow,
}

/// What a member is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Has not joined.
    Outside,
    /// Waits for the message that its next one depends on.
    Waiting,
    /// A message is under way.
    Sending,
    /// All its messages have arrived.
    Over,
}

/// What changes about a member with every message. Small: thousands of them are worked off in turn.
#[derive(Debug, Clone)]
pub(super) struct MemberState {
    pub(super) channel: Channel,
    pub(super) doing: Doing,
    /// Whether `under_way` describes the message under way; otherwise it follows from its arrival.
    explicit: bool,
    /// Messages sent that have arrived.
    pub(super) step: u32,
    /// Messages from the member before that have arrived.
    received: u32,
    /// End of its last own message.
    own_end: u64,
    /// Oldest arrival that no message of its own has followed yet; later ones are in `inbox`.
    early: u64,
    /// Picoseconds that a shorter message takes when alone, latency included.
    alone: u64,
}

/// What is needed of a member now and then.
#[derive(Debug, Clone, Default)]
pub(super) struct MemberRoute {
    pub(super) route: RouteId,
    pub(super) latency: u64,
    /// Bytes per picosecond when alone.
    rate: f64,
    /// Picoseconds that a longer message takes more than a shorter one.
    longer: u64,
    /// Further arrivals that no message of its own has followed yet, oldest first.
    inbox: VecDeque<u64>,
    under_way: UnderWay,
}

/// A message under way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnderWay {
    /// When it was sent.
    pub(super) sent: u64,
    /// From when on `remaining` bytes take bandwidth.
    pub(super) from: u64,
    pub(super) remaining: f64,
}

/// From when until when a route has carried so many bytes.
pub(super) type Piece = (RouteId, Time, Time, u64);

/// A channel and the one foreign flow on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Component {
    pub(super) member: u32,
    /// Slot of the foreign flow.
    pub(super) flow: u32,
    pub(super) route: RouteId,
    /// Its bytes left at `last`; observers are told of the others.
    pub(super) remaining: f64,
    pub(super) last: u64,
    /// Its bytes per picosecond while a message is under way, and otherwise.
    pub(super) rate_beside: f64,
    pub(super) rate_alone: f64,
    /// The channel's bytes per picosecond beside it.
    pub(super) channel_rate: f64,
}

/// What a window leaves to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A member sent and received everything.
    Done(u32),
    /// A member's own messages are over: its channel is free.
    Over(u32),
    /// A member's next message is to be a flow of its own.
    StartSlow(u32),
}

/// A pipeline under way.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) token: Token,
    pub(super) pipeline: Arc<Pipeline>,
    /// Arrival of the message under way on each channel that is not slow.
    pub(super) next: Vec<u64>,
    pub(super) members: Vec<MemberState>,
    pub(super) routes: Vec<MemberRoute>,
    steps: u32,
    pub(super) components: Vec<Option<Component>>,
    /// Not after the end of the foreign flow of each component.
    ends: Vec<u64>,
    /// Everything until here is worked off.
    pub(super) time: u64,
    /// Most messages that any member has sent.
    furthest: u32,
    /// No message of a joined member takes less than this.
    least: u64,
    /// The longest that a message of a joined member takes alone.
    most: u64,
    /// Messages under way on channels that are not slow.
    flying: u32,
    /// Channels that are slow.
    pub(super) slow: u32,
    /// Members that are not done.
    pub(super) left: u32,
    pub(super) outcomes: VecDeque<Outcome>,
    /// From when until when observers want every message, and those that arrived.
    pub(super) record: Option<(u64, u64)>,
    pub(super) seen: Vec<MessageSpan>,
    /// What they have carried at a steady rate, for observers.
    pub(super) pieces: Vec<Piece>,
}

impl Run {
    pub(super) fn new(token: Token, pipeline: Arc<Pipeline>, now: u64) -> Self {
        let n = pipeline.members.len();
        let outside = MemberState {
            channel: Channel::Cold,
            doing: Doing::Outside,
            explicit: false,
            step: 0,
            received: 0,
            own_end: 0,
            early: NEVER,
            alone: 0,
        };
        Self {
            token,
            next: vec![NEVER; n],
            members: vec![outside; n],
            routes: vec![MemberRoute::default(); n],
            steps: pipeline.steps,
            components: Vec::new(),
            ends: Vec::new(),
            time: now,
            furthest: 0,
            least: NEVER,
            most: 0,
            flying: 0,
            slow: 0,
            left: n as u32,
            outcomes: VecDeque::new(),
            record: None,
            seen: Vec::new(),
            pieces: Vec::new(),
            pipeline,
        }
    }

    /// Makes a finished run ready for another pipeline of the same shape.
    pub(super) fn reset(&mut self, token: Token, now: u64) {
        self.token = token;
        self.time = now;
        self.furthest = 0;
        self.least = NEVER;
        self.most = 0;
        self.left = self.members.len() as u32;
        self.components.clear();
        self.ends.clear();
        for member in &mut self.members {
            member.doing = Doing::Outside;
            member.channel = Channel::Cold;
            member.step = 0;
            member.received = 0;
            member.early = NEVER;
        }
        for route in &mut self.routes {
            route.inbox.clear();
        }
    }

    /// A member comes with its route; its first message starts at `now`.
    pub(super) fn join(&mut self, member: u32, route: RouteId, latency: Duration, rate: f64, now: u64) {
        let i = member as usize;
        let bytes = self.pipeline.chunk_bytes;
        let short = serialize(bytes as f64, rate);
        let state = &mut self.routes[i];
        state.route = route;
        state.latency = latency.as_ps();
        state.rate = rate;
        state.longer = serialize((bytes + 1) as f64, rate) - short;
        self.members[i].alone = state.latency + short;
        self.least = self.least.min(self.members[i].alone);
        let longer = if self.pipeline.longer_chunks > 0 { state.longer } else { 0 };
        self.most = self.most.max(self.members[i].alone + longer);
        self.flying += u32::from(self.members[i].channel != Channel::Slow);
        self.start(i, now);
    }

    /// Bytes of the message that a member sends next or has under way.
    #[inline]
    pub(super) fn bytes(&self, member: u32) -> u64 {
        match self.pipeline.longer_chunks {
            0 => self.pipeline.chunk_bytes,
            _ => self.pipeline.bytes(member, self.members[member as usize].step),
        }
    }

    /// A message of `i` starts at `at`.
    #[inline(always)]
    fn start(&mut self, i: usize, at: u64) {
        let member = &mut self.members[i];
        member.doing = Doing::Sending;
        if member.channel == Channel::Cold && self.pipeline.longer_chunks == 0 {
            member.explicit = false;
            self.next[i] = at + member.alone;
        } else {
            self.start_other(i, at);
        }
    }

    /// A message of `i` starts at `at` on a channel that is not cold, or is one of unequal messages.
    fn start_other(&mut self, i: usize, at: u64) {
        let bytes = self.bytes(i as u32);
        let (member, route) = (&mut self.members[i], &mut self.routes[i]);
        let from = at + route.latency;
        member.explicit = true;
        route.under_way = UnderWay { sent: at, from, remaining: bytes as f64 };
        match member.channel {
            Channel::Cold => {
                let longer = if bytes > self.pipeline.chunk_bytes { route.longer } else { 0 };
                self.next[i] = at + member.alone + longer;
            }
            Channel::Hot(component) => {
                let rate = self.components[component as usize].expect("a hot channel has one").channel_rate;
                self.next[i] = from + serialize(bytes as f64, rate);
                self.estimate_end(component);
            }
            Channel::Slow => self.outcomes.push_back(Outcome::StartSlow(i as u32)),
        }
    }

    /// The message of `i` under way on a fast channel.
    pub(super) fn under_way(&self, i: usize) -> UnderWay {
        if self.members[i].explicit {
            return self.routes[i].under_way;
        }
        // alone since it was sent, and no longer than the others
        let sent = self.next[i] - self.members[i].alone;
        let remaining = self.pipeline.chunk_bytes as f64;
        UnderWay { sent, from: sent + self.routes[i].latency, remaining }
    }

    /// The message of `i` has arrived at `at`.
    #[inline(always)]
    fn arrive(&mut self, i: usize, at: u64) {
        let steps = self.steps;
        let member = &mut self.members[i];
        member.step += 1;
        member.own_end = at;
        let step = member.step;
        let channel = member.channel;
        self.furthest = self.furthest.max(step);
        if let Channel::Hot(component) = channel {
            self.pass(component, at);
        }
        self.next[i] = NEVER;
        if step < steps && self.members[i].early != NEVER {
            let arrival = self.next_arrival(i);
            self.start(i, at.max(arrival));
        } else {
            self.pause(i);
        }
        let j = if i + 1 == self.members.len() { 0 } else { i + 1 };
        let receiver = &mut self.members[j];
        receiver.received += 1;
        match receiver.doing {
            Doing::Waiting => {
                let start = at.max(receiver.own_end);
                self.flying += u32::from(receiver.channel != Channel::Slow);
                self.start(j, start);
            }
            Doing::Over => self.check_done(j),
            // the last message to a member starts nothing
            Doing::Sending | Doing::Outside if receiver.received == steps => {}
            Doing::Sending | Doing::Outside if receiver.early == NEVER => receiver.early = at,
            Doing::Sending | Doing::Outside => self.routes[j].inbox.push_back(at),
        }
    }

    /// Takes the oldest arrival that no message of `i` has followed yet.
    #[inline(always)]
    fn next_arrival(&mut self, i: usize) -> u64 {
        let next = self.routes[i].inbox.pop_front().unwrap_or(NEVER);
        std::mem::replace(&mut self.members[i].early, next)
    }

    /// Nothing of `i` is under way: it waits, or has sent everything.
    fn pause(&mut self, i: usize) {
        let member = &mut self.members[i];
        member.doing = if member.step < self.steps { Doing::Waiting } else { Doing::Over };
        self.flying -= u32::from(member.channel != Channel::Slow);
        if let Channel::Hot(component) = member.channel {
            self.estimate_end(component);
        }
        if self.members[i].doing == Doing::Over {
            self.outcomes.push_back(Outcome::Over(i as u32));
            self.check_done(i);
        }
    }

    /// Notes when a member has sent and received everything.
    fn check_done(&mut self, i: usize) {
        let member = &self.members[i];
        if member.step == self.steps && member.received == self.steps {
            self.outcomes.push_back(Outcome::Done(i as u32));
        }
    }

    /// A slow message of `member` has arrived.
    pub(super) fn arrive_slow(&mut self, member: u32, at: u64) {
        self.arrive(member as usize, at);
    }

    /// Works off all messages that arrive until `until`, which is not after [`Run::bound`].
    pub(super) fn run_to(&mut self, until: u64) {
        // a message that arrives in this window may have begun some time before it
        let begin = self.time.saturating_sub(self.most.saturating_mul(64));
        if self.records(begin, until) {
            self.sweep::<true>(until)
        } else {
            self.sweep::<false>(until)
        }
        self.time = until;
    }

    /// Whether observers want messages that lie between `from` and `until`.
    pub(super) fn records(&self, from: u64, until: u64) -> bool {
        self.record.is_some_and(|(first, last)| first <= until && from <= last)
    }

    /// Shows the routes of members that have joined, and of flows beside them.
    pub(super) fn each_route(&mut self, show: &mut dyn FnMut(&mut RouteId)) {
        let joined = self.members.iter().zip(&mut self.routes);
        for (_, state) in joined.filter(|(member, _)| member.doing != Doing::Outside) {
            show(&mut state.route);
        }
        self.components.iter_mut().flatten().for_each(|component| show(&mut component.route));
    }

    /// Notes a message that arrives at `at`, for observers; whether it was a flow in the end, which tells of its links itself.
    pub(super) fn note(&mut self, i: usize, at: u64, by_flow: bool) {
        let [from, to] = self.pipeline.ends(i as u32);
        let span = MessageSpan {
            src: from.rank,
            dst: to.rank,
            start: Time::from_ps(self.under_way(i).sent),
            end: Time::from_ps(at),
            bytes: self.bytes(i as u32),
            flow: None,
        };
        if !by_flow {
            // at changes of its rate they were told of what was before
            let UnderWay { from, remaining, .. } = self.under_way(i);
            let bytes = if self.members[i].explicit { remaining.round() as u64 } else { span.bytes };
            self.pieces.push((self.routes[i].route, Time::from_ps(from.min(at)), span.end, bytes));
        }
        self.seen.push(span);
    }

    fn sweep<const RECORD: bool>(&mut self, until: u64) {
        const LANES: usize = 16;
        const CUT: u64 = 4;
        let n = self.next.len();
        // a window is cut where it would let one member run far ahead of the next
        let mut limit = until.min(self.time.saturating_add(self.least.saturating_mul(CUT)));
        loop {
            // round and round: only the first member can be released behind the sweep
            let mut again = true;
            let mut pending = limit;
            while again {
                pending = NEVER;
                let mut at = 0;
                while at < n {
                    let end = (at + LANES).min(n);
                    let first = self.next[at..end].iter().fold(NEVER, |least, &next| least.min(next));
                    if first <= limit {
                        for i in at..end {
                            while self.next[i] <= limit {
                                let arrival = self.next[i];
                                if RECORD {
                                    self.note(i, arrival, false);
                                }
                                self.arrive(i, arrival);
                            }
                        }
                        pending = limit;
                    } else {
                        pending = pending.min(first);
                    }
                    at = end;
                }
                again = self.next[0] <= limit;
            }
            if limit == until {
                return;
            }
            // where nothing arrives soon (messages may take no time at all), on to the next arrival
            limit = until.min(pending.max(limit).saturating_add(self.least.saturating_mul(CUT)));
        }
    }

    /// Messages that arrive until `until`, at most.
    pub(super) fn messages_until(&self, until: u64) -> u64 {
        let steps = until.saturating_sub(self.time) / self.least.max(1);
        steps.saturating_add(1).min(self.steps.into()).saturating_mul(self.next.len() as u64)
    }

    /// The earliest instant at which others may notice something, or want a turn; nothing before it is missed.
    pub(super) fn bound(&self) -> u64 {
        let ends = self.ends.iter().fold(NEVER, |least, &end| least.min(end));
        let left = u64::from(self.steps.saturating_sub(self.furthest));
        let most = 3 + MOST_AT_ONCE / self.next.len().max(1) as u64;
        let done = if self.flying == 0 {
            NEVER
        } else if left > 2 && self.slow == 0 {
            // of the messages that the furthest member has to send, all but one have not begun
            let done = self.time.saturating_add((left.min(most) - 1).saturating_mul(self.least));
            // members may be so unlike that this comes to nothing
            if self.least < self.most / 16 || self.least == 0 { done.max(self.first()) } else { done }
        } else {
            // the end of a message that is the last of its member, or releases a slow one; no message
            // that has not begun ends before one that has, and then takes its own time
            let mut first = NEVER;
            let mut noticed = NEVER;
            let after = self.members.iter().skip(1).chain(self.members.first());
            for ((next, member), after) in self.next.iter().zip(&self.members).zip(after) {
                first = first.min(*next);
                if member.step + 1 == self.steps || after.channel == Channel::Slow {
                    noticed = noticed.min(*next);
                }
            }
            noticed.min(first.saturating_add(self.least))
        };
        ends.min(done).max(self.time)
    }

    /// The earliest arrival on a fast channel.
    fn first(&self) -> u64 {
        self.next.iter().fold(NEVER, |least, &next| least.min(next))
    }

    /// Brings the foreign flow of a component up to `at`, not after the arrival under way.
    pub(super) fn pass(&mut self, index: u32, at: u64) {
        let component = self.components[index as usize].as_mut().expect("the component exists");
        let pieces = &mut self.pieces;
        let mut carry = |component: &mut Component, rate: f64, until: u64| {
            let before = component.remaining;
            component.remaining = (before - rate * (until - component.last) as f64).max(0.0);
            let since = std::mem::replace(&mut component.last, until);
            if self.record.is_some() {
                pieces.extend(piece(component.route, since, until, before, component.remaining));
            }
        };
        let i = component.member as usize;
        // alone until the message under way (always explicit here) takes bandwidth, then beside it
        let meet = match self.members[i].doing {
            Doing::Sending => self.routes[i].under_way.from.clamp(component.last, at.max(component.last)),
            _ => at,
        };
        if meet > component.last {
            carry(component, component.rate_alone, meet);
        }
        if at > component.last {
            carry(component, component.rate_beside, at);
        }
    }

    /// When the foreign flow of a component ends if no further message starts: never too late.
    pub(super) fn end_of(&self, index: u32) -> u64 {
        let Some(component) = &self.components[index as usize] else { return NEVER };
        let mut remaining = component.remaining;
        let mut at = component.last;
        let i = component.member as usize;
        if self.members[i].doing == Doing::Sending {
            let arrival = self.next[i];
            let from = self.routes[i].under_way.from;
            if from > at {
                let end = at.saturating_add(serialize(remaining, component.rate_alone));
                if end <= from {
                    return end;
                }
                remaining -= component.rate_alone * (from - at) as f64;
                at = from;
            }
            let end = at.saturating_add(serialize(remaining.max(0.0), component.rate_beside));
            if end <= arrival {
                return end;
            }
            remaining -= component.rate_beside * (arrival - at) as f64;
            at = arrival;
        }
        at.saturating_add(serialize(remaining.max(0.0), component.rate_alone))
    }

    /// Refreshes the bound of a component.
    pub(super) fn estimate_end(&mut self, index: u32) {
        let end = self.end_of(index);
        self.ends[index as usize] = end;
    }

    /// Components whose foreign flow ends at `at` at the latest.
    pub(super) fn ended(&self, at: u64) -> Option<u32> {
        let index = self.ends.iter().position(|&end| end <= at)?;
        Some(index as u32)
    }

    /// Adds a component and makes its channel hot from `now` on.
    pub(super) fn heat(&mut self, component: Component, now: u64) -> u32 {
        let i = component.member as usize;
        let index = match self.components.iter().position(Option::is_none) {
            Some(free) => {
                self.components[free] = Some(component);
                free as u32
            }
            None => {
                self.components.push(Some(component));
                self.ends.push(NEVER);
                self.components.len() as u32 - 1
            }
        };
        self.members[i].channel = Channel::Hot(index);
        self.change_rate(i, self.routes[i].rate, component.channel_rate, now);
        self.estimate_end(index);
        index
    }

    /// Removes a component; its channel is cold from `now` on. The component's state is at `now`.
    pub(super) fn cool(&mut self, index: u32, now: u64) -> Component {
        self.pass(index, now);
        let component = self.components[index as usize].take().expect("the component exists");
        self.ends[index as usize] = NEVER;
        let i = component.member as usize;
        self.members[i].channel = Channel::Cold;
        self.change_rate(i, component.channel_rate, self.routes[i].rate, now);
        component
    }

    /// The message under way on a fast channel changes its rate at `now`.
    fn change_rate(&mut self, i: usize, before: f64, after: f64, now: u64) {
        if self.members[i].doing != Doing::Sending || self.next[i] == NEVER {
            return;
        }
        let mut under_way = self.under_way(i);
        if now > under_way.from {
            let UnderWay { from, remaining, .. } = under_way;
            under_way.remaining = (remaining - before * (now - from) as f64).max(0.0);
            under_way.from = now;
            if self.record.is_some() {
                self.pieces.extend(piece(self.routes[i].route, from, now, remaining, under_way.remaining));
            }
        }
        self.members[i].explicit = true;
        self.routes[i].under_way = under_way;
        self.next[i] = under_way.from.saturating_add(serialize(under_way.remaining, after));
    }

    /// Makes a channel slow at `now`; its message under way (now a flow) if it has one: true.
    pub(super) fn slow_down(&mut self, member: u32, now: u64) -> bool {
        let i = member as usize;
        debug_assert_eq!(self.members[i].channel, Channel::Cold, "a hot channel is cooled first");
        let rate = self.routes[i].rate;
        self.change_rate(i, rate, rate, now);
        self.members[i].channel = Channel::Slow;
        self.slow += 1;
        let under_way = self.members[i].doing == Doing::Sending && self.next[i] != NEVER;
        self.flying -= u32::from(under_way);
        self.next[i] = NEVER;
        under_way
    }

    /// A slow channel is free of others again.
    pub(super) fn speed_up(&mut self, member: u32) {
        debug_assert_eq!(self.members[member as usize].channel, Channel::Slow);
        self.members[member as usize].channel = Channel::Cold;
        self.slow -= 1;
    }

    /// Starts the message that a `StartSlow` announced, on a channel that is fast after all.
    pub(super) fn start_fast(&mut self, member: u32) {
        let at = self.routes[member as usize].under_way.sent;
        self.flying += 1;
        self.start(member as usize, at);
    }
}

/// Picoseconds that `bytes` take at `rate` bytes per picosecond, to the nearest.
#[inline]
fn serialize(bytes: f64, rate: f64) -> u64 {
    (bytes / rate + 0.5) as u64
}

/// What was carried while so many bytes of `before` were left in the end; none of less than a byte.
fn piece(route: RouteId, from: u64, until: u64, before: f64, left: f64) -> Option<Piece> {
    let bytes = (before.round() as u64).saturating_sub(left.round() as u64);
    (bytes > 0).then(|| (route, Time::from_ps(from), Time::from_ps(until), bytes))
}
