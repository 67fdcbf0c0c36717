//! A subscriber: identity, keys and subscription.
use crate::Secret;
use martlet_security::identity::nai;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Default aggregate maximum bit rate, in the format of TS 29.571.
pub const DEFAULT_AMBR: &str = "1 Gbps";

/// Type of a PDU session (TS 23.501, 5.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SessionType {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// IPv4 and IPv6.
    Ipv4v6,
    /// Ethernet frames.
    Ethernet,
    /// Unstructured data.
    Unstructured,
}

/// Policy for one kind of user plane protection between UE and gNB (TS 33.501, 6.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpProtection {
    /// A session without it is rejected.
    Required,
    /// Used if gNB and UE support it.
    Preferred,
    /// Not used.
    NotNeeded,
}

/// The user plane security policy of a session (TS 33.501, 6.6.1; TS 23.501, 5.10.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpSecurityPolicy {
    /// Integrity protection.
    pub integrity: UpProtection,
    /// Ciphering.
    pub ciphering: UpProtection,
}

/// A data network that a subscriber may use in a slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscribedDnn {
    /// Data network name.
    pub name: String,
    /// Whether it is used for requests without a DNN.
    #[serde(default)]
    pub default: bool,
    /// Allowed session types; the first is the default.
    #[serde(default = "ipv4")]
    pub session_types: Vec<SessionType>,
    /// Session AMBR uplink, such as `100 Mbps`.
    #[serde(default = "default_ambr")]
    pub ambr_uplink: String,
    /// Session AMBR downlink.
    #[serde(default = "default_ambr")]
    pub ambr_downlink: String,
    /// 5QI of the default flow.
    #[serde(default = "default_5qi")]
    pub five_qi: u8,
    /// Allocation and retention priority level, 1 (highest) to 15.
    #[serde(default = "default_arp")]
    pub arp_priority: u8,
    /// Static IPv4 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_ipv4: Option<Ipv4Addr>,
    /// An address of the static /64 prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_ipv6: Option<Ipv6Addr>,
    /// Allowed SSC modes, 1 to 3; the first is the default.
    #[serde(default = "first_mode")]
    pub ssc_modes: Vec<u8>,
    /// Framed routes (TS 23.501, 5.6.14), such as `10.60.0.0/24` and `fd60::/48`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub framed_routes: Vec<String>,
    /// User plane security policy; the SMF's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_security: Option<UpSecurityPolicy>,
}

/// A slice that a subscriber may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscribedSlice {
    /// Slice or service type.
    pub sst: u8,
    /// Slice differentiator, 24 bits; six hexadecimal digits as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "differentiator")]
    pub sd: Option<u32>,
    /// Whether it is used for requests without an S-NSSAI.
    #[serde(default)]
    pub default: bool,
    /// Data networks.
    pub dnns: Vec<SubscribedDnn>,
}

/// A slice differentiator is written as six hexadecimal digits, as in TS 29.571. A number, which an
/// earlier version wrote, is read too.
mod differentiator {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u32),
        Digits(String),
    }

    pub fn serialize<S: Serializer>(sd: &Option<u32>, to: S) -> Result<S::Ok, S::Error> {
        match sd {
            Some(sd) => to.serialize_str(&format!("{sd:06x}")),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
        match Option::<Written>::deserialize(from)? {
            None => Ok(None),
            Some(Written::Number(sd)) => Ok(Some(sd)),
            Some(Written::Digits(text)) => match u32::from_str_radix(&text, 16) {
                Ok(sd) if text.len() == 6 => Ok(Some(sd)),
                _ => Err(D::Error::custom(format!(
                    "{text:?} is not a slice differentiator: write six hexadecimal digits, such as \
                     0000a7"
                ))),
            },
        }
    }
}

/// Values that people read and write as hexadecimal digits, as `martlet subscriber show` does. The
/// database and exports have the management field as its bytes and the sequence number as a number.
mod digits {
    use serde::de::value::SeqAccessDeserializer;
    use serde::de::{Error, SeqAccess, Unexpected, Visitor};
    use serde::{Deserialize, Deserializer};
    use std::fmt;

