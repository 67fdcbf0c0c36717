//! Registration of the SMF that serves a session at the UDM (TS 23.502, 4.3.2.2.1, step 16c, and
//! 4.3.4.2, step 12; TS 29.503, 5.3.2).
use crate::session::Session;
use martlet_nf::Criteria;
use martlet_sbi::Problem;
use martlet_sbi_api::common::DateTime;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nudm_uecm::{
    FeaturesQuery, SmfDeregistrationQuery, SmfRegistration, UdmUeContextManagementClient,
};

async fn udm(session: &Session) -> Result<UdmUeContextManagementClient, Problem> {
    let context = &session.smf.context;
    let peer = context.discover(NfType::Udm, "nudm-uecm", &Criteria::default()).await?;
    Ok(UdmUeContextManagementClient::new(peer.about(&session.supi)))
}

/// Nudm_UECM_Registration.
pub async fn register(session: &Session) -> Result<(), Problem> {
    let mut registration = SmfRegistration::new(
        session.smf.instance_id.clone(),
        session.id,
        session.slice,
        session.plmn.clone(),
    );
    registration.dnn = Some(session.dnn.clone());
    registration.registration_time = Some(DateTime::now());
    registration.smf_set_id = session.smf.set_id();
    let root = session.smf.context.api_root();
    registration.dereg_callback_uri =
        Some(format!("{root}/nsmf-callback/v1/deregistration/{}", session.reference));
    let id = session.id.to_string();
    udm(session).await?.registration(&session.supi, &id, registration).await.map(|_| ())
}

/// Registers a restored session. Returns whether it succeeded; a failure is logged.
pub async fn register_again(session: &Session) -> bool {
    let registered = register(session).await;
    if let Err(problem) = &registered {
        tracing::info!(
            supi = %session.supi, session = session.id, %problem,
            "registration of restored session at UDM failed"
        );
    }
    registered.is_ok()
}

/// Nudm_UECM_Deregistration.
pub async fn deregister(session: &Session) -> Result<(), Problem> {
    let query = SmfDeregistrationQuery {
        smf_instance_id: Some(session.smf.instance_id.clone()),
        smf_set_id: session.smf.set_id(),
    };
    let id = session.id.to_string();
    udm(session).await?.smf_deregistration(&session.supi, &id, query).await
}

/// Nudm_UECM_Get: succeeds if an AMF serves the UE, and fails with 404 if none does.
pub async fn check_amf_registration(session: &Session) -> Result<(), Problem> {
    let query = FeaturesQuery::default();
    udm(session).await?.get_3gpp_registration(&session.supi, query).await.map(|_| ())
}

/// Whether another SMF has registered at the UDM for a session with this identity.
pub async fn is_at_other_smf(session: &Session) -> bool {
    let id = session.id.to_string();
    let registered =
        async { udm(session).await?.retrieve_smf_registration(&session.supi, &id).await };
    registered.await.is_ok_and(|registered| registered.smf_instance_id != session.smf.instance_id)
}
