//! What the packet level says of messages, queues and links over time: the trace and the JSON of one run tell the same.

use crate::support::Scratch;
use serde_json::Value;
use stratasim_testkit::perfetto::{self, Seen};

/// All hosts of a machine send to the first, at 100 Gbps and 1 us per link.
fn to_the_first(machine: &str, bytes: &str, network: &str) -> String {
    format!(
        r#"
[topology]
{machine}
bandwidth = "100 Gbps"
latency = "1 us"
[workload]
kind = "collective"
operation = "gather"
algorithm = {{ kind = "direct" }}
bytes = "{bytes}"
[network]
kind = "packet"
{network}
"#
    )
}

/// Fifteen hosts send to one, over 48 links.
fn incast(network: &str) -> String {
    to_the_first("kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts-per-leaf = 4", "6.4 MB", network)
}

/// Drops, trims, marks and pauses.
const NETWORKS: [&str; 3] = [
    "congestion = { kind = \"dctcp\" }\nbuffer = \"50 kB\"",
    "congestion = { kind = \"ndp\" }",
    "congestion = { kind = \"dcqcn\" }\nqueue = { kind = \"lossless\" }",
];

/// A run of `run.toml` with a trace, and with more options.
fn traced(scratch: &Scratch, options: &[&str]) -> (Value, Seen) {
    let all = ["run", "run.toml", "--quiet", "--json", "out.json", "--trace", "out.trace"];
    let ended = scratch.stratasim(&[&all[..], options].concat());
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let trace = std::fs::read(scratch.path().join("out.trace")).unwrap();
    (serde_json::from_str(&scratch.read("out.json")).unwrap(), perfetto::read(&trace))
}

#[test]
fn counters_of_a_trace_end_at_what_the_result_says() {
    let scratch = Scratch::new();
    let groups = ["drops", "trims", "marks", "pauses"].into_iter().zip([
        "packets dropped",
        "packets trimmed",
        "packets marked",
        "pauses",
    ]);
    let mut seen_of = [0; 4];
    for network in NETWORKS {
        scratch.write("run.toml", &incast(network));
        let (result, seen) = traced(&scratch, &[]);
        let queues = result["queues"].as_array().unwrap();
        for ((key, group), all) in groups.clone().zip(&mut seen_of) {
            for queue in queues {
                let (link, count) = (queue["link"].as_str().unwrap(), queue[key].as_u64().unwrap());
                let told = seen.counter(group, link).map_or(0.0, |values| values[values.len() - 1].1);
                assert_eq!(told, count as f64, "{network}: {group} at {link}");
                *all += count;
            }
            let counters = seen.counters.iter().filter(|counter| counter.group == group);
            for counter in counters {
                assert!(queues.iter().any(|queue| queue["link"] == counter.name.as_str()), "{counter:?}");
                assert!(counter.values.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1), "{counter:?}");
                assert_eq!(counter.values[0].1, 0.0, "{counter:?}");
            }
        }
        // links are never more than full, and carry in all what the account says
        let links = result["links"].as_array().unwrap();
        let shares: Vec<_> =
            seen.counters.iter().filter(|counter| counter.group == "link utilisation").collect();
        assert!(shares.iter().flat_map(|counter| &counter.values).all(|value| value.1 <= 100.0), "{network}");
        assert!(shares.iter().flat_map(|counter| &counter.values).any(|value| value.1 > 99.9), "{network}");
        for link in links {
            let values = seen.counter("link rate", link["name"].as_str().unwrap()).unwrap();
            let carried: f64 = values.windows(2).map(|it| (it[1].0 - it[0].0) as f64 * 1e-9 * it[0].1).sum();
            let bytes = link["bytes"].as_f64().unwrap();
            // bins begin at whole nanoseconds here
            assert!(
                (carried - bytes).abs() <= 1e-3 * bytes + 50.0,
                "{network}: {carried} of {bytes}, {link}"
            );
        }
    }
    assert!(seen_of.iter().all(|&sum| sum > 0), "{seen_of:?}");
}

