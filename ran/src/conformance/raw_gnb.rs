//! A gNB that sends the NGAP messages that a case gives it, and answers nothing by itself.
use super::raw_ue::{Ids, RawUe};
use super::unmet::{Unmet, failed, require};
use crate::gnb::{GnbConfig, Identity, N2Link};
use bytes::Bytes;
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, build_ngap, cause, helpers, ie};
use std::time::Duration;

/// How long the AMF may take to send a message.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The gNB.
pub(super) struct RawGnb {
    link: N2Link,
    config: GnbConfig,
    identity: Identity,
    silence: Duration,
}

impl RawGnb {
    /// Connects without NG setup.
    pub async fn connect(config: GnbConfig, silence: Duration) -> Result<RawGnb, Unmet> {
        let link = tokio::time::timeout(config.setup_timeout, N2Link::connect(&config)).await;
        let link = link.map_err(|_| Unmet::Failed("no SCTP association".into()))??;
        let identity = Identity::of(&config)?;
        Ok(RawGnb { link, config, identity, silence })
    }

    /// NG setup with the gNB's own values.
    pub async fn set_up(&self) -> Result<(), Unmet> {
        self.send(self.ng_setup_request()?).await?;
        self.next_of(Kind::Successful_NGSetup).await.map(drop)
    }

    /// NG SETUP REQUEST with the gNB's own values.
    pub fn ng_setup_request(&self) -> Result<Bytes, Unmet> {
        self.ng_setup_of(self.identity.plmn)
    }

    /// NG SETUP REQUEST of a PLMN.
    pub fn ng_setup_of(&self, plmn: PLMNIdentity) -> Result<Bytes, Unmet> {
        let config = &self.config;
        let id = helpers::global_gnb_id(plmn, config.gnb_id, config.gnb_id_bits.into())?;
        let slices = self.identity.slices.iter();
        let slices = slices.map(|slice| SliceSupportItem::new(slice.clone(), None)).collect();
        let broadcast = BroadcastPLMNItem::new(plmn, SliceSupportList(slices), None);
        let area =
            SupportedTAItem::new(TAC(self.identity.tac), BroadcastPLMNList(vec![broadcast]), None);
        let request = build_ngap!(
            InitiatingMessage,
            NGSetup,
            NGSetupRequest,
            GlobalRANNodeID(GlobalRANNodeID::globalGNB_ID(id)),
            RANNodeName(config.name.as_str()),
            SupportedTAList(SupportedTAList(vec![area])),
            DefaultPagingDRX(PagingDRX::v128),
        );
        Ok(request?.encode()?.into())
    }

    /// RAN CONFIGURATION UPDATE with another node name.
    pub fn configuration_update(&self) -> Result<Bytes, Unmet> {
        let name = format!("{}-renamed", self.config.name);
        let update = build_ngap!(
            InitiatingMessage,
            RANConfigurationUpdate,
            RANConfigurationUpdate,
            RANNodeName(name.as_str()),
        );
        Ok(update?.encode()?.into())
    }

    /// INITIAL UE MESSAGE.
    pub fn initial_ue_message(&self, ran: u32, nas: &[u8]) -> Result<Bytes, Unmet> {
        let message = build_ngap!(
            InitiatingMessage,
            InitialUEMessage,
            InitialUEMessage,
            RAN_UE_NGAP_ID(ran),
            NAS_PDU(nas.to_vec()),
            UserLocationInformation(self.identity.location()),
            RRCEstablishmentCause(RRCEstablishmentCause::mo_Signalling),
            UEContextRequest(UEContextRequest::requested),
        );
        Ok(message?.encode()?.into())
    }

    /// INITIAL UE MESSAGE without a NAS-PDU.
    pub fn initial_ue_message_without_nas(&self, ran: u32) -> Result<Bytes, Unmet> {
        let message = build_ngap!(
            InitiatingMessage,
            InitialUEMessage,
            InitialUEMessage,
            RAN_UE_NGAP_ID(ran),
            UserLocationInformation(self.identity.location()),
            RRCEstablishmentCause(RRCEstablishmentCause::mo_Signalling),
        );
        Ok(message?.encode()?.into())
    }

    /// UPLINK NAS TRANSPORT.
    pub fn uplink_nas_transport(&self, ids: Ids, nas: &[u8]) -> Result<Bytes, Unmet> {
        let message = build_ngap!(
            InitiatingMessage,
            UplinkNASTransport,
            UplinkNASTransport,
            AMF_UE_NGAP_ID(ids.amf),
            RAN_UE_NGAP_ID(ids.ran),
            NAS_PDU(nas.to_vec()),
            UserLocationInformation(self.identity.location()),
        );
        Ok(message?.encode()?.into())
    }

