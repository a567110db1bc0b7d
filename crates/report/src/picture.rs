//! x
pub struct Picture;
