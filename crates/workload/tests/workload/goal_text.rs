//! GOAL text: what the other tools' parser accepts means the same, what it refuses without a reason is read
//! as well, and what is written comes back.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::common::schedules::{all_to_all, assert_same, broadcast, random, ring};
use proptest::prelude::*;
use stratasim_workload::goal::text::{Severity, read, strict, write};
use stratasim_workload::goal::{
    ANY, Operation, OperationKind, ReadError, Schedule, ScheduleBuilder, WriteError,
};

fn written(schedule: &Schedule) -> String {
    let mut text = Vec::new();
    write(schedule, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn read_text(text: &str) -> Schedule {
    read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// The operations of a text of one rank.
fn operations(statements: &str) -> Vec<Operation> {
    let schedule = read_text(&format!("num_ranks 1\nrank 0 {{\n{statements}\n}}\n"));
    (0..schedule.len()).map(|number| schedule.operation(0, number)).collect()
}

/// What waits for each operation of a text of one rank.
fn dependencies(statements: &str) -> Vec<Vec<(u32, bool)>> {
    let schedule = read_text(&format!("num_ranks 1\nrank 0 {{\n{statements}\n}}\n"));
    (0..schedule.len())
        .map(|number| schedule.edges(number).iter().map(|edge| (edge.after(), edge.on_start())).collect())
        .collect()
}

fn reference() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/goal");
    let found = folder.is_dir();
    if !found {
        eprintln!("skipped: no {}", folder.display());
    }
    found.then_some(folder)
}

fn goal_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "goal")).collect();
    files.sort();
    files
}

#[test]
fn numbers_that_mean_others_are_told_of() {
    let changed = |statements: &str| {
        let schedule = read_text(&format!("num_ranks 2\nrank 0 {{\n{statements}\n}}\nrank 1 {{\n}}\n"));
        assert!(schedule.remarks().len() < 2, "{:?}", schedule.remarks());
        schedule.remarks().first().cloned()
    };
    assert_eq!(changed("calc 18446744073709551615 cpu 255\nsend 1b to 1 tag 4294967294"), None);
    assert_eq!(changed("recv 1b from -1 tag -1\nsend 1b to 1 tag -1"), None);
    // 2^32 - 1 is what -1 is in 32 bits
    assert_eq!(
        changed("send 1b to 1 tag 4294967295").as_deref(),
        Some("line 3, column 18: a tag of 4294967295 is taken as -1: any, as other tools take it")
    );
    assert_eq!(
        changed("recv 1b from 4294967295").as_deref(),
        Some("line 3, column 14: a rank of 4294967295 is taken as -1: any, as other tools take it")
    );
    let both = changed("recv 1b from 1 tag 8589934591").unwrap();
    assert!(
        both.starts_with("line 3, column 20: a tag of 8589934591 is taken modulo 2^32: -1, any"),
        "{both}"
    );
    assert_eq!(
        changed("calc 5 cpu 256").as_deref(),
        Some("line 3, column 12: a cpu of 256 is taken modulo 256: 0, as other tools take it")
    );
    let several =
        changed("calc 18446744073709551616\nsend 1b to 1 tag 4294967297\nrecv 1b from 4294967297").unwrap();
    assert!(
        several.starts_with(
            "line 3, column 6: a duration in ns of `18446744073709551616` is taken modulo 2^64: 0"
        )
    );
    assert!(several.ends_with("(2 more such numbers)"), "{several}");
}

