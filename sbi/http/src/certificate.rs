//! The owner of a client certificate (TS 33.310, 6.1.3c; RFC 9310), and the certificate of the
//! consumer whose request is being served.
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use yasna::models::{ObjectIdentifier, TaggedDerValue};
use yasna::{ASN1Result, BERReaderSeq, Tag};

/// id-at-commonName.
const COMMON_NAME: [u64; 4] = [2, 5, 4, 3];
/// id-ce-subjectAltName.
const SUBJECT_ALTERNATIVE_NAME: [u64; 4] = [2, 5, 29, 17];
/// id-pe-nftype (RFC 9310, 3).
const NF_TYPES: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 34];

/// The contents of a verified certificate about a network function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerCertificate {
    /// Common name of the subject.
    pub common_name: String,
    /// DNS names and IP addresses.
    pub names: Vec<String>,
    /// Instance identities: names of the form `urn:uuid:…` (TS 33.310, 6.1.3c.2).
    pub instances: Vec<String>,
    /// NF types (RFC 9310).
    pub nf_types: Vec<String>,
}

impl PeerCertificate {
    /// Reads a certificate, which the caller has verified. `None` if it is not X.509.
    pub fn parse(der: &[u8]) -> Option<Self> {
        let parsed = yasna::parse_der(der, |reader| {
            reader.read_sequence(|outer| {
                let read = outer.next().read_sequence(to_be_signed)?;
                skip(outer)?;
                skip(outer)?;
                Ok(read)
            })
        });
        let mut read = parsed.ok()?;
        read.names.sort();
        Some(read)
    }

    /// A name that does not change when the certificate is renewed, and differs between owners.
    pub fn identity(&self) -> String {
        format!("{} {} {}", self.common_name, self.instances.join(","), self.names.join(","))
    }

    /// The instance identity of the owner's function of this type: the certificate of several
    /// functions has one for each type, in the same order.
    pub fn instance_of(&self, nf_type: &str) -> Option<&str> {
        if self.instances.len() != self.nf_types.len() {
            return self
                .instances
                .first()
                .filter(|_| self.instances.len() == 1)
                .map(String::as_str);
        }
        let at = self.nf_types.iter().position(|own| own == nf_type)?;
        self.instances.get(at).map(String::as_str)
    }

    /// Whether it belongs to a function of this type: an entry of RFC 9310, or without the
    /// extension the common name. Earlier versions of `martlet pki` named the certificate of all
    /// functions in one process `core`.
    pub fn is_of_type(&self, nf_type: &str) -> bool {
        match self.nf_types.is_empty() {
            true => self.common_name == "core" || self.common_name.eq_ignore_ascii_case(nf_type),
            false => self.nf_types.iter().any(|own| own == nf_type),
        }
    }
}

fn to_be_signed(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<PeerCertificate> {
    reader.read_optional(|version| version.read_tagged(Tag::context(0), |n| n.read_u8()))?;
    // Serial number, signature algorithm, issuer and validity.
    for _ in 0..4 {
        skip(reader)?;
    }
    let mut read = PeerCertificate::default();
    reader.next().read_sequence_of(|names| {
        names.read_set_of(|attribute| {
            attribute.read_sequence(|attribute| {
                let kind = attribute.next().read_oid()?;
                let value = attribute.next().read_tagged_der()?;
                if is(&kind, &COMMON_NAME) {
                    read.common_name = text(&value).unwrap_or_default();
                }
                Ok(())
            })
        })
    })?;
    skip(reader)?;
    reader.read_optional(|extensions| {
        extensions.read_tagged(Tag::context(3), |extensions| {
            extensions
                .read_sequence_of(|one| one.read_sequence(|fields| extension(fields, &mut read)))
        })
    })?;
    Ok(read)
}

fn extension(reader: &mut BERReaderSeq<'_, '_>, read: &mut PeerCertificate) -> ASN1Result<()> {
    let name = reader.next().read_oid()?;
    reader.read_optional(|critical| critical.read_bool())?;
    let value = reader.next().read_bytes()?;
    let items = || {
        yasna::parse_der(&value, |reader| reader.collect_sequence_of(|item| item.read_tagged_der()))
    };
    if is(&name, &NF_TYPES) {
        read.nf_types = items()?.iter().filter_map(text).collect();
    } else if is(&name, &SUBJECT_ALTERNATIVE_NAME) {
        for item in items()? {
            match item.tag().tag_number {
                2 => read.names.extend(text(&item)),
                6 => read.instances.extend(instance(&item)),
                7 => read.names.extend(address(&item)),
                _ => {}
            }
        }
    }
    Ok(())
}

fn is(name: &ObjectIdentifier, expected: &[u64]) -> bool {
    name.components().as_slice() == expected
}

fn text(value: &TaggedDerValue) -> Option<String> {
    String::from_utf8(value.value().to_vec()).ok()
}

fn instance(value: &TaggedDerValue) -> Option<String> {
    Some(text(value)?.strip_prefix("urn:uuid:")?.to_ascii_lowercase())
}

fn address(value: &TaggedDerValue) -> Option<String> {
    let bytes = value.value();
    let ipv4 = || <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from);
    let ipv6 = || <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from);
    ipv4().or_else(ipv6).map(|ip| ip.to_string())
}

fn skip(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<()> {
    reader.next().read_der().map(drop)
}

tokio::task_local! {
    static PEER: Option<Arc<PeerCertificate>>;
}

/// The certificate of the consumer whose request the current task serves. `None` for requests
/// without TLS: of this process, over the fabric, and over plain HTTP.
pub fn peer_certificate() -> Option<Arc<PeerCertificate>> {
    PEER.try_with(Clone::clone).ok().flatten()
}

/// Serves a request of this consumer.
pub(crate) async fn as_peer<F: Future>(peer: Arc<PeerCertificate>, work: F) -> F::Output {
    PEER.scope(Some(peer), work).await
}

/// Calls another function of this process in the own name, not in that of the consumer that is
/// being served.
pub async fn as_own<F: Future>(work: F) -> F::Output {
    PEER.scope(None, work).await
}
