//! Certificates and keys of the network functions (TS 33.310, 6; TS 33.501, 13): one CA, a
//! certificate for each function with the addresses of its services, and the NRF's key for access
//! tokens.
//!
//! The CA is valid for ten years, a function's certificate for one year. A certificate that is
//! revoked stands in the revocation list, which functions read within a minute.
mod x509;

use crate::config::{Config, FUNCTIONS, PkiFile};
use anyhow::{Context, Result, bail, ensure};
use jiff::{Span, Timestamp, Zoned, tz::TimeZone};
use martlet_context_store::stable_instance_id;
use martlet_sbi_http::PeerCertificate;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer};
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// The name of the certificate for several functions in one process.
pub const CORE: &str = "core";
/// Validity of a function's certificate, in days.
pub const FUNCTION_DAYS: u32 = 365;
/// Validity of the CA and its revocation list, in days.
const AUTHORITY_DAYS: u32 = 3653;
/// A certificate that expires within this time is reported.
pub const WARNING_DAYS: i64 = 30;

/// Makes all files in a folder: the CA, a certificate for each function and for all of them in one
/// process, and the NRF's token key. `names` are additional names and addresses for all
/// certificates.
///
/// # Errors
/// The folder contains a CA already, or cannot be written.
pub fn init(config: &Config, folder: &Path, names: &[String]) -> Result<()> {
    create_folder(folder)?;
    ensure!(
        !folder.join(PkiFile::AUTHORITY).exists(),
        "{} contains a CA already, and certificates of two CAs do not trust each other: choose \
         another folder",
        folder.display()
    );
    let authority_key = KeyPair::generate()?;
    let mut params = authority_params()?;
    valid_for(&mut params, AUTHORITY_DAYS)?;
    let certificate = params.self_signed(&authority_key)?;
    let authority = Authority {
        issuer: Issuer::new(params, KeyPair::from_pem(&authority_key.serialize_pem())?),
        folder: folder.to_path_buf(),
    };
    for name in FUNCTIONS.into_iter().chain([CORE]) {
        let subjects = subjects(config, name, &FUNCTIONS, names);
        let owner = Owner::new(config, name, &FUNCTIONS, subjects);
        authority.issue(folder, name, &owner, FUNCTION_DAYS)?;
    }
    let token = KeyPair::generate()?;
    write_new(&folder.join(PkiFile::TOKEN_PRIVATE), &token.serialize_pem())?;
    write_new(&folder.join(PkiFile::TOKEN_PUBLIC), &token.public_key_pem())?;
    write_new(&folder.join(PkiFile::AUTHORITY_KEY), &authority_key.serialize_pem())?;
    write_new(&folder.join(PkiFile::AUTHORITY), &certificate.pem())
}

/// Makes the folder of one machine: new certificates of its functions and no others, one for all
/// of them in one process, and what each function needs to verify the others. The NRF's token key
/// is copied only to the machine of the NRF.
///
/// # Errors
/// A function does not exist, the CA's private key is not in `pki`, or `out` cannot be written.
pub fn bundle(
    config: &Config,
    pki: &Path,
    functions: &[String],
    out: &Path,
    names: &[String],
) -> Result<()> {
    let authority = Authority::load(pki)?;
    let functions: Vec<&str> =
        functions.iter().map(|name| function(name)).collect::<Result<_>>()?;
    create_folder(out)?;
    for name in functions.iter().copied().chain([CORE]) {
        let subjects = subjects(config, name, &functions, names);
        let owner = Owner::new(config, name, &functions, subjects);
        authority.issue(out, name, &owner, FUNCTION_DAYS)?;
    }
    let token_key = functions.contains(&"nrf").then_some(PkiFile::TOKEN_PRIVATE);
    let shared = [PkiFile::AUTHORITY, PkiFile::TOKEN_PUBLIC].into_iter().chain(token_key);
    for name in shared {
        let text = read(&pki.join(name))?;
        replace(&out.join(name), &text)?;
    }
    let revoked = pki.join(PkiFile::REVOKED);
    if revoked.exists() {
        replace(&out.join(PkiFile::REVOKED), &read(&revoked)?)?;
    }
    Ok(())
}

