//! Calls of a registration that follow REGISTRATION ACCEPT, or are saved, and their failure.
use super::core::{Core, ue};
use martlet_nf::{NetworkFunction, NfContext, StartError};
use martlet_sbi::{Problem, Route};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nnssf_ns_selection::{
    AuthorizedNetworkSliceInfo, NNSSF_NSSELECTION, NsSelectionQuery, NssfNsSelection,
};
use martlet_udm::Udm;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An NSSF that allows nothing, and counts.
#[derive(Default)]
struct RejectingNssf(AtomicUsize);

impl NssfNsSelection for RejectingNssf {
    async fn ns_selection_get(
        &self,
        _: NsSelectionQuery,
    ) -> Result<AuthorizedNetworkSliceInfo, Problem> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(Problem::new(403, "SNSSAI_NOT_SUPPORTED"))
    }
}

/// A UDM without Nudm_SDM_Subscribe.
struct WithoutSubscribe(Arc<Udm>);

impl NetworkFunction for WithoutSubscribe {
    const TYPE: NfType = NfType::Udm;
    type Config = martlet_udm::UdmConfig;

    async fn create(
        config: martlet_udm::UdmConfig,
        context: Arc<NfContext>,
    ) -> Result<Arc<Self>, StartError> {
        Ok(Arc::new(WithoutSubscribe(Udm::create(config, context).await?)))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let mut routes = self.0.routes();
        routes.retain(|route| (route.operation.api, route.operation.name) != SUBSCRIBE);
        routes
    }
}

const SUBSCRIBE: (&str, &str) = ("nudm-sdm", "Subscribe");

#[tokio::test]
async fn an_answer_of_the_nssf_holds_for_the_next_ue() {
    for (lifetime, asked) in [(60, 0), (0, 1)] {
        let core = Core::start_with(|config| config.timers.nssf_answer_s = lifetime).await;
        let gnb = core.gnb().await;
        gnb.new_ue(ue(1)).unwrap().register().await.unwrap();
        let nssf = Arc::new(RejectingNssf::default());
        core.replace(15, NNSSF_NSSELECTION.routes(nssf.clone()));
        let registered = gnb.new_ue(ue(2)).unwrap().register().await;
        assert_eq!(registered.is_ok(), asked == 0, "nssf_answer_s: {lifetime}");
        assert_eq!(nssf.0.load(Ordering::Relaxed), asked, "nssf_answer_s: {lifetime}");
    }
}

#[tokio::test]
async fn a_rejection_of_the_nssf_holds_for_no_other_ue() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let nssf = Arc::new(RejectingNssf::default());
    core.replace(15, NNSSF_NSSELECTION.routes(nssf.clone()));
    for n in 1..=2 {
        gnb.new_ue(ue(n)).unwrap().register().await.unwrap_err();
    }
    assert_eq!(nssf.0.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_registration_succeeds_without_a_subscription_to_changes() {
    let core = Core::start().await;
    core.start_at::<WithoutSubscribe>(12).await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    core.wait_for((1, 1, 1)).await;
    ue_1.deregister().await.unwrap();
    core.wait_for((1, 0, 0)).await;
}
