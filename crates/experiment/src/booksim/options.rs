//! The options of BookSim2, their defaults, and what becomes of each here.

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, or a list of them by class.
    Integer,
    /// A number, or a list of them by class.
    Number,
    /// A word with or without arguments, or a list of them by class.
    Word,
}

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It has its effect.
    Full,
    /// It has no effect there.
    Ignored,
    /// It only changes what the simulator prints or writes besides its results, and that is not written here.
    Unwritten,
    /// Only the default is possible: the reason.
    Default(&'static str),
}

/// An option.
#[derive(Debug, Clone, Copy)]
pub struct OptionKind {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// The value that it has where nothing is said.
    pub default: &'static str,
    /// What becomes of it.
    pub used: Use,
}

const FAILURES: &str = "links do not fail";

macro_rules! options {
    ($($name:ident $kind:ident $default:literal $used:ident $(($reason:expr))?),* $(,)?) => {
        /// All of them.
        pub const OPTIONS: &[OptionKind] = &[$(OptionKind {
            name: stringify!($name),
            kind: Kind::$kind,
            default: $default,
            used: Use::$used $(($reason))?,
        }),*];
    };
}

options! {
    // the network
    topology Word "torus" Full,
    k Integer "8" Full,
    n Integer "2" Full,
    c Integer "1" Full,
    x Integer "8" Full,
    y Integer "8" Full,
    xr Integer "1" Full,
    yr Integer "1" Full,
    routing_function Word "none" Full,
    use_noc_latency Integer "1" Full,
    link_failures Integer "0" Default(FAILURES),
    fail_seed Word "0" Ignored,
    express_channels Integer "0" Ignored,
    network_file Word "" Full,
    channel_file Word "" Ignored,
    in_ports Integer "5" Ignored,
    out_ports Integer "5" Ignored,
    subnets Integer "1" Full,
    // routers
    router Word "iq" Default("the input-queued router is the one that works"),
    num_vcs Integer "16" Full,
    vc_buf_size Integer "8" Full,
    buf_size Integer "-1" Full,
    buffer_policy Word "private" Full,
    private_bufs Integer "-1" Full,
    private_buf_size Integer "1" Full,
    private_buf_start_vc Integer "-1" Full,
    private_buf_end_vc Integer "-1" Full,
    max_held_slots Integer "-1" Full,
    feedback_aging_scale Integer "1" Full,
    feedback_offset Integer "0" Full,
    wait_for_tail_credit Integer "0" Full,
    vc_busy_when_full Integer "0" Full,
    vc_prioritize_empty Integer "0" Full,
    vc_priority_donation Integer "0" Full,
    vc_shuffle_requests Integer "0" Full,
    hold_switch_for_packet Integer "0" Full,
    input_speedup Integer "1" Full,
    output_speedup Integer "1" Full,
    internal_speedup Number "1.0" Full,
    routing_delay Integer "1" Full,
    vc_alloc_delay Integer "1" Full,
    sw_alloc_delay Integer "1" Full,
    st_prepare_delay Integer "0" Full,
    st_final_delay Integer "1" Full,
    credit_delay Integer "0" Full,
    output_delay Integer "0" Ignored,
    output_buffer_size Integer "-1" Full,
    speculative Integer "0" Full,
    spec_check_elig Integer "1" Full,
    spec_check_cred Integer "1" Full,
    spec_mask_by_reqs Integer "0" Full,
    spec_sw_allocator Word "prio" Full,
    noq Integer "0" Full,
    vc_allocator Word "islip" Full,
    sw_allocator Word "islip" Full,
    arb_type Word "round_robin" Ignored,
    alloc_iters Integer "1" Ignored,
    vct Integer "0" Ignored,
    // traffic
    classes Integer "1" Full,
    traffic Word "uniform" Full,
    class_priority Integer "0" Full,
    priority Word "none" Full,
    perm_seed Integer "0" Full,
    injection_rate Number "0.1" Full,
    injection_rate_uses_flits Integer "0" Full,
    packet_size Word "1" Full,
    packet_size_rate Word "1" Full,
    injection_process Word "bernoulli" Full,
    burst_alpha Number "0.5" Full,
    burst_beta Number "0.5" Full,
    burst_r1 Number "-1.0" Full,
    use_read_write Integer "0" Full,
    write_fraction Number "0.5" Full,
    read_request_begin_vc Integer "0" Full,
    read_request_end_vc Integer "5" Full,
    read_request_size Integer "1" Full,
    read_request_subnet Integer "0" Full,
    write_request_begin_vc Integer "2" Full,
    write_request_end_vc Integer "7" Full,
    write_request_size Integer "1" Full,
    write_request_subnet Integer "0" Full,
    read_reply_begin_vc Integer "8" Full,
    read_reply_end_vc Integer "13" Full,
    read_reply_size Integer "1" Full,
    read_reply_subnet Integer "0" Full,
    write_reply_begin_vc Integer "10" Full,
    write_reply_end_vc Integer "15" Full,
    write_reply_size Integer "1" Full,
    write_reply_subnet Integer "0" Full,
    batch_size Integer "1000" Full,
    batch_count Integer "1" Full,
    max_outstanding_requests Integer "0" Full,
    // control
    seed Integer "0" Full,
    sim_type Word "latency" Full,
    warmup_periods Integer "3" Full,
    sample_period Integer "1000" Full,
    max_samples Integer "10" Full,
    measure_stats Integer "1" Full,
    latency_thres Number "500.0" Full,
    warmup_thres Number "0.05" Full,
    acc_warmup_thres Number "0.05" Full,
    stopping_thres Number "0.05" Full,
    acc_stopping_thres Number "0.05" Full,
    sim_count Integer "1" Full,
    include_queuing Integer "1" Full,
    deadlock_warn_timeout Integer "256" Full,
    // output
    pair_stats Integer "0" Unwritten,
    print_activity Integer "0" Unwritten,
    print_csv_results Integer "0" Unwritten,
    viewer_trace Integer "0" Unwritten,
    stats_out Word "" Unwritten,
    watch_file Word "" Unwritten,
    watch_flits Word "" Unwritten,
    watch_packets Word "" Unwritten,
    watch_transfers Word "" Unwritten,
    watch_transactions Word "" Unwritten,
    watch_out Word "" Unwritten,
    watch_all_packets Integer "0" Unwritten,
    watch_deadlock Integer "0" Unwritten,
    injected_flits_out Word "" Unwritten,
    received_flits_out Word "" Unwritten,
    stored_flits_out Word "" Unwritten,
    sent_flits_out Word "" Unwritten,
    sent_packets_out Word "" Unwritten,
    outstanding_credits_out Word "" Unwritten,
    ejected_flits_out Word "" Unwritten,
    active_packets_out Word "" Unwritten,
    used_credits_out Word "" Unwritten,
    free_credits_out Word "" Unwritten,
    max_credits_out Word "" Unwritten,
    // power and area
    sim_power Integer "0" Unwritten,
    power_output_file Word "pwr_tmp" Ignored,
    tech_file Word "" Ignored,
    channel_width Integer "128" Ignored,
    channel_sweep Integer "0" Ignored,
}
