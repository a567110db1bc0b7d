//! The harness on bytes: RLTP's frames are written, damaged, read, and their payload is checked.

use stratasim_core::Time;

use super::Violation;
use super::channel::Fate;
use crate::wire::{self, Body, Ends, Frame, MOST_WORDS};
use crate::{Header, Kind, Receiver, Sender};

/// The two ends of the harness, with checksums.
const SENDER: Ends =
    Ends { destination: 2, source: 1, queue_pair: 17, own_queue_pair: 19, epoch: 3, checksum: true };
const RECEIVER: Ends =
    Ends { destination: 1, source: 2, queue_pair: 19, own_queue_pair: 17, epoch: 3, checksum: true };

/// The payload of a packet: a pattern that its number decides.
fn pattern(sequence: u64, len: u16) -> impl Iterator<Item = u8> {
    (0..len).map(move |at| (sequence.wrapping_mul(31) as u16).wrapping_add(at).to_be_bytes()[1])
}

/// The bytes of a packet of the sender.
pub(super) fn forward(header: &Header, now: Time) -> Vec<u8> {
    let payload: Vec<u8> = pattern(header.sequence, header.payload_bytes).collect();
    let address = header.sequence << 16;
    let body = match header.kind {
        Kind::Data => Body::Write { address, key: 5, message: 0, payload: &payload },
        _ => Body::Probe,
    };
    written(&SENDER.frame(header, now, 0, body))
}

/// The bytes of an answer of the receiver, which has so much `credit` to give.
pub(super) fn back(header: &Header, receiver: &Receiver, now: Time, credit: u16) -> Vec<u8> {
    let mut words = [0; MOST_WORDS];
    let used = receiver.sack_words(&mut words);
    let bitmap: Vec<u8> = words[..used].iter().flat_map(|word| word.to_be_bytes()).collect();
    let ack = wire::acknowledgement(header, credit, &bitmap).expect("sixteen words fit");
    let body = match header.kind {
        Kind::Nack => Body::Nack(ack),
        Kind::CongestionNotification => Body::CongestionNotification,
        _ => Body::Ack(ack),
    };
    written(&RECEIVER.frame(header, now, credit, body))
}

/// The bytes that say that there is room again.
pub(super) fn news_of_room(receiver: &Receiver, now: Time, credit: u16) -> Vec<u8> {
    let header = Header { sequence: receiver.delivered_to(), ..Header::default() };
    written(&RECEIVER.frame(&header, now, credit, Body::Credit))
}

fn written(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = vec![0; frame.len()];
    frame.encode(&mut bytes).expect("the buffer has the length of the frame");
    bytes
}

/// Flips a bit where that is the fate of a frame; whether it was.
pub(super) fn damage(bytes: &mut [u8], fate: Fate) -> bool {
    let Fate::Damaged(draw) = fate else { return false };
    let bit = draw % (bytes.len() as u64 * 8);
    bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
    true
}

/// The header in bytes that reached the receiver; none where they are no frame.
pub(super) fn arrived(bytes: &[u8], damaged: bool, receiver: &Receiver) -> Result<Option<Header>, Violation> {
    let Ok(frame) = Frame::decode(bytes) else { return Ok(None) };
    if damaged {
        return Err(Violation::DamageUnnoticed);
    }
    if !RECEIVER.accepts(&frame) {
        return Ok(None);
    }
    let header = wire::data_header(&frame, receiver.delivered_to());
    if let Some(header) = header
        && !pattern(header.sequence, header.payload_bytes).eq(frame.body.payload().iter().copied())
    {
        return Err(Violation::WrongPayload(header.sequence));
    }
    Ok(header)
}

/// Gives bytes that reached the sender to it.
pub(super) fn answered(now: Time, bytes: &[u8], damaged: bool, sender: &mut Sender) -> Result<(), Violation> {
    let Ok(frame) = Frame::decode(bytes) else { return Ok(()) };
    if damaged {
        return Err(Violation::DamageUnnoticed);
    }
    if !SENDER.accepts(&frame) {
        return Ok(());
    }
    if let Some(to) = wire::room(&frame, sender.acknowledged_to()) {
        sender.on_room(to);
    }
    let header = wire::acknowledgement_header(&frame, now, sender.acknowledged_to(), sender.transmissions());
    if let (Some(header), Body::Ack(ack) | Body::Nack(ack)) = (header, frame.body) {
        let (mut words, mut used) = ([0; MOST_WORDS], 0);
        for word in ack.words() {
            words[used] = word;
            used += 1;
        }
        sender.on_feedback_with_words(now, &header, &words[..used], None);
    }
    Ok(())
}
