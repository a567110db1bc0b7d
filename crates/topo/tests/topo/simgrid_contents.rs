//! What a platform file says beyond hosts and routes, old versions of the format, hand-derived routes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stratasim_core::random::Draws;
use stratasim_core::{Duration, LinkId, NodeId, Precision};
use stratasim_topo::io::profile::Profile;
use stratasim_topo::io::simgrid::{Platform, import};
use stratasim_topo::{NodeKind, RoutingSpec, Topology};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/simgrid-xml")
}

fn read(text: &str) -> Platform {
    import(text, "p.xml", &folder()).unwrap_or_else(|error| panic!("{error}"))
}

fn node(topology: &Topology, name: &str) -> NodeId {
    topology.find_node(name).unwrap_or_else(|| panic!("no node {name}"))
}

fn link(topology: &Topology, name: &str) -> LinkId {
    topology.find_link(name).unwrap_or_else(|| panic!("no link {name}"))
}

/// Names of the links from `src` to `dst`, and the latency of no link.
fn route(topology: &Arc<Topology>, src: &str, dst: &str) -> (Vec<String>, Duration) {
    let mut routing = RoutingSpec::default().plugin().build(topology).unwrap();
    let mut links = Vec::new();
    let extra = routing.route(node(topology, src), node(topology, dst), 0, &mut links).unwrap();
    (links.into_iter().map(|link| topology.link_name(link)).collect(), extra)
}

fn seconds(points: &[(f64, f64)], repeat_s: Option<f64>) -> Profile {
    Profile {
        points: points.iter().map(|&(at, value)| (Duration::from_secs_f64(at), value)).collect(),
        repeat_after: repeat_s.map(Duration::from_secs_f64),
    }
}

#[test]
fn version_3_files_are_read_with_their_old_names() {
    let platform = read(
        r#"<?xml version='1.0'?>
        <!DOCTYPE platform SYSTEM "http://simgrid.gforge.inria.fr/simgrid.dtd">
        <platform version="3">
        <random id="r" min="0" max="1" mean="0.5" std_deviation="0.1"/>
        <AS id="top" routing="Floyd">
          <AS id="left" routing="Full">
            <host id="a" power="1000000000" core="2" availability="0.5"/><host id="b" power="2E9" state="OFF"/>
            <router id="ra"/>
            <link id="ab" bandwidth="1E9" latency="1E-4"/><link id="up" bandwidth="1E9" latency="2E-4" sharing_policy="FULLDUPLEX" state="OFF"/>
            <route src="a" dst="b"><link_ctn id="ab"/></route>
            <route src="a" dst="ra"><link_ctn id="up" direction="UP"/></route>
            <route src="b" dst="ra"><link_ctn id="ab"/><link_ctn id="up" direction="UP"/></route>
          </AS>
          <cluster id="right" prefix="c" suffix="" radical="0-1" power="1E9" bw="1E8" lat="5E-5" sharing_policy="FULLDUPLEX" bb_bw="2E9" bb_lat="5E-4"/>
          <link id="wan" bandwidth="1E8" latency="0.01"/>
          <ASroute src="left" dst="right" gw_src="ra" gw_dst="cright_router"><link_ctn id="wan"/></ASroute>
        </AS>
        <trace id="t" periodicity="10">0 1
          5 0.25
        </trace>
        <trace_connect kind="POWER" trace="t" element="b"/>
        </platform>"#,
    );
    let topology = Arc::new(platform.topology);
    let a = topology.compute_type(node(&topology, "a")).unwrap();
    assert_eq!((a.rate_flop_per_s[Precision::Fp64.index()], a.cores), (1e9, 2));
    assert_eq!(a.rate_flop_per_s[Precision::Int8.index()], 0.0);
    assert_eq!(topology.kind(node(&topology, "ra")), NodeKind::Switch);
    let profiles = |name| topology.node_profiles(node(&topology, name)).unwrap();
    assert_eq!(profiles("a").speed, Some(seconds(&[(0.0, 0.5)], None)));
    assert_eq!(profiles("b").speed, Some(seconds(&[(0.0, 1.0), (5.0, 0.25)], Some(10.0))));
    assert_eq!(profiles("b").state, Some(seconds(&[(0.0, 0.0)], None)));
    for name in ["up_UP", "up_DOWN"] {
        let profiles = topology.link_profiles(link(&topology, name)).unwrap();
        assert_eq!(profiles.state, Some(seconds(&[(0.0, 0.0)], None)));
    }
    let expected = ["ab", "up_UP", "wan", "right_backbone", "right_link_1_DOWN"];
    assert_eq!(route(&topology, "b", "c1").0, expected);
    assert_eq!(route(&topology, "c1", "a").0, ["right_link_1_UP", "right_backbone", "wan", "up_DOWN"]);
}

