//! The charging session of a PDU session at its CHF.
use crate::shared::Smf;
use crate::usage::ChargingState;
use martlet_sbi::ApiRoot;
use martlet_sbi_api::common::Supi;
use martlet_sbi_api::nchf_converged_charging::ChfConvergedChargingClient;

/// The charging session of a PDU session.
#[derive(Clone)]
pub struct SessionCharging {
    pub chf: ChfConvergedChargingClient,
    pub state: ChargingState,
}

/// The persisted form: API root of the CHF, and the charging state.
pub type PersistedCharging = (ApiRoot, ChargingState);

impl SessionCharging {
    /// The persisted form.
    pub fn persisted(&self) -> PersistedCharging {
        (self.chf.peer().root().clone(), self.state.clone())
    }

    /// Restores the persisted form; `taken_over` from another SMF of the set or not.
    pub fn restored(
        smf: &Smf,
        supi: &Supi,
        (root, state): PersistedCharging,
        taken_over: bool,
    ) -> Self {
        let chf = ChfConvergedChargingClient::new(smf.context.peer_at(root).about(supi));
        SessionCharging { chf, state: state.restored(taken_over) }
    }
}
