//! Forecasts against the reference rows of table 5, and what is refused.

use std::path::Path;

use stratasim_experiment::sweep::RunOptions;
use stratasim_experiment::{Document, Forecast, Sweep, load};
use stratasim_report::forecast::{ForecastResult, ForecastRow};

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn table_5() -> ForecastResult {
    let (document, _) = load(&project().join("experiments/sw-intracc/table5.toml"), &[]).unwrap();
    Forecast::new(&document, Path::new("")).unwrap().make().unwrap()
}

fn row<'a>(result: &'a ForecastResult, model: &str, method: &str) -> &'a ForecastRow {
    let mut rows = result.rows.iter();
    rows.find(|row| row.model == model && row.method == method).expect("the row is there")
}

fn assert_close(found: f64, expected: f64, relative: f64, what: &str) {
    assert!((found / expected - 1.0).abs() <= relative, "{what}: {found}, expected {expected}");
}

#[test]
fn the_arithmetic_of_the_paper_gives_its_table_5() {
    let path = project().join("../shared/ref/oncard.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: there is no {}", path.display());
        return;
    };
    let reference: serde_json::Value = serde_json::from_str(&text).unwrap();
    let result = table_5();
    let mut compared = 0;
    for (name, model) in [("NeoX", "NeoX, as printed"), ("LLaMa", "LLaMA as printed")] {
        for (short, method) in [("ring", "Ring"), ("csc", "fused CSC")] {
            let ours = row(&result, model, method);
            for (figure, value) in [("layer", ours.layer_s), ("iter", ours.iteration_s), ("days", ours.days)]
            {
                let id = format!("T5.{name}.{short}.{figure}");
                let rows = reference["rows"].as_array().unwrap();
                let row = rows.iter().find(|row| row["id"] == id.as_str()).expect("the reference has it");
                if figure == "layer" {
                    // the reference rounds the volume to six digits
                    assert_close(value, row["computed"].as_f64().unwrap(), 1e-5, &id);
                }
                // the paper rounds each figure before it goes on with it
                assert_close(value, row["paper"].as_f64().unwrap(), 0.01, &id);
                compared += 1;
            }
        }
        let saved = row(&result, model, "fused CSC").saved_days.unwrap();
        let printed = if name == "NeoX" { 2.3 } else { 13.3 };
        assert_close(saved, printed, 0.02, name);
    }
    assert_eq!(compared, 12);
}

#[test]
fn the_shapes_of_the_models_give_more_than_the_paper_counts() {
    let result = table_5();
    let ratio =
        |model: &str, printed: &str| row(&result, model, "Ring").days / row(&result, printed, "Ring").days;
    // GiB divided by GB/s
    assert_close(ratio("GPT-NeoX 20B", "NeoX, as printed"), 1.073_741_824, 2e-5, "NeoX");
    // and half of the sequence
    assert_close(ratio("LLaMA 70B", "LLaMA as printed"), 2.0 * 1.073_741_824, 1e-9, "LLaMA");
    let [neox, .., llama, _] = &result.models[..] else { panic!("four models") };
    assert_close(neox.tokens, 472_473_600_000.0, 1e-12, "tokens in 150,000 steps");
    assert_close(llama.steps, f64::from(1 << 19), 1e-12, "steps with 2^41 tokens");
}

#[test]
fn a_table_shows_what_was_printed_below_ours() {
    let text = table_5().summary(&stratasim_report::Style::PLAIN);
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    let line = |start: &str| text.lines().position(|line| line.trim_start().starts_with(start)).unwrap();
    let ring = line("NeoX, as printed  Ring");
    assert!(text.lines().nth(ring + 1).unwrap().trim_start().starts_with("printed"), "{text}");
    assert!(table_5().to_json().contains("\"saved_days\""));
}

#[test]
fn a_sweep_of_forecasts_tells_their_notes() {
    let (document, base) = load(&project().join("experiments/sw-intracc/what-if.toml"), &[]).unwrap();
    let sweep = Sweep::new(document, &base).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let finished = sweep.run(folder.path(), &RunOptions::default(), &()).unwrap();
    let notes = sweep.notes(&finished.rows);
    assert!(matches!(&notes[..], [note] if note.starts_with("CSC, fused: ")), "{notes:?}");
}

