//! What the NAS layer requests of its caller, and the events that it reports.
use super::config::Slice;
use martlet_nas::{GmmCause, GsmCause, Guti, PduSessionTypeValue, STmsi};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Why an RRC connection is established (TS 24.501, table 4.5.6.1; TS 38.413, 9.3.1.111).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EstablishmentCause {
    /// Signalling of the UE.
    MoSignalling,
    /// Uplink data.
    MoData,
    /// An answer to paging.
    MtAccess,
    /// An emergency call.
    Emergency,
}

/// Parameters of the first NAS message of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initial {
    /// Establishment cause.
    pub cause: EstablishmentCause,
    /// 5G-S-TMSI for the gNB, if the UE has one.
    pub s_tmsi: Option<STmsi>,
}

/// An action for the caller.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Send a NAS message to the AMF.
    Send {
        /// The NAS-PDU.
        nas: Vec<u8>,
        /// Set for the first message of a connection.
        initial: Option<Initial>,
    },
    /// Release the connection locally (TS 24.501, 5.3.1.3).
    ReleaseConnection,
    /// An event for the caller.
    Event(Event),
}

/// What the UE received with a registration (TS 24.501, 8.2.7).
#[derive(Debug, Clone, PartialEq)]
pub struct RegistrationOutcome {
    /// The 5G-GUTI that the UE has now.
    pub guti: Option<Guti>,
    /// Allowed NSSAI.
    pub allowed_nssai: Vec<Slice>,
    /// Rejected S-NSSAIs are present.
    pub rejected_nssai: bool,
    /// Tracking areas (MCC-MNC-TAC) of the registration area, as text.
    pub registration_area: String,
    /// Periodic registration timer T3512.
    pub t3512: Option<Duration>,
    /// NEA and NIA identifiers in use, 0 to 3.
    pub algorithms: Option<(u8, u8)>,
    /// PDU sessions that the network reports as active.
    pub active_sessions: Option<Vec<u8>>,
}

/// A PDU session as the UE has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PduSession {
    /// PDU session identity, 1 to 15.
    pub psi: u8,
    /// DNN requested by the UE or assigned by the network.
    pub dnn: Option<String>,
    /// S-NSSAI.
    pub slice: Option<Slice>,
    /// What it carries.
    pub kind: PduSessionTypeValue,
    /// Session and service continuity mode, 1 to 3.
    pub ssc_mode: u8,
    /// IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 interface identifier, of which the link-local address is made.
    pub ipv6_interface_id: Option<[u8; 8]>,
    /// DNS servers from the protocol configuration options.
    pub dns: Vec<Ipv4Addr>,
    /// Link MTU from the protocol configuration options, bytes.
    pub mtu: Option<u16>,
    /// Session-AMBR, downlink and uplink, kilobits per second.
    pub ambr_kbps: Option<(u64, u64)>,
    /// QFI of the default QoS rule.
    pub default_qfi: Option<u8>,
    /// QoS flows: each QFI with its 5QI, in the order of QFIs.
    pub flows: Vec<(u8, u8)>,
    /// QoS rules: identifier and QFI.
    pub rules: Vec<(u8, u8)>,
    /// Whether it is an always-on PDU session.
    pub always_on: bool,
    /// 5GSM cause with which the network accepted, such as #50 "PDU session type IPv4 only
    /// allowed".
    pub cause: Option<u8>,
}

impl PduSession {
    /// The link-local IPv6 address of the interface identifier (TS 23.501, 5.8.2.2.3).
    pub fn ipv6_link_local(&self) -> Option<Ipv6Addr> {
        self.ipv6_interface_id.map(|id| {
            let mut address = [0; 16];
            address[0] = 0xfe;
            address[1] = 0x80;
            address[8..].copy_from_slice(&id);
            Ipv6Addr::from(address)
        })
    }
}

/// The name of a 5GMM cause in parentheses, after a blank (TS 24.501, table 9.11.3.2.1); empty for
/// one without.
pub fn mm_cause_name(cause: u8) -> String {
    GmmCause::from_u8(cause).map(|cause| format!(" ({})", cause.description())).unwrap_or_default()
}

/// The name of a 5GSM cause in parentheses, after a blank (TS 24.501, table 9.11.4.2.1); empty for
/// one without.
pub fn sm_cause_name(cause: u8) -> String {
    GsmCause::from_u8(cause).map(|cause| format!(" ({})", cause.description())).unwrap_or_default()
}

/// Why a PDU session was not established, or was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionCause {
    /// 5GSM cause of the SMF (TS 24.501, 9.11.4.2).
    Sm(u8),
    /// 5GMM cause with which the AMF returned the message (TS 24.501, 9.11.3.2).
    Mm(u8),
    /// The network changed the session at the same time.
    Collision,
    /// The network did not answer all retransmissions.
    Timeout,
    /// The network's session status no longer has the session.
    StatusInactive,
    /// The UE deregistered, or lost its registration.
    Deregistered,
    /// The connection to the AMF was released while the procedure ran.
    ConnectionReleased,
}

