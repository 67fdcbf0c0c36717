//! Each fault has the reaction of clause 10.

use super::*;
use oxirush_ngap::extract_ngap_ies;
use oxirush_ngap::ie;
use oxirush_ngap::ngap::*;

fn bytes(pdu: Result<NGAP_PDU, Error>) -> Vec<u8> {
    pdu.expect("a message").encode().expect("it encodes")
}

fn cause_of(fault: &Fault) -> CauseProtocol {
    match &fault.cause {
        Cause::protocol(cause) => *cause,
        other => panic!("{other:?}"),
    }
}

/// The content of the answer: its name, its cause, and the elements that it reports.
fn answered(fault: &Fault) -> (String, Option<Cause>, Vec<u16>) {
    let answer = fault.answer().expect("an answer");
    assert!(answer.check().expect("a message").is_empty(), "the answer deviates");
    let again = NGAP_PDU::decode(&answer.encode().expect("it encodes")).expect("it decodes");
    let cause = again.ie::<ie::Cause>().and_then(Result::ok);
    let diagnostics = again.ie::<ie::CriticalityDiagnostics>().and_then(Result::ok);
    let items = diagnostics
        .and_then(|it| it.ies_criticality_diagnostics)
        .map(|list| list.0)
        .unwrap_or_default();
    (message_name(&again), cause, items.iter().map(|item| item.ie_id.0).collect())
}

#[test]
fn octets_that_are_no_message_are_a_transfer_syntax_error() {
    for bytes in [&[][..], &[0x00], &[0x00, 0x15, 0x00, 0x20, 0x00], &[0xff; 40]] {
        let fault = read(bytes).expect_err("no message");
        assert_eq!(
            (cause_of(&fault), fault.reaction),
            (CauseProtocol::transfer_syntax_error, Reaction::ErrorIndication)
        );
        assert_eq!(answered(&fault).0, "ErrorIndication");
    }
}

#[test]
fn a_message_that_is_as_it_should_be_is_read() {
    let bytes = bytes(build_ngap!(
        InitiatingMessage,
        UplinkNASTransport,
        UplinkNASTransport,
        AMF_UE_NGAP_ID(1u64),
        RAN_UE_NGAP_ID(7u32),
        NAS_PDU(vec![0x7e, 0, 0x43]),
        UserLocationInformation(location())
    ));
    let received = read(&bytes).expect("a message");
    assert_eq!(UeIds::of(&received.pdu), UeIds { amf: Some(1), ran: Some(7) });
    assert!(received.diagnostics().is_none());
}

fn location() -> UserLocationInformation<'static> {
    let plmn = crate::helpers::plmn("208", "93").expect("a PLMN");
    let cell = crate::helpers::nr_cgi(plmn, 1, 24, 1).expect("a cell");
    let tai = crate::helpers::tai(plmn, [0, 0, 1]);
    UserLocationInformation::userLocationInformationNR(UserLocationInformationNR::new(
        cell, tai, None, None,
    ))
}

#[test]
fn a_missing_element_rejects_the_procedure() {
    // With an unsuccessful outcome.
    let request = bytes(build_ngap!(
        InitiatingMessage,
        NGSetup,
        NGSetupRequest,
        DefaultPagingDRX(PagingDRX::v128)
    ));
    let fault = read(&request).expect_err("two elements are missing");
    assert_eq!(fault.reaction, Reaction::UnsuccessfulOutcome);
    let reject = Cause::protocol(CauseProtocol::abstract_syntax_error_reject);
    assert_eq!(answered(&fault), ("NGSetupFailure".into(), Some(reject.clone()), vec![27, 102]));
    // Without one, and with an identity.
    let request = bytes(build_ngap!(
        InitiatingMessage,
        UplinkNASTransport,
        UplinkNASTransport,
        AMF_UE_NGAP_ID(1u64),
        RAN_UE_NGAP_ID(7u32),
        UserLocationInformation(location())
    ));
    let fault = read(&request).expect_err("its NAS-PDU is missing");
    assert_eq!(answered(&fault), ("ErrorIndication".into(), Some(reject), vec![38]));
    assert_eq!(fault.ue, UeIds { amf: Some(1), ran: Some(7) });
    // With an answer that has to identify the UE, and without the identities.
    let request = bytes(build_ngap!(
        InitiatingMessage,
        InitialContextSetup,
        InitialContextSetupRequest,
        AMF_UE_NGAP_ID(1u64),
        RAN_UE_NGAP_ID(7u32)
    ));
    assert_eq!(
        answered(&read(&request).expect_err("elements are missing")).0,
        "InitialContextSetupFailure"
    );
    let request = bytes(build_ngap!(
        InitiatingMessage,
        InitialContextSetup,
        InitialContextSetupRequest,
        RAN_UE_NGAP_ID(7u32)
    ));
    assert_eq!(answered(&read(&request).expect_err("elements are missing")).0, "ErrorIndication");
}

