//! What htsim's arguments say of transports, queues and balancing.

use stratasim_core::{Bandwidth, Bytes};
use stratasim_net::packet::{
    BalancingSpec, Completion, DropTail, Ecn, LeastQueue, Lossless, Packet, QueueSpec, RoundRobin, Trimming,
};
use stratasim_transport::congestion::mprdma::assumed_in_flight;
use stratasim_transport::entropy::fixed::Fixed;
use stratasim_transport::{CongestionSpec, EntropySpec, TransportSpec, presets};

use super::packet_cases::Machine;

/// Options of Ultra Ethernet's program alone. The first two say what is so without them.
const OF_ULTRA_ETHERNET: [&str; 8] = [
    "-sender_cc",
    "-receiver_cc",
    "-sender_cc_only",
    "-receiver_cc_only",
    "-sender_cc_algo",
    "-load_balancing_algo",
    "-disable_trim",
    "-sleek",
];

/// Other options that say nothing of the network, or that [`Machine`] or [`network`] take up.
const KNOWN: [&str; 20] = [
    "-tm",
    "-nodes",
    "-end",
    "-seed",
    "-strat",
    "-paths",
    "-cwnd",
    "-q",
    "-mtu",
    "-linkspeed",
    "-topo",
    "-goal",
    "-lgs_flow_stats",
    "-failed",
    "-flowsize",
    "-pfc_thresholds",
    "-dcqcn",
    "-max_queue_size",
    "-log",
    "-o",
];

/// The value behind an option in htsim's arguments; the last one counts.
fn argument<'a>(args: &'a str, option: &str) -> Option<&'a str> {
    let words = args.split_whitespace();
    words.clone().zip(words.skip(1)).filter(|(word, _)| *word == option).last().map(|(_, value)| value)
}

/// The same, a number.
///
/// # Errors
/// A value that is none.
pub(super) fn number(args: &str, option: &str) -> Result<Option<u64>, String> {
    let no_number = |word: &str| format!("`{option} {word}` is no number");
    argument(args, option).map(|word| word.parse().map_err(|_| no_number(word))).transpose()
}

/// The same, from 1 on.
fn positive(args: &str, option: &str) -> Result<Option<u32>, String> {
    let wrong = |found: u64| format!("`{option} {found}`; 1 to {} are possible", u32::MAX);
    let small = |found| u32::try_from(found).ok().filter(|&it| it > 0).ok_or_else(|| wrong(found));
    number(args, option)?.map(small).transpose()
}

fn has(args: &str, option: &str) -> bool {
    args.split_whitespace().any(|word| word == option)
}

