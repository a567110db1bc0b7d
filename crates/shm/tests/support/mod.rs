//! Real processes for tests: the test binary runs itself again, as the ranks of a group.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test binary uses a part of it")]

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use stratasim_shm::{Group, Options, ShmError};

const VARIABLE: &str = "STRATASIM_SHM_TEST";

/// What a process of a test is to do, in a child; `None` in the test itself.
pub struct Role {
    pub scenario: String,
    pub name: String,
    pub rank: u32,
    pub ranks: u32,
}

impl Role {
    pub fn own() -> Option<Self> {
        let text = std::env::var(VARIABLE).ok()?;
        let mut words = text.split(' ').map(str::to_owned);
        let mut next = || words.next().expect("four words");
        let (scenario, name) = (next(), next());
        let mut number = || next().parse().expect("a number");
        Some(Self { scenario, name, rank: number(), ranks: number() })
    }

    pub fn options(&self) -> Options {
        let mut options = Options::new(&self.name, self.rank, self.ranks);
        options.staging_bytes = 1 << 20;
        options.local_bytes = 16 << 20;
        options.timeout = Duration::from_secs(20);
        options
    }

    pub fn join(&self) -> Group {
        Group::join(self.options()).expect("all come")
    }
}

/// A name that no other test has.
pub fn fresh_name(what: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("test-{what}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Starts one rank, which runs the test `worker` of this binary.
pub fn start(scenario: &str, name: &str, rank: u32, ranks: u32) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "worker", "--nocapture", "--test-threads=1"])
        .env(VARIABLE, format!("{scenario} {name} {rank} {ranks}"))
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs")
}

/// What a rank said, and whether it did all it had to.
pub struct Ended {
    pub fine: bool,
    pub text: String,
}

pub fn end(child: Child) -> Ended {
    let output = child.wait_with_output().expect("it ends");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Ended { fine: output.status.success(), text }
}

/// Runs all ranks to their end.
pub fn run(scenario: &str, ranks: u32) {
    let name = fresh_name(scenario);
    let children: Vec<Child> = (0..ranks).map(|rank| start(scenario, &name, rank, ranks)).collect();
    let ended: Vec<Ended> = children.into_iter().map(end).collect();
    for (rank, ended) in ended.iter().enumerate() {
        assert!(ended.fine, "rank {rank} of {ranks}: {}", ended.text);
    }
    assert!(!exists(&name));
}

/// Whether anything of this name is in /dev/shm.
pub fn exists(name: &str) -> bool {
    std::fs::read_dir("/dev/shm")
        .expect("it is there")
        .any(|entry| entry.expect("readable").file_name().to_string_lossy().contains(name))
}

/// Calls barriers until one fails: the error, and how long the failing call took.
pub fn until_error(group: &mut Group) -> (ShmError, Duration) {
    loop {
        let started = Instant::now();
        if let Err(error) = group.barrier() {
            return (error, started.elapsed());
        }
    }
}
