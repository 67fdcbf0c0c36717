//! The figures of the latencies.
use super::Point;
use super::metric::Metric;
use super::round::Latencies;
use crate::core::Variant;
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

/// The latency of each variant as a multiple of the first variant's, and of that of one process.
/// Rounds alternated between the cores, so each round gives a ratio; the figure is their median.
pub(super) fn compare(points: &[Point], metrics: &[Metric], output: &mut Output) -> Result<()> {
    let Some(first) = points.first().map(|point| point.variant) else { return Ok(()) };
    let mut bases = vec![first, Variant::Local];
    bases.dedup();
    for point in points {
        for base in bases.iter().filter_map(|base| base_of(point, *base, points)) {
            for &metric in metrics {
                let ratios = by_round(point, base, metric, |own, base| own / base);
                let (name, variant) = (metric.name(), point.variant.name());
                let id =
                    format!("{name}.{variant}_over_{}.ues{}.p50", base.variant.name(), point.ues);
                output.figure(Figure::of(id, "times", median(&ratios).context("no rounds")?));
            }
        }
    }
    Ok(())
}

/// The rounds of another variant with as many UEs.
fn base_of<'a>(point: &Point, variant: Variant, points: &'a [Point]) -> Option<&'a Point> {
    let is_base = |other: &&Point| other.variant == variant && other.ues == point.ues;
    points.iter().find(is_base).filter(|_| point.variant != variant)
}

/// A value for each round, from the medians of both.
fn by_round(
    point: &Point,
    base: &Point,
    metric: Metric,
    value: impl Fn(f64, f64) -> f64,
) -> Vec<f64> {
    let pairs = point.rounds.iter().zip(&base.rounds);
    pairs.map(|(own, base)| value(median_of(own, metric), median_of(base, metric))).collect()
}

/// The page with the calls of each procedure.
const SERVICE_CALLS: &str = include_str!("../../../docs/measurements/service-calls.md");

/// The calls of an initial registration for which the UE waits, by the page's table.
fn awaited_calls(page: &str) -> Option<u32> {
    let (_, section) = page.split_once("\n### Initial registration\n")?;
    let rows = section.split("\n#").next()?.lines().filter(|line| line.starts_with("| `"));
    let calls = rows.filter_map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, _call, _before, now, "yes", _] = cells[..] else { return None };
        now.parse::<u32>().ok()
    });
    let calls: u32 = calls.sum();
    (calls > 0).then_some(calls)
}

/// What a service call costs beyond a function call, in microseconds, from the milliseconds of two
/// registrations that make the same calls.
fn tax_us(own_ms: f64, local_ms: f64, calls: u32) -> f64 {
    (own_ms - local_ms) * 1e3 / f64::from(calls)
}

/// The tax of a service call over each binding: how much longer one UE's registration takes than in
/// one process, for each call that the UE waits for. Calls of one process are function calls.
pub(super) fn tax(points: &[Point], output: &mut Output) -> Result<()> {
    let calls = awaited_calls(SERVICE_CALLS).context("no calls of a registration")?;
    let one_ue = points.iter().filter(|point| point.ues == 1);
    for point in one_ue.filter(|point| point.variant != Variant::External) {
        let Some(base) = base_of(point, Variant::Local, points) else { continue };
        let tax = |own, local| tax_us(own, local, calls);
        let all = by_round(point, base, Metric::Registration, tax);
        let id = format!("tax.{}.ues1.p50", point.variant.name());
        output.figure(Figure::of(id, "us", median(&all).context("no rounds")?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tax_is_the_difference_to_one_process_for_each_call_that_the_ue_waits_for() {
        let page = "\n### Initial registration\n\n| call | before | now | the UE waits |\n\
                    | --- | --- | --- | --- |\n| `a One` | 1 | 1 | yes |\n\
                    | `a Two` | 2 | 2 | yes |\n\
                    | `a Three` | 1 | 1 | no |\n| `a Four` | 1 | 0 | no call |\n\n### Other\n\n\
                    | `a Five` | 1 | 1 | yes |\n";
        assert_eq!(awaited_calls(page), Some(3));
        assert_eq!(awaited_calls("\n### Other\n"), None);
        let calls = awaited_calls(SERVICE_CALLS).unwrap();
        assert!((5..=17).contains(&calls), "{calls}");
        assert!((tax_us(1.33, 0.71, 12) - 51.67).abs() < 0.01);
    }
}