/// What is said of a message in the trace is what its line of `--flows` says.
#[test]
fn messages_of_a_trace_tell_how_they_fared() {
    let scratch = Scratch::new();
    for balancing in ["", "balancing = { kind = \"per-flow\" }\n"] {
        scratch.write("run.toml", &incast(&format!("{balancing}{}", NETWORKS[0])));
        let (_, seen) = traced(&scratch, &["--flows", "flows.csv"]);
        let flows = scratch.read("flows.csv");
        let mut lines = flows.lines();
        let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
        let mut count = 0;
        for line in lines {
            let of = |head: &str| {
                let at = heads.iter().position(|it| *it == head).unwrap();
                line.split(',').nth(at).unwrap()
            };
            let to = |slice: &&perfetto::SeenSlice| {
                slice.thread.starts_with("messages sent")
                    && slice.process.contains(&format!("({})", of("from")))
                    && slice.name.contains(&format!("({})", of("to")))
            };
            let found: Vec<_> = seen.slices.iter().filter(to).collect();
            let [slice] = &found[..] else { panic!("{found:?}") };
            count += 1;
            let whole = |name: &str| match slice.annotations.get(name) {
                Some(perfetto::Value::Whole(whole)) => *whole,
                None => 0,
                other => panic!("{name}: {other:?}"),
            };
            for (name, head) in [
                ("bytes", "bytes"),
                ("packets", "packets"),
                ("retransmissions", "retransmissions"),
                ("time-outs", "timeouts"),
                ("trims", "trims"),
                ("marks", "marks"),
            ] {
                assert_eq!(whole(name).to_string(), of(head), "{name}: {line}");
            }
            let Some(perfetto::Value::Real(slowdown)) = slice.annotations.get("slow-down") else {
                panic!("{line}")
            };
            assert_eq!(format!("{slowdown:.6}"), of("slowdown"), "{line}");
            let path = slice.annotations.get("path");
            assert_eq!(path, Some(&perfetto::Value::Text(of("path").to_owned())), "{line}");
            // one way for each message is its whole way
            assert!(balancing.is_empty() || of("path").ends_with("->host-0"), "{line}");
        }
        assert_eq!(count, 15);
    }
}

/// A number of each stretch.
fn numbers(entry: &Value, key: &str) -> Vec<f64> {
    serde_json::from_value(entry[key].clone()).unwrap_or_else(|error| panic!("{key}: {error}: {entry}"))
}

/// The entry of a link.
fn of_link<'a>(result: &'a Value, key: &str, link: &str) -> &'a Value {
    let entries = result[key].as_array().unwrap_or_else(|| panic!("{key}: {result}"));
    entries.iter().find(|entry| entry["link"] == link).unwrap_or_else(|| panic!("{link} in {key}"))
}

/// A run of `run.toml` with `--over-time` and more options.
fn over_time(scratch: &Scratch, options: &[&str]) -> Value {
    let all = ["run", "run.toml", "--quiet", "--json", "out.json", "--over-time"];
    let ended = scratch.stratasim(&[&all[..], options].concat());
    assert_eq!((ended.code, ended.errors.as_str()), (0, ""));
    serde_json::from_str(&scratch.read("out.json")).unwrap()
}

/// Hosts that send to the first at line rate, in packets of 4,160 B that take 332.8 ns each, over links of 1 us.
fn gather(hosts: u32, bytes: &str, window: &str) -> String {
    let network = format!(
        "buffer = \"1 MB\"\ncongestion = {{ kind = \"fixed-window\", window = \"{window}\" }}\nrecovery = {{ kind = \"sack\" }}"
    );
    to_the_first(&format!("kind = \"single-switch\"\nnodes = {hosts}"), bytes, &network)
}

const PACKET: f64 = 4160.0;
const PACKET_S: f64 = 332.8e-9;