/// Adds a certificate for a function, with its address in the configuration.
///
/// # Errors
/// The function does not exist or has a certificate, or the CA's private key is not in `pki`.
pub fn add(config: &Config, pki: &Path, name: &str, names: &[String]) -> Result<()> {
    let name = if name == CORE { CORE } else { function(name)? };
    let file = pki.join(format!("{name}.pem"));
    ensure!(
        !file.exists(),
        "{} exists: renew it with `martlet pki renew {name}`, or revoke it first",
        file.display()
    );
    let subjects = subjects(config, name, &FUNCTIONS, names);
    let owner = Owner::new(config, name, &FUNCTIONS, subjects);
    Authority::load(pki)?.issue(pki, name, &owner, FUNCTION_DAYS)
}

/// Renews certificates under the same names and addresses for another year, with new keys. Without
/// names, those that expire within [`WARNING_DAYS`]. Returns the renewed ones.
///
/// # Errors
/// A certificate does not exist, or the CA's private key is not in `pki`.
pub fn renew(pki: &Path, names: &[String], days: u32) -> Result<Vec<String>> {
    let authority = Authority::load(pki)?;
    let all = status(pki)?;
    if let Some(missing) = names.iter().find(|name| all.iter().all(|own| own.name != **name)) {
        bail!("there is no certificate {missing} in {}", pki.display());
    }
    let is_due = |certificate: &&Certificate| match names.is_empty() {
        true => certificate.days_left() <= WARNING_DAYS,
        false => names.contains(&certificate.name),
    };
    let mut renewed = Vec::new();
    for certificate in all.iter().filter(is_due).filter(|own| own.name != AUTHORITY_NAME) {
        // A certificate of an earlier version has none.
        let types = match certificate.nf_types.is_empty() {
            true => types(&certificate.name, &FUNCTIONS),
            false => certificate.nf_types.clone(),
        };
        let Certificate { subjects, instances, .. } = certificate.clone();
        let owner = Owner { subjects, types, instances };
        authority.issue(pki, &certificate.name, &owner, days)?;
        renewed.push(certificate.name.clone());
    }
    Ok(renewed)
}

/// Revokes a certificate: the name of one in `pki`, which is removed there, or a file. Functions
/// refuse it when they have read the new revocation list.
///
/// # Errors
/// The certificate does not exist, or the CA's private key is not in `pki`.
pub fn revoke(pki: &Path, name: &str) -> Result<()> {
    let authority = Authority::load(pki)?;
    let (file, is_own) = match Path::new(name).extension() {
        Some(_) => (PathBuf::from(name), false),
        None => (pki.join(format!("{name}.pem")), true),
    };
    ensure!(
        !file.ends_with(PkiFile::AUTHORITY),
        "the CA cannot be revoked: make another one in a new folder with `martlet pki init`"
    );
    ensure!(
        file.exists(),
        "there is no certificate {}: if it was revoked before, {} has it still; `martlet pki \
         status --pki {}` lists what there is",
        file.display(),
        pki.join(PkiFile::REVOKED).display(),
        pki.display()
    );
    let certificate = Certificate::read(&file)?;
    let mut revoked = revoked(pki)?;
    if revoked.iter().all(|(serial, _)| *serial != certificate.serial) {
        revoked.push((certificate.serial.clone(), Timestamp::now()));
    }
    authority.write_revocation_list(&revoked)?;
    if is_own {
        std::fs::remove_file(&file)?;
        let _ = std::fs::remove_file(pki.join(format!("{name}-key.pem")));
    }
    Ok(())
}

/// The name of the CA in the status of a folder.
const AUTHORITY_NAME: &str = "authority";

/// What a certificate says.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The name of its file without the extension.
    pub name: String,
    /// DNS names and IP addresses.
    pub subjects: Vec<String>,
    /// NF types (RFC 9310).
    pub nf_types: Vec<String>,
    /// Instance identities (TS 33.310, 6.1.3c.2), one for each NF type. A certificate of an
    /// earlier version has none.
    pub instances: Vec<String>,
    /// Serial number.
    pub serial: Vec<u8>,
    /// End of its validity.
    pub expires: Timestamp,
    /// Whether the folder's revocation list contains it.
    pub is_revoked: bool,
}

