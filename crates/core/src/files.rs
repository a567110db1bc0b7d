//! Output files that are there whole or not at all, and the text of input files.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::BuildError;

/// Where the bytes of files in the making are.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished<T>(what: impl FnOnce(&mut BTreeSet<PathBuf>) -> T) -> T {
    what(&mut UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Removes all files in the making, for a process that ends at once.
pub fn give_up_all() {
    for temporary in unfinished(std::mem::take) {
        // nobody is left to be told when this fails
        let _ = fs::remove_file(temporary);
    }
}

/// A file in the making: it takes its name when it is complete, so that a reader (or a run that is
/// resumed) never meets half of it. Dropped before that, it leaves nothing behind.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// Where the bytes are until the file is complete; `None` for pipes and devices, which are
    /// written to directly.
    temporary: Option<PathBuf>,
    target: PathBuf,
}

impl AtomicFile {
    /// Begins a file that will be called `target`.
    ///
    /// # Errors
    /// What the system says: no such folder, no permission, a folder of that name.
    pub fn create(target: &Path) -> io::Result<Self> {
        let target = match fs::metadata(target) {
            Ok(there) if there.is_dir() => {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a folder; name a file"));
            }
            // a pipe or a device is written to, never replaced
            Ok(there) if !there.is_file() => {
                let file = File::options().write(true).open(target)?;
                return Ok(Self { file, temporary: None, target: target.to_owned() });
            }
            // the file behind a link is replaced, not the link
            Ok(_) => fs::canonicalize(target)?,
            Err(_) => target.to_owned(),
        };
        let (file, temporary) = Self::temporary(&target)?;
        unfinished(|all| all.insert(temporary.clone()));
        Ok(Self { file, temporary: Some(temporary), target })
    }

    /// A new file beside `target`, whoever else begins one for it: on another machine that shares the folder, too.
    fn temporary(target: &Path) -> io::Result<(File, PathBuf)> {
        // a longer name than the target's may be too long
        const MOST: usize = 64;
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        let name: String = name.chars().take(MOST).collect();
        loop {
            let temporary =
                target.with_file_name(format!(".{name}.{:016x}.part", RandomState::new().hash_one(0)));
            match File::options().write(true).create_new(true).open(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                file => return Ok((file?, temporary)),
            }
        }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// What the system says.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        match &self.temporary {
            None => Ok(()),
            Some(temporary) => {
                fs::rename(temporary, &self.target)?;
                unfinished(|all| all.remove(temporary));
                self.temporary = None;
                Ok(())
            }
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // nobody is left to be told when this fails
            let _ = fs::remove_file(temporary);
            unfinished(|all| all.remove(temporary));
        }
    }
}

/// The text of a file, without a byte order mark before it.
///
/// # Errors
/// What the system says; of what is no UTF-8 text, the line.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = fs::read(path)?;
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(.."\u{feff}".len());
    }
    String::from_utf8(bytes).map_err(|error| {
        let (text, rest) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let line = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let what = format!("the file is no UTF-8 text: line {line} has the byte 0x{:02x}", rest[0]);
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

/// The text of a file that a value of an experiment names.
///
/// # Errors
/// At `field`, when it cannot be read or is no UTF-8 text.
pub fn read_named(field: &str, path: &Path) -> Result<String, BuildError> {
    read_below(field, path, "the experiment's folder")
}

/// The same of a file that something else names, from whose folder relative paths start.
///
/// # Errors
/// As those of [`read_named`].
pub fn read_below(field: &str, path: &Path, folder: &str) -> Result<String, BuildError> {
    let failed = |what: String| BuildError::new(field, format!("cannot read `{}`: {what}", path.display()));
    // a device has no end, a pipe may never have one
    let special = fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir());
    if special {
        return Err(failed("it is not a file".to_owned()));
    }
    read_text(path).map_err(|error| {
        failed(match error.kind() {
            io::ErrorKind::NotFound => format!("no such file; a relative path starts from {folder}"),
            io::ErrorKind::IsADirectory => "this is a folder; name a file".to_owned(),
            _ => error.to_string(),
        })
    })
}

/// Writes a whole file.
///
/// # Errors
/// What the system says.
pub fn write(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(target)?;
    file.write_all(bytes)?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_complete_and_replaces_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(folder.path()), ["out.json"]);
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(&folder.path().join("out.json")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn folders_and_missing_folders_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(AtomicFile::create(folder.path()).is_err());
        assert!(AtomicFile::create(&folder.path().join("none/out.json")).is_err());
    }

    #[test]
    fn what_is_no_text_is_told_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.toml");
        fs::write(&path, "a\nä\n").unwrap();
        assert_eq!(read_text(&path).unwrap(), "a\nä\n");
        fs::write(&path, "\u{feff}a\u{feff}").unwrap();
        assert_eq!(read_text(&path).unwrap(), "a\u{feff}");
        // the second ends within a letter
        for (bytes, line, byte) in [(&b"a\n\nb\xff\n"[..], 3, "0xff"), (b"a\n\xc3", 2, "0xc3")] {
            fs::write(&path, bytes).unwrap();
            let text = read_text(&path).unwrap_err().to_string();
            assert_eq!(text, format!("the file is no UTF-8 text: line {line} has the byte {byte}"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_a_link_stays_a_link() {
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
