//! A simulated network: enough of an AMF and SMF for one UE.
use crate::ue::{Action, Event, Initial, OperatorKey, UeConfig, UeNas};
use martlet_nas::*;
use martlet_security::milenage::{Amf, K, Milenage, Opc, Sqn};
use martlet_security::nas_5gs::{Supi, derive_kamf, derive_kausf, derive_kseaf};
use martlet_security::{Plmn, Rand};
use std::time::Instant;

pub const IMSI: &str = "001010000000001";
pub const KEY: [u8; 16] = [0x46; 16];
pub const OPC: [u8; 16] = [0xcd; 16];
pub const SN_NAME: &[u8] = b"5G:mnc001.mcc001.3gppnetwork.org";

pub fn config() -> UeConfig {
    UeConfig::new(IMSI, 2, KEY, OperatorKey::Opc(OPC)).unwrap()
}

pub fn plmn() -> Plmn {
    Plmn::new("001", "01").unwrap()
}

pub fn ue() -> UeNas {
    UeNas::new(config(), plmn()).unwrap()
}

pub fn guti(tmsi: u32) -> Guti {
    Guti::new(plmn(), 1, 1, 0, tmsi).unwrap()
}

/// The pending actions of the UE.
pub fn actions(ue: &mut UeNas) -> Vec<Action> {
    std::iter::from_fn(|| ue.poll_action()).collect()
}

/// The NAS messages among the actions.
pub fn sent(actions: &[Action]) -> Vec<&[u8]> {
    actions
        .iter()
        .filter_map(|a| if let Action::Send { nas, .. } = a { Some(nas.as_slice()) } else { None })
        .collect()
}

/// The only NAS message among the actions.
pub fn one(ue: &mut UeNas) -> Vec<u8> {
    let actions = actions(ue);
    let sent = sent(&actions);
    assert_eq!(sent.len(), 1, "one message expected: {actions:?}");
    sent[0].to_vec()
}

pub fn one_initial(ue: &mut UeNas) -> (Vec<u8>, Initial) {
    let actions = actions(ue);
    match actions.as_slice() {
        [Action::Send { nas, initial: Some(initial) }, ..] => (nas.clone(), initial.clone()),
        other => panic!("an initial message expected: {other:?}"),
    }
}

pub fn events(actions: Vec<Action>) -> Vec<Event> {
    actions
        .into_iter()
        .filter_map(|a| if let Action::Event(e) = a { Some(e) } else { None })
        .collect()
}

/// The inner 5GMM message of a plain or decoded message.
pub fn mm(message: Nas5gsMessage) -> Nas5gmmMessage {
    match message {
        Nas5gsMessage::Gmm(_, message) => message,
        other => panic!("not a 5GMM message: {other}"),
    }
}

/// A network with one subscriber.
pub struct Network {
    milenage: Milenage,
    pub sqn: u64,
    pub ngksi: u8,
    pub kamf: Option<KAmf>,
    pub xres_star: Option<[u8; 16]>,
    pub context: Option<NasSecurityContext>,
    pub rand: [u8; 16],
    pub imsi: String,
}

impl Network {
    pub fn new() -> Self {
        Network {
            milenage: Milenage::new(&K::new(&KEY), &Opc::new(&OPC)),
            sqn: 0x20,
            ngksi: 0,
            kamf: None,
            xres_star: None,
            context: None,
            rand: [0x23; 16],
            imsi: IMSI.to_owned(),
        }
    }

    pub fn resynchronise(&mut self, auts: &[u8; 14]) -> u64 {
        let auts = martlet_security::milenage::Auts::new(auts);
        self.sqn = self.milenage.verify_auts(&Rand::new(&self.rand), &auts).expect("AUTS").get();
        self.sqn
    }

