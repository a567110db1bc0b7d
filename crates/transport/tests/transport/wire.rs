//! The wire form: what is written is read back, and any bytes give a frame or a reason.

use proptest::prelude::*;
use stratasim_transport::wire::{Acknowledgement, Atomic, Body, Frame, FrameType, WireError, WireFlags};

fn bodies<'a>(numbers: [u32; 6], payload: &'a [u8], bitmap: &'a [u8]) -> Vec<Body<'a>> {
    let [a, b, c, d, e, f] = numbers;
    let wide = u64::from(a) << 32 | u64::from(b);
    let mut ack = Acknowledgement::new(a, b, c);
    (ack.delay_us, ack.credit, ack.messages, ack.syndrome) = (d as u16, e as u16, f, (f % 4) as u8);
    let ack = ack.with_bitmap(bitmap).unwrap();
    let mut bodies = vec![
        Body::Send { message: a, length: b, offset: c, receive: d, payload },
        Body::Write { address: wide, key: c, message: d, payload },
        Body::WriteImmediate { address: wide, key: c, message: d, immediate: e, payload },
        Body::ReadRequest { address: wide, key: c, length: d, token: wide ^ 77, message: f },
        Body::ReadResponse { token: wide, offset: c, message: d, payload },
        Body::AtomicRequest { address: wide, key: c, operation: Atomic::FetchAndAdd(wide) },
        Body::AtomicRequest {
            address: wide,
            key: c,
            operation: Atomic::CompareAndSwap { compare: wide, swap: 0 },
        },
        Body::AtomicResponse { request: a, value: wide },
        Body::Ack(ack),
        Body::Nack(ack),
        Body::Credit,
        Body::Probe,
        Body::CongestionNotification,
    ];
    let free = FrameType::ALL.iter().filter(|kind| (**kind as u8) >= 0x20);
    bodies.extend(free.map(|&frame_type| Body::Other { frame_type, payload }));
    bodies
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        numbers in any::<[u32; 6]>(),
        header in any::<(u16, u16, u32, u8, u32, u32, u32, u16)>(),
        flags in 0_u16..1 << 11,
        payload in prop::collection::vec(any::<u8>(), 0..2000),
        words in 0_usize..=16,
    ) {
        let (destination, source, queue_pair, epoch, sequence, serial, timestamp_us, credit) = header;
        let bitmap: Vec<u8> = payload.iter().copied().chain([9; 128]).take(words * 8).collect();
        let mut seen = Vec::new();
        for body in bodies(numbers, &payload, &bitmap) {
            seen.push(body.frame_type());
            let frame = Frame {
                flags: WireFlags(flags), destination, source, queue_pair: queue_pair >> 8, epoch,
                sequence, serial, timestamp_us, credit, body,
            };
            let mut out = vec![0xaa; 4096];
            let len = frame.encode(&mut out).unwrap();
            prop_assert_eq!(len, frame.len());
            prop_assert!(out[len..].iter().all(|byte| *byte == 0xaa), "nothing is written behind the frame");
            prop_assert_eq!(Frame::decode(&out[..len]), Ok(frame));
            // every shorter piece is refused
            for cut in [0, 1, 31, 32, len - 1] {
                prop_assert!(cut >= len || Frame::decode(&out[..cut]).is_err());
            }
            prop_assert!(Frame::decode(&out[..len + 1]).is_err());
            let small = WireError::Buffer { found: len - 1, needed: len };
            prop_assert_eq!(frame.encode(&mut out[..len - 1]), Err(small));
        }
        prop_assert!(FrameType::ALL.iter().all(|kind| seen.contains(kind)), "every frame type is tried");
    }

    #[test]
    fn any_bytes_are_a_frame_or_refused_and_frames_are_canonical(mut bytes in prop::collection::vec(any::<u8>(), 0..200), repair in 0_u8..4) {
        // most random bytes fail at the first: repair some fields so that deeper ones are reached
        if repair > 0 && bytes.len() >= 32 {
            bytes[0] = 0x18;
            bytes[1] = FrameType::ALL[usize::from(bytes[1]) % FrameType::ALL.len()] as u8;
            bytes[2] &= 3;
            bytes[28..32].fill(0);
            if let Some(kind) = FrameType::from_code(bytes[1]) {
                let payload = bytes.len().saturating_sub(32 + Body::extension_of(kind));
                bytes[24..26].copy_from_slice(&(payload as u16).to_be_bytes());
                if repair > 1 && bytes.len() >= 56 {
                    bytes[52] = (payload / 8) as u8;
                    bytes[53] %= 5;
                    bytes[54..56].fill(0);
                }
            }
        }
        match Frame::decode(&bytes) {
            Ok(frame) => {
                let mut out = vec![0; bytes.len()];
                prop_assert_eq!(frame.encode(&mut out), Ok(bytes.len()));
                prop_assert_eq!(out, bytes);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn a_flipped_bit_is_noticed(payload in prop::collection::vec(any::<u8>(), 0..300), bit in any::<prop::sample::Index>()) {
        let body = Body::Write { address: 7, key: 8, message: 9, payload: &payload };
        let frame = Frame {
            flags: WireFlags::CHECKSUM, destination: 1, source: 2, queue_pair: 3, epoch: 4,
            sequence: 5, serial: 6, timestamp_us: 7, credit: 8, body,
        };
        let mut bytes = vec![0; frame.len()];
        frame.encode(&mut bytes).unwrap();
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Frame::decode(&bytes).is_err(), "bit {} of {:?}", bit, bytes);
    }
}

#[test]
fn refusals_say_what_was_found_and_what_was_expected() {
    let frame = Frame {
        flags: WireFlags(0),
        destination: 1,
        source: 2,
        queue_pair: 3,
        epoch: 4,
        sequence: 5,
        serial: 6,
        timestamp_us: 7,
        credit: 8,
        body: Body::Probe,
    };
    let mut good = [0; 32];
    frame.encode(&mut good).unwrap();
    let refuse = |at: usize, value: u8| {
        let mut bytes = good;
        bytes[at] = value;
        Frame::decode(&bytes).unwrap_err().to_string()
    };
    assert_eq!(Frame::decode(&good[..9]).unwrap_err().to_string(), "9 bytes; header and extension have 32");
    assert_eq!(refuse(0, 0x28), "version 2; this is version 1");
    assert_eq!(refuse(0, 0x19), "a header of 9 words; it has 8");
    assert_eq!(refuse(1, 0xff), "no frame has type 0xff");
    assert_eq!(refuse(1, 0x10), "32 bytes; header and extension have 56");
    assert_eq!(refuse(2, 0x80), "flags 0x8000; those above 0x07ff are reserved");
    assert_eq!(refuse(25, 3), "0 bytes of payload; the header says 3");
    assert_eq!(refuse(31, 3), "checksum 0x00000003; the frame has 0x00000000");
}

#[test]
fn the_common_header_is_laid_out_as_documented() {
    let frame = Frame {
        flags: WireFlags(0x0123),
        destination: 0x0405,
        source: 0x0607,
        queue_pair: 0x08_090a,
        epoch: 0x0b,
        sequence: 0x0c0d_0e0f,
        serial: 0x1011_1213,
        timestamp_us: 0x1415_1617,
        credit: 0x1819,
        body: Body::Write {
            address: 0x2021_2223_2425_2627,
            key: 0x2829_2a2b,
            message: 0x2c2d_2e2f,
            payload: b"xy",
        },
    };
    let mut bytes = [0; 50];
    frame.encode(&mut bytes).unwrap();
    let expected = [
        0x18, 0x01, 0x01, 0x23, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10,
        0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x00, 0x02, 0x18, 0x19, 0, 0, 0, 0, 0x20, 0x21, 0x22, 0x23,
        0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, b'x', b'y',
    ];
    assert_eq!(bytes, expected);
}