#[test]
fn ranks_without_a_block_are_told_of() {
    let remarks = |ranks: u32, with_block: &[u32]| {
        let blocks: String = with_block.iter().map(|rank| format!("rank {rank} {{\n}}\n")).collect();
        read_text(&format!("num_ranks {ranks}\n{blocks}")).remarks().to_vec()
    };
    let told = |ranks: u32, with_block: &[u32]| match remarks(ranks, with_block).as_slice() {
        [remark] => {
            let place = format!("line {}, column 1: ", 2 + 2 * with_block.len());
            let what = remark.strip_prefix(&place).unwrap_or_else(|| panic!("{remark}"));
            let end = "; a rank without a block does nothing, but the file may have been cut short";
            what.strip_suffix(end).unwrap_or_else(|| panic!("{remark}")).to_owned()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(told(8, &[0, 1, 2, 3, 4]), "ranks 5 to 7 of 8 have no block");
    assert_eq!(told(3, &[0, 1]), "rank 2 of 3 has no block");
    assert_eq!(told(3, &[2, 0]), "rank 1 of 3 has no block");
    assert_eq!(told(4, &[]), "ranks 0 to 3 of 4 have no block");
    assert_eq!(told(9, &[0, 2, 5, 6]), "ranks 1, 3 to 4 and 7 to 8 of 9 have no block");
    let even: Vec<u32> = (0..50).map(|half| 2 * half).collect();
    assert_eq!(told(100, &even), "ranks 1, 3, 5, 7, 9, 11 and 44 more of 100 have no block");
    assert_eq!(remarks(3, &[0, 1, 2]), [""; 0]);
    assert_eq!(remarks(3, &[2, 1, 0]), [""; 0]);
    assert_eq!(remarks(0, &[]), [""; 0]);
    // what is said of two things is two sentences
    let both = read_text("num_ranks 2\nrank 0 {\ncalc 1 cpu 256\n}\n");
    assert_eq!(both.remarks().len(), 2);
    let named = both.named("x.goal");
    assert!(
        named.remarks().iter().all(|remark| remark.starts_with("x.goal: line ")),
        "{:?}",
        named.remarks()
    );
}

#[test]
fn the_reference_schedules_are_read_as_the_other_tools_counted_them() {
    let Some(folder) = reference() else { return };
    let cases: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("cases.json")).unwrap()).unwrap();
    let mut compared = 0;
    for case in cases["cases"].as_array().unwrap() {
        let schedule = read(fs::File::open(folder.join(case["goal"].as_str().unwrap())).unwrap()).unwrap();
        let count = |kind| {
            let ranks = (0..schedule.ranks()).flat_map(|rank| schedule.of_rank(rank));
            ranks.filter(|&number| schedule.shape(number).operation.kind == kind).count() as u64
        };
        let found = [
            u64::from(schedule.ranks()),
            u64::from(schedule.cpus()),
            u64::from(schedule.nics()),
            count(OperationKind::Send),
            count(OperationKind::Receive),
            count(OperationKind::Calc),
            u64::from(schedule.edge_count()),
        ];
        let expected = ["num_ranks", "num_cpus", "num_nics", "sends", "recvs", "calcs", "edges"]
            .map(|name| case[name].as_u64().unwrap());
        assert_eq!(found, expected, "{}", case["id"]);
        compared += 1;
    }
    assert!(compared >= 48, "{compared} cases");
}

#[test]
fn what_other_tools_wrote_and_read_is_not_said_to_be_refused() {
    let Some(folder) = reference() else { return };
    let folders = ["cases", "data/examples", "data/merge", "data/nsys_synthetic"];
    let files: Vec<_> = folders.iter().flat_map(|name| goal_files(&folder.join(name))).collect();
    assert!(files.len() >= 58, "{} files", files.len());
    let mut same = 0;
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let schedule = read(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let complaints = strict(text.as_bytes()).unwrap();
        let refused = complaints.iter().find(|complaint| complaint.severity == Severity::Rejected);
        assert_eq!(refused, None, "{}", path.display());

        let ours = written(&schedule);
        assert_same(&read_text(&ours), &schedule, false);
        let worse = strict(ours.as_bytes()).unwrap();
        assert!(worse.iter().all(|c| c.severity == Severity::Note), "{}: {worse:?}", path.display());
        same += u32::from(ours == text);
    }
    // schedgen and the MPI traces use the form that we write
    assert!(same >= 25, "{same} files come back byte for byte");
}

#[test]
fn blanks_are_needed_only_where_a_word_would_go_on() {
    let send = Operation::send(10, 1, 3).on_cpu(2).on_nic(1);
    assert_eq!(operations("send 10bto1tag3cpu2nic1"), [send]);
    assert_eq!(operations("a\t:\tsend  10 b to 1 tag 3 cpu 2 nic 1 "), [send]);
    assert_eq!(operations("recv 5bfrom-1tag-1cpu4"), [Operation::receive(5, ANY, ANY).on_cpu(4)]);
    assert_eq!(operations("calc:calc 7cpu1"), [Operation::calc(7).on_cpu(1)]);
    let schedule = read_text("num_ranks 2rank 0{}rank 1{calc 5\n}");
    assert_eq!((schedule.ranks(), schedule.len()), (2, 1));
    assert_eq!(read_text("num_ranks0").ranks(), 0);
}