    /// AUTHENTICATION REQUEST with a fresh vector and this AMF field.
    pub fn challenge_with(&mut self, amf: [u8; 2], spoil_mac: bool) -> Vec<u8> {
        self.sqn += 0x20;
        let rand = Rand::new(&self.rand);
        let vector = self.milenage.authentication_vector(
            &rand,
            &Sqn::try_from(self.sqn).unwrap(),
            &Amf::new(&amf),
        );
        let kausf = derive_kausf(vector.ck(), vector.ik(), SN_NAME, vector.autn()).unwrap();
        let kseaf = derive_kseaf(&kausf, SN_NAME).unwrap();
        self.kamf = Some(derive_kamf(&kseaf, &Supi::imsi(&self.imsi).unwrap(), &[0, 0]).unwrap());
        self.xres_star = Some(*vector.xres_star(SN_NAME).unwrap().as_octets());
        let mut autn = *vector.autn().as_octets();
        if spoil_mac {
            autn[15] ^= 1;
        }
        let ngksi =
            NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(self.ngksi))
                .unwrap();
        let request = NasAuthenticationRequest::new(ngksi, NasAbba::new(vec![0, 0]))
            .with_authentication_parameter_rand(NasAuthenticationParameterRand::from_rand(
                self.rand,
            ))
            .with_authentication_parameter_autn(NasAuthenticationParameterAutn::from_autn(autn));
        Nas5gsMessage::new_5gmm(request).encode().unwrap()
    }

    pub fn challenge(&mut self) -> Vec<u8> {
        self.challenge_with([0x80, 0], false)
    }

    /// SECURITY MODE COMMAND. The network uses the new context from now on.
    pub fn security_mode_command(
        &mut self,
        nea: CipheringAlgorithm,
        nia: IntegrityAlgorithm,
        capability: NasUeSecurityCapability,
        change: impl FnOnce(&mut NasSecurityModeCommand),
    ) -> Vec<u8> {
        // The codec rejects NIA0 with a cipher, so NIA0 is used with NEA0.
        let mut context =
            NasSecurityContext::from_fresh_kamf(self.kamf.as_ref().unwrap(), nia, nea).unwrap();
        let ngksi =
            NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(self.ngksi))
                .unwrap();
        let mut command = NasSecurityModeCommand::new(
            NasSecurityAlgorithms::from_algorithms(nea, nia),
            ngksi,
            capability,
        );
        change(&mut command);
        let sht = Nas5gsSecurityHeaderType::IntegrityProtectedWithNewFiveGNasSecurityContext;
        let nas =
            context.protect(&Nas5gsMessage::new_5gmm(command), sht, Direction::Downlink).unwrap();
        self.context = Some(context);
        nas
    }

    pub fn protect(&mut self, message: impl Into<Nas5gmmMessage>) -> Vec<u8> {
        let sht = Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered;
        let message = Nas5gsMessage::new_5gmm(message);
        self.context.as_mut().unwrap().protect(&message, sht, Direction::Downlink).unwrap()
    }

    pub fn unprotect(&mut self, nas: &[u8]) -> Nas5gmmMessage {
        let verified = self
            .context
            .as_mut()
            .unwrap()
            .unprotect(nas, Direction::Uplink)
            .expect("a valid message");
        for message in std::iter::once(&verified.message).chain(&verified.sent) {
            assert!(message.validate().is_empty(), "{message}: {:?}", message.validate());
        }
        mm(verified.message)
    }

    /// A 5GSM message in DL NAS TRANSPORT.
    pub fn protect_sm(&mut self, message: impl Into<Nas5gsmMessage>, psi: u8, pti: u8) -> Vec<u8> {
        let message: Nas5gsmMessage = message.into();
        let header = Nas5gsmHeader::new(message.message_type(), psi, pti);
        let container =
            NasPayloadContainer::from_n1_sm_message(&Nas5gsMessage::Gsm(header, message)).unwrap();
        let kind = NasPayloadContainerType::from_kind(PayloadContainerKind::N1SmInformation);
        self.protect(
            NasDlNasTransport::new(kind, container)
                .with_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(psi)),
        )
    }

    /// The 5GSM message of an UL NAS TRANSPORT.
    pub fn unprotect_sm(
        &mut self,
        nas: &[u8],
    ) -> (NasUlNasTransport, Nas5gsmHeader, Nas5gsmMessage) {
        let Nas5gmmMessage::UlNasTransport(transport) = self.unprotect(nas) else {
            panic!("not UL NAS TRANSPORT")
        };
        let message = transport.payload_container.decode_as_n1_sm_message().unwrap();
        assert!(message.validate().is_empty(), "{message}: {:?}", message.validate());
        match message {
            Nas5gsMessage::Gsm(header, message) => (*transport, header, message),
            other => panic!("not a 5GSM message: {other}"),
        }
    }

    pub fn registration_accept(tmsi: u32) -> NasRegistrationAccept {
        let result = NasFGsRegistrationResult::from_result(RegistrationResult::ThreeGppAccess);
        NasRegistrationAccept::new(result)
            .with_fg_guti(NasFGsMobileIdentity::from_guti(guti(tmsi)))
            .with_tai_list(NasFGsTrackingAreaIdentityList::from_plmn_tacs(&plmn(), &[1]).unwrap())
            .with_allowed_nssai(
                NasNssai::from_snssais(&[NasSNssai::from_sst_sd(1, Some([1, 2, 3]))]).unwrap(),
            )
            .with_t3512_value(NasT3512Value::from_seconds(3600).unwrap())
    }

    /// Authenticates `ue`, which has sent its request, and starts security.
    pub fn secure(
        &mut self,
        ue: &mut UeNas,
        nea: CipheringAlgorithm,
        nia: IntegrityAlgorithm,
        now: Instant,
    ) -> NasSecurityModeComplete {
        ue.receive(&self.challenge(), now);
        let Nas5gmmMessage::AuthenticationResponse(response) =
            mm(Nas5gsMessage::decode(&one(ue)).unwrap())
        else {
            panic!("not AUTHENTICATION RESPONSE")
        };
        let res_star = response.authentication_response_parameter.unwrap().res_star().copied();
        assert_eq!(res_star.map(|r| r.to_vec()), self.xres_star.map(|r| r.to_vec()));
        let capability = ue.security_capability.clone();
        ue.receive(&self.security_mode_command(nea, nia, capability, |_| {}), now);
        let complete = one(ue);
        assert_eq!(complete[1], 4, "SECURITY MODE COMPLETE is protected with the new context");
        let Nas5gmmMessage::SecurityModeComplete(complete) = self.unprotect(&complete) else {
            panic!("not SECURITY MODE COMPLETE")
        };
        *complete
    }

    /// A registered UE and its network.
    pub fn registered(config: UeConfig, now: Instant) -> (Network, UeNas) {
        let mut network = Network::new();
        let mut ue = UeNas::new(config, plmn()).unwrap();
        ue.register(RegistrationType::InitialRegistration, now).unwrap();
        one(&mut ue);
        network.secure(&mut ue, CipheringAlgorithm::NEA2, IntegrityAlgorithm::NIA2, now);
        let accept = network.protect(Network::registration_accept(0xc000_0001));
        ue.receive(&accept, now);
        let complete = one(&mut ue);
        assert!(matches!(network.unprotect(&complete), Nas5gmmMessage::RegistrationComplete(_)));
        (network, ue)
    }
}
