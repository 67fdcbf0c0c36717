//! The error of a network function that cannot start, or that ends by itself.
use crate::tokens::KeyError;
use martlet_sbi_api::common::NotValid;
use std::path::PathBuf;
use tokio::task::JoinError;

/// What a library or a section of the configuration reports.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What failed, why, and what to do: the text says all three. The source of a variant is the reason
/// in it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A value of the configuration is not valid.
    #[error("{key}: {source}")]
    Config {
        /// The key.
        key: &'static str,
        /// Why it is not valid, and what is.
        source: Cause,
    },
    /// The section of a function is not valid. The source names the key.
    #[error(transparent)]
    Section(Cause),
    /// The configured NF instance ID is not a UUID.
    #[error("sbi.instance_id: {0}; write a UUID")]
    InstanceId(#[from] NotValid),
    /// The configured address of an NRF is not an API root.
    #[error("sbi.nrf: {0:?} is not an API root: write http://HOST:PORT")]
    NrfRoot(String),
    /// The key that verifies access tokens cannot be loaded.
    #[error("{0}; see sbi.token_key and sbi.pki")]
    TokenKey(#[from] KeyError),
    /// A configured file cannot be read or written.
    #[error("{key}: {}: {source}", path.display())]
    File {
        /// The key that names the file.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The database cannot be opened.
    #[error("{source}; `{key}` configures the database")]
    Database {
        /// The key that names the database.
        key: &'static str,
        /// Why.
        source: Cause,
    },
    /// A socket cannot be bound.
    #[error("cannot listen on {at}: {source}; change {key}")]
    Listen {
        /// The protocol and the address.
        at: String,
        /// The key of the address.
        key: &'static str,
        /// Why.
        source: Cause,
    },
    /// The HTTP server of the SBI cannot listen.
    #[error("{source}; is another core running? Else change sbi.{nf}")]
    Sbi {
        /// Lower-case NF type.
        nf: &'static str,
        /// Why, with the address.
        source: std::io::Error,
    },
    /// Traces cannot be exported.
    #[error("traces: {0}; see oam.traces")]
    Traces(#[source] Cause),
    /// The function panicked while it was created.
    #[error("panicked at its start")]
    Panicked,
    /// The tasks of the function ended while it was created.
    #[error("ended at its start")]
    Ended,
    /// An essential task panicked.
    #[error("{0} panicked")]
    EssentialTask(&'static str),
    /// The task of the main loop panicked or was ended.
    #[error("{0}")]
    MainLoop(#[from] JoinError),
    /// Another process owns the function's contexts. The source says which, and what to do.
    #[error(transparent)]
    Superseded(Cause),
    /// A running function failed.
    #[error(transparent)]
    Failed(Cause),
    /// Which function it is.
    #[error("{nf}: {source}")]
    Function {
        /// Lower-case NF type.
        nf: &'static str,
        /// Its error.
        source: Box<StartError>,
    },
}

impl StartError {
    /// A value of the configuration is not valid.
    pub fn config(key: &'static str, source: impl Into<Cause>) -> Self {
        StartError::Config { key, source: source.into() }
    }

    /// The database that `key` configures cannot be opened.
    pub fn database(key: &'static str, source: impl Into<Cause>) -> Self {
        StartError::Database { key, source: source.into() }
    }

    /// A socket at an address that `key` configures cannot be bound.
    pub fn listen(at: String, key: &'static str, source: impl Into<Cause>) -> Self {
        StartError::Listen { at, key, source: source.into() }
    }

    /// Adds the name of the function.
    pub fn of(self, nf: &'static str) -> Self {
        StartError::Function { nf, source: Box::new(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;
    use std::io::ErrorKind;

    #[test]
    fn the_text_says_what_failed_why_and_what_to_do() {
        let at = "N4 address 127.0.0.1:8805".to_string();
        let in_use = std::io::Error::from(ErrorKind::AddrInUse);
        let why = in_use.to_string();
        let error = StartError::listen(at, "smf.n4", in_use).of("smf");
        assert_eq!(
            error.to_string(),
            format!("smf: cannot listen on N4 address 127.0.0.1:8805: {why}; change smf.n4")
        );
        let error = StartError::NrfRoot("nrf".into()).of("amf");
        assert!(error.to_string().starts_with("amf: sbi.nrf: \"nrf\" is not an API root: write "));
    }

    #[test]
    fn the_reason_is_reached_through_the_sources() {
        let denied = std::io::Error::from(ErrorKind::PermissionDenied);
        let error = StartError::database("udr.path", denied).of("udr");
        let inner = error.source().and_then(|source| source.downcast_ref::<Box<StartError>>());
        let inner = inner.map(|inner| &**inner);
        assert!(matches!(inner, Some(StartError::Database { key: "udr.path", .. })), "{error:?}");
        let reason = inner.and_then(|inner| inner.source()).expect("a reason");
        let reason = reason.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        assert_eq!(reason, Some(ErrorKind::PermissionDenied));
    }
}
