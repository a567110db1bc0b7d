//! Models of a card.

#[path = "../card_support/mod.rs"]
mod card_support;
mod fusion;
mod models;
mod schedules;
