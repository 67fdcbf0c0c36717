//! The NGAP messages that the AMF sends (TS 38.413, 9.2), built from plain values.
use super::assistance::paging_drx;
use super::{Assistance, Connection};
use crate::served::{ServedGuami, Tai, plmn_to_ngap, slice_to_ngap};
use bytes::Bytes;
use martlet_nas::identifiers::Slice;
use martlet_nas::{DrxValue, Guti, NasUeSecurityCapability, Plmn, algorithms};
use martlet_ngap::ngap::*;
use martlet_ngap::{BitString, Error, Message, aper, build_ngap, build_ngap_ie};

/// A message, or the encoding error.
pub(crate) type Built = Result<NGAP_PDU, Error>;

impl Connection {
    /// Sends a downlink NAS message (TS 38.413, 8.6.2).
    pub async fn send_nas(&self, nas: Vec<u8>) -> bool {
        self.send(nas_transport(self, nas)).await
    }
}

/// DOWNLINK NAS TRANSPORT.
pub(crate) fn nas_transport(ue: &Connection, nas: Vec<u8>) -> Built {
    build_ngap!(
        InitiatingMessage,
        DownlinkNASTransport,
        DownlinkNASTransport,
        AMF_UE_NGAP_ID(ue.amf_id),
        RAN_UE_NGAP_ID(ue.ran_id),
        NAS_PDU(nas),
    )
}

/// AMF CONFIGURATION UPDATE (TS 38.413, 8.7.3) with nothing but the AMF's name.
pub(crate) fn amf_configuration_update(name: &str) -> Built {
    build_ngap!(InitiatingMessage, AMFConfigurationUpdate, AMFConfigurationUpdate, AMFName(name))
}

/// AMF CONFIGURATION UPDATE (TS 38.413, 8.7.3) with the relative capacity of the AMF.
pub(crate) fn relative_capacity(capacity: u8) -> Built {
    build_ngap!(
        InitiatingMessage,
        AMFConfigurationUpdate,
        AMFConfigurationUpdate,
        RelativeAMFCapacity(RelativeAMFCapacity(capacity))
    )
}

/// UE CONTEXT RELEASE COMMAND. Without a RAN UE NGAP ID, the AMF UE NGAP ID alone names the
/// connection (TS 38.413, 8.3.3.2): each RAN UE NGAP ID may be that of another UE.
pub(crate) fn ue_context_release(amf_id: u64, ran_id: Option<u32>, cause: Cause) -> Built {
    let amf_id = AMFUENGAPID(amf_id);
    let ids = match ran_id {
        Some(ran_id) => {
            UENGAPIDs::uE_NGAP_ID_pair(UENGAPIDPair::new(amf_id, RANUENGAPID(ran_id), None))
        }
        None => UENGAPIDs::aMF_UE_NGAP_ID(amf_id),
    };
    build_ngap!(
        InitiatingMessage,
        UEContextRelease,
        UEContextReleaseCommand,
        UE_NGAP_IDs(ids),
        Cause(cause),
    )
}

/// REROUTE NAS REQUEST (TS 38.413, 8.6.5) with the received INITIAL UE MESSAGE.
pub(crate) fn reroute_nas_request(ue: &Connection, initial: &Bytes, set: u16) -> Built {
    build_ngap!(
        InitiatingMessage,
        RerouteNASRequest,
        RerouteNASRequest,
        RAN_UE_NGAP_ID(ue.ran_id),
        AMF_UE_NGAP_ID(ue.amf_id),
        NGAP_Message(owned(initial)),
        AMFSetID(AMFSetID::new(set.into())?),
    )
}

/// DOWNLINK UE ASSOCIATED NRPPA TRANSPORT.
pub(crate) fn ue_associated_nrppa(ue: &Connection, routing: Vec<u8>, message: &Bytes) -> Built {
    build_ngap!(
        InitiatingMessage,
        DownlinkUEAssociatedNRPPaTransport,
        DownlinkUEAssociatedNRPPaTransport,
        AMF_UE_NGAP_ID(ue.amf_id),
        RAN_UE_NGAP_ID(ue.ran_id),
        RoutingID(routing),
        NRPPa_PDU(owned(message)),
    )
}

