//! The table of requests in `docs/interop.md`: which members each request has.
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;

/// The rows of the table by `service operation`: the members that each request has.
///
/// # Errors
/// The page has no such table, or a row is not valid.
pub fn compared_requests() -> Result<BTreeMap<String, Vec<String>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/interop.md");
    let page = std::fs::read_to_string(&path)?;
    let (_, rest) = page.split_once("<!-- requests -->\n").context("no mark of the table")?;
    let (table, _) = rest.split_once("<!-- end of the requests -->").context("no end mark")?;
    rows(table)
}

fn rows(table: &str) -> Result<BTreeMap<String, Vec<String>>> {
    let mut rows = BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let [requests, members, _free5gc, _open5gs, _not_sent] = cells[..] else {
            anyhow::bail!("{line:?} does not have five cells");
        };
        for request in code(requests) {
            let before = rows.insert(request, code(&without_parentheses(members)));
            ensure!(before.is_none(), "two rows of the same request: {line:?}");
        }
    }
    ensure!(!rows.is_empty(), "the table has no rows");
    Ok(rows)
}

/// The code spans of a text.
fn code(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// A text without its parts in parentheses: members that not each request has.
fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    let mut outside = String::new();
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside.push(character),
            _ => {}
        }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_in_parentheses_are_not_in_each_request() {
        let table = "| request | Martlet |\n| --- | --- |\n\
                     | `a B`, `a C` | `x` (with `y`, also `z`), `w` | none | `q` | |\n";
        let rows = rows(table).unwrap();
        assert_eq!(rows.keys().collect::<Vec<_>>(), ["a B", "a C"]);
        assert_eq!(rows["a C"], ["x", "w"]);
        assert!(super::rows("| `a B` | `x` |\n").is_err());
        assert!(super::rows("").is_err());
    }
}