/// The network that htsim's arguments describe. What they say counts, and the name of the transport where they say nothing.
///
/// # Errors
/// Transports and options that are not known.
pub(super) fn network(protocol: &str, args: &str, machine: &Machine) -> Result<Packet, String> {
    let is_option = |word: &&str| word.starts_with('-') && word.len() > 1 && word.parse::<f64>().is_err();
    let mut options = args.split_whitespace().filter(is_option);
    let is_known = |word: &str| {
        KNOWN.contains(&word)
            || word == "-algorithm" && protocol.starts_with("atlahs")
            || protocol.starts_with("uec_") && OF_ULTRA_ETHERNET.contains(&word)
    };
    if let Some(word) = options.find(|word| !is_known(word)) {
        return Err(format!("htsim's option `{word}` is not known with `{protocol}`"));
    }
    let unknown = || format!("no transport is called `{protocol}`");
    presets::htsim(protocol, machine.rate()).ok_or_else(unknown)?;
    let named = if protocol.starts_with("uec_") {
        ultra_ethernet(protocol, args)?
    } else if protocol.starts_with("atlahs_") && !protocol.starts_with("atlahs_ndp") {
        atlahs(protocol, args)?
    } else {
        protocol.to_owned()
    };
    let mut transport = presets::htsim(&named, machine.rate()).ok_or_else(unknown)?;
    adapt(&mut transport, &named, args)?;
    // where credit alone limits senders, its receivers look at how much the tree can carry
    if let CongestionSpec::Rccc(rccc) = &mut transport.congestion
        && rccc.sender.is_none()
    {
        rccc.oversubscription = machine.oversubscription();
    }
    let mut network = Packet { completion: Some(Completion::Sender), ..Packet::from(transport) };
    queues(&mut network, &named, args, machine)?;
    match argument(args, "-strat") {
        None | Some("ecmp_host") => {}
        Some("ecmp_rr") => network.balancing = BalancingSpec::RoundRobin(RoundRobin {}),
        Some("ecmp_ar") if named.starts_with("uec") => {
            // it compares queues in bands, the narrowest of which is a twentieth of the usual buffer: 178,450 bytes at 100 Gb/s
            let trims = matches!(network.queue, Some(QueueSpec::Trimming(_)));
            let step = machine.rate().bytes_per_s() / 12.5e9 * 8922.0 * if trims { 1.0 } else { 5.0 };
            network.balancing = BalancingSpec::LeastQueue(LeastQueue { step: Bytes(step as u64) });
        }
        Some(other) => return Err(format!("`-strat {other}` is not known with `{protocol}`")),
    }
    Ok(network)
}

/// The name of a transport of Ultra Ethernet with what its options say, word by word.
fn ultra_ethernet(protocol: &str, args: &str) -> Result<String, String> {
    if let Some(packets) = argument(args, "-q") {
        return Err(format!("`-q {packets}`; the queues of `{protocol}` follow from its links"));
    }
    let mut words: Vec<&str> = protocol.split('_').skip(1).collect();
    let credit = ["rccc", "both"].contains(&words[0]);
    match argument(args, "-sender_cc_algo") {
        None => {}
        Some("nscc") if credit => {}
        Some("nscc") => words[0] = "nscc",
        Some("dctcp") => words[0] = "dctcp",
        Some("constant") => words[0] = "const",
        Some(other) => return Err(format!("`-sender_cc_algo {other}` is not known")),
    }
    if has(args, "-receiver_cc_only") {
        words[0] = "rccc";
    } else if has(args, "-sender_cc_only") && credit {
        words[0] = "nscc";
    }
    for (option, word) in [("-disable_trim", "notrim"), ("-sleek", "sleek")] {
        if has(args, option) {
            words.push(word);
        }
    }
    let balancing = ["mixed", "bitmap", "oblivious", "reps"];
    if let Some(asked) = argument(args, "-load_balancing_algo") {
        words.retain(|word| !balancing.contains(word));
        let known = balancing.contains(&asked);
        words.push(
            known.then_some(asked).ok_or_else(|| format!("`-load_balancing_algo {asked}` is not known"))?,
        );
    }
    Ok(format!("uec_{}", words.join("_")))
}

/// The name of ATLAHS' sender with what its options say.
fn atlahs(protocol: &str, args: &str) -> Result<String, String> {
    Ok(match argument(args, "-algorithm") {
        None => protocol.to_owned(),
        Some("mprdma") => "atlahs_mprdma".to_owned(),
        Some("swift_like") => "atlahs_swift".to_owned(),
        Some(other) => return Err(format!("`-algorithm {other}` is not known; mprdma and swift_like are")),
    })
}

