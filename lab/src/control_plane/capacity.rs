//! What a core uses for many UEs, each registered with one session.
use super::ControlPlaneArgs;
use super::bed::{Site, associated, phone};
use crate::progress::Progress;
use crate::{Figure, Output};
use anyhow::{Context, Result};
use martlet_ran::{PduSessionRequest, Samples};

/// Registers a thousand UEs, one after the other, and reads what the core's processes use.
pub(super) async fn measure(args: &ControlPlaneArgs, output: &mut Output) -> Result<()> {
    let ues: u64 = if args.quick { 100 } else { 1000 };
    let mut progress = Progress::new("UEs", ues * args.sbi.len() as u64);
    for (number, variant) in (40..).zip(&args.sbi) {
        let site = Site::prepare(
            &args.core,
            number,
            &format!("many-{}", variant.name()),
            ues,
            output.folder(),
        )?;
        let core = site.start(*variant)?;
        associated(&core).await?;
        let gnb = site.gnb(Samples::default(), 1).await?;
        let before = core.usage();
        let mut phones = Vec::new();
        for n in 0..ues {
            let phone = phone(&gnb, n)?;
            phone.register().await.with_context(|| phone.supi().to_string())?;
            let request =
                PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
            phone.establish_pdu_session(request).await.with_context(|| phone.supi().to_string())?;
            phones.push(phone);
            progress.step(variant.title());
        }
        let after = core.usage();
        let mut say = |what: &str, unit, value: f64| {
            output.figure(Figure::once(format!("{what}.{}.ues{ues}", variant.name()), unit, value));
        };
        say("resident", "MB", after.resident_kb as f64 / 1e3);
        say("proportional", "MB", after.proportional_kb as f64 / 1e3);
        say("cpu_per_ue", "ms", (after.cpu_ms - before.cpu_ms) as f64 / ues as f64);
        say("processes", "", after.processes as f64);
        let empty = Figure::once(
            format!("resident.{}.ues0", variant.name()),
            "MB",
            before.resident_kb as f64 / 1e3,
        );
        output.figure(empty);
        drop(phones);
        gnb.shutdown().await;
        core.stop()?;
    }
    progress.done();
    Ok(())
}