    /// What an error says in place of a text, which may be a key.
    const OTHER: Unexpected<'static> = Unexpected::Other("another text");

    struct ManagementField;

    impl<'de> Visitor<'de> for ManagementField {
        type Value = [u8; 2];

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("amf as 4 hexadecimal digits, such as \"8000\"")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<[u8; 2], E> {
            let mut amf = [0; 2];
            match hex::decode_to_slice(text, &mut amf) {
                Ok(()) => Ok(amf),
                Err(_) => Err(E::invalid_value(OTHER, &self)),
            }
        }

        fn visit_seq<A: SeqAccess<'de>>(self, bytes: A) -> Result<[u8; 2], A::Error> {
            <[u8; 2]>::deserialize(SeqAccessDeserializer::new(bytes))
        }
    }

    struct SequenceNumber;

    impl Visitor<'_> for SequenceNumber {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("sqn as 12 hexadecimal digits in quotes, or as a number")
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            let is_hexadecimal = text.len() == 12 && text.bytes().all(|b| b.is_ascii_hexdigit());
            let number = u64::from_str_radix(text, 16).ok().filter(|_| is_hexadecimal);
            number.ok_or_else(|| E::invalid_value(OTHER, &self))
        }
    }

    pub fn management_field<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 2], D::Error> {
        from.deserialize_any(ManagementField)
    }

    pub fn sequence_number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        from.deserialize_any(SequenceNumber)
    }
}

/// Service area restriction (TS 23.501, 5.3.4.1). In a non-allowed area the UE can register, and
/// gets no service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceArea {
    /// The only tracking area codes with service.
    Allowed(Vec<u32>),
    /// The only tracking area codes without service.
    NotAllowed(Vec<u32>),
}

/// Authentication method (TS 33.501, 6.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AuthenticationMethod {
    /// 5G-AKA.
    #[default]
    #[serde(rename = "5G_AKA")]
    FiveGAka,
    /// EAP-AKA'.
    #[serde(rename = "EAP_AKA_PRIME")]
    EapAkaPrime,
}

