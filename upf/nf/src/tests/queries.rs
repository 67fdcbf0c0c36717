//! Checks that the queries of dashboards and alert rules match metrics that were exported.
use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::{self, Expr, LabelModifier, VectorSelector};
use std::collections::{BTreeMap, BTreeSet};

/// The labels of the samples of each metric in a scrape of this process.
pub type Exported = BTreeMap<String, Vec<BTreeMap<String, String>>>;

/// The samples of a text in the exposition format of Prometheus.
pub fn samples_of(text: &str) -> Exported {
    let mut exported = Exported::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let Ok(Expr::VectorSelector(sample)) =
            parser::parse(line.rsplit_once(' ').expect("a value").0)
        else {
            panic!("{line}")
        };
        let labels =
            sample.matchers.matchers.iter().map(|m| (m.name.clone(), m.value.clone())).collect();
        exported.entry(sample.name.expect("a name")).or_default().push(labels);
    }
    exported
}

/// The vectors that a query selects, and the labels that it groups by.
pub fn parts(expr: &Expr, vectors: &mut Vec<VectorSelector>, labels: &mut BTreeSet<String>) {
    match expr {
        Expr::Aggregate(a) => {
            if let Some(LabelModifier::Include(by) | LabelModifier::Exclude(by)) = &a.modifier {
                labels.extend(by.labels.iter().cloned());
            }
            parts(&a.expr, vectors, labels);
        }
        Expr::Unary(u) => parts(&u.expr, vectors, labels),
        Expr::Binary(b) => {
            parts(&b.lhs, vectors, labels);
            parts(&b.rhs, vectors, labels);
        }
        Expr::Paren(p) => parts(&p.expr, vectors, labels),
        Expr::Subquery(s) => parts(&s.expr, vectors, labels),
        Expr::VectorSelector(v) => vectors.push(v.clone()),
        Expr::MatrixSelector(m) => vectors.push(m.vs.clone()),
        Expr::Call(c) => c.args.args.iter().for_each(|arg| parts(arg, vectors, labels)),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => {}
        other => panic!("{other:?} is not looked into"),
    }
}

fn matches(matcher: &Matcher, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&matcher.name).map_or("", String::as_str);
    match &matcher.op {
        MatchOp::Equal => value == matcher.value,
        MatchOp::NotEqual => value != matcher.value,
        MatchOp::Re(pattern) => pattern.is_match(value),
        MatchOp::NotRe(pattern) => !pattern.is_match(value),
    }
}

/// What is wrong with a query: its syntax, or metrics, labels or values that no sample has.
pub fn faults(query: &str, legend: &str, exported: &Exported) -> Vec<String> {
    let text = query.replace("$__rate_interval", "5m").replace("$instance", ".*");
    let expr = match parser::parse(&text) {
        Ok(expr) => expr,
        Err(error) => return vec![format!("{query}: {error}")],
    };
    let (mut vectors, mut wanted) = (Vec::new(), BTreeSet::new());
    parts(&expr, &mut vectors, &mut wanted);
    wanted.extend(
        legend
            .split("{{")
            .skip(1)
            .filter_map(|rest| rest.split_once("}}"))
            .map(|(label, _)| label.into()),
    );
    let mut faults = Vec::new();
    let mut known = BTreeSet::new();
    for vector in &vectors {
        let name = vector.name.clone().unwrap_or_default();
        let Some(samples) = exported.get(&name) else {
            faults.push(format!("{query}: no metric {name}"));
            continue;
        };
        known.extend(samples.iter().flat_map(|labels| labels.keys().cloned()));
        // The scraper adds the label `instance`.
        for matcher in vector.matchers.matchers.iter().filter(|matcher| matcher.name != "instance")
        {
            if !samples
                .iter()
                .any(|labels| labels.contains_key(&matcher.name) && matches(matcher, labels))
            {
                faults.push(format!("{query}: no sample of {name} has {matcher}"));
            }
        }
    }
    wanted.remove("instance");
    faults.extend(wanted.difference(&known).map(|label| format!("{query}: unknown label {label}")));
    faults
}
