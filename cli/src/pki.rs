//! Certificates and keys of the network functions (TS 33.310, 6; TS 33.501, 13): one CA, a
//! certificate for each function with the addresses of its services, and the NRF's key for access
//! tokens.
use crate::config::{Config, PkiFile};
use anyhow::{Context, Result, ensure};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Functions with SBI services, and `core` for all of them in one process.
const NAMES: [&str; 11] =
    ["nrf", "udr", "udm", "ausf", "pcf", "nssf", "chf", "smf", "amf", "lmf", "core"];

/// Makes all files in a folder. `names` are additional names and addresses for all certificates.
///
/// # Errors
/// The folder contains a CA already, or cannot be written.
pub fn init(config: &Config, folder: &Path, names: &[String]) -> Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| folder.display().to_string())?;
    ensure!(
        !folder.join(PkiFile::AUTHORITY).exists(),
        "{} contains a CA already, and certificates of two CAs do not trust each other: choose \
         another folder",
        folder.display()
    );
    let authority_key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, "Martlet CA");
    let authority = params.self_signed(&authority_key)?;
    let issuer = Issuer::new(params, &authority_key);
    for name in NAMES {
        let mut subjects = names.to_vec();
        let own = NAMES
            .iter()
            .filter(|other| name == "core" || **other == name)
            .filter(|other| **other != "core");
        subjects.extend(own.map(|name| config.sbi.of(name).bind.ip().to_string()));
        subjects.sort();
        subjects.dedup();
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(subjects)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &issuer)?;
        write(&folder.join(format!("{name}.pem")), &certificate.pem())?;
        write(&folder.join(format!("{name}-key.pem")), &key.serialize_pem())?;
    }
    let token = KeyPair::generate()?;
    write(&folder.join(PkiFile::TOKEN_PRIVATE), &token.serialize_pem())?;
    write(&folder.join(PkiFile::TOKEN_PUBLIC), &token.public_key_pem())?;
    write(&folder.join(PkiFile::AUTHORITY_KEY), &authority_key.serialize_pem())?;
    write(&folder.join(PkiFile::AUTHORITY), &authority.pem())
}

/// Writes a new file that only its owner can read.
fn write(file: &Path, text: &str) -> Result<()> {
    let mut open = std::fs::OpenOptions::new();
    let opened = open.write(true).create_new(true).mode(0o600).open(file);
    opened
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| file.display().to_string())
}