#[test]
fn numbers_wrap_where_the_other_tools_let_them() {
    let wide = "send 18446744073709551621b to 4294967299 tag 4294967296 cpu 257 nic 511";
    assert_eq!(operations(wide), [Operation::send(5, 3, 0).on_cpu(1).on_nic(255)]);
    assert_eq!(operations("send 1b to 0 tag -1"), [Operation::send(1, 0, ANY)]);
    assert_eq!(operations("recv 1b from 4294967295"), [Operation::receive(1, ANY, 0)]);
    assert_eq!(operations("calc 18446744073709551615"), [Operation::calc(u64::MAX)]);
    assert_eq!(operations("calc 00000000000000000000000000000000012"), [Operation::calc(12)]);
}

#[test]
fn dependencies_keep_the_order_of_their_lines() {
    let lines = "a: calc 1\na: calc 2\nb: calc 3\nb requires a\nb requires a\nb irequires a\na requires a";
    assert_eq!(dependencies(lines), [vec![(2, false), (2, false), (0, false), (2, true)], vec![], vec![]]);
    // also if some labels come later
    let lines = "c requires a\na: calc 1\nb requires a\nb: calc 2\nc: calc 3\nb requires a\nc requires b";
    assert_eq!(dependencies(lines), [vec![(2, false), (1, false), (1, false)], vec![(2, false)], vec![]]);
}

#[test]
fn labels_belong_to_their_rank() {
    let error =
        read(&b"num_ranks 2 rank 0 {a: calc 1\n} rank 1 {b: calc 1\nb requires a\n}"[..]).unwrap_err();
    assert_eq!(error.to_string(), "line 3, column 12: rank 1 has no operation with the label `a`");
    let schedule = read_text("num_ranks 2 rank 1 {x: calc 1\n} rank 0 {l1: calc 1\nl3: calc 2\n}");
    let labels = [(0, 0), (0, 1), (1, 2)].map(|(rank, number)| schedule.label(rank, number));
    assert_eq!(labels, ["l1", "l3", "x"]);
}

#[test]
fn comments_may_stand_between_all_words() {
    let plain = operations("a: send 5b to 1 tag 2 cpu 3 nic 4\nb: calc 6");
    let full = "/**/a/* x\ny */:/***/send/* */5/**/b/**/to/**/1/**/tag/**/2/**/cpu/**/3/**/nic/**/4 // }\n\
        // calc 7\n  /* calc 8 */ b: calc 6 /* calc 9\n*/ // }";
    assert_eq!(operations(full), plain);
    assert_eq!(operations("calc 1 /* the line ends in here\n*/ calc 2"), operations("calc 1\ncalc 2"));
    assert_eq!(operations("calc 1 // one\r\ncalc 2 // two\r\n"), operations("calc 1\ncalc 2"));
    let lines = "a: calc 1\nb: calc 2\nb/**/requires/* \n */a// }";
    assert_eq!(dependencies(lines), [vec![(1, false)], vec![]]);
}

#[test]
fn what_follows_the_last_rank_does_not_count() {
    let text = "num_ranks 1\nrank 0 {\ncalc 1\n}\n";
    let more = read_text(&format!("{text}rank 1 {{\ncalc 1\n}}\nrank 0 {{ nonsense"));
    assert_same(&more, &read_text(text), true);
}

#[test]
fn ranks_without_a_block_do_nothing() {
    let schedule = read_text("num_ranks 5\nrank 3 {\ncalc 1\n}\nrank 1 {\ncalc 1\n}\n");
    let lengths: Vec<_> = (0..5).map(|rank| schedule.of_rank(rank).len()).collect();
    assert_eq!(lengths, [0, 1, 0, 1, 0]);
}

#[test]
fn a_count_of_ranks_alone_takes_no_memory() {
    let error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    assert!(error("num_ranks 4294967295").contains("4294967295 ranks; at most 268435456"));
    assert!(error("num_ranks 16777217").contains("16777217 ranks in a text of 18 bytes"));
    assert!(error("num_ranks 268435456 rank 268435455 {calc 1\n}").contains("268435456 ranks in a text"));
    assert_eq!(read_text("num_ranks 1000000").ranks(), 1_000_000);
}