/// DOWNLINK NON UE ASSOCIATED NRPPA TRANSPORT.
pub(crate) fn non_ue_associated_nrppa(routing: Vec<u8>, message: &Bytes) -> Built {
    build_ngap!(
        InitiatingMessage,
        DownlinkNonUEAssociatedNRPPaTransport,
        DownlinkNonUEAssociatedNRPPaTransport,
        RoutingID(routing),
        NRPPa_PDU(owned(message)),
    )
}

/// LOCATION REPORTING CONTROL for one direct report (TS 38.413, 9.2.11.1).
pub(crate) fn location_reporting_control(ue: &Connection) -> Built {
    location_reporting(
        ue,
        LocationReportingRequestType::new(EventType::direct, ReportArea::cell, None, None, None),
    )
}

/// LOCATION REPORTING CONTROL (TS 38.413, 9.2.11.1).
pub(crate) fn location_reporting(ue: &Connection, asked: LocationReportingRequestType) -> Built {
    build_ngap!(
        InitiatingMessage,
        LocationReportingControl,
        LocationReportingControl,
        AMF_UE_NGAP_ID(ue.amf_id),
        RAN_UE_NGAP_ID(ue.ran_id),
        LocationReportingRequestType(asked),
    )
}

/// A PDU session to set up at the gNB.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionToSetUp {
    pub psi: u8,
    pub slice: Slice,
    /// PDU Session Resource Setup Request Transfer.
    pub transfer: Bytes,
    /// Protected NAS message for the UE.
    pub nas: Option<Vec<u8>>,
}

/// Mobility Restriction List (TS 38.413, 9.3.1.85).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Restrictions {
    pub serving: Plmn,
    pub equivalent: Vec<Plmn>,
    /// Forbidden tracking area codes.
    pub forbidden: Vec<u32>,
    /// Non-allowed tracking area codes.
    pub not_allowed: Vec<u32>,
}

impl Restrictions {
    pub fn to_ngap(&self) -> MobilityRestrictionList<'static> {
        let plmn = plmn_to_ngap(self.serving);
        let tac = |tac: &u32| {
            let [_, tac @ ..] = tac.to_be_bytes();
            TAC(tac)
        };
        let equivalent = EquivalentPLMNs(
            self.equivalent.iter().take(15).map(|plmn| plmn_to_ngap(*plmn)).collect(),
        );
        let forbidden = ForbiddenTACs(self.forbidden.iter().take(4096).map(tac).collect());
        let forbidden = ForbiddenAreaInformation(vec![ForbiddenAreaInformationItem::new(
            plmn, forbidden, None,
        )]);
        let not_allowed = NotAllowedTACs(self.not_allowed.iter().take(16).map(tac).collect());
        let service = ServiceAreaInformationItem::new(
            plmn_to_ngap(self.serving),
            None,
            Some(not_allowed),
            None,
        );
        MobilityRestrictionList::new(
            plmn_to_ngap(self.serving),
            (!self.equivalent.is_empty()).then_some(equivalent),
            None,
            (!self.forbidden.is_empty()).then_some(forbidden),
            (!self.not_allowed.is_empty()).then(|| ServiceAreaInformation(vec![service])),
            None,
        )
    }
}

/// Content of INITIAL CONTEXT SETUP REQUEST besides the identities (TS 38.413, 9.2.2.1).
pub(crate) struct ContextSetup<'a> {
    pub guami: &'a ServedGuami,
    pub allowed: &'a [Slice],
    pub capability: &'a NasUeSecurityCapability,
    pub k_gnb: [u8; 32],
    /// UE-AMBR, bit/s: downlink, uplink.
    pub ambr: (u64, u64),
    pub rfsp: Option<u16>,
    pub assistance: Option<&'a Assistance>,
    pub restrictions: Option<Restrictions>,
    pub radio_capability: Option<&'a Bytes>,
    pub sessions: Vec<SessionToSetUp>,
    pub nas: Option<Vec<u8>>,
}

