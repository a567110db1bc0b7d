//! From a configuration to how routers are built.

use stratasim_net::flit::router::{
    AllocatorKind, AllocatorSpec, Arbiter, ArbiterTree, Guess, Iterations, PlainArbiter, Precedence,
    RequestRules, RouterSpec, Speculation, Stages,
};

use super::buffers;
use super::config::Config;
use super::text::{TextError, call};

/// Virtual channels of each kind of message; that of packets which ask for nothing has all. An end that is -1 is that of
/// the lower half for requests, of the upper one for replies.
pub(super) fn ranges(config: &Config) -> Result<Vec<[u8; 2]>, TextError> {
    let vcs = config.integer("num_vcs", 1, 32)?;
    let mut ranges = vec![[0, (vcs - 1) as u8]];
    if config.integers("use_read_write")?.iter().any(|&value| value != 0) {
        let (lower, upper) = ([0, vcs / 2 - 1], [vcs / 2, vcs - 1]);
        for (message, [first, last]) in
            [("read_request", lower), ("write_request", lower), ("read_reply", upper), ("write_reply", upper)]
        {
            let end = |name: &str, own: i64| match config.integer(name, -1, vcs - 1)? {
                -1 => Ok(own),
                given => Ok(given),
            };
            let begin = end(&format!("{message}_begin_vc"), first)?;
            let name = format!("{message}_end_vc");
            let last = end(&name, last)?;
            if last < begin {
                return Err(config.refuse(&name, format!("found {last}, and the first one is {begin}")));
            }
            ranges.push([begin as u8, last as u8]);
        }
    }
    Ok(ranges)
}

/// Reads how routers are built.
///
/// # Errors
/// Values out of range, and what is not offered.
pub fn router(config: &Config) -> Result<RouterSpec, TextError> {
    let delay = |name: &str, least: i64| Ok(config.integer(name, least, 64)? as u16);
    let vcs = config.integer("num_vcs", 1, 32)?;
    let buffers = buffers::read(config)?;
    let ranges = ranges(config)?;
    let switch_allocator = allocator(config, "sw_allocator")?;
    let speculation = match (config.flag("speculative")?, config.word("spec_sw_allocator")) {
        (false, _) => Speculation::None,
        (true, "prio") => Speculation::Prioritised,
        (true, _) => Speculation::Separate,
    };
    let guess_allocator = match speculation {
        Speculation::Separate => Some(allocator(config, "spec_sw_allocator")?),
        _ => None,
    };
    let combined_allocation = config.word("vc_allocator") == "piggyback";
    if combined_allocation && speculation == Speculation::None {
        let reason = "`piggyback` gives virtual channels to heads that got the switch before: `speculative = 1` is expected";
        return Err(config.refuse("vc_allocator", reason));
    }
    let next_output_queues = config.flag("noq")?;
    if next_output_queues && config.integer("routing_delay", 0, 64)? != 0 {
        let reason = "the output of the next router must be known before: `routing_delay = 0` is expected";
        return Err(config.refuse("noq", reason));
    }
    let traversal_delay = delay("st_prepare_delay", 0)? + delay("st_final_delay", 0)?;
    if traversal_delay == 0 {
        let reason =
            "0 cycles, and 0 of `st_prepare_delay`; a flit takes one at least to go through the switch";
        return Err(config.refuse("st_final_delay", reason.to_owned()));
    }
    let requests = RequestRules {
        with_credit: config.flag("vc_busy_when_full")?,
        empty_first: config.flag("vc_prioritize_empty")?,
        by_channel: config.flag("vc_shuffle_requests")?,
        guess: match (config.flag("spec_check_elig")?, config.flag("spec_check_cred")?) {
            (true, true) => Guess::Credit,
            (true, false) => Guess::Free,
            (false, false) => Guess::Always,
            // credits are looked at together with the channels that are not
            (false, true) => Guess::Never,
        },
        yield_to_requests: config.flag("spec_mask_by_reqs")?,
        guess_allocator: guess_allocator.filter(|allocator| *allocator != switch_allocator),
        combined_allocation,
        next_output_queues,
        precedence: config.one_of("priority", PRECEDENCES, "expected")?,
        donation: config.flag("vc_priority_donation")?,
    };
    let spec = RouterSpec {
        virtual_channels: vcs as u8,
        buffer_flits: buffers.of_channel,
        buffers: buffers.policy,
        shared_buffer: buffers.shared,
        routing_delay: delay("routing_delay", 0)?,
        vc_allocation_delay: delay("vc_alloc_delay", 1)?,
        switch_allocation_delay: delay("sw_alloc_delay", 1)?,
        traversal_delay,
        credit_delay: delay("credit_delay", 0)?,
        stages: Stages::Batches,
        speculation,
        wait_for_tail_credit: config.flag("wait_for_tail_credit")?,
        hold_switch: config.flag("hold_switch_for_packet")?,
        virtual_cut_through: false,
        input_speedup: config.integer("input_speedup", 1, 8)? as u8,
        output_speedup: config.integer("output_speedup", 1, 8)? as u8,
        internal_speedup: config.number("internal_speedup")?,
        output_buffer_flits: match config.integer("output_buffer_size", -1, 1 << 15)? {
            -1 => None,
            0 => {
                let reason = "found 0; no flit would ever get behind the crossbar, expected 1 or more, or -1 for any number";
                return Err(config.refuse("output_buffer_size", reason));
            }
            flits => Some(flits as u16),
        },
        vc_allocator: match combined_allocation {
            true => AllocatorSpec::default(),
            false => allocator(config, "vc_allocator")?,
        },
        switch_allocator,
        requests,
        ranges: if ranges.len() > 1 { ranges } else { Vec::new() },
    };
    spec.check().map_err(|error| config.refuse_of_router(&error))?;
    Ok(spec)
}

