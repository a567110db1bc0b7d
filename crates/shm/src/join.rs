//! How processes find each other: rank 0 makes the memory and gives it a name, the others open it, and the name goes as
//! soon as all are there.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::choice::Choices;
use crate::control::{Control, MAGIC, MOST_RANKS, VERSION};
use crate::error::ShmError;
use crate::map::{FOLDER, Mapping, name_file, user};
use crate::process::Process;

/// How long to wait before looking for the name again.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Settings of a group. All but `rank`, `timeout` and `choices` are the same for all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Name of the group: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// This process, from 0.
    pub rank: u32,
    /// How many processes there are, 1 to 64.
    pub ranks: u32,
    /// Local segment of each rank, for its arrays and for staging.
    pub local_bytes: usize,
    /// Of the Local segment, and as much of Global per rank: what data goes through that is not in shared memory.
    /// Longer vectors go in pieces.
    pub staging_bytes: usize,
    /// How long to wait for the others, when joining and in each step of a collective.
    pub timeout: Duration,
    /// Which algorithm for which size, where a collective does not say; those of rank 0 hold for all.
    pub choices: Choices,
}

impl Options {
    /// 8 MiB of Local memory with 4 MiB for staging, and 60 s.
    pub fn new(name: impl Into<String>, rank: u32, ranks: u32) -> Self {
        Self {
            name: name.into(),
            rank,
            ranks,
            local_bytes: 8 << 20,
            staging_bytes: 4 << 20,
            timeout: Duration::from_secs(60),
            choices: Choices::default(),
        }
    }

    fn check(&self) -> Result<(), ShmError> {
        let refuse = |text: String| Err(ShmError::Argument(text));
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.name.is_empty() || self.name.len() > 100 || !self.name.chars().all(fine) {
            let expected = "1 to 100 letters, digits, `-`, `_` and `.` are expected";
            return refuse(format!("name: {expected}, found `{}`", self.name));
        }
        if self.ranks == 0 || self.ranks > MOST_RANKS {
            return refuse(format!("size: 1 to {MOST_RANKS} ranks are expected, found {}", self.ranks));
        }
        if self.rank >= self.ranks {
            return refuse(format!("rank: 0 to {} is expected, found {}", self.ranks - 1, self.rank));
        }
        if !(64 << 10..=1 << 34).contains(&self.staging_bytes) {
            return refuse(format!("staging: 64 KiB to 16 GiB are expected, found {} B", self.staging_bytes));
        }
        if self.local_bytes < self.staging_bytes + (2 << 20) || self.local_bytes > 1 << 40 {
            let least = self.staging_bytes + (2 << 20);
            return refuse(format!(
                "local: {least} B (staging and 2 MiB) to 1 TiB are expected, found {} B",
                self.local_bytes
            ));
        }
        Ok(())
    }

    /// Staging, in whole pages of the allocator.
    pub(crate) const fn staging(&self) -> usize {
        self.staging_bytes.next_multiple_of(1 << 20)
    }

    /// Local segment, in whole segments of the allocator.
    pub(crate) const fn local(&self) -> usize {
        self.local_bytes.next_multiple_of(1 << 20)
    }

    /// Where the Local segment of `rank` begins.
    pub(crate) const fn local_start(&self, rank: u32) -> usize {
        size_of::<Control>().next_multiple_of(1 << 16) + rank as usize * self.local()
    }

    /// Where the slot of `rank` in Global begins.
    pub(crate) const fn global_start(&self, rank: u32) -> usize {
        self.local_start(self.ranks) + rank as usize * self.staging()
    }

    fn total(&self) -> usize {
        self.global_start(self.ranks)
    }

    fn path(&self) -> PathBuf {
        Path::new(FOLDER).join(format!("stratasim-{}-{}", user(), self.name))
    }
}

/// Takes a name out again, whatever happens.
struct Named(PathBuf);

