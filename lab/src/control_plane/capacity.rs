//! Memory and CPU time of a core for many UEs, each registered with one PDU session.
use super::ControlPlaneArgs;
use super::testbed::{Core, connect_gnb, internet, new_ue};
use crate::core::{CORES, CoreSetup, ExternalCore, Variant, wait_for_association};
use crate::process_usage::cpu_ns;
use crate::progress::Progress;
use crate::{Figure, Output};
use anyhow::{Context, Result};
use martlet_ran::{Gnb, PduSessionRequest, Samples, Ue};

/// Makes the n-th subscriber's UE, from 0.
type NewUe<'a> = Box<dyn Fn(&Gnb, u64) -> Result<Ue> + 'a>;

/// A core, its gNB, and how its UEs are made.
struct Loaded<'a> {
    core: Core,
    gnb: Gnb,
    session: PduSessionRequest,
    ue: NewUe<'a>,
}

/// Starts a core with the subscribers.
async fn start<'a>(
    args: &'a ControlPlaneArgs,
    number: u8,
    variant: Variant,
    output: &Output,
) -> Result<Loaded<'a>> {
    let name = format!("many-{}", variant.name());
    if variant == Variant::External {
        let (args, many) = (&args.external, args.many());
        let folder = output.folder().join(CORES).join(name);
        let core = Core::External(ExternalCore::start(args, many, &folder)?);
        let gnb = Gnb::connect(args.gnb_config(1)?).await?;
        let ue = |gnb: &Gnb, n| Ok(gnb.new_ue(args.ue_config(n)?)?);
        return Ok(Loaded { core, gnb, session: args.session(), ue: Box::new(ue) });
    }
    let setup = CoreSetup::prepare(&args.core, number, &name, args.many(), output.folder())?
        .for_sessions(args.many());
    let core = setup.start(variant)?;
    wait_for_association(&core).await?;
    let gnb = connect_gnb(&setup, Samples::default(), 1).await?;
    Ok(Loaded { core: Core::Martlet(core), gnb, session: internet(), ue: Box::new(new_ue) })
}

/// Registers many UEs one after the other, and reads the usage of the core's processes and of this
/// one, which generates the load.
pub(super) async fn measure(args: &ControlPlaneArgs, output: &mut Output) -> Result<()> {
    let ue_count = args.many();
    if ue_count == 0 {
        return Ok(());
    }
    // A limit of simultaneous procedures does not affect UEs one after the other.
    let variants: Vec<_> = args.sbi.iter().filter(|variant| !variant.is_unlimited()).collect();
    let mut progress = Progress::new("UEs", ue_count * variants.len() as u64);
    for (number, variant) in (40..).zip(variants) {
        let loaded = start(args, number, *variant, output).await?;
        let before = loaded.core.usage();
        let generator_before = cpu_ns(std::process::id());
        let mut ues = Vec::new();
        for n in 0..ue_count {
            let ue = (loaded.ue)(&loaded.gnb, n)?;
            ue.register().await.with_context(|| ue.supi().to_string())?;
            let request = loaded.session.clone();
            ue.establish_pdu_session(request).await.with_context(|| ue.supi().to_string())?;
            ues.push(ue);
            progress.step(variant.title());
        }
        let generator = cpu_ns(std::process::id()) - generator_before;
        let after = loaded.core.usage();
        let mut figure = |what: &str, ues: u64, unit, value: f64| {
            let id = format!("{what}.{}.ues{ues}", variant.name());
            output.figure(Figure::once(id, unit, value));
        };
        let per_ue = generator as f64 / 1e6 / ue_count as f64;
        figure("generator_cpu_per_ue", ue_count, "ms", per_ue);
        if let Some((before, after)) = before.zip(after) {
            let cpu = after.cpu_ns.saturating_sub(before.cpu_ns) as f64 / 1e6;
            figure("resident", ue_count, "MB", after.resident_kb as f64 / 1e3);
            figure("proportional", ue_count, "MB", after.proportional_kb as f64 / 1e3);
            figure("cpu_per_ue", ue_count, "ms", cpu / ue_count as f64);
            figure("processes", ue_count, "", after.processes as f64);
            figure("resident", 0, "MB", before.resident_kb as f64 / 1e3);
        }
        drop(ues);
        loaded.gnb.shutdown().await;
        loaded.core.stop()?;
    }
    progress.done();
    Ok(())
}
