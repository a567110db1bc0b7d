//! `stratasim schema`: the JSON Schema of experiment files.

use clap::Args;
use stratasim_experiment::Error;

use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Schema {}

impl Schema {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        terminal.print(&format!("{:#}\n", stratasim_experiment::spec::schema()));
        Ok(0)
    }
}