/// A copy for the message.
fn owned(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

pub(super) fn ue_ambr((downlink, uplink): (u64, u64)) -> UEAggregateMaximumBitRate {
    // BitRate holds up to 4 Tbit/s; the extension for more is not used.
    const MAX_BIT_RATE: u64 = 4_000_000_000_000;
    UEAggregateMaximumBitRate::new(
        BitRate(downlink.min(MAX_BIT_RATE)),
        BitRate(uplink.min(MAX_BIT_RATE)),
        None,
    )
}

pub(crate) fn security_capabilities(
    capability: &NasUeSecurityCapability,
) -> UESecurityCapabilities<'static> {
    let own = algorithms::access_stratum(capability);
    let bits = |octet: u8| BitString::from([octet, 0]);
    UESecurityCapabilities::new(
        NRencryptionAlgorithms(bits(own.nr_encryption)),
        NRintegrityProtectionAlgorithms(bits(own.nr_integrity)),
        EUTRAencryptionAlgorithms(bits(own.eutra_encryption)),
        EUTRAintegrityProtectionAlgorithms(bits(own.eutra_integrity)),
        None,
    )
}

/// INITIAL CONTEXT SETUP REQUEST.
pub(crate) fn initial_context_setup(ue: &Connection, setup: ContextSetup<'_>) -> Built {
    type Request<'a> = InitialContextSetupRequest<'a>;
    let mut ies = Vec::with_capacity(12);
    ies.push(build_ngap_ie!(InitialContextSetupRequest, AMF_UE_NGAP_ID(ue.amf_id))?);
    ies.push(build_ngap_ie!(InitialContextSetupRequest, RAN_UE_NGAP_ID(ue.ran_id))?);
    if let Some(old) = &ue.old_amf {
        ies.push(build_ngap_ie!(InitialContextSetupRequest, OldAMF(AMFName(old.as_str().into())))?);
    }
    if !setup.sessions.is_empty() {
        ies.push(build_ngap_ie!(
            InitialContextSetupRequest,
            UEAggregateMaximumBitRate(ue_ambr(setup.ambr))
        )?);
    }
    if let Some(assistance) = setup.assistance {
        let information = assistance.to_ngap();
        ies.push(build_ngap_ie!(
            InitialContextSetupRequest,
            CoreNetworkAssistanceInformationForInactive(information)
        )?);
    }
    ies.push(build_ngap_ie!(InitialContextSetupRequest, GUAMI(setup.guami.to_ngap()?))?);
    if !setup.sessions.is_empty() {
        let items = setup.sessions.into_iter().map(|session| {
            PDUSessionResourceSetupItemCxtReq::new(
                PDUSessionID(session.psi),
                session.nas.map(|nas| NASPDU(nas.into())),
                slice_to_ngap(session.slice),
                owned(&session.transfer).into(),
                None,
            )
        });
        let list = PDUSessionResourceSetupListCxtReq(items.collect());
        ies.push(build_ngap_ie!(
            InitialContextSetupRequest,
            PDUSessionResourceSetupListCxtReq(list)
        )?);
    }
    let allowed = setup
        .allowed
        .iter()
        .map(|slice| AllowedNSSAIItem::new(slice_to_ngap(*slice), None))
        .collect();
    ies.push(build_ngap_ie!(InitialContextSetupRequest, AllowedNSSAI(AllowedNSSAI(allowed)))?);
    let capability = security_capabilities(setup.capability);
    ies.push(build_ngap_ie!(InitialContextSetupRequest, UESecurityCapabilities(capability))?);
    ies.push(build_ngap_ie!(InitialContextSetupRequest, SecurityKey(setup.k_gnb))?);
    if let Some(restrictions) = &setup.restrictions {
        let list = restrictions.to_ngap();
        ies.push(build_ngap_ie!(InitialContextSetupRequest, MobilityRestrictionList(list))?);
    }
    if let Some(capability) = setup.radio_capability {
        ies.push(build_ngap_ie!(InitialContextSetupRequest, UERadioCapability(owned(capability)))?);
    }
    if let Some(rfsp) = setup.rfsp.filter(|index| (1..=256).contains(index)) {
        ies.push(build_ngap_ie!(
            InitialContextSetupRequest,
            IndexToRFSP(IndexToRFSP(rfsp.into()))
        )?);
    }
    if let Some(nas) = setup.nas {
        ies.push(build_ngap_ie!(InitialContextSetupRequest, NAS_PDU(nas))?);
    }
    NGAP_PDU::of_message(
        &InitialContextSetupRequest::new(ProtocolIEContainer(ies)),
        Request::CRITICALITY,
    )
}

