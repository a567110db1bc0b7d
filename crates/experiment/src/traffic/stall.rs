//! Who waits for whom in a network that stands still.

use std::fmt::Write as _;

use stratasim_net::flit::fabric::Fabric;
use stratasim_net::flit::kernel::Wait;
use stratasim_net::flit::network::stall::circle;

/// Waiting channels that a report lists.
const LISTED: usize = 24;

/// The cycle of waiting channels, or, where there is none, the first of those that wait. `waiting` is in order of
/// router, input and channel; `name` is that of a router, for the user.
pub(super) fn report(
    fabric: &Fabric,
    name: &dyn Fn(u32) -> String,
    waiting: &[Wait],
    now: u64,
    in_flight: u64,
) -> String {
    let mut text =
        format!("the network stands still: in cycle {now} nothing moves, {in_flight} flits are under way");
    let cycle = circle(fabric, waiting);
    let (heading, list) = match &cycle {
        Some(cycle) => ("; these channels wait for each other in a cycle:", cycle),
        None => ("; these channels wait:", &waiting.to_vec()),
    };
    text += heading;
    for wait in list.iter().take(LISTED) {
        let _ = write!(
            text,
            "\n    {} (router {}) input {} vc {} (to terminal {}) waits for output {}",
            name(wait.router),
            wait.router,
            wait.input,
            wait.vc,
            wait.dest,
            wait.output
        );
        if let Some(vc) = wait.output_vc {
            let _ = write!(text, " vc {vc}");
        }
    }
    if list.len() > LISTED {
        let _ = write!(text, "\n    and {} more", list.len() - LISTED);
    }
    text += "\n  choose a routing that is free of deadlock here, or more virtual channels";
    text
}

#[cfg(test)]
mod tests {
    use stratasim_net::flit::fabric::{Channel, End};

    use super::*;

    /// A ring of three routers, and a terminal on each.
    fn ring() -> Fabric {
        let mut fabric = Fabric::new(vec![(2, 2); 3]);
        for router in 0..3 {
            let end = End::Router { router: (router + 1) % 3, port: 0 };
            fabric.connect((router, 0), Channel { end, ..Channel::default() });
            fabric.attach(router, (1, 1), Channel::default(), Channel::default(), None);
        }
        fabric
    }

    #[test]
    fn a_cycle_of_waiting_channels_is_found_and_named() {
        let wait =
            |router, input, output, output_vc| Wait { router, input, vc: 0, output, output_vc, dest: 0 };
        let waiting =
            [wait(0, 0, 0, Some(0)), wait(0, 1, 0, None), wait(1, 0, 0, Some(0)), wait(2, 0, 0, None)];
        let text = report(&ring(), &|router| format!("switch-{router}"), &waiting, 700, 9);
        assert!(
            text.contains("in a cycle") && text.matches("router").count() == 3 && text.contains("switch-2"),
            "{text}"
        );
        assert!(!text.contains("input 1"), "the one behind the cycle is not of it: {text}");
        let text = report(&ring(), &|router| format!("switch-{router}"), &waiting[..3], 700, 9);
        assert!(text.contains("these channels wait:"), "{text}");
    }
}