    /// UE CONTEXT RELEASE REQUEST for user inactivity.
    pub fn release_request(&self, ids: Ids) -> Result<Bytes, Unmet> {
        let message = build_ngap!(
            InitiatingMessage,
            UEContextReleaseRequest,
            UEContextReleaseRequest,
            AMF_UE_NGAP_ID(ids.amf),
            RAN_UE_NGAP_ID(ids.ran),
            Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity)),
        );
        Ok(message?.encode()?.into())
    }

    fn release_complete(&self, ids: Ids) -> Result<Bytes, Unmet> {
        let message = build_ngap!(
            SuccessfulOutcome,
            UEContextRelease,
            UEContextReleaseComplete,
            AMF_UE_NGAP_ID(ids.amf),
            RAN_UE_NGAP_ID(ids.ran),
        );
        Ok(message?.encode()?.into())
    }

    /// NG RESET of the whole interface.
    pub fn reset(&self) -> Result<Bytes, Unmet> {
        let message = build_ngap!(
            InitiatingMessage,
            NGReset,
            NGReset,
            Cause(Cause::misc(CauseMisc::om_intervention)),
            ResetType(ResetType::nG_Interface(ResetAll::reset_all)),
        );
        Ok(message?.encode()?.into())
    }

    /// NG RESET of one connection.
    pub fn reset_of(&self, ids: Ids) -> Result<Bytes, Unmet> {
        let item = UEAssociatedLogicalNGConnectionItem::new(
            Some(AMFUENGAPID(ids.amf)),
            Some(RANUENGAPID(ids.ran)),
            None,
        );
        let list = UEAssociatedLogicalNGConnectionList(vec![item]);
        let message = build_ngap!(
            InitiatingMessage,
            NGReset,
            NGReset,
            Cause(Cause::misc(CauseMisc::om_intervention)),
            ResetType(ResetType::partOfNG_Interface(list)),
        );
        Ok(message?.encode()?.into())
    }

    /// ERROR INDICATION about no message in particular.
    pub fn error_indication(&self) -> Result<Bytes, Unmet> {
        let message = build_ngap!(
            InitiatingMessage,
            ErrorIndication,
            ErrorIndication,
            Cause(Cause::protocol(CauseProtocol::unspecified)),
        );
        Ok(message?.encode()?.into())
    }

    /// PATH SWITCH REQUEST of session 1.
    pub fn path_switch_request(&self, ids: Ids) -> Result<Bytes, Unmet> {
        use martlet_ngap::transfer::{GtpTunnel, PathSwitchRequest as Transfer};
        let downlink = GtpTunnel::new(self.config.n3_address(), 7);
        let transfer =
            Transfer { downlink, reused: false, security: None, flows: vec![1] }.encode()?;
        let item =
            PDUSessionResourceToBeSwitchedDLItem::new(PDUSessionID(1), transfer.into(), None);
        let bits = || martlet_ngap::BitString::from([0xe0u8, 0]);
        let capability = UESecurityCapabilities::new(
            NRencryptionAlgorithms(bits()),
            NRintegrityProtectionAlgorithms(bits()),
            EUTRAencryptionAlgorithms(bits()),
            EUTRAintegrityProtectionAlgorithms(bits()),
            None,
        );
        let message = build_ngap!(
            InitiatingMessage,
            PathSwitchRequest,
            PathSwitchRequest,
            RAN_UE_NGAP_ID(ids.ran),
            SourceAMF_UE_NGAP_ID(ids.amf),
            UserLocationInformation(self.identity.location()),
            UESecurityCapabilities(capability),
            PDUSessionResourceToBeSwitchedDLList(PDUSessionResourceToBeSwitchedDLList(vec![item])),
        );
        Ok(message?.encode()?.into())
    }

    /// NG SETUP REQUEST without Supported TA List, a mandatory element of criticality reject.
    pub fn ng_setup_without_areas(&self) -> Result<Bytes, Unmet> {
        let config = &self.config;
        let plmn = self.identity.plmn;
        let id = helpers::global_gnb_id(plmn, config.gnb_id, config.gnb_id_bits.into())?;
        let request = build_ngap!(
            InitiatingMessage,
            NGSetup,
            NGSetupRequest,
            GlobalRANNodeID(GlobalRANNodeID::globalGNB_ID(id)),
            DefaultPagingDRX(PagingDRX::v128),
        );
        Ok(request?.encode()?.into())
    }
}

