//! Forecasts against the reference rows of table 5, and what is refused.

use std::path::Path;

use stratasim_experiment::{Document, Forecast, load};
use stratasim_report::forecast::{ForecastResult, ForecastRow};

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn table_5() -> ForecastResult {
    let (document, _) = load(&project().join("experiments/sw-intracc/table5.toml"), &[]).unwrap();
    Forecast::new(&document).unwrap().make().unwrap()
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
        Forecast::new(&document).map(|_| ()).unwrap_err().to_string()
    };
    let document = Document::from_toml("f.toml", GOOD).unwrap();
    let made = Forecast::new(&document).unwrap().make().unwrap();
    // 6 exchanges x 2 bytes x 8 sequences x 4096 tokens x 1024 units, there and back, on 4 layers
    assert_eq!(made.rows[0].iteration_s, 4.0 * 2.0 * 6.0 * 2.0 * 8.0 * 4096.0 * 1024.0 / 1e9);
    for (from, to, expected) in [
        ("steps = 10", "", "one of `steps` and `tokens` is expected"),
        ("steps = 10", "steps = 10\ntokens = 1e9", "one of `steps` and `tokens` is expected"),
        ("batch = 8", "batch = 0", "must be more than 0"),
        ("batch = 8", "batch = 8\npipeline = 0", "must be more than 0"),
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
