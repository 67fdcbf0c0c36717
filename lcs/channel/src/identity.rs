//! The LMF's certificate and key, and the certificates that a UE trusts.

use crate::ChannelError;
use rustls_pki_types as pki;

/// A certificate chain and its key, in PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate, then its issuers.
    pub certificates: String,
    /// The private key, PKCS #8.
    pub key: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity { .. }")
    }
}

impl Identity {
    /// A self-signed ECDSA P-256 certificate for these DNS names and IP addresses.
    ///
    /// # Errors
    /// A name is invalid.
    pub fn self_signed(names: &[&str]) -> Result<Self, ChannelError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_string()).collect();
        let wrong = |error: rcgen::Error| {
            ChannelError::Identity(format!("no certificate for {names:?}: {error}"))
        };
        let made = rcgen::generate_simple_self_signed(names.clone()).map_err(wrong)?;
        Ok(Identity { certificates: made.cert.pem(), key: made.signing_key.serialize_pem() })
    }

    /// The trust of a UE that has this certificate as its root, for one of its names or addresses.
    pub fn trust(&self, name: &str) -> Trust {
        Trust { roots: self.certificates.clone(), name: name.to_string() }
    }

    /// The certificate chain.
    ///
    /// # Errors
    /// It is not PEM.
    pub fn chain(&self) -> Result<Vec<pki::CertificateDer<'static>>, ChannelError> {
        certificates(&self.certificates)
    }

    /// The private key.
    ///
    /// # Errors
    /// It is not PEM.
    pub fn private_key(&self) -> Result<pki::PrivateKeyDer<'static>, ChannelError> {
        use pki::pem::PemObject;
        pki::PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|error| ChannelError::Identity(format!("the private key is not PEM: {error}")))
    }
}

/// The certificates that a UE trusts.
#[derive(Debug, Clone)]
pub struct Trust {
    /// Root certificates, PEM.
    pub roots: String,
    /// The DNS name or IP address that the LMF's certificate has to contain.
    pub name: String,
}

impl Trust {
    /// The name or address as rustls checks it.
    ///
    /// # Errors
    /// It is neither a DNS name nor an IP address.
    pub fn server_name(&self) -> Result<pki::ServerName<'static>, ChannelError> {
        pki::ServerName::try_from(self.name.clone()).map_err(|_| {
            ChannelError::Identity(format!(
                "{:?} is neither a DNS name nor an IP address",
                self.name
            ))
        })
    }

    /// The root certificates.
    ///
    /// # Errors
    /// There is none, or they are not PEM.
    pub fn certificates(&self) -> Result<Vec<pki::CertificateDer<'static>>, ChannelError> {
        certificates(&self.roots)
    }
}

fn certificates(pem: &str) -> Result<Vec<pki::CertificateDer<'static>>, ChannelError> {
    use pki::pem::PemObject;
    let found: Result<Vec<_>, _> = pki::CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(ChannelError::Identity("the PEM contains no certificate".into())),
        Err(error) => Err(ChannelError::Identity(format!("the certificates are not PEM: {error}"))),
    }
}