#[test]
fn settings_properties_disks_and_power_states_are_kept() {
    let platform = read(&std::fs::read_to_string(folder().join("units.xml")).unwrap());
    let topology = &platform.topology;
    assert_eq!(platform.config["network/loopback-bw"], "20e9");
    assert_eq!(topology.link(platform.loopback).bandwidth.bytes_per_s(), 20e9);
    assert_eq!(topology.link(platform.loopback).latency, Duration::from_ns(100));
    let a = node(topology, "a");
    assert_eq!(platform.power_states, BTreeMap::from([(a, vec![1e9, 2e9, 0.5e12])]));
    assert_eq!(platform.node_properties[&a]["wattage"], "1:2");
    let disk = &platform.disks[0];
    assert_eq!((disk.host, disk.name.as_str()), (a, "d"));
    assert_eq!((disk.read.bytes_per_s(), disk.write.bytes_per_s()), (200e6, 104_857_600.0));
    let zones: Vec<_> = platform.zones.iter().map(|zone| (zone.name.as_str(), zone.parent)).collect();
    assert_eq!(zones, [("_world_", None), ("z", Some(0))]);
    assert_eq!(platform.zones[1].properties["site"], "here & there");
    assert_eq!(topology.grouping("zone").unwrap(), [1, 1, 1, 1]);
}

#[test]
fn a_deployment_in_the_same_file_is_kept() {
    let platform = read(
        r#"<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf,2Gf" bw="1GBps" lat="1us"><prop id="rack" value="7"/></cluster>
        <actor host="n1" function="server" start_time="2.5" kill_time="-1"><argument value="8080"/><argument value="fast"/><prop id="role" value="primary"/></actor>
        <process host="n0" function="client" kill_time="60" on_failure="RESTART"/></platform>"#,
    );
    let [server, client] = &platform.actors[..] else { panic!("two actors") };
    assert_eq!((server.host, server.function.as_str()), (node(&platform.topology, "n1"), "server"));
    assert_eq!(
        (server.arguments.join(" "), server.start),
        ("8080 fast".to_owned(), Duration::from_secs_f64(2.5))
    );
    assert_eq!((server.kill, client.kill), (None, Some(Duration::from_secs_f64(60.0))));
    assert_eq!((client.start, server.properties["role"].as_str()), (Duration::ZERO, "primary"));
    // properties and power states of a cluster are those of its hosts
    for name in ["n0", "n1"] {
        let host = node(&platform.topology, name);
        assert_eq!(platform.node_properties[&host]["rack"], "7");
        assert_eq!(platform.power_states[&host], [1e9, 2e9]);
    }
}

