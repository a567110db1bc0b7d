//! How much of a shared buffer a virtual channel may hold, by how long its credits take.
//!
//! A virtual channel whose flits move on at once has its credits back after a known time. For each cycle that they take
//! longer on average it may hold one flit less, so that a blocked one does not fill the buffer.
//!
//! Source: Becker, Jiang, Michelogiannakis, Dally, "Adaptive Backpressure: Efficient Buffer Management for On-Chip
//! Networks" (2012).

use std::collections::VecDeque;

use crate::flit::router::{BufferPolicy, RouterSpec};

/// Limits of the virtual channels of many buffers, as columns by buffer and virtual channel.
#[derive(Debug)]
pub(super) struct Feedback {
    virtual_channels: usize,
    /// One flit at a time is followed, not all.
    one_at_a_time: bool,
    aging: u8,
    offset: i64,
    /// By buffer: cycles that a credit takes at least.
    least: Vec<i64>,
    /// Flits that may be held.
    limit: Vec<i64>,
    /// Mean of the cycles that credits took, once there is one.
    mean: Vec<Option<i64>>,
    /// When those flits were sent that are followed and whose credits are not back.
    sent: Vec<VecDeque<u64>>,
    /// Flits before the one that is followed whose credits are not back.
    before: Vec<u32>,
}

impl Feedback {
    /// `least` is by buffer.
    pub(super) fn new(spec: &RouterSpec, places: u32, least: Vec<i64>) -> Self {
        let virtual_channels = usize::from(spec.virtual_channels);
        let channels = least.len() * virtual_channels;
        Self {
            virtual_channels,
            one_at_a_time: spec.buffers == BufferPolicy::SimpleFeedback,
            aging: spec.shared_buffer.feedback_aging.unwrap_or(1),
            offset: spec.shared_buffer.feedback_offset.into(),
            least,
            limit: vec![places.into(); channels],
            mean: vec![None; channels],
            sent: vec![VecDeque::new(); channels],
            before: vec![0; channels],
        }
    }

    /// Flits that a virtual channel may hold. A credit that is not back yet has taken as long as it is under way.
    pub(super) fn most(&self, channel: usize, now: u64) -> u32 {
        let so_far = self.sent[channel].front().map(|&sent| self.limit_after(channel, now - sent).1);
        so_far.map_or(self.limit[channel], |limit| limit.min(self.limit[channel])) as u32
    }

    /// A flit is sent, and there are `occupancy` of its virtual channel now.
    pub(super) fn send(&mut self, channel: usize, occupancy: u32, now: u64) {
        if self.one_at_a_time {
            if !self.sent[channel].is_empty() {
                return;
            }
            self.before[channel] = occupancy - 1;
        }
        self.sent[channel].push_back(now);
    }

    /// A credit is back.
    pub(super) fn credit(&mut self, channel: usize, now: u64) {
        if self.before[channel] > 0 {
            self.before[channel] -= 1;
            return;
        }
        let Some(sent) = self.sent[channel].pop_front() else { return };
        let (mean, limit) = self.limit_after(channel, now - sent);
        self.mean[channel] = Some(mean);
        self.limit[channel] = limit;
    }

    /// The mean and the limit when a credit takes `cycles`.
    fn limit_after(&self, channel: usize, cycles: u64) -> (i64, i64) {
        let cycles = cycles as i64;
        let mean = self.mean[channel].map_or(cycles, |mean| {
            let scaled = (mean << self.aging) + cycles - mean;
            scaled >> self.aging
        });
        let least = self.least[channel / self.virtual_channels];
        (mean, (2 * least - mean + self.offset).clamp(1, u32::MAX.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feedback(buffers: BufferPolicy, aging: u8) -> Feedback {
        let mut spec = RouterSpec { buffers, virtual_channels: 2, ..RouterSpec::default() };
        spec.shared_buffer.feedback_aging = Some(aging);
        Feedback::new(&spec, 100, vec![7, 9])
    }

    #[test]
    fn a_credit_that_takes_longer_grants_less() {
        let mut all = feedback(BufferPolicy::Feedback, 1);
        assert_eq!(all.most(2, 50), 100);
        all.send(2, 1, 50);
        all.send(2, 2, 51);
        // none is back: as long as the first is under way
        assert_eq!(all.most(2, 54), 18 - 4);
        all.credit(2, 60);
        assert_eq!(all.most(2, 60), 18 - 10);
        // half of the 10 before and of the 20 now
        assert_eq!(all.most(2, 71), 18 - 15);
        all.credit(2, 53);
        assert_eq!(all.most(2, 53), 18 - 6);
        all.send(2, 1, 60);
        assert_eq!((all.most(2, 1000), all.most(3, 1000), all.most(0, 1000)), (1, 100, 100));
    }

    #[test]
    fn one_flit_at_a_time_is_followed() {
        let mut some = feedback(BufferPolicy::SimpleFeedback, 0);
        some.send(0, 4, 10);
        some.send(0, 5, 11);
        // the credits of the three before it say nothing
        for now in [12, 13, 14] {
            some.credit(0, now);
        }
        some.credit(0, 19);
        assert_eq!(some.most(0, 19), 14 - 9);
        some.credit(0, 20);
        assert_eq!(some.most(0, 90), 14 - 9);
    }
}
