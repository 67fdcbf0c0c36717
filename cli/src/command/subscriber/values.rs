//! Values of options: identities, keys, methods and slices.
use anyhow::{Context, Result, bail};
use martlet_store::{AuthenticationMethod, Secret, SessionType};

/// An authentication method.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Method {
    /// 5G-AKA
    #[value(name = "5g-aka")]
    FiveGAka,
    /// EAP-AKA'
    #[value(name = "eap-aka-prime")]
    EapAkaPrime,
}

/// A type of PDU sessions.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum TypeOfSession {
    /// IPv4
    #[value(name = "ipv4")]
    Ipv4,
    /// IPv6
    #[value(name = "ipv6")]
    Ipv6,
    /// IPv4 and IPv6
    #[value(name = "ipv4v6")]
    Ipv4v6,
    /// Ethernet frames
    Ethernet,
    /// Unstructured data
    Unstructured,
}

/// A SUPI: digits alone are an IMSI.
pub fn supi(text: &str) -> String {
    if text.bytes().all(|b| b.is_ascii_digit()) { format!("imsi-{text}") } else { text.to_string() }
}

/// The value of a key, of the option with a name.
pub(super) fn key(name: &str, text: &str) -> Result<Secret> {
    Secret::from_hex(text).with_context(|| format!("--{name}: a key is 32 hexadecimal digits"))
}

/// The method of the store.
pub(super) fn method(method: Method) -> AuthenticationMethod {
    match method {
        Method::FiveGAka => AuthenticationMethod::FiveGAka,
        Method::EapAkaPrime => AuthenticationMethod::EapAkaPrime,
    }
}

/// The session types of the store.
pub(super) fn session_types(types: &[TypeOfSession]) -> Vec<SessionType> {
    let one = |kind: &TypeOfSession| match kind {
        TypeOfSession::Ipv4 => SessionType::Ipv4,
        TypeOfSession::Ipv6 => SessionType::Ipv6,
        TypeOfSession::Ipv4v6 => SessionType::Ipv4v6,
        TypeOfSession::Ethernet => SessionType::Ethernet,
        TypeOfSession::Unstructured => SessionType::Unstructured,
    };
    types.iter().map(one).collect()
}

/// The authentication management field, four hexadecimal digits.
pub(super) fn management_field(text: &str) -> Result<[u8; 2]> {
    let amf = u16::from_str_radix(text, 16).ok().filter(|_| text.len() == 4);
    Ok(amf.context("--amf: write 4 hexadecimal digits, such as 8000")?.to_be_bytes())
}

/// A slice as SST or SST-SD.
pub fn slice(text: &str) -> Result<(u8, Option<u32>)> {
    let wrong = || format!("--slice {text:?}: write 1, or 1-010203 with a differentiator");
    let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
    let sd = sd.map(|sd| if sd.len() == 6 { u32::from_str_radix(sd, 16).ok() } else { None });
    match sd {
        Some(None) => bail!(wrong()),
        sd => Ok((sst.parse().ok().with_context(wrong)?, sd.flatten())),
    }
}
