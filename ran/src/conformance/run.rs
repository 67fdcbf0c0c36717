//! Plays cases and collects their results.
use super::bench::{Bench, BenchConfig};
use super::case::Case;
use super::report::{CaseReport, Report, Verdict};
use super::unmet::Unmet;
use std::time::Instant;

/// Plays cases one after the other. `progress` is called before each.
pub async fn run(config: BenchConfig, cases: &[&Case], mut progress: impl FnMut(&Case)) -> Report {
    let limit = config.limit;
    let bench = Bench::new(config);
    let mut results = Vec::new();
    for case in cases {
        progress(case);
        let start = Instant::now();
        let outcome = tokio::time::timeout(limit, (case.run)(&bench)).await;
        let verdict = match outcome {
            Ok(Ok(())) => Verdict::Passed,
            Ok(Err(Unmet::Failed(received))) => Verdict::Failed { received },
            Ok(Err(Unmet::NotRun(needs))) => Verdict::NotRun { needs: needs.to_owned() },
            Err(_) => Verdict::Failed { received: format!("no end within {limit:?}") },
        };
        results.push(CaseReport::new(case, verdict, start.elapsed()));
    }
    bench.shutdown().await;
    Report { amf: bench.config().gnb.amf, cases: results }
}