impl Certificate {
    /// Reads the first certificate of a file.
    ///
    /// # Errors
    /// The file cannot be read or contains no certificate.
    pub fn read(file: &Path) -> Result<Certificate> {
        let named = || file.display().to_string();
        let der = CertificateDer::from_pem_file(file).with_context(named)?;
        let stem = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        Certificate::parse(stem, &der).with_context(named)
    }

    /// Reads a certificate, and gives it a name.
    ///
    /// # Errors
    /// It is not X.509.
    pub fn parse(name: &str, der: &[u8]) -> Result<Certificate> {
        let fields = x509::certificate(der)?;
        let parsed = PeerCertificate::parse(der).unwrap_or_default();
        Ok(Certificate {
            name: name.to_string(),
            subjects: fields.subjects,
            nf_types: parsed.nf_types,
            instances: parsed.instances,
            serial: fields.serial,
            expires: Timestamp::from_second(fields.not_after)?,
            is_revoked: false,
        })
    }

    /// Whole days until it expires; negative afterwards.
    pub fn days_left(&self) -> i64 {
        self.seconds_left().div_euclid(24 * 3600)
    }

    fn seconds_left(&self) -> i64 {
        self.expires.as_second() - Timestamp::now().as_second()
    }

    /// Whether it has to be renewed.
    pub fn validity(&self) -> Validity {
        match self.days_left() {
            ..0 => Validity::Expired,
            0..=WARNING_DAYS => Validity::ExpiresSoon,
            _ => Validity::Valid,
        }
    }
}

/// Whether a certificate has to be renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// It is valid for more than [`WARNING_DAYS`].
    Valid,
    /// It expires within them.
    ExpiresSoon,
    /// Peers refuse it.
    Expired,
}

/// All certificates of a folder, the CA first.
///
/// # Errors
/// The folder or a certificate cannot be read.
pub fn status(pki: &Path) -> Result<Vec<Certificate>> {
    let names = [AUTHORITY_NAME].into_iter().chain(FUNCTIONS).chain([CORE]);
    let files = names.map(|name| pki.join(format!("{name}.pem"))).filter(|file| file.exists());
    let revoked = revoked(pki)?;
    let mut all = files.map(|file| Certificate::read(&file)).collect::<Result<Vec<_>>>()?;
    ensure!(
        !all.is_empty(),
        "{}: the folder contains no certificate; `martlet pki init` makes them",
        pki.display()
    );
    for certificate in &mut all {
        certificate.is_revoked = revoked.iter().any(|(serial, _)| *serial == certificate.serial);
    }
    Ok(all)
}

/// What is the same in each CA of `martlet pki init`.
fn authority_params() -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, "Martlet CA");
    Ok(params)
}

/// A CA that can sign.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: PathBuf,
}

impl Authority {
    fn load(folder: &Path) -> Result<Authority> {
        let key = read(&folder.join(PkiFile::AUTHORITY_KEY)).context(
            "the CA's private key is needed, which stays in the folder of `martlet pki init`",
        )?;
        let issuer = Issuer::new(authority_params()?, KeyPair::from_pem(&key)?);
        Ok(Authority { issuer, folder: folder.to_path_buf() })
    }

