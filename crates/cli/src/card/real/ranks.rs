//! The processes: this command, started once per rank.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};
use stratasim_experiment::{ConfigError, Error};
use stratasim_shm::{Algorithm, Group, NormGatherMultiply, Operation, Options, ShmError, measure};

use crate::interrupt;
use crate::terminal::Terminal;

/// What every rank times.
#[derive(Debug, Clone, Args)]
pub(super) struct Plan {
    #[arg(long)]
    pub(super) operation: String,
    #[arg(long)]
    pub(super) algorithms: String,
    #[arg(long)]
    pub(super) sizes: String,
    #[arg(long)]
    pub(super) fused: bool,
}

/// One of the processes; `card bench --real` starts them.
#[derive(Args)]
pub(crate) struct Rank {
    #[arg(long)]
    name: String,
    #[arg(long)]
    rank: u32,
    #[arg(long)]
    ranks: u32,
    #[command(flatten)]
    plan: Plan,
}

/// What rank 0 tells.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) times: Vec<Time>,
    pub(super) fused: Option<Fused>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Time {
    pub(super) algorithm: String,
    pub(super) bytes: u64,
    pub(super) median_s: f64,
    pub(super) least_s: f64,
}

/// Medians of layer normalisation, all-gather and product.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Fused {
    pub(super) bytes: u64,
    pub(super) unfused_s: f64,
    pub(super) fused_s: f64,
}

/// Starts the ranks, and gives what rank 0 tells.
pub(super) fn run(ranks: u32, plan: &Plan) -> Result<Told, Error> {
    let failed = |text: String| Error::from(ConfigError::new(text, None));
    let own = std::env::current_exe().map_err(|error| Error::file("this program", &error))?;
    let name = format!("measure-{}", std::process::id());
    let mut children = Children::default();
    interrupt::listen();
    for rank in 0..ranks {
        let mut command = Command::new(&own);
        command.args(prefix(&own));
        command.args([
            "card",
            "rank",
            "--name",
            &name,
            "--rank",
            &rank.to_string(),
            "--ranks",
            &ranks.to_string(),
        ]);
        command.args([
            "--operation",
            &plan.operation,
            "--algorithms",
            &plan.algorithms,
            "--sizes",
            &plan.sizes,
        ]);
        if plan.fused {
            command.arg("--fused");
        }
        let output = if rank == 0 { Stdio::piped() } else { Stdio::null() };
        // its end of file says that this process has gone
        command.stdin(Stdio::piped()).stdout(output).stderr(Stdio::piped());
        children.start(&mut command).map_err(|error| Error::file(&own, &error))?;
    }
    let mut told = None;
    let mut trouble = None;
    for (rank, ended) in children.wait()?.into_iter().enumerate() {
        if !ended.status.success() {
            trouble.get_or_insert_with(|| String::from_utf8_lossy(&ended.errors).trim().to_owned());
        } else if rank == 0 {
            told = serde_json::from_slice(&ended.output).ok();
        }
    }
    match (told, trouble) {
        (Some(told), None) => Ok(told),
        (_, trouble) => Err(failed(format!("the processes did not finish: {}", trouble.unwrap_or_default()))),
    }
}

/// The ranks under way; what they say is read meanwhile. They end with this.
#[derive(Default)]
struct Children(Vec<(Child, [JoinHandle<Vec<u8>>; 2])>);