/// What arguments say of packets, first windows and paths, where a transport of that name has something else.
fn adapt(transport: &mut TransportSpec, protocol: &str, args: &str) -> Result<(), String> {
    if let Some(mtu) = number(args, "-mtu")? {
        // these count their headers
        let headers = if protocol.starts_with("uec") || protocol.starts_with("eqds") { 64 } else { 0 };
        let payload = u32::try_from(mtu).ok().and_then(|mtu| mtu.checked_sub(headers)).filter(|&it| it > 0);
        transport.packets.payload_bytes = payload.ok_or_else(|| format!("`-mtu {mtu}` is out of range"))?;
    }
    let packet = transport.packets.wire_bytes();
    match (&mut transport.congestion, positive(args, "-cwnd")?) {
        (CongestionSpec::Ndp(ndp), window) if protocol.starts_with("ndp") => {
            ndp.initial_packets = Some(window.unwrap_or(15));
        }
        (_, None) => {}
        (CongestionSpec::Ndp(ndp), window) => ndp.initial_packets = window,
        (CongestionSpec::Eqds(eqds), Some(window)) => {
            eqds.max_window = Some(Bytes(u64::from(window) * packet));
        }
        (CongestionSpec::Swift(swift), Some(window)) => swift.initial_packets = f64::from(window),
        (_, Some(window)) => return Err(format!("`-cwnd {window}` is not known with `{protocol}`")),
    }
    let Some(number) = positive(args, "-paths")? else { return Ok(()) };
    match transport.entropy.as_mut() {
        Some(entropy) if number == 1 => *entropy = EntropySpec::Fixed(Fixed::default()),
        Some(EntropySpec::Bitmap(bitmap)) => bitmap.paths = number,
        Some(EntropySpec::Mixed(mixed)) => mixed.paths = number,
        Some(EntropySpec::Oblivious(oblivious)) => oblivious.paths = number,
        Some(EntropySpec::Reps(reps)) => reps.paths = number,
        Some(EntropySpec::Permutation(permutation)) => permutation.paths = number,
        Some(EntropySpec::RoundRobin(round_robin)) => round_robin.paths = number,
        _ => {}
    }
    Ok(())
}

