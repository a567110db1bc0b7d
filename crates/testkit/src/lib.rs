//! Contract suites that every plug-in runs with one line.
//!
//! ```ignore
//! // crates/net/tests/contract.rs
//! stratasim_testkit::network_contract!(constant_rate, |topology| build("constant-rate", topology));
//! ```
//!
//! A suite knows nothing of the plug-in but its contract: see [`network`] for what a network must do.

pub mod drive;
pub mod machines;
pub mod network;
pub mod perfetto;
pub mod ring;
pub mod traffic;

/// Tests a network against the contract of [`network`]. With `in_turn` before the name, the network
/// carries equal messages one after the other, and need not end them together.
///
/// `$name` becomes a module with one test per rule; `$build` makes the network on an
/// `Arc<Topology>` and returns a `Box<dyn Network>`.
#[macro_export]
macro_rules! network_contract {
    ($name:ident, $build:expr) => {
        $crate::network_contract!(@tests $name, $build;
            the_same_requests_give_the_same_log
            small_steps_change_nothing
            what_starts_anew_is_as_new
            equal_messages_end_together
            every_message_is_delivered_once
            nothing_is_faster_than_the_wire
            the_next_event_is_never_too_late
            no_link_carries_more_than_its_rate
            a_ring_ends_when_its_messages_do
        );
    };
    (in_turn $name:ident, $build:expr) => {
        $crate::network_contract!(@tests $name, $build;
            the_same_requests_give_the_same_log
            small_steps_change_nothing
            what_starts_anew_is_as_new
            every_message_is_delivered_once
            nothing_is_faster_than_the_wire
            the_next_event_is_never_too_late
            no_link_carries_more_than_its_rate
            a_ring_ends_when_its_messages_do
        );
    };
    (@tests $name:ident, $build:expr; $($rule:ident)+) => {
        mod $name {
            #[allow(unused_imports, reason = "the expression may or may not use what is around it")]
            use super::*;
            $(
                #[test]
                fn $rule() {
                    $crate::network::$rule(&$build);
                }
            )+
        }
    };
}

/// Makes the test `$test`: every kind of the registered list `$list` is that of one of the specs (JSON) of the contract called
/// `$contract`.
#[macro_export]
macro_rules! every_kind_has_a_line {
    ($test:ident, $list:ty, $contract:literal, [$($spec:expr),+ $(,)?]) => {
        #[test]
        fn $test() {
            let tested: Vec<&str> = vec![$(serde_json::from_str::<$list>($spec).unwrap().kind()),+];
            for kind in <$list>::KINDS {
                assert!(tested.contains(kind), "{kind} has no line in `{}`", $contract);
            }
        }
    };
}
