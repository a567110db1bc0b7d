//! What is wrong in a platform file is said with its place, and hostile files do no harm.

use std::path::Path;
use std::sync::Arc;

use stratasim_topo::io::simgrid::{Platform, XmlError, import};
use stratasim_topo::{RoutingSpec, Topology};

fn read(text: &str) -> Result<Platform, XmlError> {
    import(text, "p.xml", Path::new("no-such-folder"))
}

/// A platform of one zone with this content from line 3 on.
fn zone(routing: &str, content: &str) -> String {
    format!(
        "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"{routing}\">\n{content}\n</zone></platform>\n"
    )
}

const HOSTS: &str = "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>\n";
const LINKS: &str = "<link id=\"l\" bandwidth=\"1GBps\"/><link id=\"d\" bandwidth=\"1GBps\" sharing_policy=\"SPLITDUPLEX\"/>\n";

fn full(content: &str) -> String {
    zone("Full", &format!("{HOSTS}{LINKS}{content}"))
}

fn check(cases: &[(String, &str)]) {
    for (text, part) in cases {
        let error = match read(text) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("no error for\n{text}\nexpected: {part}"),
        };
        assert!(error.contains(part), "{error}\nexpected: {part}");
        assert!(error.starts_with("p.xml:"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn an_element_that_does_not_fit_is_named_with_line_and_column() {
    check(&[
        (
            full("<route src=\"a\" dst=\"c\"><link_ctn id=\"l\"/></route>"),
            "p.xml:5:1: <route>: dst=`c`: no host, router or zone of that name stands before this",
        ),
        (
            full("<route src=\"a\" dst=\"b\"><link_ctn id=\"k\"/></route>"),
            "p.xml:5:24: <link_ctn>: no link called `k` stands before this, did you mean `d`?",
        ),
        (full("<route src=\"a\" dst=\"b\"></route>"), "a route needs at least one link_ctn"),
        (
            full("<route src=\"a\" dst=\"b\"><link_ctn id=\"d\"/></route>"),
            "say direction=\"UP\" or direction=\"DOWN\"",
        ),
        (
            full("<route src=\"a\" dst=\"b\"><link_ctn id=\"l\" direction=\"UP\"/></route>"),
            "not split-duplex; leave the direction away",
        ),
        (
            full("<route src=\"a\" dst=\"b\"><link_ctn id=\"l\" direction=\"LEFT\"/></route>"),
            "the direction `LEFT` is unknown",
        ),
        (
            full(
                "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route><route src=\"b\" dst=\"a\"><link_ctn id=\"l\"/></route>",
            ),
            "a route for this pair is declared already",
        ),
        (
            full("<route src=\"a\" dst=\"b\" symmetrical=\"MAYBE\"><link_ctn id=\"l\"/></route>"),
            "YES or NO is expected",
        ),
        (
            full("<route src=\"a\" dst=\"z\"><link_ctn id=\"l\"/></route>"),
            "is a zone, a host or router is expected",
        ),
        (
            full("<zoneRoute src=\"a\" dst=\"b\" gw_src=\"a\" gw_dst=\"b\"><link_ctn id=\"l\"/></zoneRoute>"),
            "a zone is expected",
        ),
        (full("<route src=\"a\"><link_ctn id=\"l\"/></route>"), "the attribute `dst` is missing"),
        (
            full("<bypassRoute src=\"a\" dst=\"b\" symmetrical=\"YES\"><link_ctn id=\"l\"/></bypassRoute>"),
            "a bypass has one direction",
        ),
        (full("<link id=\"l\" bandwidth=\"1GBps\"/>"), "a link called `l` is there already"),
        (full("<link id=\"d_UP\" bandwidth=\"1GBps\"/>"), "a link called `d_UP` is there already"),
        (full("<link id=\"m\" bandwidth=\"0\"/>"), "has no bandwidth"),
        (full("<link id=\"m\" bandwidth=\"1GB\"/>"), "`1GB` is not a bandwidth: the unit `GB` is unknown"),
        (full("<link id=\"m\" bandwidth=\"1GBps\" latency=\"5 lightyears\"/>"), "is not a length of time"),
        (
            full("<link id=\"m\" bandwidth=\"1GBps\" sharing_policy=\"WIFI\"/>"),
            "wireless cells are not modelled",
        ),
        (
            full("<link id=\"m\" bandwith=\"1GBps\"/>"),
            "unknown attribute `bandwith`, did you mean `bandwidth`?",
        ),
        (full("<link id=\"m\" id=\"n\" bandwidth=\"1GBps\"/>"), "bad attribute"),
        (full("<host id=\"a\" speed=\"1Gf\"/>"), "the name `a` is taken already"),
        (full("<host id=\"z\" speed=\"1Gf\"/>"), "the name `z` is taken already"),
        (full("<host id=\"c\" speed=\"-1Gf\"/>"), "is negative"),
        (full("<host id=\"c\" speed=\"1Gf,2Gf\" pstate=\"2\"/>"), "but the host has 2 speeds"),
        (full("<host id=\"c\" speed=\"1Gf\" core=\"0\"/>"), "core=`0`"),
        (full("<host id=\"c\" speed=\"1Gf\" speed_file=\"none.txt\"/>"), "cannot read"),
        (full("<host id=\"c\" speed=\"1Gf\" coordinates=\"1 2\"/>"), "three numbers are expected"),
        (full("<switch id=\"c\"/>"), "this element is not known inside <zone> (known: prop, zone,"),
        (full("<include file=\"x\"/>"), "removed it in version 3.18"),
        (full("<storage id=\"x\"/>"), "use <disk>"),
        (
            full("<peer id=\"p\" speed=\"1f\" bw_in=\"1\" bw_out=\"1\" coordinates=\"0 0 0\"/>"),
            "whose routing is Vivaldi",
        ),
        (full("<host_link id=\"a\" up=\"l\" down=\"l\"/>"), "whose routing is Cluster"),
        (full("words"), "p.xml:5:1: <zone>: text, where only elements are expected"),
        (zone("Fulll", ""), "routing=`Fulll` is unknown, did you mean `Full`?"),
        (zone("Wifi", ""), "wireless cells are not modelled"),
        (
            zone(
                "Cluster",
                &format!("{HOSTS}{LINKS}<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>"),
            ),
            "a star (routing=\"Cluster\" or \"Vivaldi\") declares host_link",
        ),
        (
            zone("Cluster", &format!("{HOSTS}{LINKS}<host_link id=\"a\" up=\"d\" down=\"l\"/>")),
            "name `d_UP` or `d_DOWN`",
        ),
        (
            zone("Cluster", &format!("{HOSTS}{LINKS}<host_link id=\"x\" up=\"l\" down=\"l\"/>")),
            "no host called `x`",
        ),
        (
            zone("None", &format!("{HOSTS}{LINKS}<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>")),
            "takes no routes",
        ),
        ("<platform version=\"2\"/>".to_owned(), "version `2` of the format; 3 to 4.1 are read"),
        ("<platform version=\"4.2\"/>".to_owned(), "version `4.2` of the format; 3 to 4.1 are read"),
        ("<platform/>".to_owned(), "the attribute `version` is missing"),
        ("<graphml/>".to_owned(), "not known inside a file (known: platform)"),
    ]);
}

#[test]
fn a_gateway_outside_its_zone_is_an_error_of_the_route() {
    let zones = |route: &str| {
        zone(
            "Full",
            &format!(
                "<zone id=\"y\" routing=\"Full\"><host id=\"a\" speed=\"1f\"/></zone><zone id=\"x\" routing=\"Full\"><host id=\"b\" speed=\"1f\"/></zone>\n{LINKS}{route}"
            ),
        )
    };
    check(&[
        (
            zones(
                "<zoneRoute src=\"y\" dst=\"x\" gw_src=\"b\" gw_dst=\"b\"><link_ctn id=\"l\"/></zoneRoute>",
            ),
            "p.xml:5:1: <zoneRoute>: the gateway gw_src=`b` is in zone `x`, not in zone `y`",
        ),
        (
            zones(
                "<zoneRoute src=\"y\" dst=\"x\" gw_src=\"nobody\" gw_dst=\"b\"><link_ctn id=\"l\"/></zoneRoute>",
            ),
            "gw_src=`nobody`",
        ),
        (
            zones("<zoneRoute src=\"y\" dst=\"x\" gw_src=\"a\"><link_ctn id=\"l\"/></zoneRoute>"),
            "the attribute `gw_dst` is missing",
        ),
        (
            zones(
                "<zoneRoute src=\"y\" dst=\"x\" gw_src=\"x\" gw_dst=\"b\"><link_ctn id=\"l\"/></zoneRoute>",
            ),
            "is a zone, a host or router is expected",
        ),
        (
            zones("<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>"),
            "`a` is in zone `y`, this route stands in zone `z`; move it there",
        ),
        (
            zones(
                "<host id=\"c\" speed=\"1f\"/><host id=\"d\" speed=\"1f\"/><route src=\"c\" dst=\"d\"><link_ctn id=\"l\"/></route>",
            ),
            "zone `z` holds zones; between them write zoneRoute",
        ),
    ]);
}

#[test]
fn a_missing_route_is_an_error_when_it_is_asked_for() {
    let text = zone(
        "Full",
        &format!(
            "<zone id=\"y\" routing=\"Full\"><host id=\"a\" speed=\"1f\"/><router id=\"ra\"/></zone><zone id=\"x\" routing=\"None\"><host id=\"b\" speed=\"1f\"/><host id=\"c\" speed=\"1f\"/></zone>\n\
         <zone id=\"w\" routing=\"Dijkstra\"><host id=\"e\" speed=\"1f\"/></zone>{LINKS}\
         <zoneRoute src=\"y\" dst=\"x\" gw_src=\"ra\" gw_dst=\"b\"><link_ctn id=\"l\"/></zoneRoute>"
        ),
    );
    let topology = Arc::new(read(&text).unwrap().topology);
    let mut routing = RoutingSpec::default().plugin().build(&topology).unwrap();
    let mut message = |src: &str, dst: &str| {
        let [src, dst] = [src, dst].map(|name| topology.find_node(name).unwrap());
        let mut links = Vec::new();
        let error = routing.route(src, dst, 0, &mut links).unwrap_err().to_string();
        assert!(links.is_empty());
        error
    };
    assert_eq!(
        message("a", "b"),
        "no route from a to b: the Full zone between them declares no route for this pair"
    );
    assert!(message("b", "c").contains("routing is None"));
    assert!(message("a", "e").contains("the Full zone between them declares no route"));
    assert!(message("e", "a").starts_with("no route from e to a"));
}

#[test]
fn sizes_are_refused_before_anything_is_made() {
    let cluster = |rest: &str| {
        zone(
            "Full",
            &format!(
                "<cluster id=\"c\" prefix=\"n\" suffix=\"\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" {rest}/>"
            ),
        )
    };
    check(&[
        (cluster("radical=\"0-1000000000000\""), "p.xml:3:1: <cluster>: this asks for"),
        (cluster("radical=\"0-18446744073709551615\""), "more than 2^64 hosts and links"),
        (cluster("radical=\"0-9999999999,5-9999999999\""), "at most 16777216 are read from one file"),
        (cluster("radical=\"7-3\""), "`7-3` is no range of host numbers"),
        (cluster("radical=\"a-b\""), "write them like `0-3,6,8-9`"),
        (
            cluster("radical=\"0-7\" topology=\"TORUS\" topo_parameters=\"3,3\""),
            "the radical names 8 hosts, topo_parameters `3,3` make 9",
        ),
        (
            cluster("radical=\"0-7\" topology=\"TORUS\" topo_parameters=\"4294967296,4294967296\""),
            "make too many",
        ),
        (
            cluster("radical=\"0-999999999\" topology=\"TORUS\" topo_parameters=\"1000,1000,1000\""),
            "this asks for",
        ),
        (cluster("radical=\"0-7\" topology=\"TORUS\" topo_parameters=\"0,8\""), "no whole number above zero"),
        (
            cluster(&format!("radical=\"0\" topology=\"TORUS\" topo_parameters=\"{}1\"", "1,".repeat(100))),
            "more than 64 numbers in a row",
        ),
        (
            cluster("radical=\"0-7\" topology=\"FAT_TREE\" topo_parameters=\"2;4,2;1,2\""),
            "is no fat tree; write topo_parameters like",
        ),
        (
            cluster("radical=\"0-7\" topology=\"FAT_TREE\" topo_parameters=\"3;4,2;1,2;1,1\""),
            "is no fat tree",
        ),
        (
            cluster(
                "radical=\"0-7\" topology=\"FAT_TREE\" topo_parameters=\"2;4,2;1,2000000000;1,2000000000\"",
            ),
            "this asks for",
        ),
        (
            cluster("radical=\"0-7\" topology=\"DRAGONFLY\" topo_parameters=\"2,1;2,1;2,1\""),
            "is no dragonfly",
        ),
        (
            cluster("radical=\"0-7\" topology=\"DRAGONFLY\" topo_parameters=\"8,1;1,1;1,1;1\""),
            "there must not be more groups than routers in one",
        ),
        (cluster("radical=\"0-7\" topology=\"RING\""), "unknown topology `RING`"),
        (cluster("radical=\"0-3\" bb_lat=\"1us\""), "bb_lat without bb_bw"),
        (
            zone(
                "Cluster",
                "<cabinet id=\"k\" prefix=\"n\" suffix=\"\" radical=\"1-9999999999999\" speed=\"1Gf\" bw=\"1\" lat=\"1\"/>",
            ),
            "<cabinet>: this asks for",
        ),
    ]);
    // several clusters together
    let many = |id: usize| {
        format!(
            "<cluster id=\"c{id}\" prefix=\"n{id}-\" suffix=\"\" radical=\"0-5999999\" speed=\"1f\" bw=\"1\" lat=\"0\"/>"
        )
    };
    check(&[(zone("Full", &many(0)), "this asks for 18000002 hosts and links")]);
    let floyd: String = (0..4097).map(|i| format!("<host id=\"h{i}\" speed=\"1f\"/>")).collect();
    check(&[(zone("Floyd", &floyd), "4097 members in a Floyd zone")]);
}

#[test]
fn hostile_xml_is_refused_at_once() {
    let bomb = "<!DOCTYPE platform [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><platform version=\"4.1\"/>";
    let nested = format!("<platform version=\"4.1\">{}", "<zone id=\"z\" routing=\"Full\">".repeat(1000));
    let deep: String = (0..100_000).map(|i| format!("<zone id=\"z{i}\" routing=\"Full\">")).collect();
    let deep = format!("<platform version=\"4.1\">{deep}");
    let flat = zone("Full", &"<zone>".repeat(1_000_000));
    check(&[
        (bomb.to_owned(), "declares entities or elements of its own"),
        ("<!DOCTYPE platform SYSTEM \"file:///etc/passwd\" [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><platform version=\"4.1\"/>".to_owned(), "declares entities"),
        (full("<host id=\"&xxe;\" speed=\"1f\"/>"), "bad value of `id`"),
        (zone("Full", "&lol;"), "the entity `&lol;` is not known"),
        (nested, "the name `z` is taken"),
        (deep, "nested more than 200 deep"),
        (flat, "the attribute `id` is missing"),
        (full("<host id=\"c\" speed=\"1f\"").replace("\n</zone></platform>", ""), "not well-formed"),
        ("<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1f\"/>".to_owned(), "the file ends inside this element, which was opened at line 1; is it complete?"),
        ("<platform version=\"4.1\"></zone>".to_owned(), "not well-formed"),
        ("<platform version=\"4.1\"/><platform version=\"4.1\"/>".to_owned(), "a second element at the top"),
        (String::new(), "p.xml:1:1: the file holds no element"),
        ("\u{0}\u{1}<<<<".to_owned(), "p.xml:1:"),
    ]);
}

#[test]
fn nothing_can_lead_a_route_in_circles() {
    // a bypass from a zone to its own member, whose gateway is reached over the bypass
    check(&[(
        zone(
            "Full",
            &format!(
                "<host id=\"a\" speed=\"1f\"/><zone id=\"y\" routing=\"Full\"><host id=\"b\" speed=\"1f\"/></zone>{LINKS}\
                 <bypassZoneRoute src=\"z\" dst=\"y\" gw_src=\"b\" gw_dst=\"b\"><link_ctn id=\"l\"/></bypassZoneRoute>"
            ),
        ),
        "`z` is in zone `_world_`, this route stands in zone `z`",
    )]);
    // zones of a Vivaldi zone whose routers are in one another
    let swapped = zone(
        "Vivaldi",
        "<zone id=\"x\" routing=\"None\"><router id=\"router_y\" coordinates=\"1 1 1\"/><host id=\"a\" speed=\"1f\"/></zone>\
         <zone id=\"y\" routing=\"None\"><router id=\"router_x\" coordinates=\"1 1 1\"/><host id=\"b\" speed=\"1f\"/></zone>",
    );
    let topology = Arc::new(read(&swapped).unwrap().topology);
    let mut routing = RoutingSpec::default().plugin().build(&topology).unwrap();
    let [a, b] = ["a", "b"].map(|name| topology.find_node(name).unwrap());
    let error = routing.route(a, b, 0, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("a zone `x` a router `router_x`"), "{error}");
}

#[test]
fn a_profile_or_its_use_that_is_wrong_is_named() {
    let trace = |content: &str| full(&format!("<trace id=\"t\" periodicity=\"1\">{content}</trace>"));
    let connect = |rest: &str| full(&format!("<trace id=\"t\" periodicity=\"-1\">0 1</trace>{rest}"));
    check(&[
        (trace("0 1\n0.5 x\n"), "p.xml:6:1: <trace>: `x` is not a number"),
        (trace("0 1\n2 1\n"), "do not fit into the period"),
        (trace(""), "the trace `t` is empty"),
        (full("<trace id=\"t\" file=\"none\" periodicity=\"1\"/>"), "cannot read"),
        (full("<trace id=\"t\" file=\"/dev/zero\" periodicity=\"1\"/>"), "not beside or below this file"),
        (full("<trace id=\"t\" file=\"../secret\" periodicity=\"1\"/>"), "not beside or below this file"),
        (full("<trace id=\"t\" periodicity=\"often\">0 1</trace>"), "a number of seconds is expected"),
        (connect("<trace id=\"t\" periodicity=\"-1\">0 1</trace>"), "a trace called `t` is there already"),
        (connect("<trace_connect kind=\"SPEED\" trace=\"u\" element=\"a\"/>"), "no trace called `u`"),
        (connect("<trace_connect kind=\"SPEED\" trace=\"t\" element=\"l\"/>"), "no host called `l`"),
        (connect("<trace_connect kind=\"LATENCY\" trace=\"t\" element=\"a\"/>"), "no link called `a`"),
        (connect("<trace_connect kind=\"HEAT\" trace=\"t\" element=\"a\"/>"), "the kind `HEAT` is unknown"),
        (
            connect(&"<trace_connect kind=\"SPEED\" trace=\"t\" element=\"a\"/>".repeat(2)),
            "has a profile of kind SPEED already",
        ),
    ]);
}

/// Asks for some routes; whether they are there does not matter.
fn try_routes(topology: Arc<Topology>) {
    let mut routing = RoutingSpec::default().plugin().build(&topology).unwrap();
    let hosts = topology.compute_nodes();
    for &src in hosts.iter().take(6) {
        for &dst in hosts.iter().rev().take(6) {
            let mut links = Vec::new();
            if routing.route(src, dst, 0, &mut links).is_err() {
                assert!(links.is_empty());
            }
        }
    }
}

#[test]
fn broken_platforms_never_panic() {
    // every prefix and many mutations of real files: an error or a platform, quickly
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/simgrid-xml");
    let mut random = stratasim_core::random::Streams::new(7).stream("mutations");
    for name in ["bypass", "cabinets", "cluster-flat", "dragonfly", "fat-tree-parallel", "profile", "vivaldi"]
    {
        let text = std::fs::read_to_string(folder.join(format!("{name}.xml"))).unwrap();
        for end in (0..text.len()).step_by(7).filter(|&end| text.is_char_boundary(end)) {
            let _ = read(&text[..end]);
        }
        for _ in 0..300 {
            use rand::Rng as _;
            let mut bytes = text.clone().into_bytes();
            for _ in 0..3 {
                let [from, to] = [0, 1].map(|_| random.next_u64() as usize % bytes.len());
                bytes[to] = bytes[from];
            }
            if let Ok(platform) = read(&String::from_utf8_lossy(&bytes)) {
                try_routes(Arc::new(platform.topology));
            }
        }
    }
}
