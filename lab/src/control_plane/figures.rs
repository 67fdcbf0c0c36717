//! The figures of the latencies.
use super::Point;
use super::metric::Metric;
use super::round::Latencies;
use crate::stats::{median, quantile};
use crate::{Figure, Output};
use anyhow::{Context, Result};

/// Median, 99th percentile and core time of each point. `suffix` is added to the name of each
/// latency.
pub(super) fn of_points(
    points: &[Point],
    suffix: &str,
    metrics: &[Metric],
    output: &mut Output,
) -> Result<()> {
    for point in points {
        for &metric in metrics {
            let latencies = || point.rounds.iter().flat_map(|round| round.of(metric));
            let all: Vec<f64> = latencies().map(|l| l.latency).collect();
            let core: Vec<f64> = latencies().map(|l| l.core).collect();
            let (name, variant) = (metric.name(), point.variant.name());
            let id =
                |statistic: &str| format!("{name}{suffix}.{variant}.ues{}.{statistic}", point.ues);
            let p50 = median(&all).context("no samples")?;
            let p99 = quantile(&all, 0.99).context("no samples")?;
            output.figure(Figure::of(id("p50"), "ms", p50));
            output.figure(Figure::of(id("p99"), "ms", p99));
            output.figure(Figure::of(id("core_p50"), "ms", median(&core).context("no samples")?));
            output.figure(Figure::once(id("p99_over_p50"), "", p99.value / p50.value));
        }
    }
    Ok(())
}

fn median_of(round: &Latencies, metric: Metric) -> f64 {
    let all: Vec<f64> = round.of(metric).map(|l| l.latency).collect();
    median(&all).map_or(f64::NAN, |m| m.value)
}

/// The latency of each variant as a multiple of the first variant's. Rounds alternated between the
/// cores, so each round gives a ratio; the figure is their median.
pub(super) fn compare(points: &[Point], metrics: &[Metric], output: &mut Output) -> Result<()> {
    let Some(first) = points.first().map(|point| point.variant) else { return Ok(()) };
    for point in points.iter().filter(|point| point.variant != first) {
        let base = points.iter().find(|other| other.variant == first && other.ues == point.ues);
        let Some(base) = base else { continue };
        for &metric in metrics {
            let pairs = point.rounds.iter().zip(&base.rounds);
            let ratios: Vec<f64> =
                pairs.map(|(a, b)| median_of(a, metric) / median_of(b, metric)).collect();
            let id = format!(
                "{}.{}_over_{}.ues{}.p50",
                metric.name(),
                point.variant.name(),
                first.name(),
                point.ues
            );
            output.figure(Figure::of(id, "times", median(&ratios).context("no rounds")?));
        }
    }
    Ok(())
}
