//! The messages of the core and its UEs, as the network functions build them.

use martlet_nas::*;

fn guti() -> Guti {
    identifiers::AmfId::new(0xca, 0x3fe, 1)
        .and_then(|amf| amf.guti(plmn(), 0xdead_beef).map_err(|_| unreachable!("a PLMN is one")))
        .expect("it fits")
}

fn plmn() -> Plmn {
    Plmn::new("208", "93").expect("a PLMN")
}

fn ngksi() -> NasKeySetIdentifier {
    NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0)).expect("it fits")
}

fn suci(text: &str) -> NasFGsMobileIdentity {
    NasFGsMobileIdentity::from_suci(&Suci::Imsi(text.parse().expect("a SUCI")))
        .expect("an identity")
}

fn slices() -> Vec<identifiers::Slice> {
    vec!["1".parse().expect("a slice"), "1-0000ff".parse().expect("a slice")]
}

fn gmm(cause: GmmCause) -> NasFGmmCause {
    NasFGmmCause::from_cause(cause)
}

fn gsm(cause: GsmCause) -> NasFGsmCause {
    NasFGsmCause::from_cause(cause)
}

fn capability() -> NasUeSecurityCapability {
    NasUeSecurityCapability::from_capabilities(0xe0, 0xe0)
}

fn registration_request() -> NasRegistrationRequest {
    NasRegistrationRequest::new(
        NasFGsRegistrationType::from_registration_type(RegistrationType::InitialRegistration),
        ngksi(),
        suci("suci-0-208-93-0-0-0-0000000001"),
    )
    .with_ue_security_capability(capability())
}

fn service_request() -> NasServiceRequest {
    NasServiceRequest::new(
        ngksi(),
        NasServiceType::from_service_type(ServiceType::Data),
        NasFGsMobileIdentity::from_s_tmsi(guti().s_tmsi()),
    )
}

