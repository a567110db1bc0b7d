//! The documents: links lead somewhere, pages are listed, what is generated is current.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use stratasim_experiment::Document;
use stratasim_experiment::plugins::{NOUNS, SECTIONS};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What the command prints.
fn stratasim(arguments: &[&str]) -> String {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("stratasim"));
    let output = command.args(arguments).current_dir(root()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "stratasim {}: {errors}", arguments.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// All Markdown files below a folder.
fn pages_below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut pages = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages.extend(pages_below(&path));
        } else if path.extension().is_some_and(|end| end == "md") {
            pages.insert(path);
        }
    }
    pages
}

fn book() -> BTreeSet<PathBuf> {
    pages_below(&root().join("docs/src"))
}

/// The book and the documents of the repository.
fn documents() -> BTreeSet<PathBuf> {
    let names = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    book().into_iter().chain(names.map(|name| root().join(name))).collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Lines outside of blocks of code, and the blocks with the word behind their fence.
fn split(markdown: &str) -> (Vec<&str>, Vec<(String, String)>) {
    let (mut prose, mut blocks) = (Vec::new(), Vec::new());
    let mut open: Option<(String, String)> = None;
    for line in markdown.lines() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(word)) => open = Some((word.trim().to_owned(), String::new())),
            (None, None) => prose.push(line),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some((_, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    assert!(open.is_none(), "a block of code that does not end");
    (prose, blocks)
}

/// A line without what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Targets of the links and pictures in a text.
fn links(markdown: &str) -> Vec<String> {
    let (prose, _) = split(markdown);
    let mut targets = Vec::new();
    for line in prose {
        let line = without_code(line);
        targets.extend(line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
    }
    targets
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(markdown: &str) -> BTreeSet<String> {
    let (prose, _) = split(markdown);
    let headings = prose.into_iter().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_between_documents_leads_to_a_file_and_a_heading() {
    let mut problems = Vec::new();
    let mut checked = 0;
    for page in documents() {
        for target in links(&text(&page)) {
            if target.contains("://") {
                continue;
            }
            checked += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let to = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            if !to.exists() {
                problems.push(format!("{}: there is no {target}", page.display()));
            } else if !anchor.is_empty() && !anchors(&text(&to)).contains(anchor) {
                problems.push(format!("{}: {file} has no heading #{anchor}", page.display()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > 50, "only {checked} links were found");
}

#[test]
fn every_page_of_the_book_is_listed_once() {
    let source = root().join("docs/src");
    let summary = source.join("SUMMARY.md");
    let listed = links(&text(&summary));
    let unique: BTreeSet<PathBuf> = listed.iter().map(|target| source.join(target)).collect();
    assert_eq!(unique.len(), listed.len(), "a page is listed twice");
    let mut pages = book();
    pages.remove(&summary);
    assert_eq!(unique, pages);
}

#[test]
fn links_of_the_book_stay_inside_of_it() {
    for page in book() {
        for target in links(&text(&page)).iter().filter(|target| !target.contains("://")) {
            let file = target.split('#').next().unwrap();
            let folder = page.parent().unwrap();
            let to = if file.is_empty() { folder.to_owned() } else { folder.join(file) };
            let to = to.canonicalize().unwrap_or(to);
            assert!(to.starts_with(root().join("docs/src")), "{}: {target} leaves the book", page.display());
        }
    }
}

/// The pages that the command writes: their names are what is explained.
fn generated() -> Vec<&'static str> {
    let nouns = NOUNS.iter().map(|noun| noun.name);
    nouns.chain(["compute", "cards"]).chain(SECTIONS.iter().map(|entry| entry.kind)).collect()
}

#[test]
fn reference_pages_are_what_the_command_writes() {
    let folder = root().join("docs/src/reference/kinds");
    for name in generated() {
        let path = folder.join(format!("{name}.md"));
        let command = format!(
            "cargo run --quiet -p stratasim-cli -- explain {name} --markdown > docs/src/reference/kinds/{name}.md"
        );
        assert!(path.exists(), "there is no page; write it: {command}");
        let current = stratasim(&["explain", name, "--markdown"]);
        assert!(text(&path) == current, "{} is not current; write it again: {command}", path.display());
    }
    let names: BTreeSet<PathBuf> = generated().iter().map(|name| folder.join(format!("{name}.md"))).collect();
    assert_eq!(pages_below(&folder), names, "a page that explains nothing");
}

#[test]
fn every_verb_has_a_row() {
    let help = stratasim(&["--help"]);
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs: Vec<&str> = verbs
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() >= 9, "{verbs:?}");
    let page = text(&root().join("docs/src/reference/command.md"));
    for verb in verbs {
        assert!(page.contains(&format!("`{verb}`")), "command.md does not name `{verb}`");
    }
}

#[test]
fn every_key_of_a_result_is_explained() {
    let page = text(&root().join("docs/src/reference/result.md"));
    let text = stratasim(&["run", "examples/01-first-run/experiment.toml", "--json", "-"]);
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut keys: BTreeSet<String> = result.as_object().unwrap().keys().cloned().collect();
    let first = |key: &str| result[key].get(0).unwrap_or(&result[key]).clone();
    for list in ["title", "iterations", "ranks", "memory", "links", "bounds", "binding", "checks"] {
        let entry = first(list);
        keys.extend(entry.as_object().unwrap_or_else(|| panic!("no {list}: {entry}")).keys().cloned());
    }
    let text = stratasim(&["run", "examples/10-jobs/experiment.toml", "--json", "-"]);
    let of_jobs: serde_json::Value = serde_json::from_str(&text).unwrap();
    keys.extend(of_jobs.as_object().unwrap().keys().cloned());
    keys.extend(of_jobs["jobs"][0].as_object().unwrap().keys().cloned());
    assert!(keys.contains("finish_ns") && keys.contains("slowdown"), "{keys:?}");
    let text = stratasim(&["run", "examples/12-incast/experiment.toml", "--over-time", "--json", "-"]);
    let of_packets: serde_json::Value = serde_json::from_str(&text).unwrap();
    for list in ["links_over_time", "queues_over_time"] {
        keys.extend(of_packets[list][0].as_object().unwrap().keys().cloned());
    }
    for key in [&result, &of_jobs, &of_packets].iter().flat_map(|it| it.as_object().unwrap().keys()) {
        assert!(page.contains(&format!("\n| `{key}` |")), "result.md has no row for `{key}`");
    }
    for key in keys {
        assert!(page.contains(&format!("`{key}`")), "result.md does not explain `{key}`");
    }
    // what is in an object or in the entries of a list stands in its row
    for (list, parts) in [("flows", vec!["", "/duration_s", "/slowest/0"]), ("queues", vec!["/0"])] {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{list}` |")));
        let row = row.unwrap_or_else(|| panic!("result.md has no row for `{list}`"));
        for key in
            parts.iter().flat_map(|part| of_packets[list].pointer(part).unwrap().as_object().unwrap().keys())
        {
            assert!(row.contains(&format!("`{key}`")), "`{key}` is not in: {row}");
        }
    }
}

#[test]
fn the_readme_counts_what_there_is() {
    let readme = text(&root().join("README.md"));
    for (noun, words) in [
        ("topologies", "kinds of topologies"),
        ("collectives", "collective algorithms"),
        ("transports", "congestion controls"),
    ] {
        let noun = NOUNS.iter().find(|it| it.name == noun).unwrap();
        let words = format!(" {} {words},", noun.entries.len());
        assert!(readme.contains(&words), "README.md does not say{words}");
    }
}

#[test]
fn errors_that_pages_show_are_those_of_the_command() {
    let page = text(&root().join("docs/src/reference/errors.md"));
    let (_, blocks) = split(&page);
    let blocks: Vec<&(String, String)> = blocks.iter().collect();
    let mut shown = 0;
    for pair in blocks.windows(2) {
        let [(shell, commands), (language, printed)] = pair else { continue };
        if shell != "sh" || language != "text" {
            continue;
        }
        let scratch = tempfile::tempdir().unwrap();
        let folder = assert_cmd::cargo::cargo_bin!("stratasim").parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("{{ {commands}\n}} 2>&1")]).current_dir(scratch.path());
        bash.env("PATH", format!("{}:{path}", folder.display())).env_remove("COLUMNS");
        let output = bash.env("LC_ALL", "C.UTF-8").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), *printed, "{commands}");
        shown += 1;
    }
    assert_eq!(shown, 2);
}

#[test]
fn the_page_about_jobs_shows_its_example_and_what_the_command_prints() {
    let page = text(&root().join("docs/src/tutorial/goal.md"));
    let (_, blocks) = split(&page);
    let example = text(&root().join("examples/10-jobs/experiment.toml"));
    let jobs = blocks.iter().find(|(language, block)| language == "toml" && block.contains("[[job]]"));
    for line in jobs.expect("no block with jobs").1.lines() {
        assert!(example.lines().any(|it| it == line), "the example has no line: {line}");
    }
    let mut shown = 0;
    for pair in blocks.windows(2) {
        let [(shell, command), (language, table)] = pair else { continue };
        if shell == "sh" && language == "text" {
            let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
            let printed = stratasim(&arguments);
            assert!(printed.contains(table.as_str()), "{command}{printed}");
            shown += 1;
        }
    }
    assert_eq!(shown, 1);
}

#[test]
fn toml_in_the_documents_can_be_read() {
    let mut read = 0;
    for page in documents() {
        for (language, block) in split(&text(&page)).1 {
            if language == "toml" {
                read += 1;
                if let Err(error) = Document::parse(&page.display().to_string(), &block) {
                    panic!("{block}\n{}", error.render(false, stratasim_experiment::Error::WIDTH));
                }
            }
        }
    }
    assert!(read > 30, "only {read} blocks were found");
}

#[test]
fn blocks_of_code_say_what_they_are() {
    let known = ["sh", "sh,no-run", "python", "python,file", "text", "toml", "rust", "json", "xml"];
    for page in documents() {
        for (language, block) in split(&text(&page)).1 {
            assert!(known.contains(&language.as_str()), "{}: `{language}` before\n{block}", page.display());
        }
    }
}

/// Code in the documents is a part of a file that is compiled and tested, and that its page names.
#[test]
fn rust_in_the_documents_is_that_of_the_files_they_name() {
    let trimmed = |code: &str| code.lines().map(|line| format!("{}\n", line.trim())).collect::<String>();
    let mut compared = 0;
    for page in documents() {
        let page_text = text(&page);
        let named = page_text.split('`').filter(|word| word.starts_with("crates/") && word.ends_with(".rs"));
        let files = named.map(|name| root().join(name)).filter(|file| file.is_file());
        let files: Vec<String> = files.map(|file| trimmed(&text(&file))).collect();
        for (language, block) in split(&page_text).1 {
            if language == "rust" {
                compared += 1;
                let is_there = files.iter().any(|file| file.contains(&trimmed(&block)));
                assert!(is_there, "{}: no file that it names has\n{block}", page.display());
            }
        }
    }
    assert!(compared >= 6, "only {compared} blocks were found");
}

#[test]
fn the_picture_of_the_first_run_is_current() {
    let folder = tempfile::tempdir().unwrap();
    let drawn = folder.path().join("first-run.svg");
    let experiment = "examples/01-first-run/experiment.toml";
    stratasim(&["run", experiment, "--quiet", "--picture", drawn.to_str().unwrap()]);
    let shown = root().join("docs/src/pictures/first-run.svg");
    assert!(
        text(&drawn) == text(&shown),
        "draw it again: stratasim run {experiment} --picture docs/src/pictures/first-run.svg"
    );
}

#[test]
fn the_picture_of_the_sweep_is_the_example_s() {
    let example = root().join("examples/03-collectives/makespan-over-bytes-per-rank.svg");
    let shown = root().join("docs/src/pictures/collectives.svg");
    assert!(text(&example) == text(&shown), "copy {} to {}", example.display(), shown.display());
}

#[test]
fn the_tutorial_shows_the_example_that_it_runs() {
    let example = text(&root().join("examples/01-first-run/experiment.toml"));
    let page = text(&root().join("docs/src/tutorial/first-run.md"));
    assert!(page.contains(&format!("```toml\n{example}```")), "first-run.md shows another experiment");
}

/// Tests of a crate that are one program are files named in its `main.rs`: one that is forgotten there would not run.
#[test]
fn every_file_of_a_test_program_is_part_of_it() {
    let mut programs = 0;
    for crates in fs::read_dir(root().join("crates")).unwrap() {
        let Ok(folders) = fs::read_dir(crates.unwrap().path().join("tests")) else { continue };
        for folder in folders.map(|folder| folder.unwrap().path()) {
            let Ok(main) = fs::read_to_string(folder.join("main.rs")) else { continue };
            programs += 1;
            for file in fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
                let name = file.file_stem().unwrap().to_str().unwrap();
                let is_module =
                    file.extension().is_some_and(|end| end == "rs") || file.join("mod.rs").exists();
                let is_named = main.lines().any(|line| line.trim() == format!("mod {name};"));
                assert!(!is_module || name == "main" || is_named, "{} is in no `mod` line", file.display());
            }
        }
    }
    assert!(programs >= 4, "{programs}");
}
