//! A simulated AMF behind a local link.
use crate::gnb::{Gnb, GnbConfig, GnbError, N2Link, N2Message, N2Peer};
use crate::sample::Samples;
use crate::ue::tests::network::{Network, plmn};
use martlet_nas::NasRegistrationAccept;
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, build_ngap, extract_ngap_ies, helpers};
use martlet_security::nas_5gs::derive_kgnb;
use std::time::Duration;

pub struct Amf {
    pub peer: N2Peer,
    pub network: Network,
    pub amf_id: u64,
    pub ran_id: u32,
}

pub fn config() -> GnbConfig {
    let mut config = GnbConfig::new("gnb-1", plmn(), 0x123, ([127, 0, 0, 1], 38412).into());
    config.setup_timeout = Duration::from_secs(5);
    config.procedure_timeout = Duration::from_secs(5);
    config
}

/// A gNB after NG setup, and its AMF.
pub async fn gnb_and_amf() -> (Gnb, Amf) {
    gnb_and_amf_with(config()).await
}

pub async fn gnb_and_amf_with(config: GnbConfig) -> (Gnb, Amf) {
    let (link, peer) = N2Link::local(4);
    let mut amf = Amf { peer, network: Network::new(), amf_id: 77, ran_id: 0 };
    let (gnb, ()) = tokio::join!(Gnb::attach(config, link, Samples::default()), amf.accept_setup());
    (gnb.expect("NG setup"), amf)
}

/// The error of a gNB that gets this answer to NG SETUP REQUEST.
pub async fn refused(answer: Vec<u8>) -> GnbError {
    let (link, mut peer) = N2Link::local(4);
    let answering = async move {
        peer.from_gnb.recv().await.expect("NG SETUP REQUEST");
        peer.to_gnb.send(N2Message { stream: 0, data: answer.into() }).await.expect("a gNB");
        peer
    };
    let (gnb, _peer) = tokio::join!(Gnb::attach(config(), link, Samples::default()), answering);
    gnb.err().expect("no setup")
}

impl Amf {
    pub async fn accept_setup(&mut self) {
        let (kind, pdu) = self.next().await;
        assert_eq!(kind, Kind::Initiating_NGSetup);
        assert!(pdu.check().unwrap().is_empty(), "{:?}", pdu.check());
        let id = helpers::plmn("001", "01").unwrap();
        let slices = SliceSupportList(vec![SliceSupportItem::new(helpers::s_nssai(1, None), None)]);
        let response = build_ngap!(
            SuccessfulOutcome,
            NGSetup,
            NGSetupResponse,
            AMFName("amf-by-hand"),
            ServedGUAMIList(ServedGUAMIList(vec![ServedGUAMIItem::new(
                helpers::guami(id, 1, 1, 0).unwrap(),
                None,
                None
            )])),
            RelativeAMFCapacity(RelativeAMFCapacity(255)),
            PLMNSupportList(PLMNSupportList(vec![PLMNSupportItem::new(id, slices, None)])),
        );
        self.send(response.unwrap()).await;
    }

    /// The next message of the gNB. It must conform to the specification.
    pub async fn next(&mut self) -> (Kind, NGAP_PDU) {
        let message = self.peer.from_gnb.recv();
        let message = tokio::time::timeout(Duration::from_secs(30), message).await;
        let message = message.expect("a message in time").expect("a gNB");
        let pdu = NGAP_PDU::decode(&message.data).expect("NGAP");
        let deviations = pdu.check().expect("IEs");
        assert!(deviations.is_empty(), "{}: {deviations:?}", pdu.procedure_name());
        let ue_associated = pdu.ie::<martlet_ngap::ie::RAN_UE_NGAP_ID>().is_some();
        assert_eq!(
            message.stream == 0,
            !ue_associated || pdu.kind() == Kind::Initiating_ErrorIndication
        );
        (pdu.kind(), pdu)
    }

    pub async fn send(&mut self, pdu: NGAP_PDU) {
        self.send_raw(pdu.encode().unwrap()).await;
    }

    pub async fn send_raw(&mut self, message: Vec<u8>) {
        self.peer.to_gnb.send(N2Message { stream: 1, data: message.into() }).await.expect("a gNB");
    }

    /// The NAS message of the next INITIAL UE MESSAGE or UPLINK NAS TRANSPORT.
    pub async fn nas(&mut self) -> Vec<u8> {
        let (kind, pdu) = self.next().await;
        match kind {
            Kind::Initiating_InitialUEMessage => {
                self.ran_id = pdu.ie::<martlet_ngap::ie::RAN_UE_NGAP_ID>().unwrap().unwrap().0;
                self.amf_id += 1;
            }
            Kind::Initiating_UplinkNASTransport => {
                let ran_id = pdu.ie::<martlet_ngap::ie::RAN_UE_NGAP_ID>().unwrap().unwrap().0;
                let amf_id = pdu.ie::<martlet_ngap::ie::AMF_UE_NGAP_ID>().unwrap().unwrap().0;
                assert_eq!((ran_id, amf_id), (self.ran_id, self.amf_id));
            }
            other => panic!("{other:?}"),
        }
        pdu.ie::<martlet_ngap::ie::NAS_PDU>().unwrap().unwrap().0.to_vec()
    }

