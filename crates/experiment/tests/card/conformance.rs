//! Rows of the SW-IntraCC paper: those of the reference, and rows with other inputs that the test works out itself.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stratasim_experiment::conformance::{CaseReport, oncard};

fn reference() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/oncard.json");
    if !path.exists() {
        eprintln!("skipped: {} is not here", path.display());
    }
    path.exists().then_some(path)
}

/// The report of one row.
fn report(row: &Value) -> CaseReport {
    reports(std::slice::from_ref(row)).remove(0)
}

fn reports(rows: &[Value]) -> Vec<CaseReport> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.json");
    std::fs::write(&path, json!({"rows": rows}).to_string()).unwrap();
    oncard::run(&[path], &mut |_| {}).unwrap()
}

fn row(formula: &str, inputs: &Value, paper: f64, unit: &str) -> Value {
    json!({
        "id": "mine", "where": "eq(0)", "kind": "formula", "inputs": inputs, "formula": formula, "paper": paper,
        "unit": unit, "tol": 1e-6, "tol_kind": "rel", "status": "exact", "note": "why"
    })
}

#[test]
fn every_row_of_the_reference_is_in_order() {
    let Some(path) = reference() else { return };
    let reports = oncard::run(&[path], &mut |_| {}).unwrap();
    assert_eq!(reports.len(), 79);
    for it in &reports {
        assert!(it.ok, "{}: {}", it.name, it.place);
    }
    let notes: Vec<_> = reports.iter().filter(|it| !it.note.is_empty()).map(|it| it.name.as_str()).collect();
    assert_eq!(notes.len(), 12, "rows that contradict themselves: {notes:?}");
    let put = reports.iter().find(|it| it.name == "eq4.put").unwrap();
    assert!(
        put.note.starts_with("ours 59.259259 GB/s, printed 69.6: eq(4) leaves out the PUT"),
        "{}",
        put.note
    );
}

#[test]
fn rows_with_other_inputs_are_worked_out_from_them() {
    let inputs = |n: u32, bytes: f64| json!({"N": n, "t_launch_us": 10, "t_sync_us": 20, "t_others_us": 2, "bw_ring_GBps": 50, "bw_global_GBps": 80, "V_B": bytes});
    // 8 groups, 16 MB: chunks of 2 MB take 40 us on the ring and 25 us from Global
    let cases = [
        row("V/(3*(tl+ts+V/(4*BW)+to))", &inputs(8, 16e6), 16e6 / (7.0 * 72e-6) / 1e9, "GB/s"),
        row("V/(tl+ts+3*(V/(4*BW)+to))", &inputs(8, 16e6), 16e6 / (30e-6 + 7.0 * 27e-6) / 1e9, "GB/s"),
        row(
            "V/(tl+ts+3*(V/(4*BW)+to)+V/(4*BW))",
            &inputs(8, 16e6),
            16e6 / (55e-6 + 7.0 * 27e-6) / 1e9,
            "GB/s",
        ),
        row("3*(tl+ts+to)/(tl+ts+3*to)", &inputs(4, 0.0), 96.0 / 36.0, "x"),
        row("V->inf", &inputs(4, 0.0), 80.0 / 50.0, "x"),
        row(
            "4/P / (1/P+4/G)",
            &json!({"P_GBps": 30, "G_GBps": 60}),
            (4.0 / 30.0) / (1.0 / 30.0 + 4.0 / 60.0),
            "x",
        ),
        row("(4/L)/(1/L+1/G+3/G+4/L)", &json!({"L": 50, "G": 200}), 0.08 / (0.02 + 0.02 + 0.08), "frac"),
        row(
            "V/L+4V/G+4V/L+3tl",
            &json!({"V_shard_B": 1e6, "L": 50, "G": 200, "tl_us": 10}),
            20.0 + 20.0 + 80.0 + 30.0,
            "us",
        ),
        row(
            "4V/G+V/L+2tl",
            &json!({"V_shard_B": 1e6, "L": 50, "G": 200, "tl_us": 10}),
            20.0 + 20.0 + 20.0,
            "us",
        ),
        row("3.5us+V/40GB/s", &json!({"kb": 1000}), 3.5 + 1_024_000.0 / 40e3, "us"),
        row("G=4*(15-L)", &json!({"L": [5]}), 40.0, "GB"),
        row("saved/comm", &json!({"comm_us": 50, "saved_us": 20}), 40.0, "%"),
        row("v/20+v/40", &json!({"v_GB": 10}), 0.75, "s"),
        row("150000*1538*2048", &json!({"tokens": 1.0, "steps": 2000}), 2000.0 * 1538.0 * 2048.0, "tokens"),
        row(
            "k*fp*(bs/dp)*s*h*(l/pp)/2^30",
            &json!({"k": 4, "fp": 2, "bs": 512, "dp": 4, "s": 4096, "h": 4096, "l": 32, "pp": 8}),
            64.0,
            "GiB",
        ),
    ];
    for case in cases {
        let it = report(&case);
        assert!(it.ok, "{}: {}", case["formula"], it.place);
        let mut wrong = case.clone();
        wrong["paper"] = json!(case["paper"].as_f64().unwrap() * 1.001);
        assert!(!report(&wrong).ok, "{}: a wrong value passes", case["formula"]);
    }
}