/// 5GMM messages.
fn mobility() -> Vec<(&'static str, Nas5gsMessage)> {
    let result = NasFGsRegistrationResult::from_result(RegistrationResult::ThreeGppAccess);
    let tai_list =
        || NasFGsTrackingAreaIdentityList::from_plmn_tacs(&plmn(), &[1, 2]).expect("a list");
    let nssai = || identifiers::nssai(&slices()).expect("an NSSAI");
    let status = || NasPduSessionStatus::from_sessions(&[5, 12]).expect("sessions");
    let uplink = || NasUplinkDataStatus::from_sessions(&[5]).expect("sessions");
    let algorithms =
        NasSecurityAlgorithms::from_algorithms(CipheringAlgorithm::NEA2, IntegrityAlgorithm::NIA2);
    let session = Nas5gsMessage::new_5gsm(
        NasPduSessionEstablishmentRequest::new(NasIntegrityProtectionMaximumDataRate::new(0xffff)),
        5,
        1,
    );
    let kind = NasPayloadContainerType::from_kind(PayloadContainerKind::N1SmInformation);
    let container = || NasPayloadContainer::from_n1_sm_message(&session).expect("a container");
    let profile_a = "suci-0-208-93-0-1-27-\
                     b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457d\
                     cb02352410cddd9e730ef3fa87";
    let complete = Nas5gsMessage::new_5gmm(registration_request());
    vec![
        ("registration request", Nas5gsMessage::new_5gmm(registration_request())),
        (
            "registration request, SUCI of profile A, with slices",
            Nas5gsMessage::new_5gmm(
                NasRegistrationRequest::new(
                    NasFGsRegistrationType::from_registration_type(
                        RegistrationType::InitialRegistration,
                    ),
                    ngksi(),
                    suci(profile_a),
                )
                .with_ue_security_capability(capability())
                .with_requested_nssai(nssai()),
            ),
        ),
        (
            "registration request, mobility, 5G-GUTI",
            Nas5gsMessage::new_5gmm(
                NasRegistrationRequest::new(
                    NasFGsRegistrationType::from_registration_type(
                        RegistrationType::MobilityRegistrationUpdating,
                    ),
                    ngksi(),
                    NasFGsMobileIdentity::from_guti(guti()),
                )
                .with_ue_security_capability(capability())
                .with_uplink_data_status(uplink())
                .with_pdu_session_status(status()),
            ),
        ),
        (
            "registration accept",
            Nas5gsMessage::new_5gmm(
                NasRegistrationAccept::new(result)
                    .with_fg_guti(NasFGsMobileIdentity::from_guti(guti()))
                    .with_tai_list(tai_list())
                    .with_allowed_nssai(nssai())
                    .with_pdu_session_status(status())
                    .with_t3512_value(timers::t3512(3240)),
            ),
        ),
        ("registration complete", Nas5gsMessage::new_5gmm(NasRegistrationComplete::new())),
        (
            "registration reject",
            Nas5gsMessage::new_5gmm(NasRegistrationReject::new(gmm(GmmCause::Congestion))),
        ),
        ("identity request", {
            let kind =
                NasFGsIdentityType::from_identity_type(MobileIdentityType::Suci).expect("a type");
            Nas5gsMessage::new_5gmm(NasIdentityRequest::new(kind))
        }),
        (
            "identity response",
            Nas5gsMessage::new_5gmm(NasIdentityResponse::new(suci(
                "suci-0-208-93-0-0-0-0000000001",
            ))),
        ),
        (
            "authentication request",
            Nas5gsMessage::new_5gmm(
                NasAuthenticationRequest::new(ngksi(), NasAbba::new(vec![0, 0]))
                    .with_authentication_parameter_rand(NasAuthenticationParameterRand::from_rand(
                        [0x23; 16],
                    ))
                    .with_authentication_parameter_autn(NasAuthenticationParameterAutn::from_autn(
                        [0x55; 16],
                    )),
            ),
        ),
        (
            "authentication response",
            Nas5gsMessage::new_5gmm(
                NasAuthenticationResponse::new().with_authentication_response_parameter(
                    NasAuthenticationResponseParameter::from_res_star([0x5c; 16]),
                ),
            ),
        ),
        ("authentication reject", Nas5gsMessage::new_5gmm(NasAuthenticationReject::new())),
        (
            "authentication failure, MAC",
            Nas5gsMessage::new_5gmm(NasAuthenticationFailure::new(gmm(GmmCause::MacFailure))),
        ),
        (
            "authentication failure, synchronisation",
            Nas5gsMessage::new_5gmm(
                NasAuthenticationFailure::new(gmm(GmmCause::SynchFailure))
                    .with_authentication_failure_parameter(NasAuthenticationFailureParameter::new(
                        vec![0x5e; 14],
                    )),
            ),
        ),
        (
            "security mode command",
            Nas5gsMessage::new_5gmm(NasSecurityModeCommand::new(algorithms, ngksi(), capability())),
        ),
        (
            "security mode complete",
            Nas5gsMessage::new_5gmm(
                NasSecurityModeComplete::new()
                    .with_imeisv(
                        NasFGsMobileIdentity::from_imeisv("3534900698733190").expect("an IMEISV"),
                    )
                    .with_nas_message_container(
                        NasMessageContainer::from_nas_message(&complete).expect("it encodes"),
                    ),
            ),
        ),
        (
            "security mode reject",
            Nas5gsMessage::new_5gmm(NasSecurityModeReject::new(gmm(
                GmmCause::UeSecurityCapabilitiesMismatch,
            ))),
        ),
        ("service request", Nas5gsMessage::new_5gmm(service_request())),
        (
            "service request with sessions",
            Nas5gsMessage::new_5gmm(
                service_request()
                    .with_uplink_data_status(uplink())
                    .with_pdu_session_status(status()),
            ),
        ),
        (
            "service accept",
            Nas5gsMessage::new_5gmm(NasServiceAccept::new().with_pdu_session_status(status())),
        ),
        (
            "service reject",
            Nas5gsMessage::new_5gmm(NasServiceReject::new(gmm(
                GmmCause::UeIdentityCannotBeDerivedByTheNetwork,
            ))),
        ),
        (
            "deregistration request of the UE",
            Nas5gsMessage::new_5gmm(NasDeregistrationRequestUeOriginating::new(
                NasDeRegistrationType::new(1),
                ngksi(),
                NasFGsMobileIdentity::from_guti(guti()),
            )),
        ),
        (
            "deregistration accept to the UE",
            Nas5gsMessage::new_5gmm(NasDeregistrationAcceptUeOriginating::new()),
        ),
        (
            "deregistration request of the network",
            Nas5gsMessage::new_5gmm(NasDeregistrationRequestUeTerminated::new(
                NasDeRegistrationType::new(1),
            )),
        ),
        (
            "deregistration accept of the UE",
            Nas5gsMessage::new_5gmm(NasDeregistrationAcceptUeTerminated::new()),
        ),
        (
            "configuration update command",
            Nas5gsMessage::new_5gmm(
                NasConfigurationUpdateCommand::new()
                    .with_fg_guti(NasFGsMobileIdentity::from_guti(guti()))
                    .with_tai_list(tai_list()),
            ),
        ),
        (
            "configuration update complete",
            Nas5gsMessage::new_5gmm(NasConfigurationUpdateComplete::new()),
        ),
        (
            "UL NAS transport",
            Nas5gsMessage::new_5gmm(
                NasUlNasTransport::new(kind, container())
                    .with_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(5))
                    .with_request_type(NasRequestType::from_request_type(
                        RequestTypeValue::InitialRequest,
                    ))
                    .with_s_nssai(slices()[1].to_nas())
                    .with_dnn(NasDnn::from_string("internet").expect("a DNN")),
            ),
        ),
        (
            "DL NAS transport",
            Nas5gsMessage::new_5gmm(
                NasDlNasTransport::new(kind, container())
                    .with_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(5)),
            ),
        ),
        (
            "DL NAS transport, not forwarded",
            Nas5gsMessage::new_5gmm(
                NasDlNasTransport::new(kind, container())
                    .with_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(5))
                    .with_fgmm_cause(gmm(GmmCause::PayloadWasNotForwarded)),
            ),
        ),
        ("5GMM status", reaction::status(GmmCause::MessageTypeNonExistentOrNotImplemented)),
    ]
}

