//! A running core with two gNBs and its UEs.
use super::ControlPlaneArgs;
use super::metric::Metric;
use crate::core::{
    CORES, CoreProcess, CoreSetup, ExternalArgs, ExternalCore, Usage, Variant, ue_config,
    wait_for_association,
};
use crate::progress::Progress;
use anyhow::{Context, Result};
use futures_util::{StreamExt, TryStreamExt};
use martlet_ran::{Gnb, PduSessionRequest, Samples, Ue};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// UEs that [`bring`] brings into their state at the same time.
pub(crate) const CONCURRENCY: usize = 16;

/// Connects the n-th gNB, from 1, with N3.
pub(crate) async fn connect_gnb(setup: &CoreSetup, samples: Samples, number: u8) -> Result<Gnb> {
    let mut config = setup.gnb_config(number)?;
    config.n3 = config.n2_local;
    Ok(Gnb::connect_with(config, samples).await?)
}

/// The n-th subscriber's UE, from 0. It answers paging by itself.
pub(crate) fn new_ue(gnb: &Gnb, n: u64) -> Result<Ue> {
    Ok(gnb.new_ue(ue_config(n)?)?)
}

/// What UEs do after their registration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AfterRegistration {
    /// They establish a PDU session.
    pub(crate) session: bool,
    /// They are released to CM-IDLE.
    pub(crate) idle: bool,
    /// The simulator forgets them, so that a million of them fit.
    pub(crate) forgotten: bool,
}

/// Registers subscribers' UEs, [`CONCURRENCY`] at a time. Returns those that are not forgotten.
/// `what` names a UE that is ready.
pub(crate) async fn bring(
    gnb: &Gnb,
    numbers: Range<u64>,
    then: AfterRegistration,
    (progress, what): (&mut Progress, &str),
) -> Result<Vec<Ue>> {
    let one = async |n| {
        let ue = new_ue(gnb, n)?;
        ue.register().await.with_context(|| ue.supi().to_string())?;
        if then.session {
            ue.establish_pdu_session(internet()).await.with_context(|| ue.supi().to_string())?;
        }
        if then.idle {
            ue.release_to_idle().await.with_context(|| ue.supi().to_string())?;
        }
        anyhow::Ok(ue)
    };
    let mut ready = futures_util::stream::iter(numbers).map(one).buffer_unordered(CONCURRENCY);
    let mut ues = Vec::new();
    while let Some(ue) = ready.try_next().await? {
        if !then.forgotten {
            ues.push(ue);
        }
        progress.step(what);
    }
    Ok(ues)
}

/// The core of a testbed.
pub(super) enum Core {
    Martlet(CoreProcess),
    External(ExternalCore),
}

impl Core {
    /// What the core uses now; `None` if another program started it.
    pub(super) fn usage(&self) -> Option<Usage> {
        match self {
            Core::Martlet(core) => Some(core.usage()),
            Core::External(core) => core.usage(),
        }
    }

    pub(super) fn stop(self) -> Result<()> {
        match self {
            Core::Martlet(core) => core.stop(),
            Core::External(core) => core.stop(),
        }
    }
}

/// The session that UEs request of a Martlet core.
pub(super) fn internet() -> PduSessionRequest {
    PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() }
}

/// A core with the simulated RAN that loads it.
pub(super) struct Testbed {
    pub(super) variant: Variant,
    pub(super) samples: Samples,
    pub(super) ues: Vec<Ue>,
    /// The session that each UE requests.
    pub(super) session: PduSessionRequest,
    /// What a round measures.
    pub(super) metrics: Vec<Metric>,
    core: Core,
    /// Where UEs register.
    pub(super) gnb: Gnb,
    /// Target of handovers.
    pub(super) target_gnb: Gnb,
}

impl Testbed {
    pub(super) async fn start(
        args: &ControlPlaneArgs,
        variant: Variant,
        number: u8,
        ues: u32,
        folder: &Path,
    ) -> Result<Testbed> {
        let testbed = match variant {
            Variant::External => Testbed::external(&args.external, ues, folder).await?,
            _ => {
                let name = variant.name();
                let setup = CoreSetup::prepare(&args.core, number, name, ues.into(), folder)?;
                Testbed::of(&setup, variant, ues).await?
            }
        };
        Ok(Testbed { metrics: args.metrics(), ..testbed })
    }

    /// Starts the other core, and connects the simulated RAN.
    async fn external(args: &ExternalArgs, ues: u32, folder: &Path) -> Result<Testbed> {
        let variant = Variant::External;
        let folder = folder.join(CORES).join(variant.name());
        let core = Core::External(ExternalCore::start(args, ues.into(), &folder)?);
        let samples = Samples::default();
        let gnb = Gnb::connect_with(args.gnb_config(1)?, samples.clone()).await?;
        let target_gnb = Gnb::connect_with(args.gnb_config(2)?, samples.clone()).await?;
        let ues = (0..ues.into()).map(|n| Ok(gnb.new_ue(args.ue_config(n)?)?));
        let ues = ues.collect::<Result<_>>()?;
        let (session, metrics) = (args.session(), Metric::ALL.into());
        Ok(Testbed { variant, samples, ues, session, metrics, core, gnb, target_gnb })
    }

    /// Starts a core as it is set up, and connects the simulated RAN.
    pub(super) async fn of(setup: &CoreSetup, variant: Variant, ues: u32) -> Result<Testbed> {
        let core = setup.start(variant)?;
        wait_for_association(&core).await?;
        let samples = Samples::default();
        let gnb = connect_gnb(setup, samples.clone(), 1).await?;
        let target_gnb = connect_gnb(setup, samples.clone(), 2).await?;
        let ues = (0..ues.into()).map(|n| new_ue(&gnb, n)).collect::<Result<_>>()?;
        let (session, metrics, core) = (internet(), Metric::ALL.into(), Core::Martlet(core));
        Ok(Testbed { variant, samples, ues, session, metrics, core, gnb, target_gnb })
    }

    /// What the core uses now, all processes together.
    pub(super) fn usage(&self) -> Usage {
        self.core.usage().unwrap_or_default()
    }

    /// Sets the round trip of RRC messages in milliseconds.
    pub(super) fn set_radio(&self, ms: f64) {
        let round_trip = Duration::from_secs_f64(ms / 1e3);
        self.gnb.set_rrc_round_trip(round_trip);
        self.target_gnb.set_rrc_round_trip(round_trip);
    }

    pub(super) async fn stop(self) -> Result<()> {
        drop(self.ues);
        self.gnb.shutdown().await;
        self.target_gnb.shutdown().await;
        self.core.stop()
    }
}