/// Queues, buffers and marks.
fn queues(network: &mut Packet, protocol: &str, args: &str, machine: &Machine) -> Result<(), String> {
    let mtu = number(args, "-mtu")?.unwrap_or(4096);
    if protocol.starts_with("uec") {
        network.queue = Some(if protocol.contains("notrim") {
            QueueSpec::DropTail(DropTail { control_first: true, spares_newcomers: true })
        } else {
            QueueSpec::Trimming(Trimming::default())
        });
        // where receivers give credit, the ports to them do not mark
        network.ecn.last_hop = Some(!matches!(network.congestion, CongestionSpec::Rccc(_)));
        return Ok(());
    }
    if protocol.starts_with("atlahs") {
        let pulls = protocol.starts_with("atlahs_ndp");
        // only the sender with pulls reads `-q`; the other has what is in flight at 1 us per link
        let own = if pulls { number(args, "-q")? } else { number(args, "-max_queue_size")? };
        let rate = number(args, "-linkspeed")?.map_or(machine.rate(), |mbps| Bandwidth(mbps as f64 * 125e3));
        let buffer = own.unwrap_or_else(|| assumed_in_flight(rate, &network.packets));
        network.buffer = Some(Bytes(buffer));
        network.ecn =
            Ecn { min: Some(Bytes(buffer / 5)), max: Some(Bytes(buffer * 4 / 5)), ..Ecn::default() };
        let control_buffer = Some(Bytes(buffer * 20_000));
        network.queue = Some(QueueSpec::Trimming(Trimming { control_buffer, ..Trimming::default() }));
        return Ok(());
    }
    network.ecn = Ecn { enabled: false, ..Ecn::default() };
    let lossless = ["roce", "uet_roce", "hpcc", "dcqcn"].iter().any(|name| protocol.starts_with(name));
    if lossless || has(args, "-pfc_thresholds") {
        let mut words = args.rsplit_once("-pfc_thresholds").map_or("", |(_, rest)| rest).split_whitespace();
        let [low, high] = match (words.next(), words.next()) {
            (None, None) => [12, 15],
            (low, high) => {
                let packets = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
                let both = packets(low)
                    .zip(packets(high))
                    .ok_or("`-pfc_thresholds` takes two numbers of packets")?;
                [both.0, both.1]
            }
        };
        network.queue = Some(QueueSpec::Lossless(Lossless {
            pause_above: Some(Bytes(high * mtu)),
            resume_below: Some(Bytes(low * mtu)),
            control_first: false,
            headroom: None,
        }));
    } else {
        network.queue = Some(if protocol.starts_with("swift") {
            QueueSpec::DropTail(DropTail { control_first: false, spares_newcomers: false })
        } else {
            QueueSpec::Trimming(Trimming::default())
        });
        // queues that drop nothing have rooms of their own
        network.buffer = number(args, "-q")?.map(|packets| Bytes(packets * mtu));
    }
    if let Some(packets) = number(args, "-dcqcn")? {
        let step = Some(Bytes(packets * mtu));
        network.ecn = Ecn { enabled: true, min: step, max: step, ..Ecn::default() };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(protocol: &str, args: &str) -> Result<Packet, String> {
        let machine: Machine = serde_json::from_str(
            r#"{"kind": "fat_tree_3tier_full", "K": 4, "link_gbps": 100, "hop_latency_us": 1}"#,
        )
        .expect("a machine");
        network(protocol, args, &machine)
    }

    fn is_same(a: (&str, &str), b: (&str, &str)) -> bool {
        of(a.0, a.1).expect("known") == of(b.0, b.1).expect("known")
    }

    #[test]
    fn options_say_what_names_say() {
        for (a, b) in [
            (("uec_nscc", "-sender_cc_algo dctcp"), ("uec_dctcp", "")),
            (("uec_nscc", "-receiver_cc_only"), ("uec_rccc", "")),
            (("uec_both", "-sender_cc_only"), ("uec_nscc", "")),
            (("uec_nscc", "-disable_trim -sleek"), ("uec_nscc_notrim_sleek", "")),
            (("uec_rccc_oblivious", ""), ("uec_rccc", "-load_balancing_algo oblivious")),
            (("uec_nscc_ecmp1", "-paths 1"), ("uec_nscc", "-paths 1")),
            (("uec_nscc", "-paths 64"), ("uec_nscc", "-strat ecmp_host")),
            (("atlahs_const", "-algorithm swift_like"), ("atlahs_swift", "")),
            (("atlahs_mprdma", "-max_queue_size 116600"), ("atlahs_mprdma", "")),
            (("atlahs_mprdma", "-max_queue_size 216500"), ("atlahs_mprdma", "-linkspeed 200000")),
            (("roce_pfc", "-pfc_thresholds 12 15"), ("roce_pfc", "")),
            (("swift", "-q 100"), ("swift_q100", "-q 100")),
            (("ndp", ""), ("ndp", "-cwnd 15")),
        ] {
            assert!(is_same(a, b), "{a:?} and {b:?}");
        }
        for (a, b) in [
            (("ndp", "-paths 1"), ("ndp", "-paths 128")),
            (("eqds", "-paths 64"), ("eqds", "-paths 128")),
            (("uec_nscc_notrim", ""), ("uec_nscc", "")),
        ] {
            assert!(!is_same(a, b), "{a:?} and {b:?}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        for (protocol, args) in [
            ("uec_nscc", "-cwnd 5"),
            ("ndp", "-cwnd 0"),
            ("ndp", "-q many"),
            ("eqds", "-sleek"),
            ("eqds", "-algorithm mprdma"),
            ("uec_nscc", "-q 50"),
            ("uec_nscc", "-strat perm"),
            ("uec_nscc", "-load_balancing_algo best"),
            ("uec_nscc", "-nonsense"),
            ("atlahs_mprdma", "-algorithm min_cc"),
            ("ndp", "-strat ecmp_ar"),
            ("ndp", "-paths none"),
            ("roce_pfc", "-pfc_thresholds 12"),
            ("tcp", ""),
        ] {
            assert!(of(protocol, args).is_err(), "{protocol} {args}");
        }
    }
}
