//! What happens when a process dies, leaves, calls something else, or never comes.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    missing_docs,
    reason = "real processes, who tell in real time"
)]

mod support;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;
use std::time::{Duration, Instant};

use stratasim_shm::{Algorithm, ElementType, Group, Options, Reduction, ShmError};
use support::{Role, end, exists, fresh_name, run, start, until_error};

#[test]
fn worker() {
    let Some(role) = Role::own() else { return };
    match role.scenario.as_str() {
        "killed" => killed(&role),
        "leaves" => leaves(&role, Duration::ZERO),
        "leaves-late" => leaves(&role, Duration::from_millis(400)),
        "differs" => differs(&role),
        "late" => late(&role),
        "joins" => {
            role.join().barrier().expect("all are there");
        }
        "waits" => {
            let error = Group::join(role.options()).expect_err("nobody comes");
            panic!("{error}");
        }
        other => panic!("{other}"),
    }
}

/// Rank 1 computes for ever and is killed from outside; the others wait for it, each in another collective.
fn killed(role: &Role) {
    let mut group = role.join();
    group.barrier().expect("all are there");
    println!("\nready");
    if role.rank == 1 {
        std::thread::sleep(Duration::from_secs(60));
    }
    let mut data = vec![1; 4096 * role.ranks as usize];
    let algorithm = Algorithm::ALL[role.name.len() % 4];
    let error = group.all_reduce_in_place(&mut data, ElementType::F32, Reduction::Sum, algorithm);
    let error = error.expect_err("rank 1 does not come");
    println!("failed: {error}");
    let again = group.barrier().expect_err("the group has ended");
    assert!(matches!(again, ShmError::Ended { .. }), "{again}");
}

/// Rank 1 leaves, rank 0 finds that out and ends, and the others come when both are gone.
fn leaves(role: &Role, later: Duration) {
    let mut group = role.join();
    group.barrier().expect("all are there");
    if role.rank == 1 {
        return;
    }
    if role.rank > 1 {
        std::thread::sleep(later);
    }
    let (error, _) = until_error(&mut group);
    assert!(matches!(error, ShmError::Left { rank: 1 } | ShmError::Ended { .. }), "{error}");
}

fn differs(role: &Role) {
    let mut group = role.join();
    let mut data = vec![0; 40 + 4 * (role.rank as usize / 2)];
    let error = match role.rank {
        0 => group.broadcast(&mut data, 0, Algorithm::Ring).expect_err("others call something else"),
        1 => group.broadcast(&mut data, 0, Algorithm::Csc).expect_err("others call something else"),
        _ => {
            let mut output = data.clone();
            let done =
                group.all_reduce(&data, &mut output, ElementType::I32, Reduction::Sum, Algorithm::Ring);
            done.expect_err("others call something else")
        }
    };
    assert!(matches!(error, ShmError::Mismatch { .. } | ShmError::Ended { .. }), "{error}");
    println!("failed: {error}");
}

fn late(role: &Role) {
    let mut options = role.options();
    options.timeout = Duration::from_millis(300);
    let mut group = Group::join(options).expect("all come");
    group.barrier().expect("all are there");
    if role.rank == 1 {
        // alive, but elsewhere
        std::thread::sleep(Duration::from_millis(900));
        return;
    }
    let (error, waited) = until_error(&mut group);
    assert!(matches!(error, ShmError::Timeout { .. }), "{error}");
    assert!(waited < Duration::from_millis(900), "{waited:?}");
}

/// Waits until the process has printed `line`.
fn said(child: &mut Child, line: &str) -> BufReader<std::process::ChildStdout> {
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    let mut text = String::new();
    while text.trim() != line {
        text.clear();
        assert!(reader.read_line(&mut text).expect("text") > 0, "it ended without saying `{line}`");
    }
    reader
}

#[test]
fn a_killed_process_makes_the_others_fail() {
    // names of different lengths choose different algorithms
    for extra in ["", "x", "xx", "xxx"] {
        let name = fresh_name("killed") + extra;
        let mut children: Vec<Child> = (0..3).map(|rank| start("killed", &name, rank, 3)).collect();
        let readers: Vec<_> = children.iter_mut().map(|child| said(child, "ready")).collect();
        let killed = Instant::now();
        children[1].kill().expect("ours");
        for (rank, mut reader) in readers.into_iter().enumerate().filter(|(rank, _)| *rank != 1) {
            let mut line = String::new();
            reader.read_line(&mut line).expect("text");
            let waited = killed.elapsed();
            assert!(line.contains("rank 1 (process ") || line.contains("ended"), "rank {rank}: {line}");
            // others look every 50 ms; a busy host may take the processor away for longer
            assert!(waited < Duration::from_secs(10), "rank {rank} after {waited:?}");
            // to its end, so that it has somebody to tell
            reader.read_to_string(&mut line).expect("text");
        }
        for (rank, child) in children.into_iter().enumerate() {
            let ended = end(child);
            assert!(ended.fine || rank == 1, "rank {rank}: {}", ended.text);
        }
        assert!(!exists(&name), "nothing is left behind");
    }
}

