//! Shapes, each as its differences to the one before of the same kind.
//!
//! A byte says the kind (bits 0 and 1), whether the peer is a distance (bit 2), and which of size, peer, tag,
//! stream and NIC differ (bits 3 to 7); the differences follow in this order.

use super::super::schedule::{Operation, OperationKind, Shape};
use super::varint::{Numbers, fold, put, unfold};

/// Shapes of a block.
pub(super) const MOST: usize = 1 << 16;

/// What the next shape of each kind is compared with.
const BEFORE: [Operation; 4] = {
    let calc = Operation::calc(0);
    [calc, Operation::send(0, 0, 0), Operation::receive(0, 0, 0), calc]
};

/// Appends `shapes` to `out`.
pub(super) fn encode(shapes: &[Shape], out: &mut Vec<u8>) {
    let mut before = BEFORE;
    for Shape { operation, relative } in shapes {
        let last = std::mem::replace(&mut before[operation.kind as usize], *operation);
        let (old, new) = (fields(&last), fields(operation));
        let mut flags = operation.kind as u8 | u8::from(*relative) << 2;
        for (bit, (old, new)) in old.iter().zip(new).enumerate() {
            flags |= u8::from(*old != new) << (3 + bit);
        }
        out.push(flags);
        for (old, new) in old.into_iter().zip(new).filter(|(old, new)| old != new) {
            put(out, fold(new.wrapping_sub(old) as i64));
        }
    }
}

const fn fields(operation: &Operation) -> [u64; 5] {
    let Operation { size, peer, tag, cpu, nic, .. } = *operation;
    [size, peer as u64, tag as u64, cpu as u64, nic as u64]
}

/// Appends the `count` shapes of a block to `shapes`.
pub(super) fn decode(raw: &[u8], count: u32, ranks: u32, shapes: &mut Vec<Shape>) -> Result<(), String> {
    if count as usize > MOST.min(raw.len()) {
        return Err(format!(
            "{count} shapes in {} bytes; at most {MOST} expected, of a byte or more each",
            raw.len()
        ));
    }
    let mut before = BEFORE;
    let mut numbers = Numbers::new(raw);
    let short = || "its shapes are longer than the block".to_owned();
    for _ in 0..count {
        let flags = numbers.bytes(1).ok_or_else(short)?[0];
        let kind = match flags & 3 {
            1 => OperationKind::Send,
            2 => OperationKind::Receive,
            3 => OperationKind::Calc,
            _ => return Err("a shape of kind 0; 1 (send), 2 (receive) or 3 (calc) expected".to_owned()),
        };
        let mut values = fields(&before[kind as usize]);
        for (bit, value) in values.iter_mut().enumerate() {
            if flags >> (3 + bit) & 1 != 0 {
                *value = value.wrapping_add(unfold(numbers.next().ok_or_else(short)?) as u64);
            }
        }
        let [size, peer, tag, cpu, nic] = values;
        let (Ok(peer), Ok(tag), Ok(cpu), Ok(nic)) =
            (peer.try_into(), tag.try_into(), cpu.try_into(), nic.try_into())
        else {
            let [_, peer, tag, cpu, nic] = values.map(|value| value as i64);
            return Err(format!(
                "a shape with peer {peer}, tag {tag}, stream {cpu}, NIC {nic}; 32, 32, 16 and 16 bits expected"
            ));
        };
        let operation = Operation { kind, size, peer, tag, cpu, nic };
        let shape = Shape { operation, relative: flags & 4 != 0 };
        shape.check(ranks)?;
        before[kind as usize] = operation;
        shapes.push(shape);
    }
    if numbers.is_empty() { Ok(()) } else { Err("more bytes than its shapes have".to_owned()) }
}
