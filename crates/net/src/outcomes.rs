//! What becomes of messages: those that have arrived and are reported later, those that failed, and why.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stratasim_core::model::NetworkDone;
use stratasim_core::{Cx, Time, Token};

/// Outcomes that the engine of programs has not heard of yet.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// Messages that are delivered at an instant, in order of it and then of their arrival.
    late: BinaryHeap<Reverse<(Time, u64, Token)>>,
    order: u64,
    /// Failures that were not reported, and all whose reason was not asked for.
    failed: Vec<Token>,
    reasons: Vec<(Token, String)>,
}

impl Outcomes {
    /// A message is delivered at an instant.
    pub(crate) fn deliver(&mut self, at: Time, token: Token) {
        self.late.push(Reverse((at, self.order, token)));
        self.order += 1;
    }

    /// A message is never delivered.
    pub(crate) fn fail(&mut self, token: Token, reason: String) {
        self.failed.push(token);
        self.reasons.push((token, reason));
    }

    /// When the next message is delivered; [`Time::MAX`] for none that is known.
    pub(crate) fn next(&self) -> Time {
        self.late.peek().map_or(Time::MAX, |&Reverse((at, ..))| at)
    }

    /// Whether there are failures to report.
    pub(crate) const fn have_failures(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Reports failures.
    pub(crate) fn report_failures(&mut self, cx: &mut Cx<'_, NetworkDone>) {
        cx.done.extend(self.failed.drain(..).map(NetworkDone::Failed));
    }

    /// Reports what is delivered by an instant.
    pub(crate) fn report_until(&mut self, now: Time, cx: &mut Cx<'_, NetworkDone>) {
        while let Some(&Reverse((at, _, token))) = self.late.peek()
            && at <= now
        {
            self.late.pop();
            cx.done.push(NetworkDone::Delivered(token));
        }
    }

    /// The first failure whose reason was not asked for.
    pub(crate) fn failure(&mut self) -> Option<(Token, String)> {
        if self.reasons.is_empty() { None } else { Some(self.reasons.remove(0)) }
    }
}
