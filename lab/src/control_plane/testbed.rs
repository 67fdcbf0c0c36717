//! A running core with two gNBs and its UEs.
use crate::core::{
    CoreArgs, CoreProcess, CoreSetup, CoreUsage, Variant, ue_config, wait_for_association,
};
use anyhow::Result;
use martlet_ran::{Gnb, Samples, Ue};
use std::path::Path;

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

/// A core with the simulated RAN that loads it.
pub(super) struct Testbed {
    pub(super) variant: Variant,
    pub(super) samples: Samples,
    pub(super) ues: Vec<Ue>,
    core: CoreProcess,
    /// Where UEs register.
    pub(super) gnb: Gnb,
    /// Target of handovers.
    pub(super) target_gnb: Gnb,
}

impl Testbed {
    pub(super) async fn start(
        core: &CoreArgs,
        variant: Variant,
        number: u8,
        ues: u32,
        folder: &Path,
    ) -> Result<Testbed> {
        let setup = CoreSetup::prepare(core, number, variant.name(), ues.into(), folder)?;
        Testbed::of(&setup, variant, ues).await
    }

    /// Starts a core as it is set up, and connects the simulated RAN.
    pub(super) async fn of(setup: &CoreSetup, variant: Variant, ues: u32) -> Result<Testbed> {
        let core = setup.start(variant)?;
        wait_for_association(&core).await?;
        let samples = Samples::default();
        let gnb = connect_gnb(setup, samples.clone(), 1).await?;
        let target_gnb = connect_gnb(setup, samples.clone(), 2).await?;
        let ues = (0..ues.into()).map(|n| new_ue(&gnb, n)).collect::<Result<_>>()?;
        Ok(Testbed { variant, samples, ues, core, gnb, target_gnb })
    }

    /// What the core uses now, all processes together.
    pub(super) fn usage(&self) -> CoreUsage {
        self.core.usage()
    }

    pub(super) async fn stop(self) -> Result<()> {
        drop(self.ues);
        self.gnb.shutdown().await;
        self.target_gnb.shutdown().await;
        self.core.stop()
    }
}