impl Drop for Named {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The memory of a complete group, whose name is gone. `pause` is called while there is nothing to do, and may ask to
/// stop.
pub(crate) fn join(
    options: &Options,
    own: Process,
    pause: &dyn Fn() -> Result<(), ShmError>,
) -> Result<Mapping, ShmError> {
    options.check()?;
    #[allow(clippy::disallowed_methods, reason = "real processes are waited for in real time")]
    let started = Instant::now();
    if options.rank == 0 {
        let mapping = Mapping::create(options.total())?;
        let control = mapping.control();
        control.version.store(VERSION, Ordering::Relaxed);
        control.ranks.store(options.ranks, Ordering::Relaxed);
        control.local_bytes.store(options.local() as u64, Ordering::Relaxed);
        control.staging_bytes.store(options.staging() as u64, Ordering::Relaxed);
        let taken = control.creator.take(own).and_then(|()| control.slots[0].process.take(own));
        assert!(taken.is_ok(), "the memory is new");
        control.choices.write(&options.choices);
        control.magic.store(MAGIC, Ordering::Release);
        control.joined.set(1);
        let named = publish(options, mapping.file())?;
        while control.joined.get() < options.ranks {
            control.joined.sleep(control.joined.get(), Duration::from_millis(50));
            pause()?;
            check_present(options, control, started)?;
        }
        drop(named);
        control.ready.set(1);
        return Ok(mapping);
    }
    let path = options.path();
    loop {
        match OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(&path) {
            Ok(file) => {
                if let Some(mapping) = enter(options, own, &Arc::new(file), started, pause)? {
                    return Ok(mapping);
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(ShmError::system(path.display().to_string(), error)),
        }
        if started.elapsed() > options.timeout {
            return Err(incomplete(options, "rank 0 has not made it".to_owned()));
        }
        pause()?;
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Gives the memory its name, over one that a dead run has left.
fn publish(options: &Options, file: &File) -> Result<Named, ShmError> {
    let path = options.path();
    loop {
        match name_file(file, &path) {
            Ok(()) => return Ok(Named(path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(ShmError::system(path.display().to_string(), error)),
        }
        if let Ok(there) =
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(&path)
            && let Some(mapping) = header(&Arc::new(there))?
            && let Some(creator) = mapping.control().creator.get()
            && creator.lives()
        {
            return Err(ShmError::NameTaken { name: options.name.clone(), pid: creator.pid });
        }
        // gone meanwhile, not ours, or of a dead run
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(ShmError::system(path.display().to_string(), error));
            }
            _ => {}
        }
    }
}

/// The control block behind `file`, when it has one.
fn header(file: &Arc<File>) -> Result<Option<Mapping>, ShmError> {
    let length = file.metadata().map_err(|error| ShmError::system(FOLDER, error))?.len();
    if length < size_of::<Control>() as u64 {
        return Ok(None);
    }
    let mapping = Mapping::map(file, size_of::<Control>())?;
    let ours = mapping.control().magic.load(Ordering::Acquire) == MAGIC;
    Ok(ours.then_some(mapping))
}

/// Joins the group behind `file`; `None` when it is of a dead run.
fn enter(
    options: &Options,
    own: Process,
    file: &Arc<File>,
    started: Instant,
    pause: &dyn Fn() -> Result<(), ShmError>,
) -> Result<Option<Mapping>, ShmError> {
    let Some(header) = header(file)? else { return Ok(None) };
    let control = header.control();
    let Some(creator) = control.creator.get().filter(|creator| creator.lives()) else { return Ok(None) };
    let differs = |what, theirs: u64, ours: u64| {
        let name = options.name.clone();
        if theirs == ours { Ok(()) } else { Err(ShmError::Differs { name, what, theirs, ours }) }
    };
    differs("version", control.version.load(Ordering::Relaxed).into(), VERSION.into())?;
    differs("size", control.ranks.load(Ordering::Relaxed).into(), options.ranks.into())?;
    differs("local bytes", control.local_bytes.load(Ordering::Relaxed), options.local() as u64)?;
    differs("staging bytes", control.staging_bytes.load(Ordering::Relaxed), options.staging() as u64)?;
    let mapping = Mapping::map(file, options.total())?;
    let control = mapping.control();
    control.slots[options.rank as usize].process.take(own).map_err(|pid| ShmError::RankTaken {
        name: options.name.clone(),
        rank: options.rank,
        pid,
    })?;
    control.joined.increment();
    while control.ready.get() == 0 {
        control.ready.sleep(0, Duration::from_millis(50));
        pause()?;
        if control.ready.get() == 0 && !creator.lives() {
            // nobody else will take the name of a dead rank 0 away
            let _ = std::fs::remove_file(options.path());
            return Err(ShmError::Died { rank: 0, pid: creator.pid });
        }
        if control.ended.load(Ordering::Acquire) != 0 {
            return Err(ShmError::Ended { rank: 0 });
        }
        check_present(options, control, started)?;
    }
    Ok(Some(mapping))
}

/// Whether who has joined still lives, and whether there is time left for the others.
fn check_present(options: &Options, control: &Control, started: Instant) -> Result<(), ShmError> {
    let slots = || control.slots[..options.ranks as usize].iter().zip(0..);
    let end = |error| {
        control.ended.store(options.rank + 1, Ordering::Release);
        control.ready.wake();
        Err(error)
    };
    for (slot, rank) in slots() {
        if let Some(process) = slot.process.get()
            && !process.lives()
        {
            return end(ShmError::Died { rank, pid: process.pid });
        }
    }
    if started.elapsed() > options.timeout {
        let absent = slots().filter(|(slot, _)| slot.process.get().is_none());
        let absent: Vec<String> = absent.map(|(_, rank)| rank.to_string()).collect();
        return end(incomplete(options, format!("rank {} missing", absent.join(", "))));
    }
    Ok(())
}

fn incomplete(options: &Options, missing: String) -> ShmError {
    ShmError::Incomplete { name: options.name.clone(), after: options.timeout, missing }
}
