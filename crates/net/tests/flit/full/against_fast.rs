//! The two kernels are each other's oracle: where both know the router, every packet does the same.

use std::sync::Arc;

use proptest::prelude::*;
use stratasim_net::flit::fabric::Channel;
use stratasim_net::flit::fast::Fast;
use stratasim_net::flit::full::Full;
use stratasim_net::flit::kernel::Kernel;
use stratasim_net::flit::router::RouterSpec;
use stratasim_net::flit::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use stratasim_net::flit::terminals::Arrival;

use super::bench::{GridRouting, List, grid, settle, traffic};

/// Dimension order on one half of the virtual channels: which one is drawn, and turned around when the
/// output is used by an odd number of flits.
struct Halves(GridRouting);

impl FlitRouting for Halves {
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let mut all = Vec::with_capacity(1);
        self.0.route(place, head, surroundings, &mut all);
        let mut candidate = all[0];
        let half = (candidate.last_vc - candidate.first_vc).div_ceil(2);
        if half > 0 {
            let upper = (surroundings.draw(2) + surroundings.used(candidate.output)) % 2 == 1;
            let first = if upper { candidate.first_vc + half } else { candidate.first_vc };
            (candidate.first_vc, candidate.last_vc) =
                (first, if upper { candidate.last_vc } else { first + half - 1 });
        }
        candidate
    }

    fn adaptive(&self) -> bool {
        true
    }
}

/// Everything that a kernel reports of a list of packets.
type Report = (Vec<Arrival>, Vec<u64>, Vec<u64>, u64, u64);

fn report(kernel: &mut impl Kernel, packets: &[(u64, u32, u8, u32, u16)]) -> Result<Report, String> {
    let mut list = List::new(packets);
    settle(kernel, &mut list, 100_000)?;
    Ok((list.arrivals, list.flit_latencies, kernel.channel_flits(), kernel.last_progress(), list.entered))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn both_kernels_move_every_flit_in_the_same_cycle(
        virtual_channels in 1_u8..9, buffer_flits in 1_u16..10, latency in 1_u32..5,
        credit_latency in 1_u32..5, longest in 1_u16..9, over in 50_u64..1500, seed in any::<u64>(),
    ) {
        let spec = RouterSpec { virtual_channels, buffer_flits, ..RouterSpec::default() };
        let link = Channel { latency, credit_latency, ..Channel::default() };
        let fabric = Arc::new(grid(4, 3, link, Channel::default()));
        let routing = Arc::new(Halves(GridRouting { width: 4, adaptive: false }));
        let packets = traffic(600, 12, 1, longest, over);
        let mut full = Full::new(fabric.clone(), &spec, routing.clone(), seed).unwrap();
        let mut fast = Fast::new(fabric, &spec, routing, seed).unwrap();
        let (full, fast) = (report(&mut full, &packets), report(&mut fast, &packets));
        prop_assert!(full.is_ok(), "{:?}", full.err());
        prop_assert_eq!(full, fast);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn both_kernels_have_sent_as_many_flits_in_every_cycle(
        virtual_channels in 1_u8..5, spacing in 256_u32..900, longest in 1_u16..9, seed in any::<u64>(),
    ) {
        let spec = RouterSpec { virtual_channels, ..RouterSpec::default() };
        let fabric = Arc::new(grid(4, 3, Channel { spacing, ..Channel::default() }, Channel::default()));
        let routing = Arc::new(GridRouting { width: 4, adaptive: false });
        let packets = traffic(300, 12, 1, longest, 300);
        let mut full = Full::new(fabric.clone(), &spec, routing.clone(), seed).unwrap();
        let mut fast = Fast::new(fabric, &spec, routing, seed).unwrap();
        let (mut of_full, mut of_fast) = (List::new(&packets), List::new(&packets));
        for cycle in 1..600 {
            full.run(cycle, &mut of_full);
            fast.run(cycle, &mut of_fast);
            prop_assert_eq!(full.channel_flits(), fast.channel_flits(), "before cycle {}", cycle);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn both_kernels_sleep_while_narrow_channels_are_busy(
        of_links in 256_u32..20_000, of_edges in 256_u32..20_000, buffer_flits in 1_u16..9, longest in 1_u16..9,
        over in 1_u64..100_000, seed in any::<u64>(),
    ) {
        let spec = RouterSpec { virtual_channels: 2, buffer_flits, ..RouterSpec::default() };
        let channel = |spacing| Channel { spacing, ..Channel::default() };
        let fabric = Arc::new(grid(4, 3, channel(of_links), channel(of_edges)));
        let routing = Arc::new(GridRouting { width: 4, adaptive: false });
        let packets = traffic(60, 12, 1, longest, over);
        let mut full = Full::new(fabric.clone(), &spec, routing.clone(), seed).unwrap();
        let mut fast = Fast::new(fabric, &spec, routing, seed).unwrap();
        let (full, fast) = (report(&mut full, &packets), report(&mut fast, &packets));
        prop_assert!(full.is_ok(), "{:?}", full.err());
        prop_assert_eq!(full, fast);
    }
}