#[test]
fn a_forecast_that_makes_no_sense_is_refused_with_its_place() {
    const GOOD: &str = r#"
[[forecast.model]]
name = "m"
hidden = 1024
layers = 4
batch = 8
steps = 10
[[forecast.method]]
name = "ring"
all-gather = "1 GB/s"
reduce-scatter = "1 GB/s"
[[forecast.published]]
models = ["m"]
method = "ring"
days = 1.0
"#;
    let error = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        let document = Document::from_toml("f.toml", &GOOD.replace(from, to)).unwrap();
        Forecast::new(&document, Path::new("")).map(|_| ()).unwrap_err().to_string()
    };
    let document = Document::from_toml("f.toml", GOOD).unwrap();
    let made = Forecast::new(&document, Path::new("")).unwrap().make().unwrap();
    // 6 exchanges x 2 bytes x 8 sequences x 4096 tokens x 1024 units, there and back, on 4 layers
    assert_eq!(made.rows[0].iteration_s, 4.0 * 2.0 * 6.0 * 2.0 * 8.0 * 4096.0 * 1024.0 / 1e9);
    // sizes of a model, but another hidden one, which no heads of 128 units make
    let other = GOOD.replace("hidden = 1024", "model = \"llama2-13b\"\nhidden = 1000");
    let other = Forecast::new(&Document::from_toml("f.toml", &other).unwrap(), Path::new("")).unwrap();
    let expected = 4.0 * 2.0 * 6.0 * 2.0 * 8.0 * 4096.0 * 1000.0 / 1e9;
    assert_eq!(other.make().unwrap().rows[0].iteration_s, expected);
    for (from, to, expected) in [
        ("steps = 10", "", "one of `steps` and `tokens` is expected"),
        ("steps = 10", "steps = 10\ntokens = 1e9", "one of `steps` and `tokens` is expected"),
        ("batch = 8", "batch = 0", "must be more than 0"),
        ("batch = 8", "batch = 8\npipeline = 0", "must be more than 0"),
        ("batch = 8", "batch = 8\nexchanges = 2\nlayer-volume = \"1 GB\"", "leave one of the two out"),
        ("\"1 GB/s\"", "\"0 GB/s\"", "must be more than 0"),
        ("\"1 GB/s\"", "1", "a bandwidth"),
        ("hidden = 1024", "", "missing; give `hidden`"),
        ("models = [\"m\"]", "models = [\"n\"]", "there is no model `n`"),
        ("method = \"ring\"", "method = \"rng\"", "did you mean `ring`?"),
        ("batch = 8", "batches = 8", "batch"),
    ] {
        let found = error(from, to);
        assert!(found.contains(expected), "{to}: {found}");
    }
}

/// A forecast whose rates are those of a card; `more` is part of the section, `method` of the method.
fn on_card(more: &str, method: &str) -> Result<ForecastResult, String> {
    let text = format!(
        r#"
[forecast]
{more}
[[forecast.model]]
name = "m"
hidden = 8192
layers = 8
sequence = 2048
batch = 8
steps = 1000
[[forecast.method]]
name = "it"
{method}
"#
    );
    let document = Document::from_toml("f.toml", &text).unwrap();
    let forecast = Forecast::new(&document, Path::new("")).map_err(|error| error.to_string())?;
    forecast.make().map_err(|error| error.to_string())
}

#[test]
fn a_card_gives_the_rates_that_are_not_given() {
    // the activations of a sequence: 2048 x 8192 values of 2 bytes, 32 MiB
    let bytes = (2.0_f64 * 2048.0 * 8192.0, 4.0);
    let shard = bytes.0 / bytes.1;
    let made = on_card("card = \"sw-ai\"", "algorithm = \"ring\"").unwrap();
    // equation 3
    let ring_s = 3.0 * (25e-6 + 15e-6 + 5e-6 + shard / 100e9);
    assert_close(made.rows[0].all_gather_bytes_per_s, bytes.0 / ring_s, 1e-9, "ring");
    assert_eq!(made.rows[0].card.as_deref(), Some("sw-ai"));
    // a ring that is twice as fast
    let changed = "card = { base = \"sw-ai\", bandwidth = { ring = \"200 GB/s\", local = \"400 GB/s\" } }";
    let made = on_card(changed, "algorithm = \"ring\"").unwrap();
    let fast_s = 3.0 * (25e-6 + 15e-6 + 5e-6 + shard / 200e9);
    assert_close(made.rows[0].all_gather_bytes_per_s, bytes.0 / fast_s, 1e-9, "fast ring");
    // 6 all-gathers of each of the 8 sequences in a layer, and a rate that is given stands
    let made = on_card("card = \"sw-ai\"", "algorithm = \"csc\"\nreduce-scatter = \"50 GB/s\"").unwrap();
    let csc_s = 25e-6 + 15e-6 + 3.0 * 5e-6 + 4.0 * shard / 100e9;
    assert_close(made.rows[0].layer_s, 48.0 * (csc_s + bytes.0 / 50e9), 1e-9, "layer");
    // fused, what is left is the data of equation 10 beside those of the operators, and a synchronisation
    let fused = on_card("card = \"sw-ai\"", "algorithm = \"csc\"\nfused = true").unwrap();
    let left_s = 15e-6 + bytes.0 / 100e9 - bytes.0 / 180e9;
    assert_close(fused.rows[0].all_gather_bytes_per_s, bytes.0 / left_s, 1e-9, "fused");
    // the task graph says the same where nothing overlaps, tiles do not
    for method in ["algorithm = \"ring\"", "algorithm = \"csc\"", "algorithm = \"csc\"\nfused = true"] {
        let at = |level: &str| on_card(&format!("card = \"sw-ai\"\nfidelity = \"{level}\""), method).unwrap();
        assert_close(at("f1").rows[0].days, at("f0").rows[0].days, 1e-9, method);
        assert!((at("f2").rows[0].days / at("f0").rows[0].days - 1.0).abs() > 1e-3, "{method}");
    }
}