#[test]
fn errors_of_the_source_are_given_back() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("unplugged"))
        }
    }
    let source = b"num_ranks 2\nrank 0 {\n".chain(Broken);
    assert!(matches!(read(source), Err(ReadError::Io(error)) if error.to_string() == "unplugged"));
    assert_eq!(strict(Broken).unwrap_err().to_string(), "unplugged");
}

#[test]
fn every_cut_is_noticed() {
    let text = "num_ranks 2\nrank 0 {\nl1: calc 5 /* x */\nl1 requires l1\n}\nrank 1 {\nsend 5b to 0\n}";
    assert!(read(text.as_bytes()).is_ok());
    let whole_first_block = text.find('}').unwrap() + 1..text.rfind("rank").unwrap();
    for end in 0..text.len() {
        // a rank without a block does nothing, so that a text may end between blocks
        let counts = [text.find('\n').unwrap(), text.find('\n').unwrap() + 1];
        let complete =
            whole_first_block.contains(&end) || end == whole_first_block.end || counts.contains(&end);
        assert_eq!(read(&text.as_bytes()[..end]).is_ok(), complete, "cut at {end}");
        let refused =
            strict(&text.as_bytes()[..end]).unwrap().iter().any(|c| c.severity == Severity::Rejected);
        assert!(refused, "cut at {end}");
    }
}

/// A text with each kind of statement, whose digest and errors do not depend on where windows end.
#[test]
fn statements_that_lie_across_windows_are_read_whole() {
    let body = "rank 0 {\r\n  // c\n/* d */first: send 10b to 1 tag -1 cpu 3 nic 4\nl2: recv 12345b from -1\n\
        l2 requires first /* e */\nfirst irequires later\nlater: calc 184 cpu 2 }\nrank 1 {\n}\n";
    let expected = read_text(&format!("num_ranks 2 {body}"));
    let window = 1 << 20;
    for shift in 0..body.len() + 20 {
        // both kinds of comment before it, in turn
        let (open, close) = [("/*", "*/"), ("//", "\n")][shift % 2];
        let blank = if close == "\n" { "/" } else { "*" };
        let length = window - shift - open.len() - close.len();
        let text = format!("{open}{}{close}num_ranks 2 {body}", blank.repeat(length));
        assert_same(&read_text(&text), &expected, true);
    }
    let long = format!("num_ranks 1\nrank 0 {{{}calc é", " ".repeat(3 << 20));
    let column = long.lines().last().unwrap().chars().count();
    let error = read(long.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, format!("line 2, column {column}: expected a duration in ns, found `é`"));
    // a comment larger than the window inside of a statement
    let wide = format!("calc /*{}*/ 5 cpu 1", "\n".repeat(3 << 20));
    assert_eq!(operations(&wide), [Operation::calc(5).on_cpu(1)]);
    let endless = format!("num_ranks 1\nrank 0 {{\n{}", "x".repeat(17 << 20));
    let error = read(endless.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "line 3, column 1: a statement of more than 16 MiB; is it GOAL text?");
}

