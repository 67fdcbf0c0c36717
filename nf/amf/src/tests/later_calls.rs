//! Calls that follow the answer to the UE, run beside others, or are saved, and their failure.
use super::core::{Core, ue};
use super::script::Script;
use crate::ue::Event;
use martlet_nf::{NetworkFunction, NfContext, StartError};
use martlet_pcf::Pcf;
use martlet_ran::{IdleBehaviour, RegistrationType, UeError};
use martlet_sbi::{Problem, Route};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nnssf_ns_selection::{
    AuthorizedNetworkSliceInfo, NNSSF_NSSELECTION, NsSelectionQuery, NssfNsSelection,
};
use martlet_sbi_api::nudm_uecm::DeregistrationReason;
use martlet_udm::Udm;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

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

const GET: &str = "GetDataSets";
const REGISTER: &str = "3GppRegistration";
const CREATE_POLICY: &str = "CreateIndividualAMPolicyAssociation";
const DELETE_POLICY: &str = "DeleteIndividualAMPolicyAssociation";
const RELEASE: &str = "ReleaseSmContext";
const UNSUBSCRIBE: &str = "Unsubscribe";
const PURGE: &str = "Update3GppRegistration";

/// A core whose UDM, PCF and SMF follow a script.
async fn scripted(change: impl FnOnce(&mut crate::AmfConfig)) -> (Core, Arc<Script>) {
    let (core, script) = (Core::start_with(change).await, Script::new());
    core.start_scripted::<Udm>(12, &script).await;
    core.start_scripted::<Pcf>(14, &script).await;
    core.replace(16, script.routes(core.smf.routes()));
    (core, script)
}

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

#[tokio::test]
async fn the_subscription_is_read_during_security_mode_control() {
    let (core, script) = scripted(|_| {}).await;
    let gnb = core.gnb().await;
    gnb.new_ue(ue(1)).unwrap().register().await.unwrap();
    assert_eq!(script.arrived(&[GET, REGISTER]), [GET, REGISTER]);
}

#[tokio::test]
async fn a_ue_that_rejects_the_security_mode_is_not_registered_at_the_udm() {
    use crate::config::IntegrityName::NIA0;
    let (core, script) = scripted(|config| config.security.integrity = vec![NIA0]).await;
    script.hold(GET);
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    // The UE rejects NIA0.
    ue_1.register_as(RegistrationType::EmergencyRegistration).await.unwrap_err();
    core.wait_for((0, 0, 0)).await;
    script.release();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(script.arrived(&[GET, REGISTER, CREATE_POLICY]), [GET]);
    assert_eq!(script.answers(GET), [0_u16; 0], "the request was cancelled");
}

#[tokio::test]
async fn a_ue_is_rejected_if_its_subscription_is_not_read() {
    let (core, script) = scripted(|_| {}).await;
    let gnb = core.gnb().await;
    let failures = [(403, "ROAMING_NOT_ALLOWED", 11), (404, "USER_NOT_FOUND", 3), (503, "-", 22)];
    for (n, (status, problem, cause)) in (1..).zip(failures) {
        script.fail(GET, status, problem);
        let rejected = gnb.new_ue(ue(n)).unwrap().register().await.unwrap_err();
        assert_eq!(rejected.cause(), Some(cause), "{rejected}");
        script.succeed();
    }
    assert_eq!(script.answers(REGISTER).len(), 3, "the UDM registers the AMF as before");
    assert_eq!(script.arrived(&[CREATE_POLICY]), [""; 0]);
    gnb.new_ue(ue(4)).unwrap().register().await.unwrap();
}

/// Runs a registration until these requests have arrived, of which one is held. Returns its result.
async fn register_beside(core: &Core, script: &Script, held: &'static str) -> Result<(), UeError> {
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    script.hold(held);
    let registering = tokio::spawn(async move { ue_1.register().await.map(|_| ue_1) });
    script.wait_for(REGISTER).await;
    script.wait_for(CREATE_POLICY).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!registering.is_finished(), "the UE waits for {held}");
    script.release();
    let ue_1 = registering.await.unwrap()?;
    core.wait_for((1, 1, 1)).await;
    ue_1.deregister().await
}

#[tokio::test]
async fn the_pcf_is_asked_while_the_udm_registers_the_amf() {
    for held in [REGISTER, CREATE_POLICY] {
        let (core, script) = scripted(|_| {}).await;
        register_beside(&core, &script, held).await.unwrap();
        assert_eq!(script.answers(DELETE_POLICY), [204]);
    }
}