#[test]
fn leaving_while_others_call_is_an_error_for_them() {
    run("leaves", 3);
    run("leaves-late", 4);
}

#[test]
fn different_collectives_at_the_same_time_are_named_instead_of_waited_for() {
    let name = fresh_name("differs");
    let children: Vec<Child> = (0..3).map(|rank| start("differs", &name, rank, 3)).collect();
    let ended: Vec<_> = children.into_iter().map(end).collect();
    let all: String = ended.iter().map(|ended| ended.text.as_str()).collect();
    assert!(ended.iter().all(|ended| ended.fine), "{all}");
    assert!(all.contains("all-reduce by ring of 44 B of int32 (sum)"), "{all}");
}

#[test]
fn a_rank_that_does_not_come_in_time_is_an_error() {
    run("late", 2);
}

#[test]
fn the_memory_of_a_killed_run_is_replaced() {
    let name = fresh_name("stale");
    let mut first = start("waits", &name, 0, 2);
    let started = Instant::now();
    while !exists(&name) {
        assert!(started.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(5));
    }
    // someone who waits while it lives is told that the name is taken
    let taken = Group::join(Options::new(&name, 0, 2)).expect_err("taken");
    assert!(matches!(taken, ShmError::NameTaken { pid, .. } if pid == first.id()), "{taken}");
    let differs = Group::join(Options::new(&name, 1, 3)).expect_err("of another size");
    assert_eq!(differs.to_string(), format!("the group `{name}` was made with size 2, this process wants 3"));
    first.kill().expect("ours");
    assert!(!end(first).fine);
    assert!(exists(&name), "a killed process cannot tidy up");
    let children: Vec<Child> = (0..2).rev().map(|rank| start("joins", &name, rank, 2)).collect();
    for child in children {
        let ended = end(child);
        assert!(ended.fine, "{}", ended.text);
    }
    assert!(!exists(&name));
}

#[test]
fn who_waits_for_a_rank_that_never_comes_says_which() {
    let name = fresh_name("missing");
    let join = |rank: u32| {
        let mut options = Options::new(&name, rank, 3);
        options.timeout = Duration::from_millis(200);
        Group::join(options).expect_err("rank 2 does not come")
    };
    assert!(join(1).to_string().contains("is not complete after 200ms: rank 0 has not made it"));
    assert!(join(0).to_string().contains("is not complete after 200ms: rank 1, 2 missing"));
    assert!(!exists(&name));
}

#[test]
fn two_processes_cannot_be_the_same_rank() {
    let name = fresh_name("twice");
    let first = start("waits", &name, 0, 3);
    let mut second = start("waits", &name, 1, 3);
    let own = Role { scenario: String::new(), name: name.clone(), rank: 1, ranks: 3 };
    let options = own.options();
    // one of both gets the place; as threads would, we have another process number
    let mut taken = None;
    let started = Instant::now();
    while taken.is_none() && started.elapsed() < Duration::from_secs(10) {
        if !exists(&name) {
            continue;
        }
        std::thread::sleep(Duration::from_millis(100));
        taken = Group::join(options.clone()).err();
    }
    let taken = taken.expect("an error");
    assert!(matches!(taken, ShmError::RankTaken { rank: 1, pid, .. } if pid == second.id()), "{taken}");
    second.kill().expect("ours");
    second.wait().expect("ours");
    // rank 0 notices that rank 1 has died before all were there
    let ended = end(first);
    assert!(ended.text.contains("rank 1 (process"), "{}", ended.text);
    assert!(!exists(&name));
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let refused = |change: &dyn Fn(&mut Options)| {
        let mut options = Options::new("settings", 0, 2);
        change(&mut options);
        Group::join(options).expect_err("it cannot be").to_string()
    };
    assert!(refused(&|options| options.name = "a/b".to_owned()).contains("name: "));
    assert!(refused(&|options| options.name.clear()).contains("name: "));
    assert!(refused(&|options| options.rank = 2).contains("rank: 0 to 1 is expected, found 2"));
    assert!(refused(&|options| options.ranks = 0).contains("size: 1 to 64"));
    assert!(refused(&|options| options.local_bytes = 4 << 20).contains("local: "));
    assert!(refused(&|options| options.staging_bytes = 0).contains("staging: "));
}

#[test]
fn arguments_that_do_not_fit_leave_the_group_as_it_is() {
    let mut group = Group::join(Options::new(fresh_name("alone"), 0, 1)).expect("alone");
    let mut output = [0; 12];
    let error = group.all_gather(&[1, 2], &mut output, Algorithm::Ring).expect_err("one part of 2 B");
    assert!(error.to_string().contains("1 parts of 2 B, found 12 B"), "{error}");
    let error =
        group.all_reduce_in_place(&mut output[..3], ElementType::F32, Reduction::Sum, Algorithm::Direct);
    assert!(error.expect_err("3 B").to_string().contains("no whole number of float32"));
    assert!(group.broadcast(&mut output, 1, Algorithm::Csc).is_err());
    group.all_gather(&[7; 12], &mut output, Algorithm::Csc).expect("it is usable");
    assert_eq!(output, [7; 12]);
}
