//! Errors of gNBs and of UE procedures.
use super::link::LinkError;
use crate::ue::{Abort, NasRefused, SessionCause, UeConfigError};
use martlet_ngap::cause::CauseNumber;
use martlet_sctp::SctpError;

/// Why a gNB did not start.
#[derive(Debug, thiserror::Error)]
pub enum GnbError {
    /// The AMF is unreachable.
    #[error("gNB {gnb}: no N2 connection to the AMF at {amf}: {error}")]
    Connect {
        /// Name of the gNB.
        gnb: String,
        /// The AMF's address.
        amf: String,
        /// The SCTP error.
        error: SctpError,
    },
    /// The AMF rejected NG setup: NG SETUP FAILURE.
    #[error(
        "gNB {gnb}: the AMF refused NG setup, cause {cause}: compare PLMN, TAC and slices with \
         the AMF's"
    )]
    SetupRefused {
        /// Name of the gNB.
        gnb: String,
        /// The NGAP cause.
        cause: String,
        /// Its number; `None` for an unreadable or unknown one.
        number: Option<CauseNumber>,
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
        /// The reason.
        reason: String,
    },
    /// An invalid value of the configuration.
    #[error("gNB {gnb}: {reason}")]
    Config {
        /// Name of the gNB.
        gnb: String,
        /// The error.
        reason: String,
    },
    /// The N3 socket cannot be opened.
    #[error(
        "gNB {gnb}: no GTP-U endpoint at {address}: {error}; is the address local, and the UDP \
         port free?"
    )]
    UserPlane {
        /// Name of the gNB.
        gnb: String,
        /// N3 address and port.
        address: String,
        /// The error of the operating system.
        error: std::io::Error,
    },
}

/// Why a UE procedure failed.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum UeError {
    /// The network rejected it.
    #[error("rejected with 5GMM cause #{0}{name}", name = crate::ue::mm_cause_name(*.0))]
    Rejected(u8),
    /// The session procedure failed.
    #[error("PDU session: {0}")]
    Session(SessionCause),
    /// It was aborted without a reject.
    #[error("{0}")]
    Aborted(Abort),
    /// The UE cannot start it now.
    #[error("{0}")]
    Refused(#[from] NasRefused),
    /// It did not end within the procedure timeout.
    #[error("no result within {0:?}")]
    Timeout(std::time::Duration),
    /// The gNB has lost the AMF.
    #[error("the gNB has no connection to the AMF: {0}")]
    GnbLost(String),
    /// The UE is in another state than the procedure needs.
    #[error("{0}")]
    State(&'static str),
    /// The handover failed.
    #[error("handover: {0}")]
    Handover(String),
    /// The UE's interface could not be created.
    #[error("{0}")]
    Interface(String),
    /// The UE no longer exists.
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
