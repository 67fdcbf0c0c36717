//! Memory and CPU time of a core for many UEs, each registered with one PDU session.
use super::ControlPlaneArgs;
use super::testbed::{connect_gnb, new_ue};
use crate::core::{CoreSetup, wait_for_association};
use crate::progress::Progress;
use crate::{Figure, Output};
use anyhow::{Context, Result};
use martlet_ran::{PduSessionRequest, Samples};

/// Registers 1,000 UEs one after the other and reads the usage of the core's processes.
pub(super) async fn measure(args: &ControlPlaneArgs, output: &mut Output) -> Result<()> {
    let ue_count: u64 = if args.quick { 100 } else { 1000 };
    let mut progress = Progress::new("UEs", ue_count * args.sbi.len() as u64);
    for (number, variant) in (40..).zip(&args.sbi) {
        let setup = CoreSetup::prepare(
            &args.core,
            number,
            &format!("many-{}", variant.name()),
            ue_count,
            output.folder(),
        )?;
        let core = setup.start(*variant)?;
        wait_for_association(&core).await?;
        let gnb = connect_gnb(&setup, Samples::default(), 1).await?;
        let before = core.usage();
        let mut ues = Vec::new();
        for n in 0..ue_count {
            let ue = new_ue(&gnb, n)?;
            ue.register().await.with_context(|| ue.supi().to_string())?;
            let request =
                PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
            ue.establish_pdu_session(request).await.with_context(|| ue.supi().to_string())?;
            ues.push(ue);
            progress.step(variant.title());
        }
        let after = core.usage();
        let mut figure = |what: &str, unit, value: f64| {
            output.figure(Figure::once(
                format!("{what}.{}.ues{ue_count}", variant.name()),
                unit,
                value,
            ));
        };
        figure("resident", "MB", after.resident_kb as f64 / 1e3);
        figure("proportional", "MB", after.proportional_kb as f64 / 1e3);
        figure("cpu_per_ue", "ms", (after.cpu_ms - before.cpu_ms) as f64 / ue_count as f64);
        figure("processes", "", after.processes as f64);
        let empty = Figure::once(
            format!("resident.{}.ues0", variant.name()),
            "MB",
            before.resident_kb as f64 / 1e3,
        );
        output.figure(empty);
        drop(ues);
        gnb.shutdown().await;
        core.stop()?;
    }
    progress.done();
    Ok(())
}