    pub async fn downlink_nas(&mut self, nas: Vec<u8>) {
        let pdu = build_ngap!(
            InitiatingMessage,
            DownlinkNASTransport,
            DownlinkNASTransport,
            AMF_UE_NGAP_ID(self.amf_id),
            RAN_UE_NGAP_ID(self.ran_id),
            NAS_PDU(nas),
        );
        self.send(pdu.unwrap()).await;
    }

    /// K_gNB for the uplink COUNT that the access was started with.
    pub fn k_gnb(&self, count: u32) -> [u8; 32] {
        let kamf = self.network.kamf.as_ref().unwrap();
        *derive_kgnb(kamf, martlet_nas::NasCount::new(count).unwrap()).as_octets()
    }

    pub fn context_setup(&self, key: [u8; 32], nas: Vec<u8>) -> NGAP_PDU {
        let id = helpers::plmn("001", "01").unwrap();
        build_ngap!(
            InitiatingMessage,
            InitialContextSetup,
            InitialContextSetupRequest,
            AMF_UE_NGAP_ID(self.amf_id),
            RAN_UE_NGAP_ID(self.ran_id),
            GUAMI(helpers::guami(id, 1, 1, 0).unwrap()),
            AllowedNSSAI(AllowedNSSAI(vec![AllowedNSSAIItem::new(
                helpers::s_nssai(1, None),
                None
            )])),
            UESecurityCapabilities(helpers::ue_security_capabilities(0xe0, 0xe0)),
            SecurityKey(key),
            NAS_PDU(nas),
        )
        .unwrap()
    }

    /// Answers a registration that the UE has requested, up to REGISTRATION COMPLETE.
    pub async fn register(&mut self, tmsi: u32) {
        let request = self.nas().await;
        assert_eq!(&request[..3], [0x7e, 0x00, 0x41], "a plain REGISTRATION REQUEST");
        self.authenticate().await;
        let accept = self.network.protect(accept(tmsi));
        let key = self.k_gnb(0);
        let setup = self.context_setup(key, accept);
        self.send(setup).await;
        assert_eq!(self.next().await.0, Kind::Successful_InitialContextSetup);
        let complete = self.nas().await;
        self.network.unprotect(&complete);
    }

    pub async fn authenticate(&mut self) {
        use martlet_nas::{CipheringAlgorithm, IntegrityAlgorithm, NasUeSecurityCapability};
        let challenge = self.network.challenge();
        self.downlink_nas(challenge).await;
        self.nas().await;
        let capability = NasUeSecurityCapability::from_capabilities(0xf0, 0xf0);
        let (nea, nia) = (CipheringAlgorithm::NEA2, IntegrityAlgorithm::NIA2);
        let command = self.network.security_mode_command(nea, nia, capability, |_| {});
        self.downlink_nas(command).await;
        let complete = self.nas().await;
        self.network.unprotect(&complete);
    }

    pub fn release_command(&self) -> NGAP_PDU {
        let pair = UENGAPIDPair::new(AMFUENGAPID(self.amf_id), RANUENGAPID(self.ran_id), None);
        build_ngap!(
            InitiatingMessage,
            UEContextRelease,
            UEContextReleaseCommand,
            UE_NGAP_IDs(UENGAPIDs::uE_NGAP_ID_pair(pair)),
            Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity)),
        )
        .unwrap()
    }

    /// Answers a release that the gNB requests.
    pub async fn release(&mut self) {
        assert_eq!(self.next().await.0, Kind::Initiating_UEContextReleaseRequest);
        let command = self.release_command();
        self.send(command).await;
        assert_eq!(self.next().await.0, Kind::Successful_UEContextRelease);
    }

    pub fn paging(&self, tmsi: u32, tac: u8) -> NGAP_PDU {
        let id = helpers::plmn("001", "01").unwrap();
        let s_tmsi = FiveGSTMSI::new(
            AMFSetID::new(1).unwrap(),
            AMFPointer::new(0).unwrap(),
            FiveGTMSI(tmsi.to_be_bytes()),
            None,
        );
        let areas = vec![TAIListForPagingItem::new(helpers::tai(id, [0, 0, tac]), None)];
        build_ngap!(
            InitiatingMessage,
            Paging,
            Paging,
            UEPagingIdentity(UEPagingIdentity::fiveG_S_TMSI(s_tmsi)),
            TAIListForPaging(TAIListForPaging(areas)),
        )
        .unwrap()
    }
}

pub fn accept(tmsi: u32) -> NasRegistrationAccept {
    Network::registration_accept(tmsi)
}

/// Cause of an ERROR INDICATION.
pub fn error_cause(pdu: &NGAP_PDU) -> Cause {
    fn read(pdu: &NGAP_PDU) -> Result<Cause, martlet_ngap::Error> {
        extract_ngap_ies!(pdu, ErrorIndication, req cause: Cause = Cause(cause) => cause,);
        Ok(cause)
    }
    read(pdu).unwrap()
}

/// ERROR INDICATION about an invalid message.
pub fn error_indication() -> Vec<u8> {
    let cause = Cause::protocol(CauseProtocol::transfer_syntax_error);
    build_ngap!(InitiatingMessage, ErrorIndication, ErrorIndication, Cause(cause))
        .unwrap()
        .encode()
        .unwrap()
}
