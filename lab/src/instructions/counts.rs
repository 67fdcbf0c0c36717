//! Counts by the name of the work, and the file that stores them.
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The first line of the file; the compiler follows.
const HEADER: &str = "# Instructions of one round. Compiler: ";

/// Instructions of one round by the name of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts {
    compiler: String,
    of: BTreeMap<String, u64>,
}

/// A count beside the stored one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub name: String,
    pub stored: Option<u64>,
    pub measured: u64,
    pub percent: Option<f64>,
}

impl Change {
    /// Whether the count has risen by more than this.
    pub fn is_above(&self, percent: f64) -> bool {
        self.percent.is_some_and(|own| own > percent)
    }
}

impl Counts {
    pub fn new(compiler: &str) -> Self {
        Counts { compiler: compiler.trim().into(), of: BTreeMap::new() }
    }

    pub fn compiler(&self) -> &str {
        &self.compiler
    }

    pub fn insert(&mut self, name: &str, count: u64) {
        self.of.insert(name.into(), count);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.of.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// The changes since the stored counts.
    pub fn changes(&self, stored: &Counts) -> Vec<Change> {
        let change = |(name, measured): (&str, u64)| {
            let stored = stored.of.get(name).copied();
            let percent = stored
                .map(|stored| 100.0 * (measured as f64 - stored as f64) / (stored as f64).max(1.0));
            Change { name: name.into(), stored, measured, percent }
        };
        self.iter().map(change).collect()
    }

    fn parse(text: &str) -> Result<Counts> {
        let mut counts = Counts::default();
        for line in text.lines() {
            if let Some(compiler) = line.strip_prefix(HEADER) {
                counts.compiler = compiler.trim().into();
            } else {
                let (name, count) =
                    line.split_once('\t').with_context(|| format!("not a count: {line:?}"))?;
                let count = count.parse().with_context(|| format!("not a count: {line:?}"))?;
                counts.insert(name, count);
            }
        }
        Ok(counts)
    }

    fn to_text(&self) -> String {
        let mut text = format!("{HEADER}{}\n", self.compiler);
        for (name, count) in self.iter() {
            let _ = writeln!(text, "{name}\t{count}");
        }
        text
    }

    /// # Errors
    /// The file cannot be read, or has another form.
    pub fn read(path: &Path) -> Result<Counts> {
        let text = std::fs::read_to_string(path);
        Counts::parse(&text.with_context(|| path.display().to_string())?)
            .with_context(|| path.display().to_string())
    }

    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        std::fs::write(path, self.to_text()).with_context(|| path.display().to_string())
    }
}

/// The instructions in a log of valgrind: `==1== I   refs:      1,234`.
pub(super) fn in_log(log: &str) -> Option<u64> {
    let line = log.lines().find(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next() == Some("I") && words.next() == Some("refs:")
    })?;
    line.split_whitespace().last()?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> Counts {
        let mut counts = Counts::new("rustc 1.91.0");
        of.iter().for_each(|(name, count)| counts.insert(name, *count));
        counts
    }

    #[test]
    fn counts_are_read_as_they_are_written() {
        let all = counts(&[("nas_codec", 12_345), ("call_fabric", 67)]);
        assert_eq!(Counts::parse(&all.to_text()).unwrap(), all);
        assert!(Counts::parse("nas_codec 12").is_err());
        assert!(Counts::parse("nas_codec\tmany").is_err());
    }

    #[test]
    fn a_rise_above_the_limit_is_found_and_a_new_work_is_none() {
        let stored = counts(&[("a", 1000), ("b", 1000), ("c", 1000)]);
        let changes = counts(&[("a", 1031), ("b", 1029), ("c", 500), ("d", 9)]).changes(&stored);
        let above: Vec<_> =
            changes.iter().filter(|c| c.is_above(3.0)).map(|c| c.name.as_str()).collect();
        assert_eq!(above, ["a"]);
        assert_eq!((changes[3].stored, changes[3].percent), (None, None));
    }

    #[test]
    fn the_count_is_in_the_log_of_valgrind() {
        let log = "==7== Cachegrind, a cache and branch-prediction profiler\n==7== \n\
                   ==7== I   refs:      12,345,678\n==7== D   refs:      9\n";
        assert_eq!(in_log(log), Some(12_345_678));
        // Since 3.21.
        assert_eq!(in_log("==7== I refs:        1,000\n"), Some(1000));
        assert_eq!(in_log("==7== D   refs:      9\n"), None);
    }
}
