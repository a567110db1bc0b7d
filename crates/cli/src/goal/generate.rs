//! `stratasim goal generate`: the schedule of a pattern.

mod list;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};
use stratasim_core::error::nearest;
use stratasim_core::random::Streams;
use stratasim_experiment::{ConfigError, Document, Error};
use stratasim_workload::collective::{CollectiveKind, CollectiveSpec};
use stratasim_workload::goal::Schedule;
use stratasim_workload::goal::generate::{Background, GenerateContext, GenerateSpec};
use stratasim_workload::goal::nccl::NcclSpec;

use super::arguments::{bytes, nanoseconds, seed, wrong};
use super::file::Output;
use crate::terminal::Terminal;

/// The name of NCCL's operations, which have a generator of their own.
const NCCL: &str = "nccl";

/// Fields of patterns and the options that they come from.
const OPTIONS: &[(&str, &str)] = &[
    ("ranks", "--ranks"),
    ("bytes", "--bytes"),
    ("root", "--root"),
    ("tag", "--tag"),
    ("segment-bytes", "--segment"),
    ("repetitions", "--repetitions"),
    ("algorithm", "--algorithm"),
    ("pattern", "--pattern"),
];

#[derive(Args)]
pub(crate) struct Generate {
    /// What to generate: a pattern, a collective such as all-reduce, or nccl; names of schedgen are
    /// understood. --list says which there are
    #[arg(long, short, value_name = "NAME", required_unless_present = "list")]
    pattern: Option<String>,
    /// Number of ranks
    #[arg(long, short, value_name = "N", required_unless_present = "list")]
    ranks: Option<u32>,
    /// Bytes of the pattern's basic step, such as 4096 or "4 MiB" [default: the pattern's own, mostly 1]
    #[arg(long, short, value_name = "B", value_parser = bytes, allow_hyphen_values = true)]
    bytes: Option<u64>,
    /// Algorithm of a collective, such as double-binary-tree; of nccl ring or tree
    #[arg(long, short, value_name = "KIND")]
    algorithm: Option<String>,
    /// An option of the pattern's own, such as window=16; may be repeated. --list NAME has them all
    #[arg(long = "set", short, value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Where to; the ending says in which form: .goal, .bin or .strata. - writes text to standard output
    #[arg(long, short, value_name = "OUT", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// Seed of what is drawn
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// The rank that a tree, a star or a pipeline starts from
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    root: u32,
    /// Tag of the messages; patterns that need several count up from it
    #[arg(long, value_name = "N", default_value_t = 0)]
    tag: u32,
    /// Bytes of a segment of a pipeline
    #[arg(long, value_name = "B", value_parser = bytes, allow_hyphen_values = true, alias = "segmentsize")]
    segment: Option<u64>,
    /// How often, one after the other
    #[arg(long, value_name = "N", default_value_t = 1)]
    repetitions: u32,
    /// Computation between two repetitions, in ns or with a unit
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds, allow_hyphen_values = true)]
    pause: u64,
    /// Computation of each rank beside the pattern, in ns or with a unit
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds, allow_hyphen_values = true)]
    nb: u64,
    /// Pieces that this computation is cut into
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds, allow_hyphen_values = true, requires = "nb")]
    nb_poll: u64,
    /// Stream that this computation runs on
    #[arg(long, value_name = "N", default_value_t = 0, requires = "nb")]
    cpu: u16,
    /// A computation in place of each dependency of recursive-doubling-allreduce (its option gap-ns)
    #[arg(long, value_name = "TIME", value_parser = nanoseconds, allow_hyphen_values = true)]
    rpl_dep_cmp: Option<u64>,
    /// Messages per round of n-way-dissemination (its option ways)
    #[arg(long, value_name = "N")]
    nway: Option<u32>,
    /// List what can be generated, or with a name the options of that
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", exclusive = true)]
    list: Option<String>,
    /// Say nothing
    #[arg(long, short)]
    quiet: bool,
}

