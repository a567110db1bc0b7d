//! Frames of RLTP: any bytes are a frame or refused with a reason, and a frame is written as it was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stratasim_transport::wire::{Frame, crc32c};

/// Where the checksum is, and the flag that says that it is filled.
const CHECKSUM: std::ops::Range<usize> = 28..32;
const FILLED: u8 = 4;

fn read(bytes: &[u8]) {
    match Frame::decode(bytes) {
        Ok(frame) => {
            assert_eq!(frame.len(), bytes.len());
            let mut out = vec![0; bytes.len()];
            assert_eq!(frame.encode(&mut out), Ok(bytes.len()));
            assert_eq!(out, bytes, "frames are canonical");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    // the same with its checksum put right, so that what is behind it is reached
    if bytes.len() >= CHECKSUM.end {
        let mut bytes = bytes.to_vec();
        bytes[CHECKSUM].fill(0);
        if bytes[2] & FILLED != 0 {
            let sum = crc32c(&[&bytes]).to_be_bytes();
            bytes[CHECKSUM].copy_from_slice(&sum);
        }
        read(&bytes);
    }
});