#[test]
fn cards_that_make_no_sense_are_refused_with_their_place() {
    for (more, method, expected) in [
        ("", "algorithm = \"ring\"", "method.0.algorithm: on which card?"),
        ("", "all-gather = \"1 GB/s\"", "method.0: how fast is it? `reduce-scatter`"),
        ("card = \"sw-aj\"", "algorithm = \"ring\"", "forecast.card: no file and no shipped card"),
        ("card = 3", "algorithm = \"ring\"", "the name of a card"),
        ("card = { bandwidth = 3 }", "algorithm = \"ring\"", "base"),
        ("card = { base = \"sw-ai\", bandwidht = 3 }", "algorithm = \"ring\"", "did you mean `bandwidth`?"),
        (
            "card = { base = \"sw-ai\", bandwidth = { ring = \"0 GB/s\" } }",
            "algorithm = \"ring\"",
            "forecast.card.bandwidth.ring: more than nothing is expected",
        ),
        (
            "card = { base = \"sw-ai\", memory = { local = \"16 GB\" } }",
            "algorithm = \"ring\"",
            "forecast.card.memory.local: at most the 15 GB",
        ),
        ("card = { base = \"sw-ai\", core-groups = 1 }", "algorithm = \"ring\"", "exchanges nothing"),
        ("card = \"sw-ai\"", "algorithm = \"rng\"", "did you mean `ring`?"),
        ("card = \"sw-ai\"", "algorithm = \"ring\"\nfused = true", "method.0.fused: csc is what is fused"),
        (
            "card = \"sw-ai\"",
            "all-gather = \"1 GB/s\"\nreduce-scatter = \"1 GB/s\"\nalgorithm = \"csc\"",
            "both rates are given",
        ),
        (
            "card = \"sw-ai\"",
            "all-gather = \"1 GB/s\"\nreduce-scatter = \"1 GB/s\"\nfused = true",
            "method.0.fused: it is for rates of a card",
        ),
        ("card = \"sw-ai\"\nfidelity = \"f3\"", "algorithm = \"ring\"", "f3"),
        ("card = \"sw-ai-slow-local\"", "algorithm = \"csc\"\nfused = true", "fusion saves more than"),
    ] {
        let found = on_card(more, method).unwrap_err();
        assert!(found.contains(expected), "{more} {method}: {found}");
    }
}

#[test]
fn a_forecast_is_swept_like_an_experiment() {
    let text = r#"
[forecast]
card = { base = "sw-ai" }
[[forecast.model]]
name = "m"
hidden = 8192
layers = 8
batch = 8
steps = 1000
[[forecast.method]]
name = "ring"
algorithm = "ring"
[sweep]
product = { "forecast.card.bandwidth.ring" = ["50 GB/s", "100 GB/s"], "forecast.model.0.batch" = [8, 16] }
metrics = ["forecast.m, ring.days"]
"#;
    let sweep = Sweep::new(Document::from_toml("s.toml", text).unwrap(), Path::new("")).unwrap();
    let out = tempfile::tempdir().unwrap();
    let finished = sweep.run(out.path(), &RunOptions::default(), &()).unwrap();
    assert!(finished.failures.is_empty(), "{:?}", finished.failures);
    let days: Vec<f64> = finished.rows.iter().map(|row| row.numbers["forecast.m, ring.days"]).collect();
    assert_eq!(days.len(), 4);
    assert_close(days[1], 2.0 * days[0], 1e-12, "twice the batch");
    assert!(days[2] < days[0] && days[2] > days[0] / 2.0, "fixed costs stay: {days:?}");
    assert!(
        text.contains("[sweep]")
            && sweep.table(&finished.rows).to_text(&stratasim_report::Style::PLAIN).contains("days")
    );
    // what was made is taken up
    let again = sweep.run(out.path(), &RunOptions::default(), &()).unwrap();
    assert_eq!((again.ran, again.rows.len()), (0, 4));
}
