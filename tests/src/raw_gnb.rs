//! A gNB that sends the messages that a test gives it, over SCTP, and answers nothing by itself.
use crate::TestCore;
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, build_ngap, helpers, ie};
use martlet_ran::gnb::N2Link;
use std::time::Duration;

/// How long the AMF may take to send a message.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The gNB.
pub struct RawGnb {
    link: N2Link,
    number: u8,
}

impl RawGnb {
    /// Connects to the AMF without NG SETUP.
    ///
    /// # Errors
    /// The AMF is not reachable.
    pub async fn connect(core: &TestCore, number: u8) -> Result<RawGnb> {
        let config = core.gnb_config(number);
        Ok(RawGnb { link: N2Link::connect(&config).await?, number })
    }

    /// A gNB with an association of its own making.
    pub fn over(link: N2Link, number: u8) -> RawGnb {
        RawGnb { link, number }
    }

    /// Drops the messages that have arrived, and returns how many.
    pub async fn drain(&self) -> u64 {
        let mut count = 0;
        while let Ok(Ok(Some(_))) = tokio::time::timeout(Duration::ZERO, self.link.recv()).await {
            count += 1;
        }
        count
    }

    /// The types of plain NAS messages with which the AMF answers an initial UE message, until it
    /// releases the connection or is silent for a time.
    ///
    /// # Errors
    /// The association has ended.
    pub async fn answers_to(&self, ran_id: u32, nas: &[u8], silence: Duration) -> Result<Vec<u8>> {
        self.send(self.initial_ue_message(ran_id, nas)).await?;
        let mut types = Vec::new();
        while let Ok(pdu) = tokio::time::timeout(silence, self.next()).await {
            let pdu = pdu?;
            if let Some(nas) = pdu.ie::<ie::NAS_PDU>().transpose()? {
                types.extend(nas.0.get(2));
            }
            if let Some(UENGAPIDs::uE_NGAP_ID_pair(pair)) =
                pdu.ie::<ie::UE_NGAP_IDs>().transpose()?
            {
                let ids = (pair.amf_ue_ngap_id.0, pair.ran_ue_ngap_id.0);
                self.send(self.release_complete(ids.0, ids.1)).await?;
                break;
            }
        }
        Ok(types)
    }

    /// Connects to the AMF and performs NG SETUP.
    ///
    /// # Errors
    /// The AMF is not reachable, or rejects the setup.
    pub async fn set_up(core: &TestCore, number: u8) -> Result<RawGnb> {
        let gnb = RawGnb::connect(core, number).await?;
        gnb.send(gnb.ng_setup("001", 1)).await?;
        let answer = gnb.next().await?;
        ensure!(
            answer.kind() == Kind::Successful_NGSetup,
            "expected NG SETUP RESPONSE: {answer:?}"
        );
        Ok(gnb)
    }

    /// NG SETUP REQUEST with the PLMN MCC-01 and one slice.
    pub fn ng_setup(&self, mcc: &str, sst: u8) -> Bytes {
        self.ng_setup_as(self.number.into(), mcc, sst, 1)
    }

    /// NG SETUP REQUEST with the identity of another gNB, and a tracking area.
    pub fn ng_setup_as(&self, gnb: u32, mcc: &str, sst: u8, tac: u8) -> Bytes {
        let plmn = helpers::plmn(mcc, "01").expect("a valid PLMN");
        let id = helpers::global_gnb_id(plmn, gnb, 24).expect("a valid identifier");
        let slices =
            SliceSupportList(vec![SliceSupportItem::new(helpers::s_nssai(sst, None), None)]);
        let plmns = BroadcastPLMNList(vec![BroadcastPLMNItem::new(plmn, slices, None)]);
        let pdu = build_ngap!(
            InitiatingMessage,
            NGSetup,
            NGSetupRequest,
            GlobalRANNodeID(GlobalRANNodeID::globalGNB_ID(id)),
            SupportedTAList(SupportedTAList(vec![SupportedTAItem::new(
                TAC([0, 0, tac]),
                plmns,
                None
            )])),
            DefaultPagingDRX(PagingDRX::v128),
        );
        encoded(pdu)
    }

    /// INITIAL UE MESSAGE.
    pub fn initial_ue_message(&self, ran_id: u32, nas: &[u8]) -> Bytes {
        encoded(build_ngap!(
            InitiatingMessage,
            InitialUEMessage,
            InitialUEMessage,
            RAN_UE_NGAP_ID(ran_id),
            NAS_PDU(nas.to_vec()),
            UserLocationInformation(self.user_location()),
            RRCEstablishmentCause(RRCEstablishmentCause::mo_Signalling),
        ))
    }

    /// INITIAL UE MESSAGE with its elements in another order than TS 38.413, 9.2.5.1, has, as
    /// PacketRusher sends it.
    pub fn disordered_initial_ue_message(&self, ran_id: u32, nas: &[u8]) -> Bytes {
        encoded(build_ngap!(
            InitiatingMessage,
            InitialUEMessage,
            InitialUEMessage,
            RRCEstablishmentCause(RRCEstablishmentCause::mo_Signalling),
            UserLocationInformation(self.user_location()),
            NAS_PDU(nas.to_vec()),
            RAN_UE_NGAP_ID(ran_id),
        ))
    }