#[test]
fn each_procedure_with_a_plain_failure_has_it() {
    let (amf, ran) = (1u64, 7u32);
    for (request, failure) in [
        (
            build_ngap!(InitiatingMessage, RANConfigurationUpdate, RANConfigurationUpdate,
            REJECT TimeToWait(TimeToWait::v1s)),
            "RANConfigurationUpdateFailure",
        ),
        (
            build_ngap!(InitiatingMessage, AMFConfigurationUpdate, AMFConfigurationUpdate,
            REJECT TimeToWait(TimeToWait::v1s)),
            "AMFConfigurationUpdateFailure",
        ),
        (
            build_ngap!(
                InitiatingMessage,
                HandoverPreparation,
                HandoverRequired,
                AMF_UE_NGAP_ID(amf),
                RAN_UE_NGAP_ID(ran)
            ),
            "HandoverPreparationFailure",
        ),
        (
            build_ngap!(
                InitiatingMessage,
                HandoverResourceAllocation,
                HandoverRequest,
                AMF_UE_NGAP_ID(amf)
            ),
            "HandoverFailure",
        ),
        (
            build_ngap!(InitiatingMessage, UEContextModification, UEContextModificationRequest,
            AMF_UE_NGAP_ID(amf), RAN_UE_NGAP_ID(ran), REJECT TimeToWait(TimeToWait::v1s)),
            "UEContextModificationFailure",
        ),
    ] {
        let fault =
            read(&bytes(request)).map(|received| received.pdu.into_owned()).expect_err(failure);
        assert_eq!(answered(&fault).0, failure);
    }
}

#[test]
fn a_response_that_is_wrong_is_handled_locally() {
    let response =
        bytes(build_ngap!(SuccessfulOutcome, InitialContextSetup, InitialContextSetupResponse,
        RAN_UE_NGAP_ID(7u32), REJECT TimeToWait(TimeToWait::v1s)));
    let fault = read(&response).expect_err("an element that it cannot have");
    assert_eq!(fault.reaction, Reaction::Local);
    assert!(fault.answer().is_none());
}

#[test]
fn an_error_indication_is_never_answered() {
    let indication = bytes(build_ngap!(InitiatingMessage, ErrorIndication, ErrorIndication,
        REJECT TimeToWait(TimeToWait::v1s)));
    let fault = read(&indication).expect_err("an element that it cannot have");
    assert_eq!((fault.reaction, fault.answer()), (Reaction::Nothing, None));
}

#[test]
fn unknown_elements_are_handled_by_their_criticality() {
    for (criticality, reaction) in [
        (Criticality::reject, Some(CauseProtocol::abstract_syntax_error_reject)),
        (Criticality::notify, None),
        (Criticality::ignore, None),
    ] {
        let mut pdu = build_ngap!(
            InitiatingMessage,
            UEContextReleaseRequest,
            UEContextReleaseRequest,
            AMF_UE_NGAP_ID(1u64),
            RAN_UE_NGAP_ID(7u32),
            Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity))
        )
        .expect("a message");
        let mut ies = pdu.protocol_ies().expect("elements").into_owned();
        ies.0.push(ProtocolIEField::new(65_000u16, criticality, crate::Octets::from(vec![0])));
        pdu.set_protocol_ies(ies).expect("elements");
        let bytes = pdu.encode().expect("it encodes");
        match read(&bytes) {
            Err(fault) => assert_eq!(Some(cause_of(&fault)), reaction),
            Ok(received) => {
                assert_eq!(reaction, None);
                assert_eq!(received.diagnostics().is_some(), criticality == Criticality::notify);
            }
        }
    }
}

