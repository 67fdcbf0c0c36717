//! Identities of subscribers, equipment and network functions (TS 29.571, 5.3; TS 23.003).
use super::network::lowercase;
use crate::macros::checked_string;

checked_string! {
    /// Subscription permanent identifier, such as `imsi-001010000000001` (TS 29.571, 5.3). Its
    /// pattern allows any other text, too. An IMSI of another form and identities of other kinds,
    /// which stand in the same places of URIs, are refused nevertheless: a SUCI that passed for a
    /// SUPI would not be deconcealed.
    pub struct Supi, |text| match text.split_once('-') {
        Some(("imsi", digits)) =>
            (5..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()),
        Some(("nai" | "gci" | "gli", "")) => false,
        Some((kind, _)) => !OTHER_KINDS.contains(&kind) && is_one_line(text),
        None => !OTHER_KINDS.contains(&text) && is_one_line(text),
    }
}

/// What SUCIs, GPSIs, PEIs and 5G-GUTIs begin with (TS 29.571, 5.3; TS 29.518, 6.1.3.2.2).
const OTHER_KINDS: [&str; 8] =
    ["suci", "msisdn", "extid", "extgroupid", "imei", "imeisv", "5g", "cid"];

impl Supi {
    /// The SUPI of an IMSI's digits.
    pub fn from_imsi(imsi: &str) -> Result<Self, super::NotValid> {
        format!("imsi-{imsi}").try_into()
    }
    /// The digits of the IMSI, where the SUPI is one.
    pub fn imsi(&self) -> Option<&str> {
        self.strip_prefix("imsi-")
    }
}

checked_string! {
    /// Subscription concealed identifier, such as `suci-0-001-01-0000-0-0-0000000001` (TS 29.571,
    /// 5.3; TS 23.003, 28.7.3).
    pub struct Suci,
        |text| text.strip_prefix("suci-").is_some_and(|rest| rest.split('-').count() >= 6)
}

checked_string! {
    /// SUPI or SUCI (TS 29.571, 5.3).
    pub struct SupiOrSuci, |text| text.parse::<Supi>().is_ok() || text.parse::<Suci>().is_ok()
}

impl SupiOrSuci {
    /// The SUPI, if it is one.
    pub fn supi(&self) -> Option<Supi> {
        self.parse().ok()
    }
    /// The SUCI, if it is one.
    pub fn suci(&self) -> Option<Suci> {
        self.parse().ok()
    }
}

impl From<Supi> for SupiOrSuci {
    fn from(supi: Supi) -> Self {
        SupiOrSuci(supi.0)
    }
}

impl From<Suci> for SupiOrSuci {
    fn from(suci: Suci) -> Self {
        SupiOrSuci(suci.0)
    }
}

/// Whether a text matches the pattern `^.+$`: one line, not empty. Control characters, which
/// databases and terminals take for something else, are refused, and so are the segments that
/// remove others from a path (RFC 3986, 5.2.4).
fn is_one_line(text: &str) -> bool {
    !matches!(text, "" | "." | "..")
        && !text.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
}

checked_string! {
    /// Generic public subscription identifier, such as `msisdn-491700000000`. Its pattern allows
    /// any other text, too (TS 29.571, 5.3).
    pub struct Gpsi, is_one_line
}

checked_string! {
    /// Permanent equipment identifier, such as `imeisv-3534900698733153`. Its pattern allows any
    /// other text, too (TS 29.571, 5.3).
    pub struct Pei, is_one_line
}

checked_string! {
    /// Internal group identifier (TS 29.571, 5.3; TS 23.003, 19.9).
    pub struct GroupId, |text| text.split('-').count() == 4
}

checked_string! {
    /// Identity of an NF instance, a UUID (TS 29.571, 5.3).
    pub struct NfInstanceId, |text| text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    }), lowercase
}

checked_string! {
    /// Data network name: the network identifier, with or without the operator identifier (TS
    /// 29.571, 5.3; TS 23.003, 9A).
    pub struct Dnn, |text| (1..=100).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_graphic())
}

checked_string! {
    /// A bit rate with its unit, such as `100 Mbps` (TS 29.571, 5.5).
    pub struct BitRate, BitRate::is_one
}

