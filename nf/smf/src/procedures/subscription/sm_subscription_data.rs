//! Session management subscription data (TS 23.502, 4.3.2.2.1, step 4; TS 29.503, 5.2.2):
//! retrieval, and the subscription to changes.
use crate::session::Session;
use crate::shared::Smf;
use martlet_nf::Criteria;
use martlet_sbi::{Problem, path_segment};
use martlet_sbi_api::Json;
use martlet_sbi_api::common::{Dnn, PlmnId, Snssai, Supi};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nudm_sdm::{
    DnnConfiguration, SdmSubscription, SessionManagementSubscriptionData, SmDataQuery,
    UdmSubscriberDataManagementClient,
};

/// The wildcard DNN.
const WILDCARD: &str = "*";

async fn udm(smf: &Smf, supi: &Supi) -> Result<UdmSubscriberDataManagementClient, Problem> {
    let peer = smf.context.discover(NfType::Udm, "nudm-sdm", &Criteria::default()).await?;
    Ok(UdmSubscriberDataManagementClient::new(peer.about(supi)))
}

/// Nudm_SDM_Get: the subscription for a data network in a slice; 404 if there is none.
pub async fn get(
    smf: &Smf,
    supi: &Supi,
    serving_network: &PlmnId,
    slice: Snssai,
    dnn: &Dnn,
) -> Result<DnnConfiguration, Problem> {
    let query = SmDataQuery {
        single_nssai: Some(Json(slice)),
        dnn: Some(dnn.clone()),
        plmn_id: Some(Json(serving_network.clone())),
        ..Default::default()
    };
    let data = udm(smf, supi).await?.get_sm_data(supi, query).await?;
    let found = configuration(data.individual(), slice, dnn).cloned();
    found.ok_or_else(|| Problem::new(404, "DATA_NOT_FOUND"))
}

/// The configuration of a data network in a slice: its own, else that of the wildcard DNN (TS
/// 29.503, 6.1.6.2.8, `dnnConfigurations`).
fn configuration<'a>(
    data: &'a [SessionManagementSubscriptionData],
    slice: Snssai,
    dnn: &str,
) -> Option<&'a DnnConfiguration> {
    let all = || {
        let of_slice = data.iter().filter(move |data| data.single_nssai == slice);
        of_slice.filter_map(|data| data.dnn_configurations.as_ref()).flatten()
    };
    let of = |wanted: &str| {
        all().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, found)| found)
    };
    of(dnn).or_else(|| of(WILDCARD))
}

/// Nudm_SDM_Subscribe: subscribes to changes of the UE's data.
pub async fn subscribe(session: &mut Session) {
    let created: Result<_, Problem> = async {
        let root = session.smf.context.api_root();
        let supi = path_segment(&session.supi);
        let callback = format!("{root}/nsmf-callback/v1/sdm-change/{supi}");
        let monitored = vec![format!("nudm-sdm/v2/{supi}/sm-data")];
        let mut subscription =
            SdmSubscription::new(session.smf.instance_id.clone(), callback, monitored);
        subscription.implicit_unsubscribe = Some(true);
        subscription.plmn_id = Some(session.plmn.clone());
        udm(&session.smf, &session.supi).await?.subscribe(&session.supi, subscription).await
    }
    .await;
    match created {
        Ok(created) => session.udm.sdm_subscription = created.body.subscription_id,
        Err(problem) => tracing::info!(
            supi = %session.supi, session = session.id, %problem,
            "subscription to changes of subscriber data failed"
        ),
    }
}

/// Nudm_SDM_Unsubscribe, for the UE's last session: all its sessions share one subscription.
pub async fn unsubscribe(session: &Session) {
    let Some(id) = &session.udm.sdm_subscription else { return };
    let ended: Result<(), Problem> =
        async { udm(&session.smf, &session.supi).await?.unsubscribe(&session.supi, id).await }
            .await;
    if let Err(problem) = ended {
        tracing::debug!(
            supi = %session.supi, %problem,
            "end of subscription to changes of subscriber data failed"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::common::PduSessionType;

    #[test]
    fn a_data_network_without_a_configuration_has_that_of_the_wildcard() {
        let data: Vec<SessionManagementSubscriptionData> = serde_json::from_str(
            r#"[{"singleNssai": {"sst": 1}, "dnnConfigurations": {
                  "*": {"pduSessionTypes": {"defaultSessionType": "IPV6"},
                        "sscModes": {"defaultSscMode": "SSC_MODE_1"}},
                  "Internet": {"pduSessionTypes": {"defaultSessionType": "IPV4"},
                               "sscModes": {"defaultSscMode": "SSC_MODE_1"}}}},
                {"singleNssai": {"sst": 2}, "dnnConfigurations": {
                  "ims": {"pduSessionTypes": {"defaultSessionType": "IPV4V6"},
                          "sscModes": {"defaultSscMode": "SSC_MODE_1"}}}}]"#,
        )
        .unwrap();
        let [one, two] = [data[0].single_nssai, data[1].single_nssai];
        let kind = |slice, dnn| {
            configuration(&data, slice, dnn)?.pdu_session_types.default_session_type.clone()
        };
        assert_eq!(kind(one, "internet"), Some(PduSessionType::Ipv4));
        assert_eq!(kind(one, "ims"), Some(PduSessionType::Ipv6));
        assert_eq!(kind(two, "IMS"), Some(PduSessionType::Ipv4v6));
        assert_eq!(kind(two, "internet"), None);
    }
}
