//! x
pub struct PerfettoTrace;
