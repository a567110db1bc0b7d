//! temp
#![allow(clippy::all, clippy::pedantic, clippy::print_stdout, clippy::disallowed_methods, missing_docs)]
fn main() {
    let started = std::time::Instant::now();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let path = std::path::Path::new(&args[0]);
    let r = (|| -> Result<(), stratasim_experiment::Error> {
        let (doc, base) = stratasim_experiment::load(path, &args[1..])?;
        let t1 = started.elapsed();
        let mut p = stratasim_experiment::Prepared::new(&doc, &base)?;
        let t2 = started.elapsed();
        let result = p.run(&mut stratasim_core::observe::Blind, started)?;
        println!("load {:?} prepare {:?} run {:?} rss {}", t1, t2 - t1, started.elapsed() - t2, result.peak_rss_bytes);
        println!("makespan {} digest {} {:?}", result.makespan_s, result.digest, result.counters);
        println!("{:?} {:?}", result.binding, result.checks.iter().filter(|c| !c.ok).collect::<Vec<_>>());
        println!("{:?}", result.ranks[0]);
        Ok(())
    })();
    if let Err(e) = r { eprintln!("{}", e.render(false)); std::process::exit(e.exit_code().into()); }
}
