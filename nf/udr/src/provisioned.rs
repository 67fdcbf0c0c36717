//! Provisioned subscription data in the types of TS 29.503 and TS 29.519, from the store's
//! subscriber.
use martlet_sbi::Problem;
use martlet_sbi_api::common::{
    Ambr, Area, Arp, BitRate, Dnn, Gpsi, PduSessionType, PreemptionCapability,
    PreemptionVulnerability, RestrictionType, SecretText, ServiceAreaRestriction, Snssai, SscMode,
    SubscribedDefaultQos, Supi, Tac, UpConfidentiality, UpIntegrity, UpSecurity,
};
use martlet_sbi_api::nudm_sdm::{
    AccessAndMobilitySubscriptionData, DnnConfiguration, DnnInfo, FrameRouteInfo, IpAddress, Nssai,
    PduSessionTypes, SessionManagementSubscriptionData, SmSubsData, SmfSelectionSubscriptionData,
    SnssaiInfo, SscModes,
};
use martlet_sbi_api::nudr_dr::{
    AuthMethod, AuthenticationSubscription, IdentityData, SequenceNumber, SmDataQuery,
    SmPolicyData, SmPolicyDataQuery, SmPolicyDnnData, SmPolicySnssaiData, SqnScheme,
};
use martlet_store::{
    AuthenticationMethod, ServiceArea, SessionType, SubscribedDnn, SubscribedSlice, Subscriber,
    UpProtection, UpSecurityPolicy,
};
use std::collections::BTreeMap;

/// Parses a text from the store. The store validates its subscribers, so a failure is a bug.
fn checked<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, Problem> {
    text.parse().map_err(|_| {
        Problem::system_failure(format!("the subscriber database holds the {what} {text:?}"))
    })
}

fn ambr(uplink: &str, downlink: &str) -> Result<Ambr, Problem> {
    let rate = |text| checked::<BitRate>(text, "bit rate");
    Ok(Ambr { uplink: rate(uplink)?, downlink: rate(downlink)? })
}

fn snssai(slice: &SubscribedSlice) -> Snssai {
    Snssai::new(slice.sst, slice.sd)
}

fn session_type(kind: SessionType) -> PduSessionType {
    match kind {
        SessionType::Ipv4 => PduSessionType::Ipv4,
        SessionType::Ipv6 => PduSessionType::Ipv6,
        SessionType::Ipv4v6 => PduSessionType::Ipv4v6,
        SessionType::Ethernet => PduSessionType::Ethernet,
        SessionType::Unstructured => PduSessionType::Unstructured,
    }
}

/// TS 29.505, 5.4.2.2.
pub fn authentication_subscription(
    subscriber: &Subscriber,
) -> Result<AuthenticationSubscription, Problem> {
    let mut data = AuthenticationSubscription::new(match subscriber.authentication_method {
        AuthenticationMethod::FiveGAka => AuthMethod::FiveGAka,
        AuthenticationMethod::EapAkaPrime => AuthMethod::EapAkaPrime,
    });
    data.enc_permanent_key = Some(SecretText(subscriber.key.to_hex()));
    match &subscriber.tuak {
        None => {
            data.enc_opc_key = Some(SecretText(subscriber.opc.to_hex()));
            data.algorithm_id = Some("milenage".into());
        }
        Some(tuak) => {
            if let Some(long) = &tuak.key {
                data.enc_permanent_key = Some(SecretText(long.to_hex()));
            }
            data.enc_topc_key = Some(SecretText(tuak.topc.to_hex()));
            data.algorithm_id = Some(format!("tuak-{}-{}", tuak.iterations, tuak.res_bits));
        }
    }
    let [a, b] = subscriber.amf;
    data.authentication_management_field = Some(format!("{a:02x}{b:02x}"));
    data.sequence_number = Some(SequenceNumber {
        sqn_scheme: Some(SqnScheme::NonTimeBased),
        sqn: Some(format!("{:012x}", subscriber.sqn)),
        ..Default::default()
    });
    data.supi = Some(checked::<Supi>(&subscriber.supi, "SUPI")?);
    Ok(data)
}

