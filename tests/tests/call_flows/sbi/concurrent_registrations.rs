//! Requests about one registration that reach the UDM at the same time (TS 29.503, 5.3.2).
use crate::security::scas::problem;
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_sbi::{ApiRoot, CallPolicy, Peer};
use martlet_sbi_api::nudm_uecm::{
    SmfDeregistrationQuery, SmfRegistration, UdmUeContextManagementClient,
};
use martlet_sbi_http::{ClientLimits, HttpBinding};
use martlet_tests::{TestCore, eventually, in_namespace};
use std::sync::Arc;
use std::time::Duration;

const SUPI: &str = "imsi-001010000000001";
const SESSION: &str = "5";
const DELETE: &str = "nudr-dr DeleteSmfRegistration";

/// The registration of an SMF.
fn registration(smf: &str) -> Result<SmfRegistration> {
    Ok(serde_json::from_value(serde_json::json!({
        "smfInstanceId": smf,
        "pduSessionId": 5,
        "singleNssai": {"sst": 1},
        "plmnId": {"mcc": "001", "mnc": "01"},
    }))?)
}

/// The deregistration of an SMF does not remove the registration of the next one.
#[test]
fn registration_of_another_smf_survives_a_deregistration() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
        let root = ApiRoot::http(core.config().sbi.udm.to_string());
        let peer = Peer::new(binding, root, "SMF", CallPolicy::default());
        let udm = UdmUeContextManagementClient::new(peer);
        let first = registration("6d1c6d3a-7a55-4b14-8c3a-000000000001")?;
        let second = registration("6d1c6d3a-7a55-4b14-8c3a-000000000002")?;
        udm.registration(SUPI, SESSION, first.clone()).await.map_err(problem)?;
        core.sbi_gate.close(DELETE, 0);
        let query = SmfDeregistrationQuery {
            smf_instance_id: Some(first.smf_instance_id),
            ..Default::default()
        };
        let deregistering = udm.smf_deregistration(SUPI, SESSION, query);
        let registering = async {
            // The UDM has read that the first SMF is registered.
            let held = || (core.sbi_gate.held(DELETE) == 1).then_some(());
            eventually("the registration is being deleted", held, String::new).await?;
            let mut request = Box::pin(udm.registration(SUPI, SESSION, second.clone()));
            let early = tokio::time::timeout(Duration::from_millis(200), &mut request).await;
            core.sbi_gate.open();
            let answer = match early {
                Ok(answer) => answer,
                Err(_) => request.await,
            };
            answer.map(drop).map_err(problem)
        };
        let (deregistered, registered) = tokio::join!(deregistering, registering);
        deregistered.map_err(problem)?;
        registered?;
        let now = udm.retrieve_smf_registration(SUPI, SESSION).await.map_err(problem)?;
        ensure!(now.smf_instance_id == second.smf_instance_id, "{now:?}");
        Ok(())
    });
}