#[tokio::test]
async fn a_registration_that_the_udm_rejects_leaves_no_policy_association() {
    let (core, script) = scripted(|_| {}).await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    script.fail(REGISTER, 403, "ROAMING_NOT_ALLOWED");
    script.hold(REGISTER);
    let registering = tokio::spawn(async move { ue_1.register().await });
    script.wait_for(CREATE_POLICY).await;
    script.release();
    // The association is deleted before the UE is rejected, not with its context.
    script.hold(DELETE_POLICY);
    script.wait_for(DELETE_POLICY).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!registering.is_finished(), "the UE is rejected early");
    script.release();
    let rejected = registering.await.unwrap().unwrap_err();
    assert_eq!(rejected.cause(), Some(11), "{rejected}");
    assert_eq!(script.answers(DELETE_POLICY), [204]);
    assert_eq!(script.arrived(&[SUBSCRIBE.1]), [""; 0]);
    assert_eq!(core.counts().1, 0, "the UE is not registered");
}

#[tokio::test]
async fn a_registration_succeeds_without_a_policy_association() {
    let (core, script) = scripted(|_| {}).await;
    script.fail(CREATE_POLICY, 503, "NF_CONGESTION");
    register_beside(&core, &script, REGISTER).await.unwrap();
    assert_eq!(script.arrived(&[DELETE_POLICY]), [""; 0]);
}

#[tokio::test]
async fn a_change_of_the_subscription_does_not_register_the_amf_again() {
    let (core, script) = scripted(|config| config.timers.t3513_ms = 60_000).await;
    let gnb = core.gnb().await;
    let mut config = ue(1);
    config.idle = IdleBehaviour::Manual;
    let ue_1 = core.with_session(&gnb, config).await;
    let supi = "imsi-001010000000001";
    let handle = core.amf.find(supi).unwrap();
    handle.send(Event::SubscriptionChanged).unwrap();
    let is_read = async {
        while script.answers(GET).len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), is_read).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(script.arrived(&[GET, REGISTER]), [GET, REGISTER, GET]);

    // A change waits for the end of a paging. The UE has registered at another AMF, which ends the
    // paging: what waits does not take the UE back.
    ue_1.release_to_idle().await.unwrap();
    core.wait_for((1, 1, 0)).await;
    core.smf.downlink_data(supi, 1).await.unwrap();
    ue_1.wait_for_paging().await.unwrap();
    handle.send(Event::SubscriptionChanged).unwrap();
    handle.send(Event::Deregister(DeregistrationReason::UeInitialRegistration, None)).unwrap();
    core.wait_for((0, 0, 0)).await;
    assert_eq!(script.arrived(&[GET, REGISTER]), [GET, REGISTER, GET]);
}

#[tokio::test]
async fn the_end_of_a_former_context_does_not_purge_a_ue_that_is_back() {
    let (core, script) = scripted(|config| config.timers.deregistered_s = 0).await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    // Its context ends, and waits for the UDM.
    script.hold(UNSUBSCRIBE);
    ue_1.deregister().await.unwrap();
    script.wait_for(UNSUBSCRIBE).await;
    ue_1.register().await.unwrap();
    script.release();
    core.wait_for((1, 1, 1)).await;
    assert_eq!(script.arrived(&[REGISTER, PURGE]), [REGISTER, REGISTER]);
    // The last context does.
    ue_1.deregister().await.unwrap();
    core.wait_for((0, 0, 0)).await;
    assert_eq!(script.arrived(&[PURGE]), [PURGE]);
}

#[tokio::test]
async fn smf_and_pcf_release_a_ue_concurrently() {
    for held in [RELEASE, DELETE_POLICY] {
        let (core, script) = scripted(|_| {}).await;
        let gnb = core.gnb().await;
        let ue_1 = core.with_session(&gnb, ue(1)).await;
        script.hold(held);
        let leaving = tokio::spawn(async move { ue_1.deregister().await });
        script.wait_for(RELEASE).await;
        script.wait_for(DELETE_POLICY).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!leaving.is_finished(), "the UE waits for {held}");
        script.release();
        leaving.await.unwrap().unwrap();
        core.wait_for((1, 0, 0)).await;
        assert_eq!(core.smf.sessions(), 0);
    }
}

#[tokio::test]
async fn a_ue_deregisters_although_smf_and_pcf_fail() {
    for failing in [RELEASE, DELETE_POLICY] {
        let (core, script) = scripted(|_| {}).await;
        let gnb = core.gnb().await;
        let ue_1 = core.with_session(&gnb, ue(1)).await;
        script.fail(failing, 503, "NF_CONGESTION");
        ue_1.deregister().await.unwrap();
        script.wait_for(RELEASE).await;
        script.wait_for(DELETE_POLICY).await;
        core.wait_for((1, 0, 0)).await;
    }
}
