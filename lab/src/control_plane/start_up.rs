//! Time from the start of a core until a gNB is connected.
use super::ControlPlaneArgs;
use crate::core::{CoreSetup, Variant};
use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output};
use anyhow::{Context, Result};
use martlet_ran::Gnb;
use std::time::Instant;

/// Starts each variant several times.
pub(super) async fn measure(args: &ControlPlaneArgs, output: &mut Output) -> Result<()> {
    let starts = if args.run.quick { 3 } else { 30 };
    // The start of another core depends on its program. A limit of procedures does not affect the
    // start.
    let starts_alike =
        |variant: &&Variant| **variant != Variant::External && !variant.is_unlimited();
    let variants: Vec<_> = args.sbi.iter().filter(starts_alike).collect();
    let mut progress = Progress::new("starts", starts * variants.len() as u64);
    for (number, variant) in (20..).zip(variants) {
        let setup = CoreSetup::prepare(
            &args.core,
            number,
            &format!("start-{}", variant.name()),
            1,
            output.folder(),
        )?;
        let (mut ready, mut set_up) = (Vec::new(), Vec::new());
        for _ in 0..starts {
            let started = Instant::now();
            let core = setup.start(*variant)?;
            ready.push(core.ready.as_secs_f64() * 1e3);
            let gnb = Gnb::connect(setup.gnb_config(1)?).await?;
            set_up.push(started.elapsed().as_secs_f64() * 1e3);
            gnb.shutdown().await;
            core.stop()?;
            progress.step(variant.title());
        }
        for (what, sample) in [("ready", &ready), ("ng_setup_done", &set_up)] {
            let estimate = median(sample).context("no samples")?;
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
