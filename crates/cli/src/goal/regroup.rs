//! `stratasim goal regroup`: the ranks of a program on nodes of another size.

use std::path::PathBuf;

use clap::Args;
use stratasim_experiment::Error;
use stratasim_workload::goal::regroup::{InNode, Regroup, regroup};

use super::arguments::{bytes_per_ns, wrong};
use super::file::{Output, read_and_tell};
use crate::output::check_apart;
use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct RegroupCommand {
    /// A schedule of any form; - reads standard input
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// Where to; the ending says in which form. - writes text to standard output
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// Consecutive ranks that become one node; the last node may have fewer
    #[arg(long, value_name = "N")]
    ranks_per_node: u32,
    /// NICs of a node, dealt to its ranks in turn
    #[arg(long, value_name = "N", default_value_t = 1)]
    nics: u16,
    /// What messages inside of a node become: messages (of the node to itself), or copies=RATE, which
    /// are computations on both sides at a rate in bytes per nanosecond (300) or with a unit (300 GB/s)
    #[arg(long, value_name = "HOW", default_value = "messages", value_parser = in_node)]
    in_node: InNode,
    /// Say nothing
    #[arg(long, short)]
    quiet: bool,
}

fn in_node(text: &str) -> Result<InNode, String> {
    match text.split_once('=') {
        None if text == "messages" => Ok(InNode::Messages),
        Some(("copies", rate)) => Ok(InNode::Copies { bytes_per_ns: bytes_per_ns(rate)? }),
        _ => Err("messages or copies=RATE is expected, such as copies=300".to_owned()),
    }
}

impl RegroupCommand {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        check_apart(std::slice::from_ref(&self.from), &[("OUT", Some(&self.to))])?;
        let output = Output::create(&self.to)?;
        let loaded = read_and_tell(&self.from, terminal, self.quiet)?;
        let options = Regroup { ranks_per_node: self.ranks_per_node, nics: self.nics, in_node: self.in_node };
        let merged = regroup(&loaded.schedule, &options).map_err(|error| {
            wrong(&error, &[("ranks-per-node", "--ranks-per-node"), ("nics", "--nics"), ("schedule", "")])
        })?;
        output.write_and_tell(&merged.schedule, terminal, self.quiet)?;
        Ok(0)
    }
}