#[test]
fn profiles_come_from_text_and_from_files_and_hold_for_both_directions() {
    let platform = read(&std::fs::read_to_string(folder().join("profile.xml")).unwrap());
    let topology = &platform.topology;
    let profiles = topology.link_profiles(link(topology, "l")).unwrap();
    assert_eq!(profiles.bandwidth, Some(seconds(&[(0.0, 1e9), (0.4, 5e8), (0.8, 2e9)], Some(1.0))));
    assert_eq!(profiles.latency, Some(seconds(&[(1.0, 0.001), (2.0, 0.0001)], None)));
    assert_eq!((topology.profiles().links.len(), topology.profiles().nodes.len()), (1, 1));

    let platform = read(
        r#"<platform version="4.1"><zone id="z" routing="Full">
        <host id="a" speed="1Gf" speed_file="availability.trace" state_file="availability.trace"/>
        <link id="d" bandwidth="1GBps" sharing_policy="SPLITDUPLEX" bandwidth_file="availability.trace"/>
        <trace id="t" file="availability.trace" periodicity="99"/>
        <trace_connect kind="LATENCY" trace="t" element="d"/><trace_connect kind="LINK_AVAIL" trace="t" element="d_UP"/>
        </zone></platform>"#,
    );
    let topology = &platform.topology;
    let expected = Some(seconds(&[(1.0, 0.5), (3.0, 1.0)], Some(4.0)));
    let host = topology.node_profiles(node(topology, "a")).unwrap();
    assert_eq!((&host.speed, &host.state), (&expected, &expected));
    let [up, down] = ["d_UP", "d_DOWN"].map(|name| topology.link_profiles(link(topology, name)).unwrap());
    assert_eq!((&up.bandwidth, &up.latency, &up.state), (&expected, &expected, &expected));
    assert_eq!((&down.bandwidth, &down.latency, &down.state), (&expected, &expected, &None));
}

#[test]
fn zones_on_a_plane_are_where_their_router_is() {
    // distance sqrt(30^2 + 40^2) = 50 ms, heights 1 + 2 ms; inside a zone the way to its router
    let platform = read(
        r#"<platform version="4.1"><zone id="w" routing="Vivaldi">
        <zone id="x" routing="Full"><host id="a" speed="1f"/><router id="router_x" coordinates="0 0 1"/><link id="l" bandwidth="1GBps" latency="7ms"/><route src="a" dst="router_x"><link_ctn id="l"/></route></zone>
        <zone id="y" routing="Full"><host id="b" speed="1f"/><router id="router_y" coordinates="30 40 2"/><link id="m" bandwidth="1GBps" latency="3ms"/><route src="b" dst="router_y"><link_ctn id="m"/></route></zone>
        <peer id="p" speed="1f" bw_in="1MBps" bw_out="2MBps" coordinates="0 40 -4"/>
        </zone></platform>"#,
    );
    let topology = Arc::new(platform.topology);
    let ms = |ms: u64| Duration::from_ps(ms * 1_000_000_000);
    assert_eq!(route(&topology, "a", "b"), (vec!["l".to_owned(), "m".to_owned()], ms(53)));
    assert_eq!(route(&topology, "p", "b"), (vec!["link_p_UP".to_owned(), "m".to_owned()], ms(30 + 4 + 2)));
    assert_eq!(route(&topology, "a", "p"), (vec!["l".to_owned(), "link_p_DOWN".to_owned()], ms(40 + 1 + 4)));
}

#[test]
fn a_link_that_is_a_whole_route_has_ends() {
    let platform = read(
        r#"<platform version="4.1"><zone id="z" routing="Dijkstra"><host id="a" speed="1f"/><host id="b" speed="1f"/><host id="c" speed="1f"/>
        <link id="shared" bandwidth="1"/><link id="split" bandwidth="1" sharing_policy="SPLITDUPLEX"/><link id="one" bandwidth="1"/><link id="two" bandwidth="1"/><link id="idle" bandwidth="1"/>
        <route src="a" dst="b"><link_ctn id="shared"/></route>
        <route src="b" dst="c"><link_ctn id="split" direction="DOWN"/></route>
        <route src="a" dst="c" symmetrical="NO"><link_ctn id="one"/></route>
        <route src="c" dst="a" symmetrical="NO"><link_ctn id="two"/><link_ctn id="two"/></route>
        </zone></platform>"#,
    );
    let topology = &platform.topology;
    let info = |name: &str| *topology.link(link(topology, name));
    let ends = |name: &str| info(name).ends.map(|ends| ends.map(|end| topology.node_name(end).to_owned()));
    let pair = |a: &str, b: &str| Some([a.to_owned(), b.to_owned()]);
    assert_eq!((ends("shared"), info("shared").half_duplex), (pair("a", "b"), true));
    assert_eq!((ends("split_DOWN"), ends("split_UP")), (pair("b", "c"), pair("c", "b")));
    assert_eq!(info("split_UP").reverse, Some(link(topology, "split_DOWN")));
    assert_eq!((ends("one"), info("one").half_duplex), (pair("a", "c"), false));
    assert_eq!((ends("two"), ends("idle")), (None, None));
}