/// How a rank ended.
struct Ended {
    status: ExitStatus,
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl Children {
    fn start(&mut self, command: &mut Command) -> std::io::Result<()> {
        fn read(from: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
            thread::spawn(move || {
                let mut all = Vec::new();
                // what could not be read is missed below
                let _ = from.map(|mut from| from.read_to_end(&mut all));
                all
            })
        }
        let mut child = command.spawn()?;
        let readers = [read(child.stdout.take()), read(child.stderr.take())];
        self.0.push((child, readers));
        Ok(())
    }

    /// Waits for all of them, or until somebody wants to stop.
    fn wait(mut self) -> Result<Vec<Ended>, Error> {
        loop {
            if interrupt::wanted() {
                return Err(Error::Stopped);
            }
            let ended = self.0.iter_mut().map(|(child, _)| child.try_wait());
            let ended = ended.collect::<Result<Vec<_>, _>>();
            let ended = ended.map_err(|error| Error::file("a process of the measurement", &error))?;
            let Some(ended) = ended.into_iter().collect::<Option<Vec<_>>>() else {
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            let readers = std::mem::take(&mut self.0).into_iter().map(|(_, readers)| readers);
            return Ok(ended
                .into_iter()
                .zip(readers)
                .map(|(status, readers)| {
                    let [output, errors] = readers.map(|reader| reader.join().unwrap_or_default());
                    Ended { status, output, errors }
                })
                .collect());
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for (child, _) in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What comes before the verb, where the command is run by Python.
fn prefix(own: &Path) -> Vec<OsString> {
    let name = own.file_name().unwrap_or_default().to_string_lossy();
    if name.contains("python") { vec!["-m".into(), "stratasim".into()] } else { Vec::new() }
}

impl Rank {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let failed = |error: ShmError| Error::from(ConfigError::new(error.to_string(), None));
        // who started the ranks has gone: nobody hears what they measure
        thread::spawn(|| {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            #[allow(clippy::exit, reason = "in the middle of a measurement")]
            std::process::exit(crate::INTERRUPTED.into());
        });
        let parse = |text: &str| {
            text.parse::<usize>().map_err(|_| ConfigError::new(format!("no size: {text}"), None))
        };
        let sizes = self.plan.sizes.split(',').map(parse).collect::<Result<Vec<_>, _>>()?;
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let mut options = Options::new(&self.name, self.rank, self.ranks);
        if self.plan.fused {
            // the fused form keeps the rows of a rank in half of it
            options.staging_bytes = options.staging_bytes.max(2 * FUSED_BYTES / self.ranks as usize);
        }
        // two vectors beside staging, and what segments round up
        options.local_bytes = options.staging_bytes + 2 * largest + (8 << 20);
        options.timeout = Duration::from_secs(120);
        let mut group = Group::join(options).map_err(failed)?;
        let mut told = Told::default();
        let operation = Operation::named(&self.plan.operation)
            .ok_or_else(|| ConfigError::new(format!("no operation: {}", self.plan.operation), None))?;
        for &bytes in &sizes {
            for algorithm in self.plan.algorithms.split(',').filter_map(Algorithm::named) {
                let time = measure(&mut group, operation, algorithm, bytes).map_err(failed)?;
                told.times.push(Time {
                    algorithm: algorithm.name().to_owned(),
                    bytes: bytes as u64,
                    median_s: time.median_s,
                    least_s: time.least_s,
                });
            }
        }
        if self.plan.fused {
            told.fused = Some(fused(&mut group).map_err(failed)?);
        }
        if self.rank == 0 {
            terminal.print(&serde_json::to_string(&told).expect("numbers and text"));
        }
        group.barrier().map_err(failed)?;
        Ok(0)
    }
}

/// Bytes of the rows of all ranks, as far as they divide.
const FUSED_BYTES: usize = 8 << 20;

/// Rows of 4096 numbers and a matrix with one column, so that moving data takes longer than computing. Both forms in turn,
/// so that both meet the same load.
fn fused(group: &mut Group) -> Result<Fused, ShmError> {
    const REPEATS: usize = 15;
    let ranks = group.ranks() as usize;
    let sizes = NormGatherMultiply { rows: FUSED_BYTES / (4096 * 4) / ranks, hidden: 4096, columns: 1 };
    let x: Vec<f32> = (0..sizes.rows * 4096).map(|index| (index % 1013) as f32).collect();
    let weights = vec![0.5; 4096];
    let mut gathered = vec![0.0; ranks * sizes.rows * 4096];
    let mut outputs = [vec![0.0; ranks * sizes.rows], vec![0.0; ranks * sizes.rows]];
    let mut seconds = [Vec::new(), Vec::new()];
    for repeat in 0..=REPEATS {
        for (form, (output, seconds)) in outputs.iter_mut().zip(&mut seconds).enumerate() {
            group.barrier()?;
            let gathered = (form == 0).then_some(&mut gathered[..]);
            let phases = sizes.run(group, &x, &weights, gathered, output)?;
            // the first touches memory for the first time
            if repeat > 0 {
                seconds.push(phases.total().as_secs_f64());
            }
        }
        if outputs[0] != outputs[1] {
            return Err(ShmError::Argument("the fused results differ from the unfused".to_owned()));
        }
    }
    let median = |seconds: &mut Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        seconds[REPEATS / 2]
    };
    let [mut unfused, mut fused] = seconds;
    let bytes = sizes.bytes(group.ranks()) as u64;
    Ok(Fused { bytes, unfused_s: median(&mut unfused), fused_s: median(&mut fused) })
}
