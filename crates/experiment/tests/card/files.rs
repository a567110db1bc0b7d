//! Cards in files.

use proptest::prelude::*;
use stratasim_core::Bytes;
use stratasim_experiment::{Document, card};

/// The message of the error that `change` to the shipped card makes, and its line.
fn refused(name: &str, from: &str, to: &str) -> (String, usize) {
    let profile = card::PROFILES.iter().find(|profile| profile.name == name).unwrap();
    assert!(profile.text.contains(from), "{from}");
    let document = Document::from_toml("my-card.toml", &profile.text.replacen(from, to, 1)).unwrap();
    let error = card::read(&document).unwrap_err();
    let (file, line, _) = error.position().unwrap();
    assert_eq!(file, "my-card.toml");
    (error.to_string(), line)
}

#[test]
fn every_shipped_card_is_read_and_comes_back_from_what_is_written() {
    for profile in card::PROFILES {
        let card = card::load(profile.name, &[]).unwrap_or_else(|error| panic!("{}: {error}", profile.name));
        assert_eq!(card.name, profile.name);
        assert!(!card.about.is_empty(), "{}: where are its numbers from?", profile.name);
        let text = card::to_toml(&card).unwrap();
        assert_eq!(card::read(&Document::from_toml("written", &text).unwrap()).unwrap(), card);
    }
}

#[test]
fn errors_name_line_key_found_and_expected() {
    let cases = [
        ("ring = \"100 GB/s\"", "ring = \"100 GB\"", "bandwidth.ring: `100 GB` is not a bandwidth", 22),
        ("sync = ", "synk = ", "cost.synk: unknown key `synk`, did you mean `sync`?", 28),
        (
            "local = \"10 GB\"",
            "local = \"11 GB\"",
            "memory.global: 4 x (per-group - local) = 4 x (15 GB - 11 GB) = 16 GB is expected, found 20 GB",
            17,
        ),
        (
            "local = \"10 GB\"",
            "local = \"16 GB\"",
            "memory.local: at most the 15 GB of a group are expected, found 16 GB",
            16,
        ),
        ("segment = \"1 MiB\"", "segment = \"9 KiB\"", "memory.segment: a multiple of the page", 19),
        ("core-groups = 4", "core-groups = 0", "core-groups: 1 to 64 are expected, found 0", 8),
        ("core-groups = 4", "core-groups = 4000000000", "core-groups: 1 to 64 are expected", 8),
        ("link = \"15 GB/s\"", "link = \"0 GB/s\"", "host.link: more than nothing is expected", 37),
        ("link = \"15 GB/s\"", "link = \"0.5 B/s\"", "host.link: at least 1 B/s is expected, found less", 37),
        (
            "core-groups = 4",
            "core-groups = -1",
            "core-groups: a whole number from 0 to 4294967295 is expected",
            8,
        ),
        ("queue = 2", "queue = 0", "dma.queue: at least one command is expected", 33),
        ("launch = \"25 us\"", "launch = 25", "cost.launch: a length of time as a string with a unit", 27),
    ];
    for (from, to, message, line) in cases {
        let (found, at) = refused("sw-ai", from, to);
        assert!(found.starts_with(message), "{to}: {found}");
        assert_eq!(at, line, "{to}: {found}");
    }
}

#[test]
fn a_card_may_stand_in_a_section_and_be_changed() {
    let sets = [
        "bandwidth.ring=\"50 GB/s\"".to_owned(),
        "core-groups=8".to_owned(),
        "memory.global=\"40 GB\"".to_owned(),
    ];
    let card = card::load("sw-ai", &sets).unwrap();
    assert_eq!((card.core_groups, card.bandwidth.ring.bytes_per_s()), (8, 50e9));
    let text = card::PROFILES[0].text;
    let nested = Document::from_toml("it", text).unwrap().nested("card");
    assert_eq!(card::read(&nested).unwrap(), card::load("sw-ai", &[]).unwrap());
}

#[test]
fn a_wrong_name_suggests_a_shipped_card() {
    let message = card::load("sw-ai", &["bandwidth=3".to_owned()]).unwrap_err().to_string();
    assert_eq!(message, "bandwidth: a table is expected, found integer `3`");
    let message = card::load("sw-aj", &[]).unwrap_err().to_string();
    assert!(message.contains("did you mean `sw-ai`?"), "{message}");
    assert!(card::load("nowhere/sw.toml", &[]).unwrap_err().to_string().contains("no such file"));
}

proptest! {
    #[test]
    fn the_switch_moves_memory_and_loses_none(local in 0_u64..=15_000_000_000) {
        let card = card::load("sw-ai", &[]).unwrap().with_local(Bytes(local)).unwrap();
        prop_assert_eq!(card.memory.local.count() * 4 + card.memory.global.count(), 60_000_000_000);
        prop_assert!(card.check().is_ok());
    }
}
