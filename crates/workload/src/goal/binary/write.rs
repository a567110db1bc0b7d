//! Writes the binary form.

use std::io::Write;

use super::super::error::WriteError;
use super::super::schedule::Schedule;
use super::{COOKIE, HEADER, ORIGIN, RECORD};

/// Bytes that are collected before they are written.
const PIECE: usize = 1 << 16;

/// Writes `schedule` byte for byte as `txt2bin` does. Labels are not kept.
///
/// # Errors
/// A stream or NIC above 255, which the form cannot hold; what the system says about `out`.
pub fn write(schedule: &Schedule, out: &mut impl Write) -> Result<(), WriteError> {
    let (cpu, nic) = largest(schedule)?;
    let ranks = schedule.ranks();
    let mut bytes = Vec::with_capacity(2 * PIECE);
    bytes.extend_from_slice(&COOKIE.to_le_bytes());
    bytes.extend_from_slice(&ranks.to_le_bytes());
    bytes.extend_from_slice(&[cpu, nic]);
    let mut at = HEADER as u64 - ORIGIN + 16 * u64::from(ranks);
    let mut waits = Vec::new();
    for rank in 0..ranks {
        schedule.count_dependencies(rank, &mut waits);
        let roots = waits.iter().filter(|&&count| count == 0).count();
        let dependencies: u64 = waits.iter().map(|&count| u64::from(count)).sum();
        let end = at + 8 + 4 * (roots as u64 + dependencies) + (RECORD * waits.len()) as u64;
        bytes.extend_from_slice(&at.to_le_bytes());
        bytes.extend_from_slice(&end.to_le_bytes());
        flush(&mut bytes, PIECE, out)?;
        at = end;
    }
    for rank in 0..ranks {
        schedule.count_dependencies(rank, &mut waits);
        write_rank(schedule, rank, &waits, &mut bytes, out)?;
    }
    flush(&mut bytes, 0, out)?;
    out.flush()?;
    Ok(())
}

/// Writes what was collected when it is `least` bytes or more.
fn flush(bytes: &mut Vec<u8>, least: usize, out: &mut impl Write) -> std::io::Result<()> {
    if bytes.len() >= least {
        out.write_all(bytes)?;
        bytes.clear();
    }
    Ok(())
}

fn write_rank(
    schedule: &Schedule,
    rank: u32,
    waits: &[u32],
    bytes: &mut Vec<u8>,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let roots = waits.iter().filter(|&&count| count == 0).count() as u32;
    bytes.extend_from_slice(&(waits.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&roots.to_le_bytes());
    for (operation, _) in waits.iter().enumerate().filter(|(_, count)| **count == 0) {
        bytes.extend_from_slice(&(operation as u32).to_le_bytes());
        flush(bytes, PIECE, out)?;
    }
    let mut dependants = 0u32;
    for (number, waits) in schedule.of_rank(rank).zip(waits) {
        let operation = schedule.operation(rank, number);
        let edges = schedule.edges(number);
        let on_end = edges.partition_point(|edge| !edge.on_start()) as u32;
        let on_start = edges.len() as u32 - on_end;
        let mut record = [0; RECORD];
        record[..4].copy_from_slice(&waits.to_le_bytes());
        record[4] = operation.kind as u8;
        record[5..9].copy_from_slice(&operation.peer.to_le_bytes());
        record[9..17].copy_from_slice(&operation.size.to_le_bytes());
        record[17..21].copy_from_slice(&operation.tag.to_le_bytes());
        record[21] = operation.cpu as u8;
        record[22] = operation.nic as u8;
        record[23..27].copy_from_slice(&on_end.to_le_bytes());
        record[27..31].copy_from_slice(&dependants.to_le_bytes());
        record[31..35].copy_from_slice(&on_start.to_le_bytes());
        record[35..].copy_from_slice(&(dependants + on_end).to_le_bytes());
        bytes.extend_from_slice(&record);
        dependants += edges.len() as u32;
        flush(bytes, PIECE, out)?;
    }
    for number in schedule.of_rank(rank) {
        for edge in schedule.edges(number) {
            bytes.extend_from_slice(&edge.after().to_le_bytes());
        }
        flush(bytes, PIECE, out)?;
    }
    Ok(())
}

/// The largest stream and NIC of any operation.
fn largest(schedule: &Schedule) -> Result<(u8, u8), WriteError> {
    let mut used = vec![false; schedule.shapes().len()];
    for number in 0..schedule.len() {
        used[schedule.shape_of(number) as usize] = true;
    }
    let (mut cpu, mut nic) = (0, 0);
    for (number, shape) in schedule.shapes().iter().enumerate().filter(|(number, _)| used[*number]) {
        shape.check(schedule.ranks()).map_err(WriteError::Form)?;
        cpu = cpu.max(shape.operation.cpu);
        nic = nic.max(shape.operation.nic);
        if cpu > 255 || nic > 255 {
            let first = (0..schedule.len()).find(|&operation| schedule.shape_of(operation) == number as u32);
            let operation = first.expect("the shape is used");
            let rank = schedule.rank_of(operation);
            let (what, found) = if cpu > 255 { ("stream (cpu)", cpu) } else { ("NIC", nic) };
            return Err(WriteError::Form(format!(
                "rank {rank}, operation {}: {what} {found}; binary GOAL holds at most 255; .strata holds more",
                schedule.label(rank, operation)
            )));
        }
    }
    Ok((cpu as u8, nic as u8))
}