    /// UPLINK NAS TRANSPORT.
    pub fn uplink_nas_transport(&self, amf_id: u64, ran_id: u32, nas: &[u8]) -> Bytes {
        encoded(build_ngap!(
            InitiatingMessage,
            UplinkNASTransport,
            UplinkNASTransport,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
            NAS_PDU(nas.to_vec()),
            UserLocationInformation(self.user_location()),
        ))
    }

    /// UE CONTEXT RELEASE COMPLETE.
    pub fn release_complete(&self, amf_id: u64, ran_id: u32) -> Bytes {
        encoded(build_ngap!(
            SuccessfulOutcome,
            UEContextRelease,
            UEContextReleaseComplete,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
        ))
    }

    fn user_location(&self) -> UserLocationInformation<'static> {
        let plmn = helpers::plmn("001", "01").expect("a valid PLMN");
        let cell = helpers::nr_cgi(plmn, self.number.into(), 24, 1).expect("a valid cell");
        let nr = UserLocationInformationNR::new(cell, helpers::tai(plmn, [0, 0, 1]), None, None);
        UserLocationInformation::userLocationInformationNR(nr)
    }

    /// Sends bytes as an NGAP message; they need not decode.
    ///
    /// # Errors
    /// The association has ended.
    pub async fn send(&self, bytes: impl Into<Bytes>) -> Result<()> {
        Ok(self.link.send(0, bytes.into()).await?)
    }

    /// Sends bytes with a payload protocol identifier.
    ///
    /// # Errors
    /// The association has ended.
    pub async fn send_with_ppid(&self, ppid: u32, bytes: impl Into<Bytes>) -> Result<()> {
        let N2Link::Sctp(association) = &self.link else { bail!("N2 does not use SCTP") };
        Ok(association.send(0, ppid, bytes.into()).await?)
    }

    /// The next message of the AMF.
    ///
    /// # Errors
    /// None arrives within 30 s, it is not valid, or the association ends.
    pub async fn next(&self) -> Result<NGAP_PDU> {
        let received = tokio::time::timeout(TIMEOUT, self.link.recv())
            .await
            .context("no message from the AMF")?;
        let message = received?.context("the AMF has ended the association")?;
        let pdu = NGAP_PDU::decode(&message.data)?;
        let faults = pdu.check()?;
        ensure!(faults.is_empty(), "{} is invalid: {faults:?}", pdu.procedure_name());
        Ok(pdu)
    }

    /// The next message of a kind; others before it are ignored.
    ///
    /// # Errors
    /// None of that kind arrives.
    pub async fn next_of(&self, kind: Kind) -> Result<NGAP_PDU> {
        loop {
            let pdu = self.next().await.with_context(|| format!("expected {kind:?}"))?;
            if pdu.kind() == kind {
                return Ok(pdu);
            }
        }
    }

    /// AMF UE NGAP ID and NAS message of the next DOWNLINK NAS TRANSPORT.
    ///
    /// # Errors
    /// None arrives.
    pub async fn next_nas(&self) -> Result<(u64, Vec<u8>)> {
        let pdu = self.next_of(Kind::Initiating_DownlinkNASTransport).await?;
        let (Some(id), Some(nas)) =
            (pdu.ie::<ie::AMF_UE_NGAP_ID>().transpose()?, pdu.ie::<ie::NAS_PDU>().transpose()?)
        else {
            bail!("DOWNLINK NAS TRANSPORT without its mandatory elements: {pdu:?}");
        };
        Ok((id.0, nas.0.to_vec()))
    }

    /// Answers the next UE CONTEXT RELEASE COMMAND and returns its cause.
    ///
    /// # Errors
    /// None arrives.
    pub async fn complete_next_release(&self) -> Result<Cause> {
        let pdu = self.next_of(Kind::Initiating_UEContextRelease).await?;
        if let Some(UENGAPIDs::uE_NGAP_ID_pair(pair)) = pdu.ie::<ie::UE_NGAP_IDs>().transpose()? {
            self.send(self.release_complete(pair.amf_ue_ngap_id.0, pair.ran_ue_ngap_id.0)).await?;
        }
        cause_of(&pdu)
    }

    /// Whether the AMF sends nothing for a time.
    pub async fn is_silent(&self, time: Duration) -> bool {
        tokio::time::timeout(time, self.link.recv()).await.is_err()
    }

    /// Aborts the association.
    pub fn abort(&self) {
        self.link.abort();
    }
}

/// The Cause of a message.
///
/// # Errors
/// It has none.
pub fn cause_of(pdu: &NGAP_PDU) -> Result<Cause> {
    pdu.ie::<ie::Cause>()
        .transpose()?
        .with_context(|| format!("{} has no cause", pdu.procedure_name()))
}

fn encoded(pdu: Result<NGAP_PDU, martlet_ngap::Error>) -> Bytes {
    pdu.and_then(|pdu| pdu.encode()).expect("the message encodes").into()
}