/// TS 29.571, 5.4.4.7.
fn service_area(area: &ServiceArea) -> ServiceAreaRestriction {
    let (kind, tacs) = match area {
        ServiceArea::Allowed(tacs) => (RestrictionType::AllowedAreas, tacs),
        ServiceArea::NotAllowed(tacs) => (RestrictionType::NotAllowedAreas, tacs),
    };
    let tacs = tacs.iter().map(|tac| Tac::from_u32(*tac)).collect();
    ServiceAreaRestriction {
        restriction_type: Some(kind),
        areas: Some(vec![Area { tacs: Some(tacs), area_code: None }]),
        ..Default::default()
    }
}

/// TS 29.503, 6.1.6.2.4.
pub fn am_data(subscriber: &Subscriber) -> Result<AccessAndMobilitySubscriptionData, Problem> {
    let of =
        |default: bool| subscriber.slices.iter().filter(move |s| s.default == default).map(snssai);
    let others: Vec<Snssai> = of(false).collect();
    let nssai = Nssai {
        default_single_nssais: of(true).collect(),
        single_nssais: (!others.is_empty()).then_some(others),
        ..Default::default()
    };
    Ok(AccessAndMobilitySubscriptionData {
        gpsis: identity_data(subscriber)?.gpsi_list,
        subscribed_ue_ambr: Some(ambr(&subscriber.ambr_uplink, &subscriber.ambr_downlink)?),
        nssai: Some(nssai),
        service_area_restriction: subscriber.service_area.as_ref().map(service_area),
        ..Default::default()
    })
}

/// TS 29.503, 6.1.6.2.10.
pub fn smf_selection_data(
    subscriber: &Subscriber,
) -> Result<SmfSelectionSubscriptionData, Problem> {
    let info = |dnn: &SubscribedDnn| {
        let mut info = DnnInfo::new(checked::<Dnn>(&dnn.name, "data network")?);
        info.default_dnn_indicator = dnn.default.then_some(true);
        Ok::<_, Problem>(info)
    };
    let mut infos = BTreeMap::new();
    for slice in &subscriber.slices {
        let dnn_infos = slice.dnns.iter().map(info).collect::<Result<_, _>>()?;
        infos.insert(snssai(slice).to_string(), SnssaiInfo { dnn_infos });
    }
    Ok(SmfSelectionSubscriptionData { subscribed_snssai_infos: Some(infos), ..Default::default() })
}

/// TS 29.503, 6.1.6.2.8. None if nothing matches the request.
pub fn sm_data(
    subscriber: &Subscriber,
    query: &SmDataQuery,
) -> Result<Option<SmSubsData>, Problem> {
    let mut data = Vec::new();
    for slice in &subscriber.slices {
        if query.single_nssai.as_ref().is_some_and(|asked| asked.0 != snssai(slice)) {
            continue;
        }
        let mut configurations = BTreeMap::new();
        for dnn in &slice.dnns {
            if query.dnn.as_ref().is_none_or(|asked| asked.eq_ignore_ascii_case(&dnn.name)) {
                configurations.insert(dnn.name.clone(), configuration(dnn)?);
            }
        }
        if !configurations.is_empty() {
            let mut item = SessionManagementSubscriptionData::new(snssai(slice));
            item.dnn_configurations = Some(configurations);
            data.push(item);
        }
    }
    Ok((!data.is_empty()).then_some(SmSubsData::Individual(data)))
}

