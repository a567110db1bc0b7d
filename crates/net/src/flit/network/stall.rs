//! A network that stands still: after how long that is certain, and who waits for whom.

use crate::flit::fabric::{End, FULL_WIDTH, Fabric};
use crate::flit::kernel::Wait;
use crate::flit::router::RouterSpec;

/// Cycles without any movement after which nothing can move any more: everything that is on a wire or in a
/// stage of a router has come out by then.
pub fn patience(fabric: &Fabric, router: &RouterSpec) -> u64 {
    let injections = fabric.terminals().iter().map(|terminal| &terminal.injection);
    let longest = fabric.channels().iter().chain(injections).map(|channel| {
        u64::from(channel.latency)
            + u64::from(channel.credit_latency)
            + u64::from(channel.spacing).div_ceil(u64::from(FULL_WIDTH))
    });
    let stages = [
        router.routing_delay,
        router.vc_allocation_delay,
        router.switch_allocation_delay,
        router.traversal_delay,
        router.credit_delay,
    ];
    // stages may start new work only when a batch is through
    let stages: u64 = stages.into_iter().map(u64::from).sum();
    2 * (longest.max().unwrap_or(1) + 2 * stages) + 1000
}

/// A circle among waiting virtual channels: each holds a packet that wants a place in the next one.
pub fn circle(fabric: &Fabric, waits: &[Wait]) -> Option<Vec<Wait>> {
    // ordered by router, input and channel
    let behind = |wait: &Wait| -> std::ops::Range<usize> {
        let End::Router { router, port } = fabric.channel(wait.router, wait.output).end else { return 0..0 };
        let key = |wait: &Wait| (wait.router, wait.input, wait.vc);
        let (first, last) = match wait.output_vc {
            Some(vc) => (vc, vc),
            None => (0, u8::MAX),
        };
        let start = waits.partition_point(|wait| key(wait) < (router, port, first));
        start..waits.partition_point(|wait| key(wait) <= (router, port, last)).max(start)
    };
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state = vec![NEW; waits.len()];
    for root in 0..waits.len() {
        if state[root] != NEW {
            continue;
        }
        state[root] = OPEN;
        let mut stack = vec![(root, behind(&waits[root]))];
        while let Some((at, next)) = stack.last_mut() {
            let Some(to) = next.next() else {
                state[*at] = DONE;
                stack.pop();
                continue;
            };
            match state[to] {
                OPEN => {
                    let from =
                        stack.iter().position(|(at, _)| *at == to).expect("open ones are on the stack");
                    return Some(stack[from..].iter().map(|(at, _)| waits[*at]).collect());
                }
                NEW => {
                    state[to] = OPEN;
                    stack.push((to, behind(&waits[to])));
                }
                _ => {}
            }
        }
    }
    None
}

/// What is said of a network that stands still since cycle `since`.
pub fn report(fabric: &Fabric, waits: &[Wait], since: u64, name: &dyn Fn(u32) -> String) -> String {
    const SHOWN: usize = 12;
    let circle = circle(fabric, waits);
    let (what, shown) = match &circle {
        Some(circle) => {
            (format!("{} virtual channels wait for each other in a circle", circle.len()), circle.as_slice())
        }
        None => (format!("{} virtual channels wait", waits.len()), waits),
    };
    let mut text = format!("nothing has moved in the network since cycle {since}: {what}");
    for wait in shown.iter().take(SHOWN) {
        let to = match fabric.channel(wait.router, wait.output).end {
            End::Router { router, .. } => format!("router {}", name(router)),
            End::Terminal(terminal) => format!("terminal {terminal}"),
            End::Nothing => "nowhere".to_owned(),
        };
        let vc = wait
            .output_vc
            .map_or_else(|| "any virtual channel".to_owned(), |vc| format!("virtual channel {vc}"));
        text.push_str(&format!(
            "\n  router {}, input {}, virtual channel {}: for terminal {}, waits for {vc} to {to}",
            name(wait.router),
            wait.input,
            wait.vc,
            wait.dest
        ));
    }
    if shown.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", shown.len() - SHOWN));
    }
    text
}
