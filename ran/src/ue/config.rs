//! The configuration of a simulated UE: USIM, identity, capabilities and NAS timers.
use martlet_nas::{DrxValue, Guti};
use martlet_security::Plmn;
use martlet_security::identity::Imsi;
use martlet_security::nas_5gs::{HomeNetworkPublicKey, RoutingIndicator};
use std::time::Duration;

/// An S-NSSAI: slice/service type and optional slice differentiator (TS 23.003, 28.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slice {
    /// Slice/service type, SST.
    pub sst: u8,
    /// Slice differentiator, SD, 24 bits in network byte order.
    pub sd: Option<[u8; 3]>,
}

impl std::fmt::Display for Slice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.sd {
            Some([a, b, c]) => write!(f, "{}-{a:02x}{b:02x}{c:02x}", self.sst),
            None => write!(f, "{}", self.sst),
        }
    }
}

/// The algorithm and the operator's variant of it: OPc of the subscriber or OP of the operator for
/// MILENAGE (TS 35.206, 4.1), TOPc or TOP for TUAK (TS 35.231).
#[derive(Clone, PartialEq, Eq)]
pub enum OperatorKey {
    /// OPc.
    Opc([u8; 16]),
    /// OP, from which OPc is derived.
    Op([u8; 16]),
    /// TOPc: the USIM has TUAK (TS 35.231) with one iteration and RES of 64 bits.
    Topc([u8; 32]),
    /// TOP, from which TOPc is derived.
    Top([u8; 32]),
}

impl std::fmt::Debug for OperatorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            OperatorKey::Opc(_) => "Opc(..)",
            OperatorKey::Op(_) => "Op(..)",
            OperatorKey::Topc(_) => "Topc(..)",
            OperatorKey::Top(_) => "Top(..)",
        })
    }
}

/// How the UE conceals its SUPI (TS 33.501, annex C).
#[derive(Debug, Clone)]
pub enum SuciScheme {
    /// Null scheme: the MSIN is sent in clear.
    Null,
    /// ECIES profile A (X25519) or B (secp256r1), by the kind of the key.
    Ecies {
        /// Home network public key identifier, 1 to 254.
        key_id: u8,
        /// The home network's public key.
        key: HomeNetworkPublicKey,
    },
}

/// NAS timers of the UE (TS 24.501, tables 10.2.1 and 10.3.1) and how often a message is sent
/// again.
///
/// The defaults are the specification's values. Tests of expiry use shorter ones.
#[derive(Debug, Clone)]
pub struct NasTimers {
    /// Registration: from REGISTRATION REQUEST to its answer.
    pub t3510: Duration,
    /// Registration: pause before the next attempt after a failure.
    pub t3511: Duration,
    /// Authentication: how long RAND and RES* are stored.
    pub t3516: Duration,
    /// Service request: from SERVICE REQUEST to its answer.
    pub t3517: Duration,
    /// Authentication: how long the network may take after AUTHENTICATION FAILURE.
    pub t3520: Duration,
    /// De-registration: from DEREGISTRATION REQUEST to its answer.
    pub t3521: Duration,
    /// How long the UE waits for the network to release the N1 signalling connection.
    pub t3540: Duration,
    /// PDU session establishment.
    pub t3580: Duration,
    /// PDU session modification.
    pub t3581: Duration,
    /// PDU session release.
    pub t3582: Duration,
    /// How often a request is sent again after its timer expired, before the procedure is aborted
    /// (T3521, T3580 to T3582).
    pub retransmissions: u8,
    /// Maximum number of attempts of the registration procedure (5 in TS 24.501, 5.5.1.2.7).
    pub registration_attempts: u8,
}

impl Default for NasTimers {
    fn default() -> Self {
        NasTimers {
            t3510: Duration::from_secs(15),
            t3511: Duration::from_secs(10),
            t3516: Duration::from_secs(30),
            t3517: Duration::from_secs(15),
            t3520: Duration::from_secs(15),
            t3521: Duration::from_secs(15),
            t3540: Duration::from_secs(10),
            t3580: Duration::from_secs(16),
            t3581: Duration::from_secs(16),
            t3582: Duration::from_secs(16),
            retransmissions: 4,
            registration_attempts: 5,
        }
    }
}

/// Whether an idle UE requests service on paging and uplink data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdleBehaviour {
    /// At once, as real UEs do.
    #[default]
    Automatic,
    /// Only on a call, so that a test or a lab controls the time.
    Manual,
}