#[test]
fn regular_schedules_come_back() {
    for schedule in [ring(16, 1 << 20), broadcast(100, 7), all_to_all(13, 0)] {
        let text = written(&schedule);
        assert_same(&read_text(&text), &schedule, true);
        assert_eq!(strict(text.as_bytes()).unwrap(), []);
    }
    let text = written(&ring(3, 8));
    let first = "num_ranks 3\n\nrank 0 {\nl1: send 8b to 1 tag 0\nl2: recv 8b from 2 tag 0\n\
        l3: send 8b to 1 tag 0\nl3 requires l2\n";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn labels_are_written_so_that_each_names_one_operation() {
    let mut builder = ScheduleBuilder::new(1);
    for label in ["l1", "l2", "a", "a", "l2", "send", "no label", "l8", "a_4"] {
        let place = builder.push(Operation::calc(1));
        builder.label(place, label);
        builder.requires(place, 3);
    }
    let schedule = builder.build().unwrap();
    let text = written(&schedule);
    let labels: Vec<_> = text.lines().filter_map(|line| Some(line.split_once(": calc")?.0)).collect();
    assert_eq!(labels, ["l1", "l2_2", "a", "a_4_2", "l2", "l6", "l7", "l8", "a_4"]);
    assert_same(&read_text(&text), &schedule, false);
}

#[test]
fn what_goal_text_cannot_say_is_not_written() {
    let error = |operation: Operation| {
        let mut builder = ScheduleBuilder::new(2);
        builder.close_rank().unwrap();
        builder.push(operation);
        match write(&builder.build().unwrap(), &mut Vec::new()) {
            Err(WriteError::Form(reason)) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        error(Operation::calc(1).on_cpu(256)),
        "operation `l1` of rank 1: cpu 256 and nic 0; GOAL text has at most 255"
    );
    assert_eq!(
        error(Operation::calc(1).on_nic(2)),
        "operation `l1` of rank 1: a computation with peer 0, tag 0 and nic 2; GOAL text has none for it"
    );
}

/// Writes the words of a text with other blanks and comments between them, by the bytes of `noise`.
fn decorated(text: &str, noise: &[u8]) -> String {
    const BLANKS: [&str; 8] = [" ", " ", "\t", "  ", " /* } */ ", "/**/", " \t ", "/* x\n */"];
    const ENDS: [&str; 6] = ["\n", "\r\n", " \n", "// calc 5 }\n", " /* c */ \n", "\n\n\t\n// x\n"];
    let mut noise = noise.iter().cycle().map(|byte| usize::from(*byte));
    let mut pick = |from: &[&'static str]| from[noise.next().unwrap_or(0) % from.len()];
    let mut out = String::new();
    for line in text.lines() {
        out.push_str(pick(&["", "", "  ", "\t", "/* - */"]));
        for (place, word) in line.split(' ').enumerate() {
            if place > 0 {
                out.push_str(pick(&BLANKS));
            }
            out.push_str(word);
        }
        out.push_str(pick(&ENDS));
    }
    out
}

/// The text with its blocks in another order, and the dependencies of each before its operations.
fn turned_over(text: &str, by: usize) -> String {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut blocks: Vec<String> = body
        .split("\n\n")
        .filter(|block| !block.is_empty())
        .map(|block| {
            let (open, rest) = block.split_once('\n').unwrap();
            let (waits, others): (Vec<_>, Vec<_>) =
                rest.lines().partition(|line| line.contains("requires ") && !line.contains(": "));
            format!("{open}\n{}\n{}", waits.join("\n"), others.join("\n"))
        })
        .collect();
    if !blocks.is_empty() {
        let middle = by % blocks.len();
        blocks.rotate_left(middle);
        blocks[middle..].reverse();
    }
    let mut out = head.to_owned();
    for block in blocks {
        write!(out, "\n{block}").unwrap();
    }
    out
}

proptest! {
    #[test]
    fn schedules_come_back(schedule in random()) {
        let text = written(&schedule);
        assert_same(&read_text(&text), &schedule, false);
        let complaints = strict(text.as_bytes()).unwrap();
        prop_assert!(complaints.iter().all(|c| c.severity == Severity::Note), "{complaints:?}");
    }

    #[test]
    fn blanks_comments_and_order_do_not_matter(
        schedule in random(),
        noise in prop::collection::vec(any::<u8>(), 1..99),
        by in 0..9_usize,
    ) {
        let text = written(&schedule);
        assert_same(&read_text(&decorated(&text, &noise)), &schedule, false);
        let turned = turned_over(&text, by);
        // within the lists of what waits for an operation, the order is that of the lines
        assert_same(&read_text(&turned), &schedule, false);
        assert_same(&read_text(&decorated(&turned, &noise)), &schedule, false);
    }

    #[test]
    fn no_change_makes_a_panic_and_strict_finds_what_is_not_read(
        schedule in random(),
        noise in prop::collection::vec(any::<u8>(), 1..20),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4), 1..6),
    ) {
        let mut text = decorated(&written(&schedule), &noise).into_bytes();
        let known = b"{}:/*-0 9blt\n\r_\x00\xC3";
        for (place, byte, kind) in changes {
            let at = place.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => text[at] = known[usize::from(byte) % known.len()],
                2 => text.insert(at, known[usize::from(byte) % known.len()]),
                _ => text.truncate(at.max(1)),
            }
        }
        let complaints = strict(&text[..]).unwrap();
        match read(&text[..]) {
            Ok(schedule) => {
                let again = written(&schedule);
                prop_assert_eq!(read_text(&again).digest(), schedule.digest());
            }
            Err(error) => {
                let found = complaints.iter().map(|c| format!("line {}, column {}: {}", c.line, c.column, c.text));
                prop_assert!(found.into_iter().any(|text| text == error.to_string()), "{error}");
            }
        }
    }
}