/// 5GSM messages.
fn sessions() -> Vec<(&'static str, Nas5gsMessage)> {
    let of = |message: Nas5gsmMessage| Nas5gsMessage::new_5gsm(message, 5, 1);
    let requested = options::Requested {
        dns_ipv4: true,
        dns_ipv6: true,
        ipv4_mtu: true,
        pcscf_ipv4: true,
        pcscf_ipv6: true,
        ..options::Requested::default()
    };
    let given = options::Given {
        dns_ipv4: vec![[8, 8, 8, 8].into(), [1, 1, 1, 1].into()],
        dns_ipv6: vec!["2001:4860:4860::8888".parse().expect("an address")],
        ipv4_mtu: Some(1400),
        pcscf_ipv4: vec![[10, 60, 255, 1].into()],
        pcscf_ipv6: vec!["2001:db8::5060".parse().expect("an address")],
        ..options::Given::default()
    };
    vec![
        (
            "PDU session establishment request",
            of(NasPduSessionEstablishmentRequest::new(NasIntegrityProtectionMaximumDataRate::new(
                0xffff,
            ))
            .with_pdu_session_type(NasPduSessionType::from_session_type(PduSessionTypeValue::Ipv4))
            .with_ssc_mode(NasSscMode::from_mode(SscModeValue::Ssc1))
            .with_extended_protocol_configuration_options(requested.write().expect("options"))
            .into()),
        ),
        (
            "PDU session establishment accept",
            of(NasPduSessionEstablishmentAccept::new(
                NasPduSessionType::from_session_type(PduSessionTypeValue::Ipv4),
                NasSscMode::from_mode(SscModeValue::Ssc1),
                qos::default_rule(1, 1).expect("a rule"),
                qos::session_ambr(200_000_000, 100_000_000).expect("rates"),
            )
            .with_pdu_address(NasPduAddress::from_ipv4([10, 60, 0, 1]))
            .with_s_nssai(slices()[1].to_nas())
            .with_authorized_qos_flow_descriptions(qos::flow(1, 9).expect("a flow"))
            .with_extended_protocol_configuration_options(given.write().expect("options"))
            .with_dnn(NasDnn::from_string("internet").expect("a DNN"))
            .into()),
        ),
        (
            "PDU session establishment reject",
            of(NasPduSessionEstablishmentReject::new(gsm(GsmCause::InsufficientResources)).into()),
        ),
        ("PDU session modification request", of(NasPduSessionModificationRequest::new().into())),
        (
            "PDU session modification reject",
            of(NasPduSessionModificationReject::new(gsm(GsmCause::InvalidPduSessionIdentity))
                .into()),
        ),
        (
            "PDU session modification command",
            of(NasPduSessionModificationCommand::new()
                .with_session_ambr(qos::session_ambr(1_000_000_000, 500_000_000).expect("rates"))
                .with_authorized_qos_flow_descriptions(
                    qos::flows(&[(1, 9), (2, 5)]).expect("flows"),
                )
                .into()),
        ),
        ("PDU session modification complete", of(NasPduSessionModificationComplete::new().into())),
        ("PDU session release request", of(NasPduSessionReleaseRequest::new().into())),
        (
            "PDU session release reject",
            of(NasPduSessionReleaseReject::new(gsm(GsmCause::InvalidPduSessionIdentity)).into()),
        ),
        (
            "PDU session release command",
            of(NasPduSessionReleaseCommand::new(gsm(GsmCause::RegularDeactivation)).into()),
        ),
        ("PDU session release complete", of(NasPduSessionReleaseComplete::new().into())),
        (
            "5GSM status",
            of(NasFGsmStatus::new(gsm(GsmCause::MessageTypeNonExistentOrNotImplemented)).into()),
        ),
    ]
}

/// Every message with a name, encoded.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    let encoded = |(name, message): (&'static str, Nas5gsMessage)| {
        (name, message.encode().unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    mobility().into_iter().chain(sessions()).map(encoded).collect()
}
