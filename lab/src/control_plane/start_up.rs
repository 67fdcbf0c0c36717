//! How long a core takes from its start until a gNB is set up.
use super::ControlPlaneArgs;
use super::bed::Site;
use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output};
use anyhow::{Context, Result};
use std::time::Instant;

/// Measures the start of each variant.
pub(super) async fn measure(args: &ControlPlaneArgs, output: &mut Output) -> Result<()> {
    let starts = if args.quick { 3 } else { 30 };
    let mut progress = Progress::new("starts", starts * args.sbi.len() as u64);
    for (number, variant) in (20..).zip(&args.sbi) {
        let site = Site::prepare(
            &args.core,
            number,
            &format!("start-{}", variant.name()),
            1,
            output.folder(),
        )?;
        let (mut ready, mut set_up) = (Vec::new(), Vec::new());
        for _ in 0..starts {
            let started = Instant::now();
            let core = site.start(*variant)?;
            ready.push(core.ready.as_secs_f64() * 1e3);
            let gnb = site.gnb_without_user_plane().await?;
            set_up.push(started.elapsed().as_secs_f64() * 1e3);
            gnb.shutdown().await;
            core.stop()?;
            progress.step(variant.title());
        }
        for (what, sample) in [("ready", &ready), ("ng_setup_done", &set_up)] {
            let estimate = median(sample).context("no start")?;
            output.figure(Figure::of(
                format!("start.{}.{what}.p50", variant.name()),
                "ms",
                estimate,
            ));
        }
    }
    progress.done();
    Ok(())
}