impl AuthenticationMethod {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Parameters of a USIM that uses TUAK (TS 35.231) in place of MILENAGE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuak {
    /// TOPc.
    pub topc: Secret<32>,
    /// K of 256 bits; if absent, the subscriber's `key` is K.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Secret<32>>,
    /// Iterations of the Keccak permutation.
    #[serde(default = "one")]
    pub iterations: u8,
    /// Bits of RES: 32, 64 or 128.
    #[serde(default = "sixty_four")]
    pub res_bits: u16,
}

impl Tuak {
    /// TUAK with default parameters.
    pub fn new(topc: Secret<32>) -> Self {
        Tuak { topc, key: None, iterations: one(), res_bits: sixty_four() }
    }
}

fn one() -> u8 {
    1
}

fn sixty_four() -> u16 {
    64
}

/// A subscriber.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subscriber {
    /// `imsi-` and 14 or 15 digits, or `nai-` and a network-specific identifier, `user@realm`
    /// (TS 23.003, 2.2A).
    pub supi: String,
    /// MSISDN in digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msisdn: Option<String>,
    /// K.
    pub key: Secret,
    /// OPc.
    pub opc: Secret,
    /// Authentication management field.
    #[serde(default = "default_amf", deserialize_with = "digits::management_field")]
    pub amf: [u8; 2],
    /// Last sequence number used, 48 bits.
    #[serde(default, deserialize_with = "digits::sequence_number")]
    pub sqn: u64,
    /// Authentication method.
    #[serde(default, skip_serializing_if = "AuthenticationMethod::is_default")]
    pub authentication_method: AuthenticationMethod,
    /// TUAK parameters; if present, `opc` is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuak: Option<Tuak>,
    /// UE AMBR uplink.
    #[serde(default = "default_ambr")]
    pub ambr_uplink: String,
    /// UE AMBR downlink.
    #[serde(default = "default_ambr")]
    pub ambr_downlink: String,
    /// Slices.
    pub slices: Vec<SubscribedSlice>,
    /// Service area restriction; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_area: Option<ServiceArea>,
    /// Groups for administration. They change no procedure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// Maximum length of an NAI in bytes (RFC 7542, 2.3, to which TS 23.003, 28.7.2 refers).
const MAX_NAI: usize = 253;
/// Maximum length of a SUPI in bytes: `nai-` and an NAI.
pub const MAX_SUPI: usize = "nai-".len() + MAX_NAI;

/// Whether a text is the SUPI of a subscriber: `imsi-` and 14 or 15 digits, or `nai-` and a
/// network-specific identifier with a user name (TS 23.003, 2.2A and 28.7.2).
pub fn is_supi(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix("imsi-") {
        return (14..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    }
    let nai = text.strip_prefix("nai-").and_then(|nai| nai.split_once('@'));
    nai.is_some_and(|(user, realm)| {
        text.len() <= MAX_SUPI
            && nai::check_username(user).is_ok()
            && nai::check_realm(realm).is_ok()
    })
}

/// Maximum number of groups of a subscriber.
const MAX_GROUPS: usize = 16;

fn ipv4() -> Vec<SessionType> {
    vec![SessionType::Ipv4]
}

fn first_mode() -> Vec<u8> {
    vec![1]
}

fn default_ambr() -> String {
    DEFAULT_AMBR.into()
}

fn default_5qi() -> u8 {
    9
}

fn default_arp() -> u8 {
    8
}

fn default_amf() -> [u8; 2] {
    [0x80, 0x00]
}

/// An invalid field of a subscriber.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct InvalidSubscriber {
    /// The field.
    pub field: &'static str,
    /// Why it is invalid and what to write.
    pub message: String,
}

fn invalid(field: &'static str, message: impl Into<String>) -> InvalidSubscriber {
    InvalidSubscriber { field, message: message.into() }
}

impl SubscribedDnn {
    /// A data network with default QoS, for IPv4.
    pub fn new(name: &str) -> Self {
        SubscribedDnn {
            name: name.into(),
            default: true,
            session_types: ipv4(),
            ambr_uplink: default_ambr(),
            ambr_downlink: default_ambr(),
            five_qi: default_5qi(),
            arp_priority: default_arp(),
            static_ipv4: None,
            static_ipv6: None,
            ssc_modes: first_mode(),
            framed_routes: Vec::new(),
            up_security: None,
        }
    }
}

impl Subscriber {
    /// A subscriber with one slice (SST 1) and one data network.
    pub fn new(supi: &str, key: Secret, opc: Secret, dnn: &str) -> Self {
        let slice = SubscribedSlice {
            sst: 1,
            sd: None,
            default: true,
            dnns: vec![SubscribedDnn::new(dnn)],
        };
        Subscriber {
            supi: supi.into(),
            msisdn: None,
            key,
            opc,
            amf: default_amf(),
            sqn: 0,
            authentication_method: AuthenticationMethod::default(),
            tuak: None,
            ambr_uplink: default_ambr(),
            ambr_downlink: default_ambr(),
            slices: vec![slice],
            service_area: None,
            groups: Vec::new(),
        }
    }

    /// Returns the same subscription for the n-th IMSI after this one; `None` beyond the last IMSI
    /// of its length, and after a network-specific identifier.
    pub fn nth(&self, n: u64) -> Option<Self> {
        if n == 0 {
            return Some(self.clone());
        }
        let digits = self.supi.strip_prefix("imsi-")?;
        let number = digits.parse::<u64>().ok()?.checked_add(n)?;
        let text = format!("{number:0width$}", width = digits.len());
        (text.len() == digits.len())
            .then(|| Subscriber { supi: format!("imsi-{text}"), ..self.clone() })
    }

