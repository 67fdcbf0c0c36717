//! What the commands read of certificates and revocation lists (RFC 5280, 4.1 and 5.1).
use anyhow::{Result, anyhow};
use jiff::Timestamp;
use rcgen::CustomExtension;
use std::net::IpAddr;
use yasna::models::TaggedDerValue;
use yasna::tags::{TAG_GENERALIZEDTIME, TAG_SEQUENCE, TAG_UTCTIME};
use yasna::{ASN1Error, ASN1ErrorKind, ASN1Result, BERReader, BERReaderSeq, Tag};

/// id-ce-subjectAltName.
const SUBJECT_ALTERNATIVE_NAME: [u64; 4] = [2, 5, 29, 17];

/// id-pe-nftype (RFC 9310, 3).
const NF_TYPES: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 34];

/// The extension with the NF types of a certificate's owner (RFC 9310; TS 33.310, 6.1.3c). With it,
/// the NRF registers the owner under these types only.
pub fn nf_types(types: &[String]) -> CustomExtension {
    let list = yasna::construct_der(|writer| {
        writer.write_sequence_of(|list| {
            types.iter().for_each(|nf_type| list.next().write_ia5_string(nf_type));
        });
    });
    CustomExtension::from_oid_content(&NF_TYPES, list)
}

/// What a certificate says.
#[derive(Debug, PartialEq, Eq)]
pub struct Fields {
    /// Serial number, without leading zeros.
    pub serial: Vec<u8>,
    /// End of the validity, in seconds since 1970.
    pub not_after: i64,
    /// DNS names and IP addresses.
    pub subjects: Vec<String>,
}

/// Reads a certificate.
///
/// # Errors
/// The bytes are not a certificate.
pub fn certificate(der: &[u8]) -> Result<Fields> {
    let parsed = yasna::parse_der(der, |reader| {
        reader.read_sequence(|outer| {
            let fields = outer.next().read_sequence(to_be_signed)?;
            skip(outer)?;
            skip(outer)?;
            Ok(fields)
        })
    });
    parsed.map_err(|error| anyhow!("not an X.509 certificate: {error}"))
}