impl std::fmt::Display for SessionCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SessionCause::Sm(c) => write!(f, "5GSM cause #{c}{}", sm_cause_name(*c)),
            SessionCause::Mm(c) => write!(f, "5GMM cause #{c}{}", mm_cause_name(*c)),
            SessionCause::Collision => {
                f.write_str("the network changed the session at the same time")
            }
            SessionCause::Timeout => f.write_str("no answer"),
            SessionCause::StatusInactive => f.write_str("the network does not have the session"),
            SessionCause::Deregistered => f.write_str("the UE is not registered"),
            SessionCause::ConnectionReleased => {
                f.write_str("the connection was released before the procedure ended")
            }
        }
    }
}

/// Why a procedure was aborted without a reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abort {
    /// Its timer expired as often as the specification allows.
    Timeout,
    /// The network rejected the authentication.
    AuthenticationRejected,
    /// The network failed to authenticate itself, also with further requests before T3520 expired.
    NetworkNotAuthentic,
    /// The UE refused the security mode command: 5GMM cause.
    SecurityModeRejected(u8),
    /// The connection to the AMF was released while the procedure ran.
    ConnectionReleased,
    /// Another procedure took precedence: the network deregistered the UE, for example.
    Superseded,
}

impl std::fmt::Display for Abort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Abort::Timeout => f.write_str("no answer from the network"),
            Abort::AuthenticationRejected => f.write_str("the network rejected the authentication"),
            Abort::NetworkNotAuthentic => f.write_str("the network failed to authenticate itself"),
            Abort::SecurityModeRejected(c) => {
                write!(
                    f,
                    "the UE refused the security mode command, 5GMM cause #{c}{}",
                    mm_cause_name(*c)
                )
            }
            Abort::ConnectionReleased => {
                f.write_str("the connection was released before the procedure ended")
            }
            Abort::Superseded => f.write_str("another procedure replaced it"),
        }
    }
}

/// Positioning messages in NAS (TS 24.501, 9.11.3.40).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PositioningKind {
    /// LPP (TS 37.355).
    Lpp,
    /// Location services messages (TS 24.571).
    Lcs,
    /// Negotiation of a user plane connection (TS 24.572).
    UppCmi,
}

/// What happened to the UE.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// REGISTRATION ACCEPT; REGISTRATION COMPLETE is sent if required.
    Registered(RegistrationOutcome),
    /// REGISTRATION REJECT.
    RegistrationRejected {
        /// 5GMM cause.
        cause: u8,
    },
    /// The registration ended otherwise.
    RegistrationAborted(Abort),
    /// The UE is deregistered: its request was accepted, or the last retransmission timed out.
    Deregistered,
    /// The network deregistered the UE.
    DeregisteredByNetwork {
        /// 5GMM cause, if the request has one.
        cause: Option<u8>,
        /// The network requests a new registration.
        re_registration_required: bool,
    },
    /// A PDU session is established.
    SessionEstablished(PduSession),
    /// A PDU session was not established.
    SessionRejected {
        /// PDU session identity.
        psi: u8,
        /// Why.
        cause: SessionCause,
    },
    /// The network changed a PDU session.
    SessionModified {
        /// PDU session identity.
        psi: u8,
        /// Whether the UE requested it.
        asked: bool,
    },
    /// The network rejected the UE's modification request.
    SessionModificationRejected {
        /// PDU session identity.
        psi: u8,
        /// Why.
        cause: SessionCause,
    },
    /// A PDU session is released.
    SessionReleased {
        /// PDU session identity.
        psi: u8,
        /// Why.
        cause: SessionCause,
    },
    /// The network refuses to release a session: PDU SESSION RELEASE REJECT.
    SessionReleaseRejected {
        /// PDU session identity.
        psi: u8,
        /// Why.
        cause: SessionCause,
    },
    /// SERVICE ACCEPT.
    ServiceAccepted {
        /// Sessions that the network reports as active.
        active_sessions: Option<Vec<u8>>,
        /// Sessions whose user plane could not be set up again.
        failed_reactivation: Vec<u8>,
    },
    /// SERVICE REJECT.
    ServiceRejected {
        /// 5GMM cause.
        cause: u8,
    },
    /// The service request ended otherwise.
    ServiceAborted(Abort),
    /// The UE was paged.
    Paged,
    /// CONFIGURATION UPDATE COMMAND was applied.
    ConfigurationUpdated {
        /// The UE has a new 5G-GUTI.
        new_guti: bool,
        /// The network requests a registration.
        registration_requested: bool,
        /// Full name of the network, if it was sent.
        network_name: Option<String>,
    },
    /// AUTHENTICATION FAILURE was sent, or its EAP-AKA' equivalent.
    AuthenticationFailureSent {
        /// 5GMM cause: #20 MAC failure, #21 synch failure, #26 non-5G authentication, #71 ngKSI in
        /// use.
        cause: u8,
    },
    /// 5GMM STATUS or 5GSM STATUS from the network.
    Status {
        /// PDU session identity of a 5GSM STATUS.
        psi: Option<u8>,
        /// Cause.
        cause: u8,
    },
    /// A positioning message for the UE (TS 24.501, 5.4.5.3.2).
    Positioning {
        /// What it is.
        kind: PositioningKind,
        /// The message.
        message: Vec<u8>,
        /// Additional information, to be returned with the answer.
        routing: Option<Vec<u8>>,
    },
    /// The AMF returned a positioning message: no LMF accepts it.
    PositioningReturned {
        /// What it is.
        kind: PositioningKind,
        /// 5GMM cause.
        cause: u8,
    },
    /// A downlink message was not processed.
    Discarded(String),
}