#[test]
fn what_is_not_understood_is_never_in_order() {
    let good = row("saved/comm", &json!({"comm_us": 50, "saved_us": 20}), 40.0, "%");
    let changed = |key: &str, value: Value| {
        let mut row = good.clone();
        row[key] = value;
        report(&row)
    };
    assert!(report(&good).ok);
    for (key, value, reason) in [
        ("formula", json!("a/b"), "not understood"),
        ("unit", json!("furlongs"), "unit `furlongs`"),
        ("status", json!("good"), "status `good`"),
        ("tol_kind", json!("both"), "tol_kind `both`"),
        ("tol", json!(-1.0), "tol -1"),
        ("inputs", json!({"comm_us": 50}), "the input `saved_us` is missing"),
        ("inputs", json!({"comm_us": "x", "saved_us": 1}), "a number from 0 on is expected"),
        ("inputs", json!({"comm_us": 0, "saved_us": 1}), "its inputs give inf"),
        ("paper", Value::Null, "nothing to compare with"),
    ] {
        let it = changed(key, value);
        assert!(!it.ok && it.place.contains(reason), "{key}: {}", it.place);
    }
    let groups = row("V/(3*(tl+ts+V/(4*BW)+to))", &json!({"N": 1e12, "V_B": 8e6}), 1.0, "GB/s");
    assert!(report(&groups).place.contains("1 to 64 groups"));
}

#[test]
fn of_an_inconsistent_row_our_value_counts() {
    let mut it = row("saved/comm", &json!({"comm_us": 50, "saved_us": 20}), 54.0, "%");
    it["status"] = json!("INCONSISTENT");
    it["computed"] = json!(40.0);
    let ours = report(&it);
    assert!(ours.ok && ours.note == "ours 40 %, printed 54: why", "{}", ours.note);
    it["computed"] = json!(41.0);
    assert!(!report(&it).ok, "another value than ours");
    (it["computed"], it["paper"]) = (json!(40.0), json!(40.0));
    assert!(!report(&it).ok, "nothing contradicts itself");
}

#[test]
fn rows_refer_to_each_other_by_their_names() {
    let layer =
        json!({"id": "T9.Small.ring.layer", "formula": "", "paper": 2.0, "unit": "s", "status": "measured"});
    let mut iter = row("layer*layers/pp", &json!({"layers": 3.0}), 6.0, "s");
    iter["id"] = json!("T9.Small.ring.iter");
    assert!(reports(&[layer, iter.clone()])[1].ok);
    assert!(report(&iter).place.contains("refers to row `T9.Small.ring.layer`"));
}

#[test]
fn files_that_are_no_rows_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.json");
    std::fs::write(&path, r#"{"rows": [{"name": "x"}]}"#).unwrap();
    let run = |path: &Path| oncard::run(&[path.to_owned()], &mut |_| {}).map_err(|error| error.to_string());
    assert!(run(&path).unwrap_err().contains("row 0: missing field `id`"));
    assert!(run(folder.path()).unwrap_err().contains("no rows of a card here"));
    std::fs::write(&path, "{").unwrap();
    assert!(run(&path).unwrap_err().contains("EOF"));
}