/// From the first packet, which is there 1 us after it was sent, to the last one is always one packet under way, at full rate.
#[test]
fn a_message_alone_keeps_one_packet_in_the_queue_and_the_link_full() {
    let scratch = Scratch::new();
    scratch.write("run.toml", &gather(2, "8.192 MB", "1 MB"));
    let result = over_time(&scratch, &[]);
    let (begin, end) = (1e-6 + PACKET_S, result["makespan_s"].as_f64().unwrap() - 1e-6);
    assert!((end - begin - 1000.0 * PACKET_S).abs() < 1e-11, "a thousand packets");
    let link = of_link(&result, "links_over_time", "switch->host-0");
    let queue = of_link(&result, "queues_over_time", "switch->host-0");
    let step = link["step_s"].as_f64().unwrap();
    assert_eq!(
        (link["start_s"].as_f64(), link["end_s"].as_f64()),
        (Some(0.0), result["makespan_s"].as_f64())
    );
    assert_eq!((step, queue["step_s"].as_f64()), (2048e-9, Some(2048e-9)));
    let [bytes, shares, mean] = [(link, "bytes"), (link, "utilisation"), (queue, "mean_bytes")]
        .map(|(entry, key)| numbers(entry, key));
    let stretches = (result["makespan_s"].as_f64().unwrap() / step).ceil() as usize;
    assert_eq!([bytes.len(), shares.len(), mean.len()], [stretches; 3]);
    for at in 0..stretches {
        let (from, until) = (at as f64 * step, (at + 1) as f64 * step);
        // looks are half a microsecond apart at first
        if from > begin + 0.5e-6 && until < end {
            assert!((bytes[at] - 12.5e9 * step).abs() < 0.1, "{at}: {}", bytes[at]);
            assert!(shares[at] <= 1.0 && shares[at] > 0.99999, "{at}: {}", shares[at]);
            assert_eq!(mean[at], PACKET, "{at}");
        } else {
            assert!(shares[at] < 0.9 && mean[at] < PACKET, "{at}: {} {}", shares[at], mean[at]);
        }
    }
    assert!((bytes.iter().sum::<f64>() - 1000.0 * PACKET).abs() < 0.1);
}

/// Two windows of 40 packets meet at one link, whose way holds 13 of them besides: the queue grows to 67 packets, one in the time of
/// each, stays so, and drains as fast.
#[test]
fn a_queue_that_grows_and_drains_does_so_over_time() {
    let scratch = Scratch::new();
    scratch.write("run.toml", &gather(3, "3 MB", "166.4 kB"));
    let result =
        over_time(&scratch, &["--over-time-link", "switch->host-0", "--over-time-link", "host-1->switch"]);
    let makespan = result["makespan_s"].as_f64().unwrap();
    assert_eq!(result["links_over_time"].as_array().map(Vec::len), Some(2));
    let queue = of_link(&result, "queues_over_time", "switch->host-0");
    let (mean, most) = (numbers(queue, "mean_bytes"), numbers(queue, "most_bytes"));
    let step = queue["step_s"].as_f64().unwrap();
    let (mut grows, mut stays, mut full, mut drains) = (0, 0, 0, 0);
    for at in 0..mean.len() - 1 {
        let (from, middle, until) = (at as f64 * step, (at as f64 + 0.5) * step, (at + 1) as f64 * step);
        // two come at once
        let begin = 1e-6 + PACKET_S;
        let (growing, draining) =
            ((middle - begin) / PACKET_S + 1.5, (makespan - 1e-6 - middle) / PACKET_S + 0.5);
        let expected = growing.min(67.0).min(draining);
        let found = mean[at] / PACKET;
        if from > begin + 0.5e-6 {
            assert!((found - expected).abs() < 2.5, "{middle}: {found} packets of {expected}");
        }
        if until < 20e-6 && from > 2e-6 {
            grows += 1;
        } else if from > 30e-6 && until < makespan - 30e-6 {
            stays += 1;
            // last packets of messages are short
            assert!(
                found > 66.0 && found <= 67.0 && most[at] <= 67.0 * PACKET,
                "{middle}: {found}, {}",
                most[at]
            );
            full += usize::from(found == 67.0);
        } else if from > makespan - 20e-6 {
            drains += 1;
        }
    }
    assert!(grows > 5 && stays > 50 && full > 50 && drains > 5, "{grows} {stays} {full} {drains}");
    let empty = of_link(&result, "queues_over_time", "host-1->switch");
    assert!(
        numbers(empty, "mean_bytes").iter().all(|&bytes| bytes == 0.0),
        "hosts have no queue for their own"
    );
}

