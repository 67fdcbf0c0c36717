//! Why a scenario cannot be played.
use crate::gnb::{GnbError, UeError};
use crate::ue::UeConfigError;
use std::path::PathBuf;

/// An invalid value in a group of UEs.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum SectionError {
    /// The IMSI of a UE of the group.
    #[error("the IMSI is invalid, or has too few digits for the group")]
    Imsi,
    /// The network-specific identifier of a UE of the group.
    #[error(
        "`{nai}` is not an NAI ({reason}): write user@realm, such as sensor-{{n}}@plant.example, \
         of 253 bytes at most"
    )]
    Nai {
        /// The identifier.
        nai: String,
        /// Why it is invalid.
        reason: String,
    },
    /// No gNB for the group.
    #[error("no gNB for the group")]
    NoGnb,
    /// Neither OPc nor OP.
    #[error("`opc` or `op` is needed")]
    NoOperatorKey,
    /// The SUCI has no home network public key.
    #[error("`key` is needed: the home network's public key")]
    NoHomeNetworkKey,
    /// The home network public key identifier is out of range.
    #[error("`key_id` is needed: 1 to 254")]
    KeyId,
    /// The home network public key.
    #[error("home network public key: {0}")]
    HomeNetworkKey(String),
    /// The routing indicator.
    #[error("routing indicator: {0}")]
    RoutingIndicator(String),
    /// Another value.
    #[error(transparent)]
    Ue(#[from] UeConfigError),
}

/// Why a scenario ended early.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A gNB did not start.
    #[error(transparent)]
    Gnb(#[from] GnbError),
    /// A UE did not start or move.
    #[error(transparent)]
    Ue(#[from] UeError),
    /// An invalid group of UEs.
    #[error(transparent)]
    Section(#[from] SectionError),
    /// NG setup succeeded although the scenario expects a failure.
    #[error("gNB {0}: NG setup succeeded, which was not expected")]
    UnexpectedNgSetup(String),
    /// NG setup failed otherwise than the scenario expects.
    #[error("{error}; NG SETUP FAILURE with cause #{expected} was expected")]
    NotRejected {
        /// Why it failed.
        error: GnbError,
        /// The expected value of the NGAP cause.
        expected: u8,
    },
    /// A step names a gNB that never connected.
    #[error("gNB {0} has never been connected")]
    NotConnected(String),
    /// A step names an unknown gNB.
    #[error("there is no gNB {0}")]
    UnknownGnb(String),
    /// The LMF's certificate cannot be read.
    #[error("positioning of {group}: {path}: {error}", path = path.display())]
    Certificate {
        /// Name of the group.
        group: String,
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}