    /// Makes a key and its certificate in a folder, in place of earlier ones.
    fn issue(&self, folder: &Path, name: &str, owner: &Owner, days: u32) -> Result<()> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(owner.subjects.clone())?;
        for instance in &owner.instances {
            let name = format!("urn:uuid:{instance}");
            params.subject_alt_names.push(SanType::URI(name.as_str().try_into()?));
        }
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        params.custom_extensions.push(x509::nf_types(&owner.types));
        valid_for(&mut params, days)?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        replace(&folder.join(format!("{name}-key.pem")), &key.serialize_pem())?;
        replace(&folder.join(format!("{name}.pem")), &certificate.pem())
    }

    fn write_revocation_list(&self, revoked: &[(Vec<u8>, Timestamp)]) -> Result<()> {
        let entry = |(serial, at): &(Vec<u8>, Timestamp)| -> Result<RevokedCertParams> {
            Ok(RevokedCertParams {
                serial_number: SerialNumber::from_slice(serial),
                revocation_time: day(&at.to_zoned(TimeZone::UTC))?,
                reason_code: None,
                invalidity_date: None,
            })
        };
        let now = Timestamp::now();
        let list = CertificateRevocationListParams {
            this_update: day(&now.to_zoned(TimeZone::UTC))?,
            next_update: after_days(AUTHORITY_DAYS)?,
            crl_number: SerialNumber::from(now.as_second() as u64),
            issuing_distribution_point: None,
            revoked_certs: revoked.iter().map(entry).collect::<Result<_>>()?,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        replace(&self.folder.join(PkiFile::REVOKED), &list.signed_by(&self.issuer)?.pem()?)
    }
}

/// The serial numbers of the revocation list of a folder, and when each was revoked.
fn revoked(pki: &Path) -> Result<Vec<(Vec<u8>, Timestamp)>> {
    let file = pki.join(PkiFile::REVOKED);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let named = || file.display().to_string();
    let der = CertificateRevocationListDer::from_pem_file(&file).with_context(named)?;
    x509::revoked(&der).with_context(named)
}

/// The name of a function.
fn function(name: &str) -> Result<&'static str> {
    FUNCTIONS.into_iter().find(|own| *own == name).with_context(|| {
        format!("there is no network function {name:?}; there are {}", FUNCTIONS.join(", "))
    })
}

/// The addresses of a function's certificate: its own, or those of all `functions` for [`CORE`].
/// The UPF has no services on the SBI, and its certificate no address.
fn subjects(config: &Config, name: &str, functions: &[&str], names: &[String]) -> Vec<String> {
    let own = functions.iter().filter(|other| name == CORE || **other == name);
    let mut subjects = names.to_vec();
    for common in own.filter_map(|name| config.sbi.of(name)) {
        subjects.push(common.bind.ip().to_string());
        let authority = common.authority();
        let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
        subjects.push(host.trim_matches(['[', ']']).to_string());
    }
    subjects.sort();
    subjects.dedup();
    subjects
}

/// Whom a certificate is for.
struct Owner {
    /// DNS names and IP addresses.
    subjects: Vec<String>,
    /// NF types, and an instance identity for each.
    types: Vec<String>,
    instances: Vec<String>,
}

impl Owner {
    /// A function, or all `functions` for [`CORE`], with the configured instance identities, else
    /// new ones.
    fn new(config: &Config, name: &str, functions: &[&str], subjects: Vec<String>) -> Owner {
        let own = functions.iter().filter(|other| name == CORE || **other == name);
        let instance = |name: &&str| {
            let configured = config.sbi.of(name).and_then(|common| common.instance_id);
            let random = || stable_instance_id(&[&format!("{:x}", rand::random::<u128>())]);
            configured.unwrap_or_else(random)
        };
        let instances = own.map(instance).collect();
        Owner { subjects, types: types(name, functions), instances }
    }
}

/// The NF types of a function's certificate: its own, or those of all `functions` for [`CORE`].
fn types(name: &str, functions: &[&str]) -> Vec<String> {
    let own = functions.iter().filter(|other| name == CORE || **other == name);
    own.map(|name| name.to_ascii_uppercase()).collect()
}

/// Sets the validity, from yesterday because clocks differ.
fn valid_for(params: &mut CertificateParams, days: u32) -> Result<()> {
    let yesterday = Zoned::now().with_time_zone(TimeZone::UTC).checked_sub(Span::new().days(1))?;
    params.not_before = day(&yesterday)?;
    params.not_after = after_days(days)?;
    Ok(())
}

/// The end of the day after so many days.
fn after_days(days: u32) -> Result<time::OffsetDateTime> {
    let now = Zoned::now().with_time_zone(TimeZone::UTC);
    day(&now.checked_add(Span::new().days(i64::from(days) + 1))?)
}