/// A Dijkstra zone of hosts, most of which have one way out, and routers: each way against a search by the rules from its very start,
/// where many ways cost the same.
#[test]
fn ways_of_a_dijkstra_zone_are_those_of_a_search_from_each_host() {
    let mut draws = Draws::new(3);
    for _ in 0..60 {
        let (hosts, routers) = (2 + draws.below(6), 1 + draws.below(5));
        let name =
            |member: u32| if member < hosts { format!("h{member}") } else { format!("r{}", member - hosts) };
        // from, to and number of links, in the order of the file
        let mut routes: Vec<(u32, u32, u32)> = Vec::new();
        let mut declare = |from: u32, to: u32, links: u32| {
            if from != to && !routes.iter().any(|&(a, b, _)| (a, b) == (from, to)) {
                routes.push((from, to, links));
            }
        };
        for host in 0..hosts {
            let router = hosts + draws.below(routers);
            declare(host, router, 1 + draws.below(2));
            declare(router, host, 1 + draws.below(2));
            if draws.below(4) == 0 {
                declare(host, hosts + draws.below(routers), 1);
            }
        }
        for router in 0..routers {
            // a ring joins them all
            declare(hosts + router, hosts + (router + 1) % routers, 1 + draws.below(2));
            declare(hosts + router, draws.below(hosts + routers), 1 + draws.below(2));
        }
        let mut text = String::from("<platform version=\"4.1\"><zone id=\"z\" routing=\"Dijkstra\">");
        (0..hosts).for_each(|host| text += &format!("<host id=\"h{host}\" speed=\"1f\"/>"));
        (0..routers).for_each(|router| text += &format!("<router id=\"r{router}\"/>"));
        let links = |at: usize| (0..routes[at].2).map(move |link| format!("l{at}-{link}"));
        for at in 0..routes.len() {
            links(at)
                .for_each(|link| text += &format!("<link id=\"{link}\" bandwidth=\"1\" latency=\"0\"/>"));
        }
        for (at, &(from, to, _)) in routes.iter().enumerate() {
            let on: String = links(at).map(|link| format!("<link_ctn id=\"{link}\"/>")).collect();
            let ends = format!("src=\"{}\" dst=\"{}\"", name(from), name(to));
            text += &format!("<route {ends} symmetrical=\"NO\">{on}</route>");
        }
        text += "</zone></platform>";
        // members of equal cost are settled in the order in which routes first name them
        let mut order: Vec<u32> = Vec::new();
        for &(from, to, _) in &routes {
            [from, to].into_iter().for_each(|end| {
                if !order.contains(&end) {
                    order.push(end)
                }
            });
        }
        let topology = Arc::new(read(&text).topology);
        for from in 0..hosts {
            let mut best: BTreeMap<u32, (u32, Option<usize>)> = BTreeMap::from([(from, (0, None))]);
            let mut settled = BTreeSet::new();
            loop {
                let open = best.iter().filter(|(member, _)| !settled.contains(*member));
                let place = |member: u32| order.iter().position(|&other| other == member);
                let Some((&at, &(cost, _))) = open.min_by_key(|(member, (cost, _))| (*cost, place(**member)))
                else {
                    break;
                };
                settled.insert(at);
                for (number, &(_, to, links)) in routes.iter().enumerate().filter(|(_, (a, ..))| *a == at) {
                    if best.get(&to).is_none_or(|(known, _)| cost + links < *known) {
                        best.insert(to, (cost + links, Some(number)));
                    }
                }
            }
            for to in (0..hosts).filter(|&to| to != from) {
                let Some(&(_, mut way)) = best.get(&to) else { continue };
                let mut expected = BTreeSet::new();
                while let Some(number) = way {
                    expected.extend(links(number));
                    way = best[&routes[number].0].1;
                }
                let found: BTreeSet<String> =
                    route(&topology, &name(from), &name(to)).0.into_iter().collect();
                assert_eq!(found, expected, "{} to {}: {text}", name(from), name(to));
            }
        }
    }
}
