//! Which process, and whether it still lives.

use crate::error::ShmError;

/// A process, told from a later one with the same number by when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// In clock ticks since the machine started.
    pub(crate) start: u64,
}

impl Process {
    /// This process.
    pub(crate) fn own() -> Result<Self, ShmError> {
        let pid = std::process::id();
        let start = stat(pid).map(|(_, start)| start);
        let missing = || std::io::Error::other("no entry of this process");
        start.map(|start| Self { pid, start }).ok_or_else(|| ShmError::system("/proc", missing()))
    }

    /// Whether it has not ended. One that its parent has not yet asked for (a zombie) has.
    pub(crate) fn lives(self) -> bool {
        stat(self.pid).is_some_and(|(state, start)| start == self.start && !matches!(state, 'Z' | 'X' | 'x'))
    }
}

/// State and start of a process, from `/proc/PID/stat`.
fn stat(pid: u32) -> Option<(char, u64)> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // the name in parentheses may hold anything
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    Some((fields.first()?.chars().next()?, fields.get(19)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_lives_until_it_is_killed() {
        let own = Process::own().expect("we are");
        assert!(own.lives());
        assert!(!Process { start: own.start + 1, ..own }.lives(), "another one with our number");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let (_, start) = stat(child.id()).expect("it lives");
        let process = Process { pid: child.id(), start };
        assert!(process.lives());
        child.kill().expect("ours");
        // a zombie until it is waited for
        while process.lives() {
            std::thread::yield_now();
        }
        child.wait().expect("ours");
        assert!(!process.lives());
    }
}
