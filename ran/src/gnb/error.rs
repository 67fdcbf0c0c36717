//! What can go wrong at a gNB and with a UE's procedure.
use super::link::LinkError;
use crate::ue::{Abort, NasRefused, SessionCause, UeConfigError};
use martlet_sctp::SctpError;

/// A gNB that did not come up.
#[derive(Debug, thiserror::Error)]
pub enum GnbError {
    /// The AMF was not reached.
    #[error("gNB {gnb}: no N2 connection to the AMF at {amf}: {error}")]
    Connect {
        /// Name of the gNB.
        gnb: String,
        /// The AMF's address.
        amf: String,
        /// SCTP's word.
        error: SctpError,
    },
    /// The AMF refused: NG SETUP FAILURE.
    #[error(
        "gNB {gnb}: the AMF refused NG setup, cause {cause}: compare PLMN, TAC and slices with \
         the AMF's"
    )]
    SetupRefused {
        /// Name of the gNB.
        gnb: String,
        /// The NGAP cause.
        cause: String,
    },
    /// The AMF did not answer NG SETUP REQUEST.
    #[error("gNB {gnb}: the AMF does not answer NG SETUP REQUEST")]
    SetupTimeout {
        /// Name of the gNB.
        gnb: String,
    },
    /// The association ended.
    #[error("gNB {gnb}: the N2 connection ended: {reason}")]
    Lost {
        /// Name of the gNB.
        gnb: String,
        /// Why.
        reason: String,
    },
    /// A value of the configuration that NGAP cannot carry.
    #[error("gNB {gnb}: {reason}")]
    Config {
        /// Name of the gNB.
        gnb: String,
        /// What is wrong.
        reason: String,
    },
    /// The N3 address cannot be used.
    #[error(
        "gNB {gnb}: no GTP-U endpoint at {address}: {error}; is the address this machine's, and \
         the port free?"
    )]
    UserPlane {
        /// Name of the gNB.
        gnb: String,
        /// N3 address and port.
        address: String,
        /// The system's word.
        error: std::io::Error,
    },
}

/// A procedure of a UE that did not end as it should.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum UeError {
    /// The network rejected it.
    #[error("rejected with 5GMM cause #{0}{name}", name = crate::ue::mm_cause_name(*.0))]
    Rejected(u8),
    /// The session was not established or not released.
    #[error("PDU session: {0}")]
    Session(SessionCause),
    /// It ended without an answer that says so.
    #[error("{0}")]
    Aborted(Abort),
    /// The UE cannot do it now.
    #[error("{0}")]
    Refused(#[from] NasRefused),
    /// Nothing happened for as long as the gNB's configuration waits.
    #[error("no result within {0:?}")]
    Timeout(std::time::Duration),
    /// The gNB's connection to the AMF has gone.
    #[error("the gNB has no connection to the AMF: {0}")]
    GnbLost(String),
    /// The UE is not in the state that this needs.
    #[error("{0}")]
    State(&'static str),
    /// The UE was not handed over.
    #[error("handover: {0}")]
    Handover(String),
    /// The user plane of the UE could not be opened.
    #[error("{0}")]
    Interface(String),
    /// The UE has been switched off.
    #[error("the UE no longer exists")]
    Gone,
}

impl UeError {
    /// The 5GMM or 5GSM cause of a rejection.
    pub fn cause(&self) -> Option<u8> {
        match self {
            UeError::Rejected(cause)
            | UeError::Session(SessionCause::Sm(cause) | SessionCause::Mm(cause)) => Some(*cause),
            UeError::Aborted(Abort::SecurityModeRejected(cause)) => Some(*cause),
            _ => None,
        }
    }
}

impl From<LinkError> for UeError {
    fn from(error: LinkError) -> Self {
        UeError::GnbLost(error.to_string())
    }
}

impl From<UeConfigError> for GnbError {
    fn from(error: UeConfigError) -> Self {
        GnbError::Config { gnb: String::new(), reason: error.to_string() }
    }
}