/// Sending and receiving.
impl RawGnb {
    /// Sends bytes as an NGAP message; they need not decode.
    pub async fn send(&self, bytes: impl Into<Bytes>) -> Result<(), Unmet> {
        Ok(self.link.send(0, bytes.into()).await?)
    }

    /// The next message.
    pub async fn next(&self) -> Result<NGAP_PDU, Unmet> {
        self.within(TIMEOUT).await?.ok_or_else(|| Unmet::Failed("no answer".into()))
    }

    /// The next message, if one arrives within a time.
    async fn within(&self, time: Duration) -> Result<Option<NGAP_PDU>, Unmet> {
        match tokio::time::timeout(time, self.link.recv()).await {
            Err(_) => Ok(None),
            Ok(message) => match message? {
                Some(message) => Ok(Some(NGAP_PDU::decode(&message.data)?)),
                None => failed("the AMF ended the association"),
            },
        }
    }

    /// The next message of a kind; others before it are ignored.
    pub async fn next_of(&self, kind: Kind) -> Result<NGAP_PDU, Unmet> {
        loop {
            let pdu = match self.within(TIMEOUT).await? {
                Some(pdu) => pdu,
                None => return failed(format!("no {kind:?}")),
            };
            if pdu.kind() == kind {
                return Ok(pdu);
            }
            if pdu.kind() == Kind::Initiating_ErrorIndication {
                return failed(format!("{} in place of {kind:?}", described(&pdu)));
            }
        }
    }

    /// Requires that the AMF sends nothing for a time.
    pub async fn expect_silence(&self) -> Result<(), Unmet> {
        match self.within(self.silence).await? {
            None => Ok(()),
            Some(pdu) => failed(format!("{} where no answer is allowed", described(&pdu))),
        }
    }

    /// Requires ERROR INDICATION with one of these causes.
    pub async fn expect_error_indication(&self, causes: &[Cause]) -> Result<(), Unmet> {
        let pdu = self.next().await?;
        require(pdu.kind() == Kind::Initiating_ErrorIndication, || {
            format!("{} in place of ERROR INDICATION", described(&pdu))
        })?;
        let cause = pdu.ie::<ie::Cause>().transpose()?;
        require(cause.as_ref().is_some_and(|cause| causes.contains(cause)), || {
            let texts: Vec<_> = causes.iter().map(cause::text).collect();
            format!("{} in place of the cause {}", described(&pdu), texts.join(" or "))
        })
    }

    /// Requires that the AMF still serves the association: RAN CONFIGURATION UPDATE is
    /// acknowledged.
    pub async fn expect_service(&self) -> Result<(), Unmet> {
        self.send(self.configuration_update()?).await?;
        self.next_of(Kind::Successful_RANConfigurationUpdate).await.map(drop)
    }

    /// Sends a NAS message of a UE: INITIAL UE MESSAGE at first, later UPLINK NAS TRANSPORT.
    pub async fn send_nas(&self, ue: &RawUe, nas: &[u8]) -> Result<(), Unmet> {
        let message = match ue.ids() {
            Some(ids) => self.uplink_nas_transport(ids, nas)?,
            None => self.initial_ue_message(ue.ran_id, nas)?,
        };
        self.send(message).await
    }

    /// The next NAS message for the UE. UE CONTEXT RELEASE COMMAND ends the wait, and so does the
    /// time limit: both return `None`.
    pub async fn next_nas(&self, ue: &mut RawUe) -> Result<Option<Vec<u8>>, Unmet> {
        self.next_nas_within(ue, TIMEOUT).await
    }

    /// [`RawGnb::next_nas`] for as long as the core has to be silent.
    pub async fn next_nas_soon(&self, ue: &mut RawUe) -> Result<Option<Vec<u8>>, Unmet> {
        self.next_nas_within(ue, self.silence).await
    }