/// PDU SESSION RESOURCE SETUP REQUEST.
pub(crate) fn session_setup(ue: &Connection, session: SessionToSetUp, ambr: (u64, u64)) -> Built {
    let item = PDUSessionResourceSetupItemSUReq::new(
        PDUSessionID(session.psi),
        session.nas.map(|nas| NASPDU(nas.into())),
        slice_to_ngap(session.slice),
        owned(&session.transfer).into(),
        None,
    );
    let list = PDUSessionResourceSetupListSUReq(vec![item]);
    build_ngap!(
        InitiatingMessage,
        PDUSessionResourceSetup,
        PDUSessionResourceSetupRequest,
        AMF_UE_NGAP_ID(ue.amf_id),
        RAN_UE_NGAP_ID(ue.ran_id),
        PDUSessionResourceSetupListSUReq(list),
        UEAggregateMaximumBitRate(ue_ambr(ambr)),
    )
}

/// PDU SESSION RESOURCE MODIFY REQUEST.
pub(crate) fn session_modify(
    ue: &Connection,
    psi: u8,
    transfer: &Bytes,
    nas: Option<Vec<u8>>,
) -> Built {
    let item = PDUSessionResourceModifyItemModReq::new(
        PDUSessionID(psi),
        nas.map(|nas| NASPDU(nas.into())),
        owned(transfer).into(),
        None,
    );
    build_ngap!(
        InitiatingMessage,
        PDUSessionResourceModify,
        PDUSessionResourceModifyRequest,
        AMF_UE_NGAP_ID(ue.amf_id),
        RAN_UE_NGAP_ID(ue.ran_id),
        PDUSessionResourceModifyListModReq(PDUSessionResourceModifyListModReq(vec![item])),
    )
}

/// PDU SESSION RESOURCE RELEASE COMMAND.
pub(crate) fn session_release(
    ue: &Connection,
    psi: u8,
    transfer: &Bytes,
    nas: Option<Vec<u8>>,
) -> Built {
    type Command<'a> = PDUSessionResourceReleaseCommand<'a>;
    let item =
        PDUSessionResourceToReleaseItemRelCmd::new(PDUSessionID(psi), owned(transfer).into(), None);
    let list = PDUSessionResourceToReleaseListRelCmd(vec![item]);
    let mut ies = vec![
        build_ngap_ie!(PDUSessionResourceReleaseCommand, AMF_UE_NGAP_ID(ue.amf_id))?,
        build_ngap_ie!(PDUSessionResourceReleaseCommand, RAN_UE_NGAP_ID(ue.ran_id))?,
    ];
    if let Some(nas) = nas {
        ies.push(build_ngap_ie!(PDUSessionResourceReleaseCommand, NAS_PDU(nas))?);
    }
    ies.push(build_ngap_ie!(
        PDUSessionResourceReleaseCommand,
        PDUSessionResourceToReleaseListRelCmd(list)
    )?);
    NGAP_PDU::of_message(
        &PDUSessionResourceReleaseCommand::new(ProtocolIEContainer(ies)),
        Command::CRITICALITY,
    )
}

/// PDU SESSION RESOURCE MODIFY CONFIRM.
pub(crate) fn session_modify_confirm(
    ue: &Connection,
    done: Vec<(u8, Bytes)>,
    failed: Vec<(u8, Bytes)>,
) -> Built {
    type Confirm<'a> = PDUSessionResourceModifyConfirm<'a>;
    let mut ies = vec![
        build_ngap_ie!(PDUSessionResourceModifyConfirm, AMF_UE_NGAP_ID(ue.amf_id))?,
        build_ngap_ie!(PDUSessionResourceModifyConfirm, RAN_UE_NGAP_ID(ue.ran_id))?,
    ];
    if !done.is_empty() {
        let item = |(psi, transfer): (u8, Bytes)| {
            PDUSessionResourceModifyItemModCfm::new(
                PDUSessionID(psi),
                owned(&transfer).into(),
                None,
            )
        };
        let list = PDUSessionResourceModifyListModCfm(done.into_iter().map(item).collect());
        ies.push(build_ngap_ie!(
            PDUSessionResourceModifyConfirm,
            PDUSessionResourceModifyListModCfm(list)
        )?);
    }
    if !failed.is_empty() {
        let item = |(psi, transfer): (u8, Bytes)| {
            PDUSessionResourceFailedToModifyItemModCfm::new(
                PDUSessionID(psi),
                owned(&transfer).into(),
                None,
            )
        };
        let list =
            PDUSessionResourceFailedToModifyListModCfm(failed.into_iter().map(item).collect());
        ies.push(build_ngap_ie!(
            PDUSessionResourceModifyConfirm,
            PDUSessionResourceFailedToModifyListModCfm(list)
        )?);
    }
    NGAP_PDU::of_message(
        &PDUSessionResourceModifyConfirm::new(ProtocolIEContainer(ies)),
        Confirm::CRITICALITY,
    )
}

