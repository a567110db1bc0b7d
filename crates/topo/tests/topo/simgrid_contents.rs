//! What a platform file says beyond hosts and routes, old versions of the format, hand-derived routes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