fn to_be_signed(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<Fields> {
    reader.read_optional(|version| version.read_tagged(Tag::context(0), |n| n.read_u8()))?;
    let serial = serial(reader.next())?;
    // Signature algorithm and issuer.
    skip(reader)?;
    skip(reader)?;
    let not_after = reader.next().read_sequence(|validity| {
        time(validity.next())?;
        time(validity.next())
    })?;
    // Subject and its public key.
    skip(reader)?;
    skip(reader)?;
    let subjects = reader.read_optional(|extensions| {
        extensions.read_tagged(Tag::context(3), |extensions| {
            let all = extensions.collect_sequence_of(|one| one.read_sequence(extension))?;
            Ok(all.into_iter().flatten().collect::<Vec<_>>())
        })
    })?;
    Ok(Fields { serial, not_after, subjects: subjects.unwrap_or_default() })
}

/// The names of an extension; none unless it has the subject's alternative names.
fn extension(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<Vec<String>> {
    let name = reader.next().read_oid()?;
    reader.read_optional(|critical| critical.read_bool())?;
    let value = reader.next().read_bytes()?;
    if name.components().as_slice() != SUBJECT_ALTERNATIVE_NAME {
        return Ok(Vec::new());
    }
    let names = yasna::parse_der(&value, |reader| {
        reader.collect_sequence_of(|name| name.read_tagged_der())
    })?;
    Ok(names.iter().filter_map(subject).collect())
}

/// A DNS name (choice 2) or an IP address (choice 7) as text.
fn subject(name: &TaggedDerValue) -> Option<String> {
    let value = name.value();
    match name.tag().tag_number {
        2 => String::from_utf8(value.to_vec()).ok(),
        7 => match value.len() {
            4 => <[u8; 4]>::try_from(value).ok().map(|bytes| IpAddr::from(bytes).to_string()),
            16 => <[u8; 16]>::try_from(value).ok().map(|bytes| IpAddr::from(bytes).to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// The serial numbers of a revocation list, and when each was revoked.
///
/// # Errors
/// The bytes are not a revocation list.
pub fn revoked(der: &[u8]) -> Result<Vec<(Vec<u8>, Timestamp)>> {
    let parsed = yasna::parse_der(der, |reader| {
        reader.read_sequence(|outer| {
            let entries = outer.next().read_sequence(revocations)?;
            skip(outer)?;
            skip(outer)?;
            Ok(entries)
        })
    });
    let entries = parsed.map_err(|error| anyhow!("not a revocation list: {error}"))?;
    entries.into_iter().map(|(serial, at)| Ok((serial, Timestamp::from_second(at)?))).collect()
}

fn revocations(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<Vec<(Vec<u8>, i64)>> {
    reader.read_optional(|version| version.read_u8())?;
    // Signature algorithm and issuer.
    skip(reader)?;
    skip(reader)?;
    // This update and the next one.
    time(reader.next())?;
    reader.read_optional(time)?;
    let entries = reader.read_optional(|list| {
        if list.lookahead_tag()? != TAG_SEQUENCE {
            return Err(ASN1Error::new(ASN1ErrorKind::Invalid));
        }
        list.collect_sequence_of(|entry| {
            entry.read_sequence(|entry| {
                let serial = serial(entry.next())?;
                let at = time(entry.next())?;
                entry.read_optional(|extensions| extensions.read_der())?;
                Ok((serial, at))
            })
        })
    })?;
    reader.read_optional(|extensions| extensions.read_der())?;
    Ok(entries.unwrap_or_default())
}

fn skip(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<()> {
    reader.next().read_der().map(drop)
}

fn serial(reader: BERReader<'_, '_>) -> ASN1Result<Vec<u8>> {
    let (bytes, _) = reader.read_bigint_bytes()?;
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    Ok(bytes[zeros..].to_vec())
}

/// Seconds since 1970.
fn time(reader: BERReader<'_, '_>) -> ASN1Result<i64> {
    match reader.lookahead_tag()? {
        TAG_UTCTIME => Ok(reader.read_utctime()?.datetime().unix_timestamp()),
        TAG_GENERALIZEDTIME => Ok(reader.read_generalized_time()?.datetime().unix_timestamp()),
        _ => Err(ASN1Error::new(ASN1ErrorKind::Invalid)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, SerialNumber, date_time_ymd};

    #[test]
    fn serial_validity_and_names_are_read() {
        let mut params =
            CertificateParams::new(["127.0.0.17", "fd00::1", "amf.example"].map(String::from))
                .unwrap();
        params.serial_number = Some(SerialNumber::from_slice(&[0x80, 1, 2]));
        let types = ["AMF", "LMF"].map(String::from);
        params.custom_extensions.push(nf_types(&types));
        // A year from 2050 on has another type of time.
        for year in [2030, 2051] {
            params.not_after = date_time_ymd(year, 2, 3);
            let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let read = certificate(made.der()).unwrap();
            assert_eq!(read.serial, [0x80, 1, 2]);
            assert_eq!(read.not_after, params.not_after.unix_timestamp());
            assert_eq!(read.subjects, ["127.0.0.17", "fd00::1", "amf.example"]);
            let peer = martlet_sbi_http::PeerCertificate::parse(made.der()).unwrap();
            assert_eq!(peer.nf_types, types);
            assert_eq!(peer.names, ["127.0.0.17", "amf.example", "fd00::1"]);
            assert_eq!(peer.common_name, "rcgen self signed cert");
            assert!(peer.is_of_type("LMF") && !peer.is_of_type("UDM"));
        }
        assert!(certificate(b"no certificate").is_err() && revoked(&[0x30, 0]).is_err());
    }
}