/// A simulated UE.
#[derive(Debug, Clone)]
pub struct UeConfig {
    /// IMSI.
    pub imsi: Imsi,
    /// Network-specific identifier, `user@realm`, which then is the SUPI in place of the IMSI
    /// (TS 23.003, 2.2A and 28.7.2).
    pub nai: Option<String>,
    /// Digits of the MNC in the IMSI: 2 or 3.
    pub mnc_digits: usize,
    /// K, the subscriber's key.
    pub k: [u8; 16],
    /// OPc or OP.
    pub operator_key: OperatorKey,
    /// SQN_MS at the start: the highest sequence number that the USIM has accepted, 48 bits.
    pub sqn: u64,
    /// SUCI protection scheme.
    pub suci: SuciScheme,
    /// Routing indicator of the SUCI.
    pub routing_indicator: RoutingIndicator,
    /// IMEISV, 16 digits, sent if the network requests it.
    pub imeisv: String,
    /// 5G-EA bits of the UE security capability: 0x80 is NEA0, 0x40 NEA1, 0x20 NEA2, 0x10 NEA3.
    pub nea: u8,
    /// 5G-IA bits of the UE security capability, in the same order.
    pub nia: u8,
    /// Whether a security mode command that selects NIA0 is accepted (emergency services only).
    pub null_integrity_allowed: bool,
    /// Requested NSSAI; empty: none is sent.
    pub requested_nssai: Vec<Slice>,
    /// DRX cycle that it requests for paging (TS 24.501, 9.11.3.2A), if any.
    pub requested_drx: Option<DrxValue>,
    /// Timers.
    pub timers: NasTimers,
    /// What the UE does without a command while idle.
    pub idle: IdleBehaviour,
    /// Whether it processes and confirms CONFIGURATION UPDATE COMMAND; false simulates the loss of
    /// the command.
    pub confirms_configuration: bool,
    /// Whether it takes the 5G-GUTI of CONFIGURATION UPDATE COMMAND into use; false simulates UEs
    /// that confirm it and keep the old one.
    pub takes_new_guti: bool,
    /// A 5G-GUTI mapped from a 4G-GUTI: the UE comes from LTE with each registration. Its own is
    /// the Additional GUTI then.
    pub mapped_guti: Option<Guti>,
    /// Number of PDU SESSION MODIFICATION COMMANDs that are lost.
    pub modifications_lost: u8,
    /// Whether it has LPP in NAS (5GMM capability, octet 3).
    pub lpp: bool,
    /// Whether it has positioning over the user plane (5GMM capability, octet 10).
    pub lcs_upp: bool,
    /// UE Radio Capability Information (TS 38.331), which a gNB requests if the AMF provides none;
    /// empty: gNBs do not request it.
    pub radio_capability: Vec<u8>,
}

/// An invalid value of [`UeConfig`].
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum UeConfigError {
    /// The IMSI is invalid.
    #[error("IMSI `{imsi}`: {reason}")]
    Imsi {
        /// The value.
        imsi: String,
        /// Why it is invalid.
        reason: String,
    },
    /// Another value.
    #[error("{0}")]
    Value(String),
}

impl UeConfig {
    /// A UE with the usual capabilities (NEA0–3, NIA0–3), the null SUCI scheme and the
    /// specification's timers.
    ///
    /// `mnc_digits` is the number of MNC digits in the IMSI: 2 or 3.
    ///
    /// # Errors
    /// An IMSI that is not 6 to 15 digits, and another number of MNC digits.
    pub fn new(
        imsi: &str,
        mnc_digits: usize,
        k: [u8; 16],
        operator_key: OperatorKey,
    ) -> Result<Self, UeConfigError> {
        let wrong = |reason: String| UeConfigError::Imsi { imsi: imsi.to_owned(), reason };
        let parsed = Imsi::new(imsi).map_err(|e| wrong(e.to_string()))?;
        parsed.plmn(mnc_digits).map_err(|e| wrong(e.to_string()))?;
        Ok(UeConfig {
            imsi: parsed,
            nai: None,
            mnc_digits,
            k,
            operator_key,
            sqn: 0,
            suci: SuciScheme::Null,
            routing_indicator: RoutingIndicator::default(),
            imeisv: "4370816125816151".to_owned(),
            nea: 0xf0,
            nia: 0xf0,
            null_integrity_allowed: false,
            requested_nssai: Vec::new(),
            requested_drx: None,
            timers: NasTimers::default(),
            idle: IdleBehaviour::Automatic,
            confirms_configuration: true,
            takes_new_guti: true,
            mapped_guti: None,
            modifications_lost: 0,
            lpp: false,
            lcs_upp: false,
            radio_capability: Vec::new(),
        })
    }

    /// The SUPI, `imsi-…` or `nai-…`.
    pub fn supi(&self) -> String {
        match &self.nai {
            Some(nai) => format!("nai-{nai}"),
            None => format!("imsi-{}", self.imsi.as_str()),
        }
    }

    /// The home PLMN of the IMSI.
    pub fn home_plmn(&self) -> Result<Plmn, UeConfigError> {
        self.imsi.plmn(self.mnc_digits).map_err(|e| UeConfigError::Imsi {
            imsi: self.imsi.as_str().to_owned(),
            reason: e.to_string(),
        })
    }
}
