//! The examples do what their pages say: every command runs, and what it prints and draws is what
//! the page shows.
//!
//! A page's `sh` blocks run in order, from the root of a scratch copy of the repository. A `text` block
//! shows what the `sh` block before it prints; `expected.txt` holds all that the page's commands print.
//! What depends on the machine is masked. `UPDATE=1 cargo test -p stratasim-cli --test examples` writes
//! the blocks, the files and the pictures anew; look at the difference before you commit it.
#![cfg(unix)]

mod support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use support::Scratch;

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
}

/// Text of a page before, between and after its blocks, and the blocks.
fn blocks(page: &str) -> (Vec<String>, Vec<Block>) {
    let (mut between, mut blocks) = (vec![String::new()], Vec::<Block>::new());
    let mut inside = false;
    for line in page.split_inclusive('\n') {
        match (line.strip_prefix("```"), inside) {
            (Some(language), false) => {
                blocks.push(Block { language: language.trim().to_owned(), text: String::new() });
                inside = true;
            }
            (Some(_), true) => {
                between.push(String::new());
                inside = false;
            }
            (None, true) => blocks.last_mut().unwrap().text += line,
            (None, false) => *between.last_mut().unwrap() += line,
        }
    }
    assert!(!inside, "a block is not closed");
    (between, blocks)
}

/// Replaces what depends on the machine.
fn masked(output: &str) -> String {
    let mut masked = String::new();
    for line in output.lines() {
        if line.starts_with("  cost  ") {
            let events = line.split(',').find(|part| part.contains("event"));
            // thousands have commas, too
            let at = line.find(" wall, ").map(|at| &line[at + " wall, ".len()..]);
            let events = at.and_then(|rest| rest.split(" (").next()).or(events).unwrap_or("");
            let _ = writeln!(masked, "  cost          … wall, {events} (…), … peak");
        } else if line.starts_with("  wall  ") {
            let columns = (line.chars().count() - 16) / 12;
            let _ = writeln!(masked, "  wall          {}", format!("{:>12}", "…").repeat(columns));
        } else {
            let _ = writeln!(masked, "{line}");
        }
    }
    masked
}

/// Runs a block in `scratch`; what it prints.
fn run(block: &Block, scratch: &Scratch) -> String {
    let command = scratch.command(&[]);
    let folder = Path::new(command.get_program()).parent().unwrap().to_owned();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-e", "-u", "-c", &block.text]).current_dir(scratch.path()).env("PATH", path);
    shell.env("LANG", "C.UTF-8").env("LC_ALL", "C.UTF-8").env("COLUMNS", "80").env_remove("STRATASIM");
    let ended = shell.output().unwrap();
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{}\n{errors}", block.text);
    assert!(!errors.contains('×'), "{errors}");
    masked(&String::from_utf8(ended.stdout).unwrap())
}

/// Files called `name` below `folder`.
fn called(name: &str, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(called(name, &path));
        } else if path.file_name().is_some_and(|there| there == name) {
            found.push(path);
        }
    }
    found
}

/// Compares what there is with what should be, or writes it.
fn same(path: &Path, found: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, found).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let first = expected.lines().zip(found.lines()).find(|(expected, found)| expected != found);
    assert!(
        expected == found,
        "{} is not what the commands give (UPDATE=1 writes it anew); the first difference: {first:?}\n{found}",
        path.display()
    );
}

fn check(name: &str) {
    let root = support::root();
    let folder = root.join("examples").join(name);
    let scratch = Scratch::new();
    support::copy(&root.join("examples"), &scratch.path().join("examples"));
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let (between, blocks) = blocks(&readme);

    let (mut expected, mut page, mut printed) = (String::new(), String::new(), String::new());
    for (text, block) in between.iter().zip(&blocks) {
        page += text;
        let shown = match block.language.as_str() {
            "sh" => {
                printed = run(block, &scratch);
                for line in block.text.lines() {
                    let _ = writeln!(expected, "$ {line}");
                }
                let _ = writeln!(expected, "{printed}");
                &block.text
            }
            "text" => &printed,
            _ => &block.text,
        };
        let _ = write!(page, "```{}\n{shown}```\n", block.language);
    }
    page += between.last().unwrap();
    assert!(!expected.is_empty(), "{name} has no commands");
    same(&folder.join("expected.txt"), &expected);
    same(&folder.join("README.md"), &page);

    std::fs::remove_dir_all(scratch.path().join("examples")).unwrap();
    for picture in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        if picture.ends_with(".svg") {
            let drawn = called(picture, scratch.path());
            let [drawn] = drawn.as_slice() else {
                panic!("{picture} of {name} was drawn {} times", drawn.len())
            };
            same(&folder.join(picture), &std::fs::read_to_string(drawn).unwrap());
        }
    }
}

#[test]
fn the_first_run_is_as_its_page_says() {
    check("01-first-run");
}

#[test]
fn graphs_by_hand_are_as_their_page_says() {
    check("02-graphs-by-hand");
}

#[test]
fn collectives_compared_are_as_their_page_says() {
    check("03-collectives");
}

#[test]
fn traffic_on_a_fat_tree_is_as_its_page_says() {
    check("04-fat-tree-traffic");
}

#[test]
fn simgrid_platforms_in_and_out_are_as_their_page_says() {
    check("05-simgrid-platform");
}

#[test]
fn the_demonstration_is_as_its_page_says() {
    check("06-llama2-13b");
}

#[test]
fn a_goal_schedule_is_as_its_page_says() {
    check("09-goal");
}

#[test]
fn jobs_on_one_machine_are_as_their_page_says() {
    check("10-jobs");
}

#[test]
fn open_loop_traffic_is_as_its_page_says() {
    check("11-torus-traffic");
}

#[test]
fn an_incast_is_as_its_page_says() {
    check("12-incast");
}

#[test]
fn a_web_search_is_as_its_page_says() {
    check("14-web-search");
}

#[test]
fn collectives_on_cards_are_as_their_page_says() {
    check("13-card");
}

/// Files beside the folders: their heads name commands, of which those that make no curve are run.
#[test]
fn single_files_do_what_their_heads_say() {
    let scratch = Scratch::new();
    support::copy(&support::root().join("examples"), &scratch.path().join("examples"));
    let mut files = 0;
    for entry in std::fs::read_dir(support::root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        files += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
        let name = format!("examples/{}", path.file_name().unwrap().display());
        assert!(commands.iter().all(|command| command.contains(&name)), "{name}: {commands:?}");
        let own = format!("stratasim run {name} --quiet");
        for command in commands.into_iter().chain([own.as_str()]) {
            if !command.starts_with("stratasim traffic ") {
                run(&Block { language: "sh".to_owned(), text: command.to_owned() }, &scratch);
            }
        }
    }
    assert!(files >= 2);
    assert!(scratch.path().join("incast.perfetto-trace").is_file());
}

#[test]
fn every_example_is_checked() {
    let names: Vec<String> = support::examples()
        .iter()
        .map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let here = include_str!("examples.rs");
    for name in names {
        assert!(here.contains(&format!("check(\"{name}\")")), "{name} has no test here");
    }
}
