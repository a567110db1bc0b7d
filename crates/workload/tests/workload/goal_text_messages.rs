//! What is said about GOAL text that cannot be read, and about text that other tools would not read so.

use stratasim_workload::goal::text::{read, strict};

/// What is wrong with a text.
fn error(text: &str) -> String {
    read(text.as_bytes()).expect_err(text).to_string()
}

/// What is wrong with a statement on line 3 of a text.
fn statement(statement: &str) -> String {
    error(&format!("num_ranks 2\nrank 0 {{\n{statement}\n}}\nrank 1 {{\n}}\n"))
}

/// Nothing behind them is lost without a word.
#[test]
fn lines_that_end_in_the_manner_of_old_macs_are_named_where_comments_end_there() {
    let found = error("num_ranks 2\rrank 0 {\rcalc 5\r}\r// note\rrank 1 {\rcalc 7\r}\r");
    assert!(found.contains("a carriage return within a comment, which ends no line"), "{found}");
    let found = statement("calc 7 // a\rcalc 8");
    assert!(found.contains("line 3, column 12: a carriage return within a comment"), "{found}");
    read("num_ranks 1\r\n// one\r\nrank 0 {\r\ncalc 1 // two\r\n}\r\n".as_bytes()).unwrap();
}

#[test]
fn statements_that_cannot_be_read_are_named() {
    let table = [
        (
            "recv10b from 3",
            "column 1: expected an operation, found `recv10b`: a blank is missing after `recv`",
        ),
        ("send 5b to -1", "column 12: expected a rank (only recv may say -1, from any), found `-1`"),
        ("recv 5b from -2", "column 14: expected a rank, or -1 for any, found `-2`"),
        ("recv 5b from x", "column 14: expected a rank, or -1 for any, found `x`"),
        ("send 5 to 1", "column 8: expected `b` (bytes) after the size, found `to`"),
        ("send 5b from 1", "column 9: expected `to` and a rank, found `from`"),
        ("recv 5b to 1", "column 9: expected `from` and a rank, found `to`"),
        ("send 5b to", "column 11: expected a rank, found the end of the line"),
        ("send b to 1", "column 6: expected a size in bytes, found `b`"),
        ("send 5b to 1 tag -3", "column 18: expected a tag, or -1 for any, found `-3`"),
        ("recv 5b from -12", "column 14: expected a rank, or -1 for any, found `-12`"),
        (
            "send 5b to 1 cpu 1 tag 2",
            "column 20: expected the end of the line, found `tag`; the order is tag, cpu, nic for messages, \
             and a calc has only cpu",
        ),
        (
            "calc 5 nic1",
            "column 8: expected the end of the line, found `nic1`; the order is tag, cpu, nic for messages, \
             and a calc has only cpu",
        ),
        ("calc 1.5", "column 7: expected the end of the line, found `.`; sizes and times are whole numbers"),
        ("calc -5", "column 6: expected a duration in ns, found `-5`"),
        ("calc 5 calc 6", "column 8: expected the end of the line, found `calc`"),
        ("snd 5b to 1", "column 1: expected an operation, found `snd`, did you mean `send`?"),
        ("a: clac 5", "column 4: expected send, recv or calc, found `clac`, did you mean `calc`?"),
        ("a: :", "column 4: expected send, recv or calc, found `:`"),
        (
            "a: tput 5b to 1",
            "column 4: expected send, recv or calc, found `tput`, a word of LogGOPSim2's extended GOAL, \
             which is not read",
        ),
        ("a b", "column 3: expected `:`, `requires` or `irequires` after `a`, found `b`"),
        ("arequires b", "column 11: expected `:`, `requires` or `irequires` after `arequires`, found `b`"),
        ("a requires", "column 11: expected a blank and a label, found the end of the line"),
        ("a requires 5", "column 12: expected the label of the operation that is waited for, found `5`"),
        ("a: calc 5\na requires b,c", "column 13: expected the end of the line, found `,`"),
        ("3: calc 5", "column 1: expected a label, an operation or `}`, found `3`"),
        ("äö: calc 5", "column 1: expected a label, an operation or `}`, found `ä`"),
        ("calc 5 \"ö", "column 8: expected the end of the line, found `\"`"),
        ("calc \u{7}", "column 6: expected a duration in ns, found `\\u{7}`"),
        ("/* é */ calc é", "column 14: expected a duration in ns, found `é`"),
        ("calc 5 / 6", "column 8: expected the end of the line, found `/`"),
        ("rank 1 {", "column 1: `rank` inside of the block of rank 0 (line 2); is its `}` missing?"),
        ("{", "column 1: expected a label, an operation or `}`, found `{`"),
        ("calc 5 /* never", "column 8: a comment that does not end, expected `*/`"),
        ("calc /* never", "column 6: a comment that does not end, expected `*/`"),
        ("/* never", "column 1: a comment that does not end, expected `*/`"),
    ];
    for (text, expected) in table {
        let line = if text.contains('\n') { 4 } else { 3 };
        assert_eq!(statement(text), format!("line {line}, {expected}"), "{text}");
    }
    assert_eq!(
        read(&b"num_ranks 1\nrank 0 {\n\xFF\n}"[..]).unwrap_err().to_string(),
        "line 3, column 1: expected a label, an operation or `}`, found the byte 0xFF"
    );
    let long = format!("calc {}", "x".repeat(100));
    let expected = format!("line 3, column 6: expected a duration in ns, found `{}...`", "x".repeat(40));
    assert_eq!(statement(&long), expected);
}