    /// Checks every field.
    pub fn check(&self) -> Result<(), InvalidSubscriber> {
        if !is_supi(&self.supi) {
            return Err(invalid(
                "supi",
                format!(
                    "{:?} is not a SUPI: write imsi- and 14 or 15 digits, or nai-user@realm",
                    self.supi
                ),
            ));
        }
        if let Some(number) = &self.msisdn
            && (!(5..=15).contains(&number.len()) || !number.bytes().all(|b| b.is_ascii_digit()))
        {
            return Err(invalid(
                "msisdn",
                format!("{number:?} is not an MSISDN: write 5 to 15 digits"),
            ));
        }
        if self.sqn >> 48 != 0 {
            return Err(invalid("sqn", "a sequence number has 48 bits"));
        }
        if let Some(tuak) = &self.tuak {
            if tuak.iterations == 0 {
                return Err(invalid("tuak.iterations", "0 iterations are invalid: write 1"));
            }
            if ![32, 64, 128].contains(&tuak.res_bits) {
                return Err(invalid("tuak.res_bits", "RES has 32, 64 or 128 bits: write 64"));
            }
        }
        rate("ambr_uplink", &self.ambr_uplink)?;
        rate("ambr_downlink", &self.ambr_downlink)?;
        if self.slices.is_empty() {
            return Err(invalid(
                "slices",
                "no slice: write for example sst 1 with the data network internet",
            ));
        }
        for (n, slice) in self.slices.iter().enumerate() {
            slice.check(&self.slices[..n])?;
        }
        let areas = self.service_area.iter().flat_map(|area| match area {
            ServiceArea::Allowed(tacs) | ServiceArea::NotAllowed(tacs) => tacs,
        });
        if areas.copied().any(|tac| tac == 0 || tac > 0xff_fffd) {
            return Err(invalid("service_area", "a tracking area code is 1 to 16777213"));
        }
        let in_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let is_name =
            |group: &String| (1..=64).contains(&group.len()) && group.bytes().all(in_name);
        if self.groups.len() > MAX_GROUPS {
            return Err(invalid("groups", format!("too many groups: write {MAX_GROUPS} at most")));
        }
        if let Some(group) = self.groups.iter().find(|group| !is_name(group)) {
            return Err(invalid(
                "groups",
                format!("{group:?} is not a group: write 1 to 64 letters, digits, -, _ and ."),
            ));
        }
        if !self.slices.iter().any(|slice| slice.default) {
            return Err(invalid("slices", "no default slice: set `default` on one at least"));
        }
        Ok(())
    }
}

/// Whether two data networks of a slice differ in nothing but `default` and the case of the name.
fn is_same_network(one: &SubscribedDnn, other: &SubscribedDnn) -> bool {
    one.name.eq_ignore_ascii_case(&other.name)
        && *one == SubscribedDnn { name: one.name.clone(), default: one.default, ..other.clone() }
}

impl SubscribedSlice {
    /// SST, or SST and SD.
    fn label(&self) -> String {
        match self.sd {
            Some(sd) => format!("{}-{sd:06x}", self.sst),
            None => self.sst.to_string(),
        }
    }

    /// Removes a data network that equals one before it: earlier versions stored both.
    pub(crate) fn merge_equal_networks(&mut self) {
        let mut n = 1;
        while n < self.dnns.len() {
            let (before, rest) = self.dnns.split_at_mut(n);
            match before.iter_mut().find(|dnn| is_same_network(dnn, &rest[0])) {
                Some(same) => {
                    same.default |= rest[0].default;
                    self.dnns.remove(n);
                }
                None => n += 1,
            }
        }
    }

