//! What people look at: results, tables, traces, columns, pictures and pages.
//!
//! ```text
//!                                RunResult ─┬─ JSON
//!                                           ├─ table on the terminal
//!  Event ─────┬─ Columns ───┬─ CSV, NumPy   └─ bars, heat maps ┐
//!  (observer) │             └─ timeline ───────────────────────┼─ SVG, PNG ─ page
//!             ├─ LinkLoad ──── heat map over time ─────────────┘
//!             ├─ OverTime ──── RunResult
//!             └─ PerfettoTrace ─ ui.perfetto.dev
//! ```
//! Observers record while a run goes on and cannot change it. Ids become words through [`Labels`].
//! Nothing here runs anything, reads a clock or reads a spec.

pub mod by_size;
pub mod columns;
pub mod depths;
pub mod distribution;
pub mod filter;
pub mod flows;
pub mod forecast;
mod grid;
mod json;
pub mod labels;
pub mod listed;
pub mod load;
pub mod over_time;
pub mod page;
pub mod perfetto;
pub mod picture;
pub mod result;
pub mod style;
pub mod summary;
pub mod table;
pub mod traffic;
pub mod units;

pub use columns::Columns;
pub use distribution::Distribution;
pub use filter::{Filter, RankSet, TimeWindow};
pub use labels::Labels;
pub use load::LinkLoad;
pub use over_time::OverTime;
pub use page::Page;
pub use perfetto::PerfettoTrace;
pub use picture::Picture;
pub use result::RunResult;
pub use style::Style;
pub use summary::summary;
pub use table::Table;
pub use units::{Unit, capital};