#[test]
fn an_unknown_procedure_is_handled_by_its_criticality() {
    for (criticality, cause) in [
        (Criticality::reject, Some(CauseProtocol::abstract_syntax_error_reject)),
        (Criticality::notify, Some(CauseProtocol::abstract_syntax_error_ignore_and_notify)),
        (Criticality::ignore, None),
    ] {
        let message = InitiatingMessage::new(
            ProcedureCode(250),
            criticality,
            crate::Octets::from(vec![0, 0, 0]),
        );
        let bytes = NGAP_PDU::initiatingMessage(message).encode().expect("it encodes");
        let fault = read(&bytes).expect_err("an unknown procedure");
        assert_eq!(fault.message, "procedure 250");
        match cause {
            None => assert_eq!((fault.reaction, fault.answer()), (Reaction::Nothing, None)),
            Some(cause) => {
                assert_eq!(
                    answered(&fault),
                    ("ErrorIndication".into(), Some(Cause::protocol(cause)), vec![])
                );
                let answer = fault.answer().expect("an answer");
                let diagnostics = answer
                    .ie::<ie::CriticalityDiagnostics>()
                    .expect("diagnostics")
                    .expect("it decodes");
                assert_eq!(diagnostics.procedure_code, Some(ProcedureCode(250)));
                assert_eq!(diagnostics.procedure_criticality, Some(criticality));
            }
        }
    }
}

#[test]
fn elements_twice_or_in_the_wrong_order_are_a_falsely_constructed_message() {
    for request in [
        build_ngap!(
            InitiatingMessage,
            UEContextReleaseRequest,
            UEContextReleaseRequest,
            AMF_UE_NGAP_ID(1u64),
            RAN_UE_NGAP_ID(7u32),
            RAN_UE_NGAP_ID(8u32),
            Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity))
        ),
        build_ngap!(
            InitiatingMessage,
            UEContextReleaseRequest,
            UEContextReleaseRequest,
            RAN_UE_NGAP_ID(7u32),
            AMF_UE_NGAP_ID(1u64),
            Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity))
        ),
    ] {
        let bytes = bytes(request);
        let fault = read(&bytes).expect_err("falsely constructed");
        assert_eq!(
            cause_of(&fault),
            CauseProtocol::abstract_syntax_error_falsely_constructed_message
        );
    }
}

#[test]
fn elements_in_another_order_are_read_on_request_and_elements_twice_are_not() {
    let request = |ids: [u32; 2]| {
        bytes(build_ngap!(
            InitiatingMessage,
            UEContextReleaseRequest,
            UEContextReleaseRequest,
            RAN_UE_NGAP_ID(ids[0]),
            AMF_UE_NGAP_ID(1u64),
            Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity)),
            RAN_UE_NGAP_ID(ids[1]),
        ))
    };
    let twice = request([7, 8]);
    assert!(read_any_order(&twice).is_err());
    let moved = bytes(build_ngap!(
        InitiatingMessage,
        UEContextReleaseRequest,
        UEContextReleaseRequest,
        Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity)),
        RAN_UE_NGAP_ID(7u32),
        AMF_UE_NGAP_ID(1u64),
    ));
    let received = read_any_order(&moved).expect("any order");
    assert!(received.out_of_order && received.notify.is_empty());
    assert_eq!(UeIds::of(&received.pdu), UeIds { amf: Some(1), ran: Some(7) });
    assert!(read(&moved).is_err());
}

#[test]
fn a_value_that_does_not_decode_is_a_transfer_syntax_error_when_it_is_read() {
    fn cause(pdu: &NGAPPDU<'_>) -> Result<Cause, Error> {
        extract_ngap_ies!(pdu, UEContextReleaseRequest, req cause: Cause = Cause(cause) => cause,);
        Ok(cause)
    }
    // The octet of the cause is spoiled.
    let bytes =
        hex::decode("002a4015000003000a0002002a005500020007000f4002e500").expect("hexadecimal");
    let received = read(&bytes).expect("its structure is right");
    let error = cause(&received.pdu).expect_err("no cause");
    let fault = Fault::of(&received.pdu, &error);
    assert_eq!(cause_of(&fault), CauseProtocol::transfer_syntax_error);
    assert_eq!(answered(&fault).0, "ErrorIndication");
}

#[test]
fn a_message_that_does_not_fit_the_state_is_reported() {
    let bytes = bytes(build_ngap!(
        InitiatingMessage,
        UEContextReleaseRequest,
        UEContextReleaseRequest,
        AMF_UE_NGAP_ID(1u64),
        RAN_UE_NGAP_ID(7u32),
        Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity))
    ));
    let received = read(&bytes).expect("a message");
    let fault = Fault::state(&received.pdu, "no NG SETUP yet");
    let cause = Cause::protocol(CauseProtocol::message_not_compatible_with_receiver_state);
    assert_eq!(answered(&fault), ("ErrorIndication".into(), Some(cause), vec![]));
    let unknown = Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID);
    let fault = Fault::logical(&received.pdu, unknown.clone(), "no such UE");
    assert_eq!(answered(&fault), ("ErrorIndication".into(), Some(unknown), vec![]));
    assert_eq!(fault.to_string(), "UEContextReleaseRequest: no such UE");
}
