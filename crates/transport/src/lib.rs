//! Transports as state machines: no clock, no socket, no topology.
//!
//! ```text
//!  TransportSpec + Path ─→ Profile (shared: sizes, parameters, starting states)
//!                            │
//!        ┌───────────────────┴───────────────────┐
//!     Sender                                  Receiver ──→ Pacer (one per receiving host)
//!     ├─ Messages: what was posted, in packets   ├─ what has arrived, in bits
//!     ├─ Recovery: which packet goes next        ├─ when and what to acknowledge
//!     ├─ Control:  how much, how fast            └─ credit
//!     ├─ Credit:   what the receiver allows
//!     └─ Entropy:  on which path
//! ```
//! A connection is a [`Sender`] and a [`Receiver`] with the same [`Profile`]. The driver, a simulated network or a
//! real socket, owns them, the clock and the wire:
//!
//! 1. [`Sender::post`] gives the sender a message and returns the numbers of its packets, which count from 0
//!    through all messages of the connection.
//! 2. Whenever the host's link is free, the driver asks [`Sender::poll_send`]: [`Poll::Send`] is a [`Header`] to put on the
//!    wire ([`Profile::wire_bytes`] says how large the packet is), [`Poll::Wait`] a time to ask again (pacing),
//!    [`Poll::Blocked`] means: after the next feedback or timer. [`Sender::readiness`] asks without sending,
//!    for hosts that queue connections for their turn.
//! 3. What reaches the other host goes to [`Receiver::on_packet`] with a [`Mark`]: what the network did to it. Its answers
//!    come out of a closure, as headers to send back. [`Arrival::delivered_to`] says how far the application
//!    can read; a message is complete when that reaches the end of its range. Hosts that take time for a packet say so to
//!    [`Receiver::on_packet_after`].
//! 4. What comes back goes to [`Sender::on_feedback`]; then the sender may have something to send again.
//!    [`Sender::is_done`] and [`Sender::acknowledged_to`] say what is known to have arrived.
//! 5. [`Sender::deadline`] and [`Receiver::deadline`] say when [`Sender::on_timer`] and [`Receiver::on_timer`] are
//!    wanted. A deadline often moves to later while time goes on, so keep one event per connection, never cancel it,
//!    and when it comes early, put it to the new deadline. It moves to earlier only in a call, so compare after calls.
//! 6. Where [`Profile::is_receiver_driven`] says so, each host has a [`Pacer`]. At [`Pacer::deadline`], ask [`Pacer::next`]
//!    who is next and call [`Receiver::on_turn`]; repeat while the deadline is not later than now.
//!
//! ```
//! use stratasim_core::{Bandwidth, Duration, Time};
//! use stratasim_transport::{Mark, Pacer, Path, Poll, Profile, Receiver, Sender, TransportSpec};
//!
//! let spec: TransportSpec = serde_json::from_str(r#"{"congestion": {"kind": "swift"}}"#).unwrap();
//! let rtt = Duration::from_ns(10_000);
//! let path = Path::of_equal_links(rtt, Bandwidth(12.5e9), 2, 0);
//! let profile = Profile::new(&spec, path).unwrap();
//! let (mut sender, mut receiver) = (Sender::new(&profile, 1), Receiver::new(&profile, 0));
//!
//! let packets = sender.post(Time::ZERO, 10_000);
//! let (mut now, mut answers) = (Time::ZERO, Vec::new());
//! while let Poll::Send(header) = sender.poll_send(now, 1) {
//!     // a perfect way: the packet is there at once, not marked
//!     receiver.on_packet(now, &header, Mark::default(), &mut Pacer::new(), &mut |answer| answers.push(answer));
//! }
//! assert_eq!(receiver.delivered_to(), packets.end);
//! now += rtt;
//! for answer in answers {
//!     sender.on_feedback(now, &answer, None);
//! }
//! assert!(sender.is_done());
//! ```
//!
//! RLTP over a real wire knows three things more, which [`wire`] reads from frames: a receiver that has room for some packets only
//! says so ([`Sender::on_room`]), one that refuses does, too ([`Sender::on_refusal`]), and frames of other connections are told apart
//! ([`wire::Ends::accepts`]). Simulated receivers have room for everything.
//!
//! Headers are 64 bytes, copied. The network looks at nothing in them but [`Header::entropy`]. Where
//! [`Profile::needs_telemetry`] says so, switches fill a [`Telemetry`] on the way of each data packet, and the driver hands it back
//! together with the acknowledgement that the packet caused.
//!
//! Windows count bytes with headers or without ([`PacketSizes::count_headers`]). Nothing is allocated per packet:
//! rings grow to the widest window that a connection had. All choices are made by enums, so that a call has no virtual
//! dispatch; a congestion control, a recovery or a choice of paths is one file and one line in its list.

mod bits;
pub mod congestion;
mod credit;
pub mod entropy;
pub mod harness;
mod messages;
mod pacer;
mod packet;
pub mod presets;
mod profile;
mod receiver;
pub mod recovery;
mod sender;
pub mod wire;

pub use congestion::CongestionSpec;
pub use credit::{Blind, CreditRules, QuantaRules, SlowdownRules};
pub use entropy::EntropySpec;
pub use messages::Messages;
pub use pacer::Pacer;
pub use packet::{Flags, Header, HopRecord, Kind, Mark, Telemetry};
pub use profile::{PacketSizes, Path, Profile, TransportSpec};
pub use receiver::{Acknowledge, Arrival, GapReport, Receiver, ReceiverRules};
pub use recovery::RecoverySpec;
pub use sender::{Poll, Readiness, Sender, SenderStatistics};