#[test]
fn labels_that_no_operation_has_are_named_with_one_that_is_like_them() {
    let table = [
        ("l1: calc 5\nl1 requires l2", "`l2`, did you mean `l1`?", 4, 13),
        ("l1: calc 5\nl12: calc 6\nl13 requires l1", "`l13`, did you mean `l12`?", 5, 1),
        ("Mount: calc 5\nmount requires Mount", "`mount`, did you mean `Mount`?", 4, 1),
        (
            "send_all_of_it: calc 5\nx: calc 6\nx irequires send_al_of_it",
            "`send_al_of_it`, did you mean `send_all_of_it`?",
            5,
            13,
        ),
        ("a: calc 5\na requires z", "`z`", 4, 12),
        ("a requires b", "`a`", 3, 1),
        ("a requires c\nb: calc 5\nb requires d\nc: calc 1\na: calc 1", "`d`", 5, 12),
    ];
    for (text, expected, line, column) in table {
        let expected =
            format!("line {line}, column {column}: rank 0 has no operation with the label {expected}");
        assert_eq!(statement(text), expected, "{text}");
    }
}

#[test]
fn blocks_that_cannot_be_are_named() {
    let table = [
        ("", "line 1, column 1: expected `num_ranks`, found the end of the file"),
        ("rank 0 {\n}", "line 1, column 1: `num_ranks` must come before the first rank"),
        ("num_ranks", "line 1, column 10: expected a number of ranks, found the end of the file"),
        ("num_ranks -1", "line 1, column 11: expected a number of ranks, found `-1`"),
        ("num_ranks 268435457", "line 1, column 11: 268435457 ranks; at most 268435456 can be read"),
        ("num_ranks 16777217\n", "line 2, column 1: 16777217 ranks in a text of 19 bytes"),
        (
            "num_ranks 1\nrank0 {",
            "line 2, column 1: expected `num_ranks` or `rank`, found `rank0`: a blank is missing after `rank`",
        ),
        ("num_ranks 1\nrank {", "line 2, column 6: expected the number of a rank, found `{`"),
        (
            "num_ranks 1\nrank 0\n{",
            "line 2, column 7: expected `{` on the line of `rank`, found the end of the line",
        ),
        ("num_ranks 1\ncalc 5", "line 2, column 1: expected `num_ranks` or `rank`, found `calc`"),
        ("num_ranks 1\n}", "line 2, column 1: `}` outside of a block"),
        ("num_ranks 1, rank 0 {}", "line 1, column 12: expected `num_ranks` or `rank`, found `,`"),
        ("num_ranks 2\nrank 2 {\n}", "line 2, column 1: rank 2 in a schedule of 2 ranks, which count from 0"),
        (
            "num_ranks 2\nrank 4294967297 {\n}",
            "line 2, column 1: rank 4294967297 in a schedule of 2 ranks, which count from 0",
        ),
        ("num_ranks 3\nrank 0 {\n}\nrank 0 {\n}", "line 4, column 1: a second block of rank 0"),
        ("num_ranks 3\nrank 1 {\n}\nrank 1 {\n}", "line 4, column 1: a second block of rank 1"),
        (
            "num_ranks 3\nrank 0 {\n}\nnum_ranks 4",
            "line 4, column 11: `num_ranks 4` behind blocks of a schedule of 3 ranks",
        ),
        (
            "num_ranks 1\nrank 0 {\n",
            "line 3, column 1: expected `}` of the block of rank 0 (line 2), found the end of the file",
        ),
        ("num_ranks 1\n/* rank 0 {\n", "line 2, column 1: a comment that does not end, expected `*/`"),
    ];
    for (text, expected) in table {
        assert_eq!(error(text), expected, "{text}");
    }
}