fn day(at: &Zoned) -> Result<time::OffsetDateTime> {
    Ok(date_time_ymd(at.year().into(), u8::try_from(at.month())?, u8::try_from(at.day())?))
}

fn create_folder(folder: &Path) -> Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| folder.display().to_string())
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| file.display().to_string())
}

/// Writes a new file that only its owner can read.
fn write_new(file: &Path, text: &str) -> Result<()> {
    create(file, text).map(drop).with_context(|| file.display().to_string())
}

fn create(file: &Path, text: &str) -> std::io::Result<File> {
    let mut open = File::options();
    let mut file = open.write(true).create_new(true).mode(0o600).open(file)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// Writes a file in place of an earlier one, with its owner, group and mode, as the functions read
/// it as another user than root. Without an earlier one it has owner and group of the CA's
/// certificate there, and only its owner can read it. A revocation list has its mode, too.
fn replace(file: &Path, text: &str) -> Result<()> {
    let named = || file.display().to_string();
    let mut new = file.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let _ = std::fs::remove_file(&new);
    let opened = create(&new, text).with_context(|| new.display().to_string())?;
    let earlier = std::fs::metadata(file);
    let has_mode = earlier.is_ok() || file.ends_with(PkiFile::REVOKED);
    let model = earlier.or_else(|_| std::fs::metadata(file.with_file_name(PkiFile::AUTHORITY)));
    if let Ok(model) = model {
        // Root alone may give a file to others.
        let given = fchown(&opened, Some(model.uid()), Some(model.gid()));
        if given.is_ok() && has_mode {
            let is_key = file.to_string_lossy().ends_with("-key.pem");
            let mode = model.permissions().mode() & if is_key { 0o770 } else { 0o777 };
            opened.set_permissions(Permissions::from_mode(mode)).with_context(named)?;
        }
    }
    std::fs::rename(&new, file).with_context(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_reported_before_it_expires_and_afterwards() {
        let certificate = |seconds: i64| Certificate {
            name: "amf".into(),
            subjects: Vec::new(),
            nf_types: Vec::new(),
            instances: Vec::new(),
            serial: Vec::new(),
            expires: Timestamp::from_second(Timestamp::now().as_second() + seconds).unwrap(),
            is_revoked: false,
        };
        assert_eq!(certificate(-5).validity(), Validity::Expired);
        assert_eq!(certificate(3600).validity(), Validity::ExpiresSoon);
        assert_eq!(certificate(40 * 24 * 3600).validity(), Validity::Valid);
    }

    #[test]
    fn a_file_that_is_replaced_has_its_owner_and_mode() {
        let folder = std::env::temp_dir().join(format!("martlet-replace-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        create_folder(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        let metadata = |name: &str| std::fs::metadata(at(name)).unwrap();
        let mode = |name: &str| metadata(name).permissions().mode() & 0o777;
        for (name, mode) in [(PkiFile::AUTHORITY, 0o644), ("amf-key.pem", 0o644)] {
            replace(&at(name), "earlier").unwrap();
            std::fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
            // As anyone but root it stays this user's.
            let _ = std::os::unix::fs::chown(at(name), Some(54_321), Some(54_321));
        }
        let owner = metadata(PkiFile::AUTHORITY).uid();
        for name in [PkiFile::AUTHORITY, "amf-key.pem", "smf-key.pem", PkiFile::REVOKED] {
            replace(&at(name), "new").unwrap();
            assert_eq!(std::fs::read_to_string(at(name)).unwrap(), "new");
            assert_eq!(metadata(name).uid(), owner, "{name}");
        }
        assert_eq!(mode(PkiFile::AUTHORITY), 0o644);
        assert_eq!(mode(PkiFile::REVOKED), 0o644);
        // Others may read no key, and a new one only its owner.
        assert_eq!(mode("amf-key.pem"), 0o640);
        assert_eq!(mode("smf-key.pem"), 0o600);
        let _ = std::fs::remove_dir_all(&folder);
    }
}
