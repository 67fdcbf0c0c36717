//! The status service of a function, for `martlet status --network`: its readiness, and the UPFs
//! and gNBs that are connected to it.
use crate::{ConnectedNodes, NetworkFunction, NfContext, NotReady};
use martlet_sbi::{Problem, Route};
use martlet_sbi_api::nmartlet_status::{
    FunctionStatus, MAX_NODES, MAX_TRACKING_AREAS, NMARTLET_STATUS, NfStatusService,
};
use std::sync::Arc;

/// The routes of the service.
pub(crate) fn routes<F: NetworkFunction>(
    name: &'static str,
    function: &Arc<F>,
    context: &Arc<NfContext>,
) -> Vec<Route> {
    let (function, context) = (function.clone(), context.clone());
    NMARTLET_STATUS.routes(Arc::new(StatusProducer { name, function, context }))
}

struct StatusProducer<F> {
    name: &'static str,
    function: Arc<F>,
    context: Arc<NfContext>,
}

impl<F: NetworkFunction> NfStatusService for StatusProducer<F> {
    async fn get_status(&self) -> Result<FunctionStatus, Problem> {
        let missing = missing(self.name, &*self.function, &self.context);
        let ConnectedNodes { mut upfs, mut gnbs, registered_ues } = self.function.connected_nodes();
        upfs.iter_mut().for_each(|all| all.truncate(MAX_NODES));
        if let Some(all) = &mut gnbs {
            all.truncate(MAX_NODES);
            all.iter_mut().for_each(|gnb| gnb.tracking_areas.truncate(MAX_TRACKING_AREAS));
        }
        Ok(FunctionStatus {
            missing: missing.iter().map(ToString::to_string).collect(),
            version: env!("CARGO_PKG_VERSION").into(),
            upfs,
            gnbs,
            registered_ues,
        })
    }
}

/// What a function lacks: by itself, and a registration with an NRF.
pub(crate) fn missing<F: NetworkFunction>(
    name: &str,
    function: &F,
    context: &NfContext,
) -> Vec<NotReady> {
    let registered = match (name == "nrf" || context.is_registered(), context.missing_nrf()) {
        (_, Some(missing)) => Err(missing),
        (true, None) => Ok(()),
        (false, None) => Err(NotReady::Waiting("not registered with the NRF yet")),
    };
    [function.ready(), registered].into_iter().filter_map(Result::err).collect()
}
