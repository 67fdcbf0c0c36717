//! Tracking area codes in decimal digits, as OAI's AMF writes them into the location of a UE (quirk
//! `decimal_tac`). Four or six digits are always read as hexadecimal.
use crate::macros::CompactString;
use martlet_sbi::tolerant;
use serde::{Deserialize, Deserializer};
use std::cell::Cell;

thread_local! {
    /// Whether such a code may be in what is being decoded.
    static IS_ALLOWED: Cell<bool> = const { Cell::new(false) };
}

/// Decodes a location whose tracking area code may be in decimal digits, which is noted.
///
/// # Errors
/// It is not a location.
pub(crate) fn location<'de, D: Deserializer<'de>, Location: Deserialize<'de>>(
    from: D,
) -> Result<Option<Location>, D::Error> {
    IS_ALLOWED.set(true);
    let location = Option::deserialize(from);
    IS_ALLOWED.set(false);
    location
}

/// The code of a text in decimal digits, if it may be one here.
pub(super) fn code(text: &str) -> Option<u32> {
    let is_one = IS_ALLOWED.get()
        && !matches!(text.len(), 4 | 6)
        && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|code| is_one && *code <= 0xff_ffff)
}

/// A code in decimal digits as hexadecimal ones, which is noted.
pub(super) fn normal(text: &str) -> Option<CompactString> {
    let code = code(text)?;
    tolerant::note_decimal_tac();
    Some(compact_str::format_compact!("{code:06x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::{Tac, UserLocation};

    #[derive(Deserialize)]
    struct Request {
        #[serde(default, deserialize_with = "location")]
        location: Option<UserLocation>,
    }

    fn tac(text: &str) -> Option<(u32, bool)> {
        tolerant::begin();
        let plmn = r#"{"mcc":"001","mnc":"01"}"#;
        let text = format!(
            r#"{{"location":{{"nrLocation":{{"tai":{{"plmnId":{plmn},"tac":"{text}"}},
                "ncgi":{{"plmnId":{plmn},"nrCellId":"000000010"}}}}}}}}"#
        );
        let read: Request = serde_json::from_str(&text).ok()?;
        let tac = read.location?.nr_location?.tai.tac;
        Some((tac.to_u32(), tolerant::has_decimal_tac()))
    }

    #[test]
    fn a_location_has_a_code_in_hexadecimal_or_decimal_digits() {
        assert_eq!(tac("00a000"), Some((0xa000, false)));
        assert_eq!(tac("4096"), Some((0x4096, false)));
        assert_eq!(tac("1"), Some((1, true)));
        assert_eq!(tac("40960"), Some((40960, true)));
        assert_eq!(tac("16777215"), Some((0xff_ffff, true)));
        for wrong in ["", "-1", "+1", "0000a", "16777216", "99999999999"] {
            assert_eq!(tac(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn elsewhere_a_code_is_in_hexadecimal_digits() {
        assert_eq!(tac("1"), Some((1, true)));
        assert!("1".parse::<Tac>().is_err() && serde_json::from_str::<Tac>("\"40960\"").is_err());
        let request: Request = serde_json::from_str("{}").unwrap();
        assert!(request.location.is_none());
    }
}
