//! Schedules in files: the form is found, and a file is there whole or not at all.

use std::fs;
use std::path::Path;

use crate::common::schedules::{assert_same, ring, uneven_ring};
use stratasim_workload::goal::file::{self, Form};
use stratasim_workload::goal::{Operation, ScheduleBuilder};

#[test]
fn every_form_comes_back_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = uneven_ring(20, 64, 7);
    for (name, form) in [("a.goal", Form::Text), ("a.bin", Form::Binary), ("a.strata", Form::Strata)] {
        let path = folder.path().join(name);
        file::write(&path, &schedule).unwrap();
        assert_eq!(Form::of_content(&fs::read(&path).unwrap()), form);
        assert_same(&file::read(&path).unwrap(), &schedule, true);
        let other = folder.path().join("anything");
        fs::rename(&path, &other).unwrap();
        assert_same(&file::read(&other).unwrap(), &schedule, true);
    }
}

#[test]
fn cut_files_are_still_taken_for_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut");
    for (name, expected) in [
        ("whole.bin", "the file ends within the header of 14 bytes"),
        ("whole.strata", "the file ends within the header of 40 bytes"),
    ] {
        let whole = folder.path().join(name);
        file::write(&whole, &ring(3, 8)).unwrap();
        let bytes = fs::read(&whole).unwrap();
        for length in 2..14 {
            fs::write(&path, &bytes[..length]).unwrap();
            let error = file::read(&path).unwrap_err().to_string();
            let is_cookie = name == "whole.bin" && length < 8;
            let expected = if is_cookie { "the file ends within the cookie of 8 bytes" } else { expected };
            assert!(error.contains(expected), "{length}: {error}");
            assert!(error.starts_with(&format!("{}: byte {length}: ", path.display())), "{error}");
        }
    }
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let said = |name: &str, what: &str| format!("{}: {what}", path(name).display());
    let missing = file::read(&path("none.goal")).unwrap_err().to_string();
    assert!(missing.starts_with(&said("none.goal", "No such file")), "{missing}");
    let expected = "a name that ends in .goal (text), .bin (binary GOAL) or .strata (compact) is expected";
    for name in ["x", "x.txt", "x.GOAL"] {
        assert_eq!(file::write(&path(name), &ring(2, 1)).unwrap_err().to_string(), said(name, expected));
        assert!(!path(name).exists());
    }
    fs::write(path("used.bin"), 2342u64.to_le_bytes()).unwrap();
    assert_eq!(
        file::read(&path("used.bin")).unwrap_err().to_string(),
        said(
            "used.bin",
            "byte 0: cookie 2342: a run of LogGOPSim with --save-mem has used this file up; 4223 expected. Convert the text again"
        )
    );
    fs::write(path("short.bin"), [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0]).unwrap();
    let error = file::read(&path("short.bin")).unwrap_err().to_string();
    assert!(error.contains("4223 expected at the beginning of binary GOAL"), "{error}");
    let wide: Vec<u8> = "\u{feff}num_ranks 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(path("wide.goal"), wide).unwrap();
    let error = file::read(&path("wide.goal")).unwrap_err().to_string();
    assert_eq!(
        error,
        said("wide.goal", "line 1, column 1: this is text in UTF-16; GOAL is expected in UTF-8")
    );
    fs::write(path("bad.goal"), "num_ranks 1\nrank 0 {\nfrob\n}\n").unwrap();
    let error = file::read(&path("bad.goal")).unwrap_err().to_string();
    assert!(error.starts_with(&said("bad.goal", "line 3, column ")), "{error}");
}

#[test]
fn a_file_that_claims_more_than_it_can_hold_is_refused_by_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("claims.strata");
    file::write(&path, &ring(3, 8)).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..36]);
    bytes[36..40].copy_from_slice(&sum.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    let error = file::read(&path).unwrap_err().to_string();
    assert!(error.contains("byte 12: a file of ") && error.contains("131072 times the file"), "{error}");
}

#[test]
fn what_cannot_be_written_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    file::write(&path, &ring(3, 8)).unwrap();
    let before = fs::read(&path).unwrap();
    let mut builder = ScheduleBuilder::new(1);
    builder.push(Operation::calc(1).on_cpu(999));
    let error = file::write(&path, &builder.build().unwrap()).unwrap_err().to_string();
    let expected =
        "rank 0, operation l1: stream (cpu) 999; binary GOAL holds at most 255; .strata holds more";
    assert_eq!(error, format!("{}: {expected}", path.display()));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing half is left");
}

#[test]
fn a_folder_that_does_not_exist_is_said() {
    let error = file::write(Path::new("/none/such/a.goal"), &ring(2, 1)).unwrap_err().to_string();
    assert!(error.starts_with("/none/such/a.goal: No such file"), "{error}");
}