    fn check(&self, before: &[SubscribedSlice]) -> Result<(), InvalidSubscriber> {
        if self.sd.is_some_and(|sd| sd > 0xff_ffff) {
            return Err(invalid(
                "slices.sd",
                "a slice differentiator has 24 bits: write six hexadecimal digits",
            ));
        }
        if before.iter().any(|slice| (slice.sst, slice.sd) == (self.sst, self.sd)) {
            return Err(invalid("slices", format!("slice {} occurs twice", self.label())));
        }
        if self.dnns.is_empty() {
            return Err(invalid("slices.dnns", "no data network: write one at least"));
        }
        for (n, dnn) in self.dnns.iter().enumerate() {
            let label = |part: &str| !part.is_empty() && part.len() <= 63;
            let letters = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.' || b == b'_';
            if dnn.name.len() > 100
                || !dnn.name.bytes().all(letters)
                || !dnn.name.split('.').all(label)
            {
                return Err(invalid(
                    "slices.dnns.name",
                    format!("{:?} is not a data network name (TS 23.003, 9.1)", dnn.name),
                ));
            }
            // Names are compared as DNS compares its labels.
            if self.dnns[..n].iter().any(|other| other.name.eq_ignore_ascii_case(&dnn.name)) {
                return Err(invalid(
                    "slices.dnns.name",
                    format!(
                        "{} occurs twice in slice {}: write it once; a stored subscriber that has \
                         it twice is replaced with `martlet subscriber import --replace`",
                        dnn.name,
                        self.label()
                    ),
                ));
            }
            if dnn.session_types.is_empty() {
                return Err(invalid(
                    "slices.dnns.session_types",
                    "no session type: write one at least, such as IPV4",
                ));
            }
            if dnn.ssc_modes.is_empty() || dnn.ssc_modes.iter().any(|mode| !(1..=3).contains(mode))
            {
                return Err(invalid(
                    "slices.dnns.ssc_modes",
                    "invalid SSC modes: write one at least of 1, 2 and 3",
                ));
            }
            for route in &dnn.framed_routes {
                let parts = route
                    .split_once('/')
                    .and_then(|(a, l)| Some((a.parse().ok()?, l.parse::<u8>().ok()?)));
                let fits = |(address, length): (std::net::IpAddr, u8)| {
                    (1..=if address.is_ipv4() { 32 } else { 128 }).contains(&length)
                };
                if !parts.is_some_and(fits) {
                    let why = format!("{route:?} is not a network: write for example 10.60.0.0/24");
                    return Err(invalid("slices.dnns.framed_routes", why));
                }
            }
            rate("slices.dnns.ambr_uplink", &dnn.ambr_uplink)?;
            rate("slices.dnns.ambr_downlink", &dnn.ambr_downlink)?;
            if dnn.five_qi == 0 {
                return Err(invalid(
                    "slices.dnns.five_qi",
                    "a 5QI is 1 to 255: write 9 for the default",
                ));
            }
            if !(1..=15).contains(&dnn.arp_priority) {
                return Err(invalid(
                    "slices.dnns.arp_priority",
                    "a priority level is 1 to 15: write 8 for the default",
                ));
            }
        }
        Ok(())
    }
}

/// Checks a bit rate in the format of TS 29.571, such as `100 Mbps`.
fn rate(field: &'static str, text: &str) -> Result<(), InvalidSubscriber> {
    let parts = text.split_once(' ');
    let number =
        parts.is_some_and(|(n, _)| n.parse::<f64>().is_ok_and(|n| n.is_finite() && n >= 0.0));
    let unit =
        parts.is_some_and(|(_, unit)| matches!(unit, "bps" | "Kbps" | "Mbps" | "Gbps" | "Tbps"));
    if number && unit {
        Ok(())
    } else {
        Err(invalid(field, format!("{text:?} is not a bit rate: write for example 100 Mbps")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid() -> Subscriber {
        Subscriber::new("imsi-001010000000001", Secret([1; 16]), Secret([2; 16]), "internet")
    }

    #[test]
    fn an_invalid_field_is_reported_by_name() {
        assert_eq!(valid().check(), Ok(()));
        let field = |change: fn(&mut Subscriber)| {
            let mut subscriber = valid();
            change(&mut subscriber);
            subscriber.check().unwrap_err().field
        };
        assert_eq!(field(|s| s.supi = "001010000000001".into()), "supi");
        assert_eq!(field(|s| s.msisdn = Some("+49".into())), "msisdn");
        assert_eq!(field(|s| s.sqn = 1 << 48), "sqn");
        assert_eq!(
            field(|s| s.tuak = Some(Tuak { iterations: 0, ..Tuak::new(Secret([1; 32])) })),
            "tuak.iterations"
        );
        assert_eq!(
            field(|s| s.tuak = Some(Tuak { res_bits: 65, ..Tuak::new(Secret([1; 32])) })),
            "tuak.res_bits"
        );
        assert_eq!(field(|s| s.ambr_uplink = "fast".into()), "ambr_uplink");
        assert_eq!(field(|s| s.slices.clear()), "slices");
        assert_eq!(field(|s| s.slices[0].sd = Some(1 << 24)), "slices.sd");
        assert_eq!(field(|s| s.slices[0].dnns[0].name = "in ternet".into()), "slices.dnns.name");
        let twice = |s: &mut Subscriber| s.slices[0].dnns.push(SubscribedDnn::new("Internet"));
        assert_eq!(field(twice), "slices.dnns.name");
        assert_eq!(field(|s| s.slices[0].dnns[0].arp_priority = 16), "slices.dnns.arp_priority");
        assert_eq!(field(|s| s.slices[0].default = false), "slices");
    }

    #[test]
    fn equal_data_networks_are_merged_and_the_error_about_others_has_the_slice() {
        let mut subscriber = valid();
        let slice = &mut subscriber.slices[0];
        slice.sd = Some(10);
        slice.dnns[0].default = false;
        slice.dnns.push(SubscribedDnn::new("ims"));
        slice.dnns.push(SubscribedDnn::new("Internet"));
        slice.dnns.push(SubscribedDnn { five_qi: 5, ..SubscribedDnn::new("ims") });
        slice.merge_equal_networks();
        let left: Vec<_> = slice.dnns.iter().map(|dnn| (dnn.name.as_str(), dnn.default)).collect();
        assert_eq!(left, [("internet", true), ("ims", true), ("ims", true)]);
        let error = subscriber.check().unwrap_err().message;
        assert!(error.contains("ims occurs twice in slice 1-00000a: write it once"), "{error}");
        subscriber.slices[0].dnns.pop();
        assert_eq!(subscriber.check(), Ok(()));
    }

    #[test]
    fn a_supi_is_an_imsi_or_a_network_specific_identifier() {
        let longest = format!("nai-{}@plant.example.com", "u".repeat(253 - 18));
        assert_eq!(longest.len(), MAX_SUPI);
        let short = ["imsi-00101000000001", "imsi-001010000000001", "nai-a-b.c@x-1.example.org"];
        for supi in short.into_iter().chain([longest.as_str()]) {
            let subscriber = Subscriber { supi: supi.into(), ..valid() };
            assert_eq!(subscriber.check(), Ok(()), "{supi}");
            assert_eq!(subscriber.nth(0), Some(subscriber));
        }
        let nai = Subscriber { supi: "nai-user@example.org".into(), ..valid() };
        assert_eq!(nai.nth(1), None);
        for wrong in [
            "",
            "imsi-0010100000001",
            "imsi-0010100000000011",
            "imsi-00101000000000x",
            "001010000000001",
            "nai-",
            "nai-user",
            "nai-@example.org",
            "nai-user@example",
            "nai-a b@example.org",
            "gci-user@example.org",
            &format!("{longest}n"),
        ] {
            assert!(!is_supi(wrong), "{wrong}");
        }
    }

    #[test]
    fn the_nth_subscriber_keeps_the_length_of_its_imsi() {
        assert_eq!(valid().nth(41).unwrap().supi, "imsi-001010000000042");
        let last = Subscriber { supi: "imsi-99999999999999".into(), ..valid() };
        assert_eq!(last.nth(1), None);
    }

    #[test]
    fn keys_are_hidden_in_logs() {
        let subscriber = Subscriber { key: Secret([0xab; 16]), ..valid() };
        let printed = format!("{subscriber:?}");
        assert!(
            printed.contains("(hidden)") && !printed.contains("abab") && !printed.contains("171")
        );
        let json = serde_json::to_string(&valid()).unwrap();
        assert_eq!(serde_json::from_str::<Subscriber>(&json).unwrap(), valid());
    }
}