    async fn next_nas_within(
        &self,
        ue: &mut RawUe,
        time: Duration,
    ) -> Result<Option<Vec<u8>>, Unmet> {
        while let Some(pdu) = self.within(time).await? {
            match pdu.kind() {
                Kind::Initiating_UEContextRelease => {
                    self.complete_release(&pdu).await?;
                    ue.released();
                    return Ok(None);
                }
                Kind::Initiating_InitialContextSetup => {
                    self.accept_context(ue, &pdu).await?;
                }
                Kind::Initiating_DownlinkNASTransport => {}
                Kind::Initiating_ErrorIndication => return failed(described(&pdu)),
                _ => continue,
            }
            if let Some(id) = pdu.ie::<ie::AMF_UE_NGAP_ID>().transpose()? {
                ue.amf_id = Some(id.0);
            }
            if let Some(nas) = pdu.ie::<ie::NAS_PDU>().transpose()? {
                return Ok(Some(nas.0.to_vec()));
            }
        }
        Ok(None)
    }

    async fn accept_context(&self, ue: &RawUe, pdu: &NGAP_PDU) -> Result<(), Unmet> {
        let Some(id) = pdu.ie::<ie::AMF_UE_NGAP_ID>().transpose()? else {
            return failed("INITIAL CONTEXT SETUP REQUEST without AMF UE NGAP ID");
        };
        let response = build_ngap!(
            SuccessfulOutcome,
            InitialContextSetup,
            InitialContextSetupResponse,
            AMF_UE_NGAP_ID(id.0),
            RAN_UE_NGAP_ID(ue.ran_id),
        );
        self.send(response?.encode()?).await
    }

    async fn complete_release(&self, pdu: &NGAP_PDU) -> Result<(), Unmet> {
        if let Some(UENGAPIDs::uE_NGAP_ID_pair(pair)) = pdu.ie::<ie::UE_NGAP_IDs>().transpose()? {
            let ids = Ids { amf: pair.amf_ue_ngap_id.0, ran: pair.ran_ue_ngap_id.0 };
            self.send(self.release_complete(ids)?).await?;
        }
        Ok(())
    }

    /// Registers a UE, and lets it answer what the AMF sends until the AMF is silent.
    pub async fn register(&self, ue: &mut RawUe) -> Result<Ids, Unmet> {
        let request = ue.registration_request()?;
        self.send_nas(ue, &request).await?;
        while !ue.nas.state().is_registered() {
            let Some(nas) = self.next_nas(ue).await? else {
                return failed("the UE was not registered");
            };
            for answer in ue.receive(&nas) {
                self.send_nas(ue, &answer).await?;
            }
        }
        ue.ids().ok_or_else(|| Unmet::Failed("no AMF UE NGAP ID".into()))
    }

    /// Sends the registration request of a UE and receives the challenge.
    pub async fn challenge(&self, ue: &mut RawUe) -> Result<Vec<u8>, Unmet> {
        let request = ue.registration_request()?;
        self.send_nas(ue, &request).await?;
        while let Some(nas) = self.next_nas(ue).await? {
            match nas.get(2) {
                Some(0x56) => return Ok(nas),
                _ => {
                    for answer in ue.receive(&nas) {
                        self.send_nas(ue, &answer).await?;
                    }
                }
            }
        }
        failed("no AUTHENTICATION REQUEST")
    }

    /// Lets a UE answer what the AMF sends, until the AMF is silent.
    pub async fn settle(&self, ue: &mut RawUe) -> Result<(), Unmet> {
        while let Some(nas) = self.next_nas_soon(ue).await? {
            for answer in ue.receive(&nas) {
                self.send_nas(ue, &answer).await?;
            }
        }
        Ok(())
    }

    /// Drops messages until the AMF is silent.
    pub async fn drain(&self) {
        while self.within(self.silence).await.is_ok_and(|pdu| pdu.is_some()) {}
    }

    /// The next message that is not about a UE that was just registered.
    pub async fn next_ignoring_nas(&self) -> Result<NGAP_PDU, Unmet> {
        loop {
            let pdu = self.next().await?;
            let ignored = matches!(
                pdu.kind(),
                Kind::Initiating_DownlinkNASTransport | Kind::Initiating_InitialContextSetup
            );
            if !ignored {
                return Ok(pdu);
            }
        }
    }

    /// Its configuration.
    pub fn config(&self) -> &GnbConfig {
        &self.config
    }

    /// Its PLMN as in identities.
    pub fn plmn(&self) -> [u8; 3] {
        self.identity.plmn.0
    }

    /// Ends the association.
    pub async fn shutdown(&self) {
        self.link.shutdown().await;
    }
}

/// A message in words.
pub(super) fn described(pdu: &NGAP_PDU) -> String {
    let cause = match pdu.ie::<ie::Cause>() {
        Some(Ok(it)) => format!(" ({})", cause::text(&it)),
        _ => String::new(),
    };
    format!("{:?}{cause}", pdu.kind())
}
