//! Drives a network as the engine does, and watches every step.

use stratasim_core::model::{Network, NetworkDone, NetworkRequest};
use stratasim_core::observe::Blind;
use stratasim_core::{Cx, Duration, Time};

/// What a network said, and when.
pub type Log = Vec<(Time, NetworkDone)>;

/// Steps after which a run is given up.
const MOST_STEPS: u64 = 200_000;

/// Runs `network` until it is idle: submits `requests` (in order of time), and what `react` answers to
/// a completion, in the instant of the completion. With a `stride`, time moves in steps of at most that
/// length, whether something happens in them or not.
///
/// # Panics
/// When the network breaks the rules of [`stratasim_core::Model`]: it goes back in time or too far,
/// completes something before the bound it gave, stops where nothing is completed, or never ends.
pub fn drive(
    network: &mut dyn Network,
    requests: &[(Time, NetworkRequest)],
    stride: Option<Duration>,
    react: &mut dyn FnMut(Time, &NetworkDone) -> Vec<NetworkRequest>,
) -> Log {
    let mut log = Log::new();
    let mut now = Time::ZERO;
    let mut waiting = requests.iter().peekable();
    let mut done = Vec::new();
    for step in 0.. {
        assert!(step < MOST_STEPS, "the network does not come to an end");
        let bound = network.next_event();
        let submission = waiting.peek().map(|(at, _)| *at);
        if bound.is_none() && submission.is_none() {
            break;
        }
        assert!(bound.is_none_or(|bound| bound >= now), "the next event {bound:?} is before {now:?}");
        let step_end = stride.map_or(Time::MAX, |stride| now + stride);
        let until = submission.unwrap_or(Time::MAX).min(step_end);
        if stride.is_some() || bound.is_some_and(|bound| bound <= until) {
            let reached = network.advance(until, &mut Cx { done: &mut done, observer: &mut Blind });
            assert!(reached >= now && reached <= until, "from {now:?} to {until:?} it went to {reached:?}");
            if done.is_empty() {
                assert_eq!(reached, until, "it stopped without a completion");
            } else {
                assert!(
                    bound.is_some_and(|bound| bound <= reached),
                    "something was completed at {reached:?}, the next event was said to be {bound:?}"
                );
            }
            now = reached;
        } else {
            now = until;
        }
        for completion in std::mem::take(&mut done) {
            for request in react(now, &completion) {
                network.submit(now, request);
            }
            log.push((now, completion));
        }
        while let Some((_, request)) = waiting.next_if(|(at, _)| *at == now) {
            network.submit(now, request.clone());
        }
    }
    log
}

/// As [`drive`], for messages that wait for nothing.
pub fn drive_messages(
    network: &mut dyn Network,
    messages: &[crate::traffic::Timed],
    stride: Option<Duration>,
) -> Log {
    let requests: Vec<_> =
        messages.iter().map(|&(at, transfer)| (at, NetworkRequest::Transfer(transfer))).collect();
    drive(network, &requests, stride, &mut |_, _| Vec::new())
}
