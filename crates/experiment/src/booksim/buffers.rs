//! From a configuration to how the virtual channels of an input share its buffer.

use stratasim_net::flit::router::{BufferPart, BufferPolicy, RouterSpec, SharedBuffer};

use super::config::Config;
use super::text::TextError;

/// Buffers as the options say.
pub(super) struct Buffers {
    /// Flits of a virtual channel.
    pub(super) of_channel: u16,
    pub(super) policy: BufferPolicy,
    pub(super) shared: SharedBuffer,
}

/// Names of the policies.
const POLICIES: &[(&str, BufferPolicy)] = &[
    ("private", BufferPolicy::Private),
    ("shared", BufferPolicy::Shared),
    ("limited", BufferPolicy::Limited),
    ("dynamic", BufferPolicy::Dynamic),
    ("shifting", BufferPolicy::Shifting),
    ("feedback", BufferPolicy::Feedback),
    ("simplefeedback", BufferPolicy::SimpleFeedback),
];

/// Most flits of a virtual channel.
const MOST_FLITS: i64 = 4096;

/// Reads the options of buffers.
///
/// # Errors
/// Values out of range, or without a meaning together.
pub(super) fn read(config: &Config) -> Result<Buffers, TextError> {
    let vcs = config.integer("num_vcs", 1, 32)?;
    let policy = config.one_of("buffer_policy", POLICIES, "expected")?;
    let of_channel = config.integer("vc_buf_size", 1, MOST_FLITS)?;
    let of_all = Some(config.integer("buf_size", -1, MOST_FLITS * 32)?).filter(|&flits| flits > 0);
    if policy == BufferPolicy::Private {
        let of_channel = of_all.map_or(of_channel, |all| all / vcs);
        if of_channel == 0 {
            let reason =
                format!("{} flits for {vcs} virtual channels: none has a place", of_all.unwrap_or(0));
            return Err(config.refuse("buf_size", reason));
        }
        let of_channel = of_channel.min(MOST_FLITS) as u16;
        return Ok(Buffers { of_channel, policy, shared: SharedBuffer::default() });
    }
    let feedback = matches!(policy, BufferPolicy::Feedback | BufferPolicy::SimpleFeedback);
    let shared = SharedBuffer {
        flits: of_all.map(|flits| flits as u32),
        parts: parts(config, vcs, of_all.unwrap_or(vcs * of_channel))?,
        most_held: match policy {
            BufferPolicy::Limited => match config.integer("max_held_slots", -1, MOST_FLITS * 32)? {
                ..0 => None,
                most => Some(most as u32),
            },
            _ => None,
        },
        feedback_aging: match config.integer("feedback_aging_scale", 0, 16)? {
            aging if feedback => Some(aging as u8),
            _ => None,
        },
        feedback_offset: match config.integer("feedback_offset", -MOST_FLITS, MOST_FLITS)? {
            offset if feedback => offset as i32,
            _ => 0,
        },
    };
    shared.check(policy, vcs as u8, of_channel as u16).map_err(|error| {
        let option = match &error.field[..] {
            "flits" => "buf_size",
            "most-held" => "max_held_slots",
            _ => "private_bufs",
        };
        config.refuse(option, error.reason)
    })?;
    Ok(Buffers { of_channel: of_channel as u16, policy, shared })
}

/// The parts of the virtual channels with places of their own, of a buffer of `places`; `None` for one place each.
fn parts(config: &Config, vcs: i64, places: i64) -> Result<Option<Vec<BufferPart>>, TextError> {
    let count = match config.integer("private_bufs", -1, vcs)? {
        ..0 => vcs,
        count => count.max(1),
    } as usize;
    let mut sizes = config.integers("private_buf_size")?;
    if sizes.len() == 1 && sizes[0] < 0 {
        sizes[0] = places / count as i64;
    }
    sizes.resize(count.max(sizes.len()), sizes[sizes.len() - 1]);
    // where each part begins, or ends, without a word: they are equal
    let ends = |option: &'static str, usual: &dyn Fn(i64) -> i64| -> Result<Vec<i64>, TextError> {
        let list = config.integers(option)?;
        let list = match list[..] {
            [..0] => (0..count as i64).map(usual).collect(),
            _ => list,
        };
        if list.len() < count {
            let reason =
                format!("{} values for {count} parts (`private_bufs`); one for each is expected", list.len());
            return Err(config.refuse(option, reason));
        }
        Ok(list)
    };
    let firsts = ends("private_buf_start_vc", &|part| part * vcs / count as i64)?;
    let lasts = ends("private_buf_end_vc", &|part| (part + 1) * vcs / count as i64 - 1)?;
    let mut parts = Vec::with_capacity(count);
    for ((&first, &last), &flits) in firsts.iter().zip(&lasts).zip(&sizes).take(count) {
        let channel = |option: &str, vc: i64| match vc {
            0..32 => Ok(vc as u8),
            _ => Err(config.refuse(option, format!("found {vc}, expected 0 to {}", vcs - 1))),
        };
        let flits = match flits {
            0..=0x2_0000 => flits as u32,
            _ => {
                return Err(
                    config.refuse("private_buf_size", format!("found {flits} flits, expected 0 or more"))
                );
            }
        };
        let channels = [channel("private_buf_start_vc", first)?, channel("private_buf_end_vc", last)?];
        parts.push(BufferPart { channels, flits });
    }
    let single = parts.len() as i64 == vcs
        && parts.iter().zip(0..).all(|(part, vc)| part.channels == [vc, vc] && part.flits == 1);
    Ok((!single).then_some(parts))
}

/// The options of a router's buffers.
///
/// # Errors
/// What BookSim2 has not.
pub(super) fn translate(spec: &RouterSpec) -> Result<Vec<(&'static str, String)>, String> {
    let known = POLICIES.iter().find(|(_, policy)| *policy == spec.buffers);
    let (name, _) = known.ok_or("BookSim2 has no such policy")?;
    let mut options =
        vec![("vc_buf_size", spec.buffer_flits.to_string()), ("buffer_policy", (*name).to_owned())];
    let shared = &spec.shared_buffer;
    if let Some(flits) = shared.flits {
        options.push(("buf_size", flits.to_string()));
    }
    if let Some(most) = shared.most_held {
        options.push(("max_held_slots", most.to_string()));
    }
    if let Some(aging) = shared.feedback_aging {
        options.push(("feedback_aging_scale", aging.to_string()));
    }
    if shared.feedback_offset != 0 {
        options.push(("feedback_offset", shared.feedback_offset.to_string()));
    }
    if let Some(parts) = &shared.parts {
        let covered: u32 = parts.iter().map(|part| u32::from(part.channels[1] - part.channels[0]) + 1).sum();
        if covered < spec.virtual_channels.into() {
            return Err("in BookSim2 every virtual channel is in a part".to_owned());
        }
        let list = |value: &dyn Fn(&BufferPart) -> u32| {
            let values: Vec<String> = parts.iter().map(|part| value(part).to_string()).collect();
            format!("{{{}}}", values.join(","))
        };
        options.extend([
            ("private_bufs", parts.len().to_string()),
            ("private_buf_size", list(&|part| part.flits)),
            ("private_buf_start_vc", list(&|part| part.channels[0].into())),
            ("private_buf_end_vc", list(&|part| part.channels[1].into())),
        ]);
    }
    Ok(options)
}