impl Generate {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        match (&self.list, &self.pattern, &self.output) {
            (Some(name), ..) => {
                let text = if name.is_empty() {
                    list::patterns(&terminal.style)
                } else {
                    list::options(name, &table(name, false)?, &terminal.style)
                };
                terminal.print(&text);
            }
            (None, Some(name), Some(path)) => {
                let prepared = self.prepare(name)?;
                let output = Output::create(path)?;
                let schedule = prepared.schedule()?;
                output.write_and_tell(&schedule, terminal, self.quiet)?;
            }
            _ => unreachable!("clap asks for a pattern and an output"),
        }
        Ok(0)
    }

    /// Reads everything before anything is written.
    fn prepare(&self, name: &str) -> Result<Prepared, Error> {
        let table = table(name, self.algorithm.is_some())?;
        let nccl = table.get("kind").is_none();
        let mut document = Document::from_json("the pattern", &Value::Object(table).to_string())?;
        if nccl {
            self.fill_nccl(&mut document)?;
        }
        if let Some(algorithm) = &self.algorithm {
            if !nccl {
                known(algorithm)?;
            }
            document.set(&format!("algorithm{}={algorithm}", if nccl { "" } else { ".kind" }))?;
        }
        for (key, value) in [("gap-ns", self.rpl_dep_cmp), ("ways", self.nway.map(u64::from))] {
            if let Some(value) = value {
                document.set(&format!("{key}={value}"))?;
            }
        }
        for set in &self.sets {
            document.set(set)?;
        }
        if nccl {
            return Ok(Prepared::Nccl(Box::new(document.read()?)));
        }
        let context = GenerateContext {
            bytes: self.bytes,
            tag: self.tag,
            root: self.root,
            segment_bytes: self.segment,
            background: Background { ns: self.nb, poll_ns: self.nb_poll, cpu: self.cpu },
            repetitions: self.repetitions,
            pause_ns: self.pause,
            streams: Streams::new(self.seed),
            ..GenerateContext::new(self.ranks.unwrap_or(0))
        };
        Ok(Prepared::Pattern(document.read()?, Box::new(context)))
    }

    /// What NCCL's operations take from the options.
    fn fill_nccl(&self, document: &mut Document) -> Result<(), Error> {
        for (option, given) in [
            ("--segment", self.segment.is_some()),
            ("--repetitions", self.repetitions != 1),
            ("--pause", self.pause != 0),
            ("--nb", self.nb != 0),
        ] {
            if given {
                return Err(ConfigError::new(format!("{option}: `{NCCL}` has no such option"), None).into());
            }
        }
        let Some(bytes) = self.bytes else {
            let message = format!("--bytes: `{NCCL}` needs to know the bytes of the vector");
            return Err(ConfigError::new(message, None).into());
        };
        document.set_json("--ranks", "ranks", json!(self.ranks))?;
        document.set_json("--bytes", "bytes", json!(format!("{bytes} B")))?;
        document.set_json("--root", "root", json!(self.root))?;
        document.set_json("--tag", "tag", json!(self.tag))?;
        Ok(())
    }
}

/// What is to be generated.
enum Prepared {
    Pattern(GenerateSpec, Box<GenerateContext>),
    Nccl(Box<NcclSpec>),
}

impl Prepared {
    fn schedule(&self) -> Result<Schedule, Error> {
        let done = match self {
            Self::Pattern(spec, context) => spec.generate(context),
            Self::Nccl(spec) => spec.schedule(),
        };
        done.map_err(|error| wrong(&error, OPTIONS))
    }
}

/// Refuses an algorithm that no collective has.
fn known(algorithm: &str) -> Result<(), Error> {
    let kinds = CollectiveSpec::KINDS;
    if kinds.contains(&algorithm) {
        return Ok(());
    }
    let hint = nearest(algorithm, kinds.iter().copied())
        .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    let message = format!("--algorithm: unknown kind `{algorithm}`{hint} (known: {})", kinds.join(", "));
    Err(ConfigError::new(message, None).into())
}

/// What a name says of the spec: `kind` and more, or nothing for NCCL. A name that a pattern and a collective
/// share means the collective where an algorithm is chosen.
fn table(name: &str, algorithm: bool) -> Result<Map<String, Value>, Error> {
    if name.eq_ignore_ascii_case(NCCL) {
        return Ok(Map::new());
    }
    let plain = name.to_ascii_lowercase().replace('_', "-");
    if algorithm && CollectiveKind::ALL.iter().any(|kind| kind.name() == plain) {
        let pairs = [("kind", "collective"), ("operation", &plain)];
        return Ok(pairs.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect());
    }
    GenerateSpec::table(name).map_err(|error| {
        if nearest(&plain, GenerateSpec::names().chain([NCCL])) == Some(NCCL) {
            return ConfigError::new(format!("unknown pattern `{name}`, did you mean `{NCCL}`?"), None)
                .into();
        }
        wrong(&error, &[("pattern", "")])
    })
}