/// What the option `priority` means for flits in the network. The packets of `class` and `sequence` bring their own
/// priority ([`super::class`], [`super::source`]), and without priorities it is the same for all.
pub(super) const PRECEDENCES: &[(&str, Precedence)] = &[
    ("none", Precedence::Given),
    ("class", Precedence::Given),
    ("age", Precedence::Age),
    ("network_age", Precedence::NetworkAge),
    ("local_age", Precedence::LocalAge),
    ("queue_length", Precedence::QueueLength),
    ("hop_count", Precedence::Hops),
    ("sequence", Precedence::Given),
];

const ALLOCATORS: &str = "islip(i), select(i), pim(i), loa, wavefront, rr_wavefront, max_size, \
                          separable_input_first(arbiter), separable_output_first(arbiter)";

fn plain_arbiter(word: &str) -> Option<PlainArbiter> {
    match word {
        "round_robin" => Some(PlainArbiter::RoundRobin),
        "matrix" => Some(PlainArbiter::Matrix),
        _ => None,
    }
}

/// `tree(4,matrix)`.
fn arbiter_tree(text: &str) -> Option<Arbiter> {
    let (groups, arbiters) = text.strip_prefix("tree(")?.strip_suffix(')')?.split_once(',')?;
    let arbiters = plain_arbiter(arbiters.trim())?;
    Some(Arbiter::Tree(ArbiterTree { groups: groups.trim().parse().ok()?, arbiters }))
}

fn allocator(config: &Config, option: &str) -> Result<AllocatorSpec, TextError> {
    let refuse = |reason: String| config.refuse(option, reason);
    let text = config.word(option);
    let (name, arguments) = call(text).map_err(refuse)?;
    let kind = match name {
        "islip" => AllocatorKind::Islip,
        "select" => AllocatorKind::Select,
        "pim" => AllocatorKind::Pim,
        "loa" => AllocatorKind::LonelyOutput,
        "wavefront" => AllocatorKind::Wavefront,
        "rr_wavefront" => AllocatorKind::WavefrontRoundRobin,
        "max_size" => AllocatorKind::MaximumSize,
        "separable_input_first" => AllocatorKind::SeparableInputFirst,
        "separable_output_first" => AllocatorKind::SeparableOutputFirst,
        _ => {
            let own = if option == "vc_allocator" { ", piggyback" } else { "" };
            return Err(refuse(format!("found `{text}`; allocators are {ALLOCATORS}{own}")));
        }
    };
    let mut spec = AllocatorSpec { kind, ..AllocatorSpec::default() };
    match (kind, &arguments[..]) {
        (_, []) => {}
        (AllocatorKind::Islip | AllocatorKind::Select | AllocatorKind::Pim, [count]) => {
            spec.iterations = match count.parse() {
                Ok(count @ 1..=64) => Iterations(count),
                _ => return Err(refuse(format!("found {count} iterations, expected 1 to 64"))),
            };
        }
        (AllocatorKind::SeparableInputFirst | AllocatorKind::SeparableOutputFirst, [arbiter]) => {
            spec.arbiter = plain_arbiter(arbiter)
                .map(Into::into)
                .or_else(|| arbiter_tree(arbiter))
                .ok_or_else(|| {
                    refuse(format!(
                        "found `{arbiter}`; arbiters are round_robin, matrix and tree(groups,arbiter)"
                    ))
                })?;
        }
        _ => return Err(refuse(format!("found `{text}`; `{name}` takes no such arguments"))),
    }
    Ok(spec)
}
