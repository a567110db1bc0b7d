//! The command as users call it.

mod bad_input;
mod bad_names;
mod bad_options;
mod bad_schedules;
mod booksim;
mod card;
mod card_alloc;
mod card_real;
mod endings;
mod goal_verbs;
mod statistics;
#[path = "../support/mod.rs"]
mod support;
mod together;
mod verbs;