#[test]
fn what_is_told_over_time_adds_up_to_the_account() {
    let scratch = Scratch::new();
    let mut seen_of = [0; 4];
    for network in NETWORKS {
        scratch.write("run.toml", &incast(network));
        let result = over_time(&scratch, &[]);
        for queue in result["queues"].as_array().unwrap() {
            let lasting = result["queues_over_time"].as_array().unwrap();
            let lasting = lasting.iter().find(|it| it["link"] == queue["link"]);
            let sum = |key: &str| lasting.map_or(0, |it| numbers(it, key).iter().sum::<f64>() as u64);
            for (key, all) in ["drops", "trims", "marks", "pauses"].into_iter().zip(&mut seen_of) {
                assert_eq!(Some(sum(key)), queue[key].as_u64(), "{network}: {key} at {}", queue["link"]);
                *all += sum(key);
            }
            // between two looks may have been more
            let most = lasting.map_or(0.0, |it| numbers(it, "most_bytes").into_iter().fold(0.0, f64::max));
            let account = queue["most_bytes"].as_f64().unwrap();
            assert!(
                most <= account && (most > 0.5 * account || account < 40_000.0),
                "{network}: {most} of {queue}"
            );
        }
        let links = result["links"].as_array().unwrap();
        assert_eq!(result["links_over_time"].as_array().map(Vec::len), Some(links.len().min(64)));
        for lasting in result["links_over_time"].as_array().unwrap() {
            let link = links.iter().find(|link| link["name"] == lasting["link"]).unwrap();
            let (bytes, shares) = (numbers(lasting, "bytes"), numbers(lasting, "utilisation"));
            let carried = bytes.iter().sum::<f64>();
            assert!(
                (carried - link["bytes"].as_f64().unwrap()).abs() < 0.5,
                "{network}: {carried} of {link}"
            );
            assert!(bytes.len() <= 256 && bytes.len() > 128 && shares.iter().all(|&share| share <= 1.0));
        }
        // who watches changes nothing, and the result can be shown once more
        let blind = scratch.stratasim(&["run", "run.toml", "--quiet", "--json", "blind.json"]);
        assert_eq!(blind.code, 0);
        let blind: Value = serde_json::from_str(&scratch.read("blind.json")).unwrap();
        assert!(blind.get("links_over_time").is_none() && blind.get("queues_over_time").is_none());
        assert_eq!((&blind["digest"], &blind["flows"]), (&result["digest"], &result["flows"]));
        assert_eq!(scratch.stratasim(&["report", "out.json"]).code, 0);
    }
    assert!(seen_of.iter().all(|&sum| sum > 0), "{seen_of:?}");
}

#[test]
fn what_cannot_be_told_over_time_is_refused() {
    let scratch = Scratch::new();
    scratch.write("run.toml", &gather(3, "3 MB", "166.4 kB"));
    let flow = over_time(&scratch, &["--network", "flow"]);
    assert!(
        !flow["links_over_time"].as_array().unwrap().is_empty() && flow.get("queues_over_time").is_none()
    );
    let refused = |options: &[&str], words: &[&str]| {
        scratch.stratasim(&[&["run", "run.toml", "--quiet"], options].concat()).failed(2, words);
    };
    refused(&["--over-time"], &["--json"]);
    refused(&["--json", "out.json", "--over-time-link", "switch->host-0"], &["--over-time"]);
    let asked = ["--json", "out.json", "--over-time"];
    refused(
        &[&asked[..], &["--network", "message"]].concat(),
        &["--over-time is about links over time", "`message`"],
    );
    let named = ["--over-time-link", "switch->host-7"];
    refused(&[&asked[..], &named].concat(), &["--over-time-link: `switch->host-7`", "6 links"]);
}

#[test]
fn a_deadlock_says_since_when_and_which_files_are_not_there() {
    let scratch = Scratch::new();
    let ring = "[topology]\nkind = \"torus\"\ndimensions = [6]\nhosts-per-switch = 4\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
                [workload]\nkind = \"traffic\"\npattern = { kind = \"shift\", offset = 8 }\nflows = 200\nsize = \"2 MB\"\n\
                [network]\nkind = \"packet\"\ncongestion = \"constant-rate\"\nqueue = \"lossless\"\n";
    scratch.write("ring.toml", ring);
    let ended = scratch.stratasim(&[
        "run",
        "ring.toml",
        "--json",
        "out.json",
        "--flows",
        "out.csv",
        "--trace",
        "seen",
    ]);
    let stuck =
        ["deadlock: 6 links", "since 10.65 us, and 200 messages have not arrived", "host-0 to host-8"];
    ended.failed(3, &[&stuck[..], &["not written, as there is no result: out.json, out.csv"]].concat());
    assert_eq!(scratch.names(), ["ring.toml", "seen"]);
}