fn configuration(dnn: &SubscribedDnn) -> Result<DnnConfiguration, Problem> {
    // Redundantly includes the default (TS 29.503, 6.1.6.2.11), for SMFs that read only this list.
    let types: Vec<_> = dnn.session_types.iter().copied().map(session_type).collect();
    let default_session_type = types.first().cloned();
    let types = PduSessionTypes {
        default_session_type,
        allowed_session_types: (!types.is_empty()).then_some(types),
    };
    let mut modes = dnn.ssc_modes.iter().map(|mode| match mode {
        2 => SscMode::SscMode2,
        3 => SscMode::SscMode3,
        _ => SscMode::SscMode1,
    });
    let mut ssc_modes = SscModes::new(modes.next().unwrap_or(SscMode::SscMode1));
    let others: Vec<_> = modes.collect();
    ssc_modes.allowed_ssc_modes = (!others.is_empty()).then_some(others);
    let mut configuration = DnnConfiguration::new(types, ssc_modes);
    let (ipv6, ipv4): (Vec<&String>, Vec<&String>) =
        dnn.framed_routes.iter().partition(|route| route.contains(':'));
    let of_ipv4 = |r: &String| FrameRouteInfo { ipv4_mask: Some(r.clone()), ..Default::default() };
    let of_ipv6 =
        |r: &String| FrameRouteInfo { ipv6_prefix: Some(r.clone()), ..Default::default() };
    configuration.ipv4_frame_route_list =
        (!ipv4.is_empty()).then(|| ipv4.into_iter().map(of_ipv4).collect());
    configuration.ipv6_frame_route_list =
        (!ipv6.is_empty()).then(|| ipv6.into_iter().map(of_ipv6).collect());
    let arp = Arp {
        priority_level: dnn.arp_priority,
        preempt_cap: PreemptionCapability::NotPreempt,
        preempt_vuln: PreemptionVulnerability::NotPreemptable,
    };
    configuration.five_g_qos_profile = Some(SubscribedDefaultQos::new(dnn.five_qi, arp));
    configuration.session_ambr = Some(ambr(&dnn.ambr_uplink, &dnn.ambr_downlink)?);
    let fixed =
        IpAddress { ipv4_addr: dnn.static_ipv4, ipv6_addr: dnn.static_ipv6, ..Default::default() };
    let some = fixed.ipv4_addr.is_some() || fixed.ipv6_addr.is_some();
    configuration.static_ip_address = some.then(|| vec![fixed]);
    configuration.up_security = dnn.up_security.map(up_security);
    Ok(configuration)
}

fn up_security(policy: UpSecurityPolicy) -> UpSecurity {
    UpSecurity {
        up_integr: match policy.integrity {
            UpProtection::Required => UpIntegrity::Required,
            UpProtection::Preferred => UpIntegrity::Preferred,
            UpProtection::NotNeeded => UpIntegrity::NotNeeded,
        },
        up_confid: match policy.ciphering {
            UpProtection::Required => UpConfidentiality::Required,
            UpProtection::Preferred => UpConfidentiality::Preferred,
            UpProtection::NotNeeded => UpConfidentiality::NotNeeded,
        },
    }
}

/// TS 29.505, 5.4.2.9.
pub fn identity_data(subscriber: &Subscriber) -> Result<IdentityData, Problem> {
    let gpsi = subscriber
        .msisdn
        .as_ref()
        .map(|number| checked::<Gpsi>(&format!("msisdn-{number}"), "GPSI"))
        .transpose()?;
    Ok(IdentityData {
        supi_list: Some(vec![checked::<Supi>(&subscriber.supi, "SUPI")?]),
        gpsi_list: gpsi.map(|gpsi| vec![gpsi]),
    })
}

/// TS 29.519, 5.4.2.5.
pub fn sm_policy_data(
    subscriber: &Subscriber,
    query: &SmPolicyDataQuery,
) -> Result<SmPolicyData, Problem> {
    let mut data = SmPolicyData::default();
    for slice in &subscriber.slices {
        if query.snssai.as_ref().is_some_and(|asked| asked.0 != snssai(slice)) {
            continue;
        }
        let mut of_slice = SmPolicySnssaiData::new(snssai(slice));
        let asked = slice
            .dnns
            .iter()
            .filter(|d| query.dnn.as_ref().is_none_or(|q| q.eq_ignore_ascii_case(&d.name)));
        let one = |dnn: &SubscribedDnn| {
            Ok((dnn.name.clone(), SmPolicyDnnData::new(checked::<Dnn>(&dnn.name, "data network")?)))
        };
        of_slice.sm_policy_dnn_data = Some(asked.map(one).collect::<Result<_, Problem>>()?);
        data.sm_policy_snssai_data.insert(snssai(slice).to_string(), of_slice);
    }
    Ok(data)
}
