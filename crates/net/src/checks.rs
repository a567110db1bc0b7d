//! What every network that counts bytes on links must keep to.

use stratasim_core::model::Invariant;
use stratasim_core::{LinkId, Time};
use stratasim_topo::{Sharing, Topology};

/// Broken invariants that are named at most.
pub(crate) const NAMED: usize = 20;

/// Links that carried `bytes`, for which they need `busy_s` at their full rates, up to `now`: fat pipes serve each user in full,
/// others all of them together. `slack_s` is what rounding, and what is still under way, may add, by link.
pub(crate) fn links(
    topology: &Topology,
    bytes: &[f64],
    busy_s: &[f64],
    now: Time,
    slack_s: impl Fn(usize) -> f64,
) -> Invariant {
    let is_used = |index: &usize| {
        bytes[*index] > 0.0 && topology.link(LinkId::from_index(*index)).sharing == Sharing::Shared
    };
    let used: Vec<usize> = (0..bytes.len()).filter(is_used).collect();
    let most_s = |index: usize| now.as_secs_f64() * (1.0 + 1e-9) + slack_s(index);
    let violations = (used.iter().filter(|&&index| busy_s[index] > most_s(index)).take(NAMED))
        .map(|&index| {
            format!(
                "link {} carried {} bytes, its rate allows {:.0} in the {now} of the run",
                topology.link_name(LinkId::from_index(index)),
                bytes[index],
                bytes[index] / busy_s[index] * now.as_secs_f64()
            )
        })
        .collect();
    Invariant { name: Invariant::LINKS, checked: used.len() as u64, violations }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stratasim_topo::{BuildContext, TopologySpec};

    use super::*;

    #[test]
    fn a_link_that_carries_too_much_is_named() {
        let text = r#"{"kind": "graph", "nodes": [{"name": "a"}, {"name": "b"}], "links": [
            {"from": "a", "to": "b", "bandwidth": "1 GB/s", "latency": "0 s"},
            {"name": "fat", "from": "a", "to": "b", "bandwidth": "1 GB/s", "latency": "0 s", "sharing": "fat-pipe"}]}"#;
        let spec: TopologySpec = serde_json::from_str(text).unwrap();
        let topology: Arc<Topology> = Arc::new(spec.plugin().build(&BuildContext::default()).unwrap());
        let count = topology.links().len();
        let bytes = vec![2e6; count];
        let busy: Vec<f64> = topology.links().iter().map(|link| 2e6 / link.bandwidth.bytes_per_s()).collect();
        let shared = topology.links().iter().filter(|link| link.sharing == Sharing::Shared).count();
        let held = links(&topology, &bytes, &busy, Time::from_ps(2_000_000_000), |_| 0.0);
        assert_eq!((held.checked, held.violations.len()), (shared as u64, 0));
        let broken = links(&topology, &bytes, &busy, Time::from_ps(1_900_000_000), |_| 0.0);
        assert_eq!(broken.violations.len(), shared);
        assert!(
            broken.violations[0].contains("link a->b#0 carried 2000000 bytes, its rate allows 1900000"),
            "{broken:?}"
        );
        assert_eq!(
            links(&topology, &bytes, &busy, Time::from_ps(1_900_000_000), |_| 1e-3).violations.len(),
            0
        );
    }
}
