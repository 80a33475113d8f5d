//! Model test of the lock protocol: under many interleavings, chosen by the model checker, several threads report what one
//! does.
//!
//! Run with `cargo test -p graphtide-match --features shuttle --release`.
#![cfg(feature = "shuttle")]
// Helpers of a test may fail it as a test may.
#![allow(clippy::unwrap_used)]

use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_graph::batch::{EdgeBatch, Operation, Row};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::{SharedSymbols, Symbol};
use graphtide_match::matcher::{Matcher, Options};
use graphtide_match::plan::PatternSpec;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

/// A path a -> b -> c -> d with partial order e2 < e3: three subqueries, two joins, expiry of all kinds of nodes.
fn spec(threads: usize, locking: &str) -> Vec<PatternSpec> {
    let json = format!(
        r#"[{{"name": "p", "version": 1, "window": 5, "vertices_may_coincide": false, "predicates": [], "order": [[1, 2]],
            "vertices": [{{"name": "a", "label": null, "key": null}}, {{"name": "b", "label": null, "key": null}},
                         {{"name": "c", "label": null, "key": null}}, {{"name": "d", "label": null, "key": null}}],
            "edges": [{{"name": "e1", "source": 0, "target": 1, "label": "x"}},
                      {{"name": "e2", "source": 1, "target": 2, "label": "x"}},
                      {{"name": "e3", "source": 2, "target": 3, "label": "y"}}],
            "plan": {{"engine": "timing", "subqueries": [[0], [1, 2]], "storage": "ms-dag",
                      "threads": {threads}, "locking": "{locking}"}}}}]"#
    );
    serde_json::from_str(&json).unwrap()
}

/// Eleven edges over four vertices: ties, multi-edges, expiries between insertions.
fn stream(symbols: &SharedSymbols) -> EdgeBatch {
    let edges = [
        (0, 1, 2, "x"),
        (1, 2, 3, "x"),
        (1, 0, 1, "x"),
        (2, 3, 0, "y"),
        (3, 2, 3, "x"),
        (4, 3, 4, "y"),
        (5, 3, 0, "y"),
        (6, 1, 2, "x"),
        (6, 2, 3, "x"),
        (7, 3, 4, "y"),
        (9, 0, 1, "x"),
    ];
    let mut batch = EdgeBatch::new(0);
    for (ordinal, (ts, source, target, label)) in edges.into_iter().enumerate() {
        let absent = symbols.lock().intern("");
        let row = Row {
            ordinal: ordinal as u64,
            line: ordinal as u64,
            ts,
            operation: Operation::Insert,
            source: KeyRef::Number(source),
            target: KeyRef::Number(target),
            label: symbols.lock().intern(label),
            source_label: absent,
            target_label: absent,
            stream: Symbol::ABSENT,
            id: IdRef::Given(KeyRef::Number(ordinal as u64)),
            raw: b"",
        };
        batch.push(&row, []);
    }
    batch
}

fn matches(threads: usize, locking: &str) -> Vec<String> {
    let symbols = SharedSymbols::default();
    let mut matcher = Matcher::new(spec(threads, locking).into(), &symbols, Options::default()).unwrap();
    let found = matcher.push(&stream(&symbols), 0, usize::MAX, &mut Meter::unbounded(&Unhurried)).matches;
    let lines = String::from_utf8(found.to_json_lines(&matcher.names(), 0, usize::MAX).0).unwrap();
    // Matches of one edge may come in any order.
    let mut lines: Vec<String> = lines.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn is_consistent(locking: &'static str) {
    let expected = matches(1, "fine");
    assert!(expected.len() >= 6, "the stream must exercise the joins: {}", expected.len());
    let again = expected.clone();
    explore(RandomScheduler::new(300), move || assert_eq!(matches(2, locking), expected));
    explore(PctScheduler::new(3, 300), move || assert_eq!(matches(3, locking), again));
}

/// Runs `body` under many interleavings, on stacks that hold the matcher's frames.
fn explore(scheduler: impl Scheduler + 'static, body: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    Runner::new(scheduler, config).run(body);
}

#[test]
fn fine_locks_report_what_one_thread_reports() {
    is_consistent("fine");
}

#[test]
fn all_locks_report_what_one_thread_reports() {
    is_consistent("all");
}