fn complaints(text: &str) -> Vec<String> {
    strict(text.as_bytes()).unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn what_other_tools_would_refuse_or_change_is_listed() {
    let text = "\u{FEFF}num_ranks5 num_ranks 4
rank 1 {
 a: calc 1 // one
b: send /* two */ 5b to 9 tag 4294967296
b requires later
later: calc 1 cpu 256\r cpu
a: recv 5b from -1
a requires a }
rank 0 {
send: send 5b to 4294967297
put 5b to 1
  calc 99999999999999999999
b requires a
}
rank 2 {
rank 3 {}
rank 0 { more }
";
    let expected = [
        "line 1, column 1: rejected: a byte order mark",
        "line 1, column 2: rejected: no blank after `num_ranks`",
        "line 1, column 23: note: `num_ranks` was 5 before",
        "line 2, column 1: rejected: the block of rank 1 as number 0",
        "line 3, column 2: rejected: blanks before a statement",
        "line 3, column 12: rejected: a comment on the line of a statement",
        "line 4, column 1: note: peer 9 in a schedule of 4 ranks",
        "line 4, column 9: rejected: a comment inside of a statement",
        "line 4, column 31: changed: a tag of 4294967296 is taken modulo 2^32: 0",
        "line 5, column 12: rejected: `later` is used before it is defined",
        "line 6, column 19: changed: a cpu of 256 is taken modulo 256: 0",
        "line 6, column 22: rejected: a carriage return that ends no line",
        "line 6, column 24: rejected: expected the end of the line, found `cpu`; the order is tag, cpu, nic for \
         messages, and a calc has only cpu",
        "line 7, column 1: note: a second label `a`; it stays with the first operation",
        "line 8, column 1: note: `a` waits for itself, so it never runs",
        "line 8, column 14: rejected: `}` on the line of a statement",
        "line 9, column 1: rejected: the block of rank 0 as number 1",
        "line 10, column 1: note: the label `send` is also a word of GOAL",
        "line 10, column 18: changed: a rank of 4294967297 is taken modulo 2^32: 1",
        "line 11, column 1: rejected: expected an operation, found `put`, a word of LogGOPSim2's extended GOAL, \
         which is not read",
        "line 12, column 3: rejected: blanks before a statement",
        "line 12, column 8: changed: a duration in ns of `99999999999999999999` is taken modulo 2^64: \
         7766279631452241919",
        "line 13, column 1: rejected: rank 0 has no operation with the label `b`",
        "line 13, column 12: rejected: rank 0 has no operation with the label `a`",
        "line 16, column 1: rejected: `rank` inside of the block of rank 2 (line 15); is its `}` missing?",
        "line 17, column 1: rejected: `rank` inside of the block of rank 2 (line 15); is its `}` missing?",
        "line 18, column 1: rejected: expected `}` of the block of rank 2 (line 15), found the end of the file",
    ];
    assert_eq!(complaints(text), expected);
}

#[test]
fn blocks_that_are_missing_or_too_many_are_listed() {
    let missing = "num_ranks 5\nrank 0 {\n}\nrank 3 {\n}\n";
    let expected = [
        "line 4, column 1: rejected: the block of rank 3 as number 1",
        "line 6, column 1: rejected: ranks 1 to 2 and 4 of 5 have no block",
    ];
    assert_eq!(complaints(missing), expected);
    let ignored = "num_ranks 1\nrank 0 {\n}\n/* rank 1 */ rank 1 {\n  nonsense\n}\n// rank\nrank 2 {\n}\n";
    let expected = [
        "line 4, column 14: changed: a block after that of the last rank",
        "line 8, column 1: changed: a block after that of the last rank",
    ];
    assert_eq!(complaints(ignored), expected);
}

#[test]
fn what_is_wrong_again_and_again_is_counted() {
    let text = format!("num_ranks 1\nrank 0 {{\n{}calc 1 calc 2\n}}\n", "  calc 5\n".repeat(250));
    let complaints = complaints(&text);
    assert_eq!(complaints.len(), 102);
    assert_eq!(complaints[99], "line 102, column 3: rejected: blanks before a statement");
    assert_eq!(complaints[100], "line 103, column 3: rejected: 150 more statements behind blanks");
    assert_eq!(complaints[101], "line 253, column 8: rejected: expected the end of the line, found `calc`");
}
