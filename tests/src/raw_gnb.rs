//! A gNB that says what a test wants it to say, over SCTP, and answers nothing by itself.
use crate::TestCore;
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, build_ngap, helpers, ie};
use martlet_ran::gnb::N2Link;
use std::time::Duration;

/// How long the AMF may take for a message.
const PATIENCE: Duration = Duration::from_secs(5);

/// A gNB by hand.
pub struct RawGnb {
    link: N2Link,
    number: u8,
}

impl RawGnb {
    /// An association with the AMF, and nothing more.
    ///
    /// # Errors
    /// The AMF is not reached.
    pub async fn connect(core: &TestCore, number: u8) -> Result<RawGnb> {
        let config = core.gnb_config(number);
        Ok(RawGnb { link: N2Link::connect(&config).await?, number })
    }

    /// An association with NG SETUP.
    ///
    /// # Errors
    /// The AMF is not reached, or refuses.
    pub async fn set_up(core: &TestCore, number: u8) -> Result<RawGnb> {
        let gnb = RawGnb::connect(core, number).await?;
        gnb.send(gnb.ng_setup("001", 1)).await?;
        let answer = gnb.next().await?;
        ensure!(answer.kind() == Kind::Successful_NGSetup, "NG SETUP RESPONSE is due: {answer:?}");
        Ok(gnb)
    }

    /// NG SETUP REQUEST for a network MCC-01 with one slice.
    pub fn ng_setup(&self, mcc: &str, sst: u8) -> Bytes {
        let plmn = helpers::plmn(mcc, "01").expect("a network");
        let id = helpers::global_gnb_id(plmn, self.number.into(), 24).expect("an identifier");
        let slices =
            SliceSupportList(vec![SliceSupportItem::new(helpers::s_nssai(sst, None), None)]);
        let plmns = BroadcastPLMNList(vec![BroadcastPLMNItem::new(plmn, slices, None)]);
        let pdu = build_ngap!(
            InitiatingMessage,
            NGSetup,
            NGSetupRequest,
            GlobalRANNodeID(GlobalRANNodeID::globalGNB_ID(id)),
            SupportedTAList(SupportedTAList(vec![SupportedTAItem::new(
                TAC([0, 0, 1]),
                plmns,
                None
            )])),
            DefaultPagingDRX(PagingDRX::v128),
        );
        encoded(pdu)
    }

    /// INITIAL UE MESSAGE.
    pub fn initial(&self, ran_id: u32, nas: &[u8]) -> Bytes {
        encoded(build_ngap!(
            InitiatingMessage,
            InitialUEMessage,
            InitialUEMessage,
            RAN_UE_NGAP_ID(ran_id),
            NAS_PDU(nas.to_vec()),
            UserLocationInformation(self.place()),
            RRCEstablishmentCause(RRCEstablishmentCause::mo_Signalling),
        ))
    }

    /// UPLINK NAS TRANSPORT.
    pub fn uplink(&self, amf_id: u64, ran_id: u32, nas: &[u8]) -> Bytes {
        encoded(build_ngap!(
            InitiatingMessage,
            UplinkNASTransport,
            UplinkNASTransport,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
            NAS_PDU(nas.to_vec()),
            UserLocationInformation(self.place()),
        ))
    }

    /// UE CONTEXT RELEASE COMPLETE.
    pub fn released(&self, amf_id: u64, ran_id: u32) -> Bytes {
        encoded(build_ngap!(
            SuccessfulOutcome,
            UEContextRelease,
            UEContextReleaseComplete,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
        ))
    }

    fn place(&self) -> UserLocationInformation<'static> {
        let plmn = helpers::plmn("001", "01").expect("a network");
        let cell = helpers::nr_cgi(plmn, self.number.into(), 24, 1).expect("a cell");
        let nr = UserLocationInformationNR::new(cell, helpers::tai(plmn, [0, 0, 1]), None, None);
        UserLocationInformation::userLocationInformationNR(nr)
    }

    /// Sends octets, whatever they are.
    ///
    /// # Errors
    /// The association has ended.
    pub async fn send(&self, octets: impl Into<Bytes>) -> Result<()> {
        Ok(self.link.send(0, octets.into()).await?)
    }

    /// Sends octets under a payload protocol identifier.
    ///
    /// # Errors
    /// The association has ended.
    pub async fn send_under(&self, ppid: u32, octets: impl Into<Bytes>) -> Result<()> {
        let N2Link::Sctp(association) = &self.link else { bail!("no SCTP") };
        Ok(association.send(0, ppid, octets.into()).await?)
    }

    /// The next message of the AMF, which is without a fault.
    ///
    /// # Errors
    /// None comes in five seconds, or the association ends.
    pub async fn next(&self) -> Result<NGAP_PDU> {
        let received = tokio::time::timeout(PATIENCE, self.link.recv())
            .await
            .context("the AMF says nothing")?;
        let message = received?.context("the AMF has ended the association")?;
        let pdu = NGAP_PDU::decode(&message.data)?;
        let faults = pdu.check()?;
        ensure!(faults.is_empty(), "{} is faulty: {faults:?}", pdu.procedure_name());
        Ok(pdu)
    }

    /// The next message of a kind; others before it are passed over.
    ///
    /// # Errors
    /// None of that kind comes.
    pub async fn next_of(&self, kind: Kind) -> Result<NGAP_PDU> {
        loop {
            let pdu = self.next().await.with_context(|| format!("{kind:?} is due"))?;
            if pdu.kind() == kind {
                return Ok(pdu);
            }
        }
    }

    /// AMF UE NGAP ID and NAS message of the next DOWNLINK NAS TRANSPORT.
    ///
    /// # Errors
    /// None comes.
    pub async fn next_nas(&self) -> Result<(u64, Vec<u8>)> {
        let pdu = self.next_of(Kind::Initiating_DownlinkNASTransport).await?;
        let (Some(id), Some(nas)) =
            (pdu.ie::<ie::AMF_UE_NGAP_ID>().transpose()?, pdu.ie::<ie::NAS_PDU>().transpose()?)
        else {
            bail!("DOWNLINK NAS TRANSPORT without its mandatory elements: {pdu:?}");
        };
        Ok((id.0, nas.0.to_vec()))
    }

    /// The next UE CONTEXT RELEASE COMMAND is obeyed; its cause.
    ///
    /// # Errors
    /// None comes.
    pub async fn next_release(&self) -> Result<Cause> {
        let pdu = self.next_of(Kind::Initiating_UEContextRelease).await?;
        if let Some(UENGAPIDs::uE_NGAP_ID_pair(pair)) = pdu.ie::<ie::UE_NGAP_IDs>().transpose()? {
            self.send(self.released(pair.amf_ue_ngap_id.0, pair.ran_ue_ngap_id.0)).await?;
        }
        cause_of(&pdu)
    }

    /// Whether the AMF says nothing for a while.
    pub async fn is_silent(&self, long: Duration) -> bool {
        tokio::time::timeout(long, self.link.recv()).await.is_err()
    }

    /// The association is aborted.
    pub fn vanish(&self) {
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
    pdu.and_then(|pdu| pdu.encode()).expect("a message that encodes").into()
}