impl BitRate {
    const UNITS: [(&'static str, u64); 5] = [
        ("bps", 1),
        ("Kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ];

    /// A rate in bits per second, written in the largest unit that shows it whole.
    pub fn from_bps(bps: u64) -> Self {
        let fits = |(_, size): &&(&str, u64)| bps >= *size && bps.is_multiple_of(*size);
        let (unit, size) = Self::UNITS.iter().rev().find(fits).unwrap_or(&Self::UNITS[0]);
        BitRate(compact_str::format_compact!("{} {unit}", bps / size))
    }

    /// Bits per second; fractions are truncated, and values above 2^64 - 1 saturate.
    pub fn bps(&self) -> u64 {
        Self::parse_bps(&self.0).unwrap_or(0)
    }

    /// Digits with an optional fraction, a space and a unit. Parsed in one pass, since each flow of
    /// a session has several.
    fn is_one(text: &str) -> bool {
        let mut rest = text.as_bytes();
        let mut digits = || {
            let number = rest.iter().take_while(|octet| octet.is_ascii_digit()).count();
            rest = &rest[number..];
            let next = rest.split_first();
            rest = next.map_or(&[], |(_, rest)| rest);
            (number > 0).then(|| next.map(|(next, _)| *next)).flatten()
        };
        let ends = match digits() {
            Some(b'.') => digits(),
            end => end,
        };
        ends == Some(b' ') && Self::UNITS.iter().any(|(unit, _)| unit.as_bytes() == rest)
    }

    fn parse_bps(text: &str) -> Option<u64> {
        let (number, unit) = text.split_once(' ')?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return None;
        }
        let size = Self::UNITS.iter().find(|(name, _)| *name == unit)?.1;
        if let (true, Ok(whole)) = (fraction == "0", whole.parse::<u64>()) {
            return Some(whole.saturating_mul(size));
        }
        Some((number.parse::<f64>().ok()? * size as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supi_is_checked() {
        assert_eq!("imsi-001010000000001".parse::<Supi>().unwrap().imsi(), Some("001010000000001"));
        for wrong in ["", "imsi-", "imsi-1234", "imsi-0010100000000011", "imsi-00101000000000x"] {
            assert!(wrong.parse::<Supi>().is_err(), "{wrong}");
            assert!(serde_json::from_value::<Supi>(wrong.into()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn supis_are_as_wide_as_their_pattern() {
        for text in [
            "nai-user@realm.example",
            "nai-a/b?c#d%41 e",
            "gci-00-11-22@5gc.example",
            "gli-x",
            "001010000000001",
            "subscriber 7",
            "a-b",
            "nai-j\u{f6}rg@realm.example",
        ] {
            assert_eq!(text.parse::<Supi>().unwrap().imsi(), None, "{text}");
            assert_eq!(text.parse::<SupiOrSuci>().unwrap().supi(), text.parse().ok());
        }
        for control in ['\n', '\r', '\0', '\u{1b}', '\u{7f}', '\u{85}', '\u{2028}', '\u{2029}'] {
            for kind in ["nai-a", "gci-a", "gli-a", "a"] {
                let text = format!("{kind}{control}b");
                assert!(text.parse::<Supi>().is_err(), "{text:?}");
            }
        }
        for wrong in ["nai-", "gci-", "gli-", ".", ".."] {
            assert!(wrong.parse::<Supi>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn identities_of_other_kinds_are_no_supis() {
        for other in [
            "suci-0-001-01-0000-0-0-0000000001",
            "suci",
            "msisdn-491700000000",
            "extid-a@b.example",
            "extgroupid-a@b.example",
            "imei-353490069873319",
            "imeisv-3534900698733153",
            "5g-guti-00101cafe0000000001",
            "cid-7",
        ] {
            assert!(other.parse::<Supi>().is_err(), "{other}");
        }
    }

    #[test]
    fn a_suci_is_no_supi() {
        let either: SupiOrSuci = "suci-0-001-01-0000-0-0-0000000001".parse().unwrap();
        assert!(either.supi().is_none() && either.suci().is_some());
        assert!("suci-0-001".parse::<SupiOrSuci>().is_err());
    }

    #[test]
    fn public_and_equipment_identities_are_as_wide_as_their_patterns() {
        for text in ["msisdn-491700000000", "msisdn-", "extid-a@b.example", "imei-12", "x"] {
            assert!(text.parse::<Gpsi>().is_ok() && text.parse::<Pei>().is_ok(), "{text}");
        }
        for wrong in ["", "a\nb", "\r", "\0", "a\u{1b}[m", "."] {
            assert!(wrong.parse::<Gpsi>().is_err() && wrong.parse::<Pei>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn bit_rates_are_numbers_and_text() {
        let bps = |text: &str| text.parse::<BitRate>().map(|rate| rate.bps());
        assert_eq!(bps("1 Gbps"), Ok(1_000_000_000));
        assert_eq!(bps("1.5 Mbps"), Ok(1_500_000));
        assert_eq!(bps("0 bps"), Ok(0));
        assert_eq!(bps("999999999999999999999 Tbps"), Ok(u64::MAX));
        for wrong in ["1", "1Mbps", "Mbps", "-1 Mbps", "1. Mbps", ".5 Mbps", "1e3 bps", "1 mbps"] {
            assert!(bps(wrong).is_err(), "{wrong}");
        }
        assert_eq!(BitRate::from_bps(200_000_000).as_str(), "200 Mbps");
        assert_eq!(BitRate::from_bps(1_234).as_str(), "1234 bps");
        assert_eq!(BitRate::from_bps(0).as_str(), "0 bps");
    }

    #[test]
    fn an_nf_instance_id_is_a_uuid() {
        assert!("4947a69a-f61b-4bc1-b9da-47c9c5d14b64".parse::<NfInstanceId>().is_ok());
        assert!("4947a69a-f61b-4bc1-b9da-47c9c5d14b6".parse::<NfInstanceId>().is_err());
        assert!("4947a69aaf61b-4bc1-b9da-47c9c5d14b64".parse::<NfInstanceId>().is_err());
    }
}
