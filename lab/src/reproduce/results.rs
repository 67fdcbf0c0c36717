//! The results of an experiment, read from its files.
use crate::machine;
use anyhow::{Context, Result};
use serde_json::Value;
use statrs::statistics::Statistics;
use std::collections::HashMap;
use std::path::Path;

/// A point of a plot: `(x, value, low, high)`.
pub type Point = (f64, f64, f64, f64);

/// The figures and rows of one experiment.
#[derive(Debug, Default)]
pub struct Results {
    figures: HashMap<String, (f64, f64, f64)>,
    /// Lines of `raw.csv`, split, without the header.
    pub rows: Vec<Vec<String>>,
    /// The kernel and the build with which it was measured.
    pub machine: String,
    /// The model of the board with which it was measured.
    pub board: Option<String>,
    /// How it was measured, as the experiment noted it. Null in results of older versions.
    pub run: Value,
}

impl Results {
    /// Reads `summary.json` and `raw.csv`.
    ///
    /// # Errors
    /// A file is missing or does not parse.
    pub fn read(folder: &Path) -> Result<Results> {
        let text = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))
        };
        let summary: Value = serde_json::from_str(&text("summary.json")?)?;
        let mut figures = HashMap::new();
        for figure in summary["figures"].as_array().context("the summary has no figures")? {
            let number = |name: &str| figure[name].as_f64();
            if let (Some(id), Some(value)) = (figure["id"].as_str(), number("value")) {
                let (low, high) = (number("low").unwrap_or(value), number("high").unwrap_or(value));
                figures.insert(id.to_string(), (value, low, high));
            }
        }
        let rows = text("raw.csv")?
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(str::to_string).collect())
            .collect();
        let machine = machine::in_a_line(&summary["machine"]);
        let board = summary["machine"]["board"].as_str().map(str::to_string);
        Ok(Results { figures, rows, machine, board, run: summary["run"].clone() })
    }

    /// Results that have rows only.
    #[cfg(test)]
    pub fn of(rows: Vec<Vec<String>>) -> Results {
        Results { rows, ..Results::default() }
    }

    /// Adds figures.
    #[cfg(test)]
    pub fn with(mut self, figures: &[(&str, (f64, f64, f64))]) -> Results {
        self.figures.extend(figures.iter().map(|(id, value)| (id.to_string(), *value)));
        self
    }

    /// What the experiment noted about its run.
    pub fn noted(&self, name: &str) -> Option<&str> {
        self.run[name].as_str()
    }

    /// The value of a figure.
    pub fn value(&self, id: &str) -> Option<f64> {
        self.figures.get(id).map(|figure| figure.0)
    }

    /// A figure with its interval.
    pub fn interval(&self, id: &str) -> Option<(f64, f64, f64)> {
        self.figures.get(id).copied()
    }

    /// A figure with its interval, at a place of the x axis.
    pub fn at(&self, x: f64, id: &str) -> Option<Point> {
        self.interval(id).map(|(value, low, high)| (x, value, low, high))
    }

    /// The fraction of two figures.
    pub fn ratio(&self, over: &str, under: &str) -> Option<f64> {
        Some(self.value(over)? / self.value(under)?).filter(|ratio| ratio.is_finite())
    }
}

/// A bar that is not drawn.
pub const NO_BAR: (f64, f64, f64) = (f64::NAN, f64::NAN, f64::NAN);

/// The mean of values that are there; `None` if one is missing.
pub fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let all: Option<Vec<f64>> = values.into_iter().collect();
    let all = all.filter(|all| !all.is_empty())?;
    Some(all.mean())
}

/// The difference of the largest and the smallest value.
pub fn span(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (low, high) = values
        .into_iter()
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    (low <= high).then_some(high - low)
}