/// UE CONTEXT MODIFICATION REQUEST with a new K_gNB.
pub(crate) fn ue_context_modification(
    ue: &Connection,
    k_gnb: [u8; 32],
    capability: &NasUeSecurityCapability,
) -> Built {
    build_ngap!(
        InitiatingMessage,
        UEContextModification,
        UEContextModificationRequest,
        AMF_UE_NGAP_ID(ue.amf_id),
        RAN_UE_NGAP_ID(ue.ran_id),
        SecurityKey(k_gnb),
        UESecurityCapabilities(security_capabilities(capability)),
    )
}

/// UE CONTEXT MODIFICATION REQUEST with the assistance information for RRC INACTIVE.
pub(crate) fn assistance(ue: &Connection, assistance: &Assistance) -> Built {
    build_ngap!(
        InitiatingMessage,
        UEContextModification,
        UEContextModificationRequest,
        AMF_UE_NGAP_ID(ue.amf_id),
        RAN_UE_NGAP_ID(ue.ran_id),
        CoreNetworkAssistanceInformationForInactive(assistance.to_ngap()),
    )
}

/// NG RESET of one connection, with or without a RAN UE NGAP ID.
pub(crate) fn ng_reset(amf_id: u64, ran_id: Option<u32>, cause: Cause) -> Built {
    let item = UEAssociatedLogicalNGConnectionItem::new(
        Some(AMFUENGAPID(amf_id)),
        ran_id.map(RANUENGAPID),
        None,
    );
    let part = UEAssociatedLogicalNGConnectionList(vec![item]);
    build_ngap!(
        InitiatingMessage,
        NGReset,
        NGReset,
        Cause(cause),
        ResetType(ResetType::partOfNG_Interface(part))
    )
}

/// PAGING of a UE with this DRX cycle and this encoded UE radio capability for paging.
pub(crate) fn paging(
    guti: &Guti,
    area: &[Tai],
    cycle: Option<DrxValue>,
    capability: Option<&Bytes>,
) -> Built {
    type Request<'a> = Paging<'a>;
    let s_tmsi = FiveGSTMSI::new(
        AMFSetID::new(guti.amf_set_id().into())?,
        AMFPointer::new(guti.amf_pointer().into())?,
        FiveGTMSI(guti.tmsi().to_be_bytes()),
        None,
    );
    let areas = area.iter().map(|tai| TAIListForPagingItem::new(tai.to_ngap(), None)).collect();
    let identity = UEPagingIdentity::fiveG_S_TMSI(s_tmsi);
    let mut ies = vec![build_ngap_ie!(Paging, UEPagingIdentity(identity))?];
    if let Some(drx) = cycle.and_then(paging_drx) {
        ies.push(build_ngap_ie!(Paging, PagingDRX(drx))?);
    }
    ies.push(build_ngap_ie!(Paging, TAIListForPaging(TAIListForPaging(areas)))?);
    let capability = capability
        .and_then(|encoded| aper::decode::<UERadioCapabilityForPaging<'_>>(encoded).ok())
        .map(UERadioCapabilityForPaging::into_owned);
    if let Some(capability) = capability {
        ies.push(build_ngap_ie!(Paging, UERadioCapabilityForPaging(capability))?);
    }
    NGAP_PDU::of_message(&Paging::new(ProtocolIEContainer(ies)), Request::CRITICALITY)
}
