//! The name of a RAN node: a PrintableString of 1 to 150 characters (TS 38.413, 9.4.5), and the
//! extended name, with all printable characters of ASCII or in UTF-8.

use oxirush_ngap::ie;
use oxirush_ngap::ngap::NGAPPDU;

/// The identifier of the information element RAN Node Name (TS 38.413, 9.4.7).
const RAN_NODE_NAME: u16 = 82;
const MAX_LENGTH: usize = 150;
/// What a name may have besides letters and digits.
const PUNCTUATION: &[u8] = b" '()+,-./:=?_";

/// The RAN Node Name of a message, also with underscores, which a PrintableString does not have
/// (X.680, 41.4): srsRAN's gNB is `cu_cp_01` by default. `None` if there is no name, or if it has
/// other characters.
pub fn ran_node_name(pdu: &NGAPPDU<'_>) -> Option<String> {
    let elements = pdu.protocol_ies().ok()?;
    let element = elements.0.iter().find(|element| element.id.0 == RAN_NODE_NAME)?;
    // Aligned PER: the extension bit, the length less 1 in 8 bits, and padding (X.691, 30.5).
    let (head, text) = element.value.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*head) >> 7) + 1;
    let is_of_name = |octet: &u8| octet.is_ascii_alphanumeric() || PUNCTUATION.contains(octet);
    let is_name = length <= MAX_LENGTH && text.len() == length && text.iter().all(is_of_name);
    is_name.then(|| String::from_utf8_lossy(text).into_owned())
}

/// The Extended RAN Node Name of a message, in UTF-8 if it is there, else in ASCII. The RAN Node
/// Name is ignored beside it (TS 38.413, 8.7.1.2). Logs and consoles show names: characters that
/// are no letters or digits, and that [`ran_node_name`] does not accept, become `-`, and those
/// after the 150th are cut off.
pub fn extended_ran_node_name(pdu: &NGAPPDU<'_>) -> Option<String> {
    let extended = pdu.ie::<ie::Extended_RANNodeName>()?.ok()?;
    let in_utf8 = extended.ran_node_name_utf8_string.map(|name| name.0);
    let in_ascii = extended.ran_node_name_visible_string.map(|name| name.0);
    // The decoder of a UTF8String accepts any length.
    let name = in_utf8.into_iter().chain(in_ascii).find(|name| !name.is_empty())?;
    let is_of_name = |character: char| {
        character.is_alphanumeric()
            || u8::try_from(character).is_ok_and(|octet| PUNCTUATION.contains(&octet))
    };
    let characters = name.chars().take(MAX_LENGTH);
    Some(characters.map(|it| if is_of_name(it) { it } else { '-' }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxirush_ngap::build_ngap;
    use oxirush_ngap::ngap::{
        Criticality, ExtendedRANNodeName, NGAP_PDU, PagingDRX, ProtocolIEField,
    };

    /// NG SETUP REQUEST with these octets as RAN Node Name.
    fn named(value: &[u8]) -> NGAP_PDU {
        let mut pdu = build_ngap!(
            InitiatingMessage,
            NGSetup,
            NGSetupRequest,
            DefaultPagingDRX(PagingDRX::v128)
        )
        .unwrap();
        let mut elements = pdu.protocol_ies().unwrap().into_owned();
        let name = ProtocolIEField::new(RAN_NODE_NAME, Criticality::ignore, value.to_vec().into());
        elements.0.insert(0, name);
        pdu.set_protocol_ies(elements).unwrap();
        pdu
    }

    #[test]
    fn a_name_is_read_with_underscores() {
        let printable = named(b"\x03\x80cu-cp-01");
        let by_codec = printable.ie::<ie::RANNodeName>().unwrap().unwrap().0.into_owned();
        assert_eq!(Some(by_codec), ran_node_name(&printable));
        let other = named(b"\x03\x80cu_cp_01");
        assert!(other.ie::<ie::RANNodeName>().unwrap().is_err());
        assert_eq!(ran_node_name(&other).as_deref(), Some("cu_cp_01"));
        for wrong in [
            &b"\x03\x80cu_cp_0"[..],
            b"\x03\x80cu_cp_0\n",
            b"\x03\x80<u_cp_01",
            b"\x83\x80cu_cp_01",
            b"\x03",
        ] {
            assert_eq!(ran_node_name(&named(wrong)), None, "{wrong:?}");
        }
        let longest = [&[149u8 >> 1, (149 & 1) << 7][..], &[b'_'; 150]].concat();
        assert_eq!(ran_node_name(&named(&longest)).unwrap().len(), 150);
    }

    #[test]
    fn an_extended_name_is_read_in_utf_8_or_ascii() {
        fn name_of(visible: Option<&str>, in_utf8: Option<&str>) -> Option<String> {
            let name =
                ExtendedRANNodeName::new(visible.map(Into::into), in_utf8.map(Into::into), None);
            let pdu =
                build_ngap!(InitiatingMessage, NGSetup, NGSetupRequest, Extended_RANNodeName(name))
                    .unwrap();
            extended_ran_node_name(&pdu)
        }
        assert_eq!(name_of(Some("cu_cp <1>"), None).as_deref(), Some("cu_cp -1-"));
        assert_eq!(name_of(Some("Cafe"), Some("Café 1")).as_deref(), Some("Café 1"));
        assert_eq!(name_of(None, Some("a\n\u{202e}b")).as_deref(), Some("a--b"));
        assert_eq!(name_of(None, Some(&"é".repeat(200))), Some("é".repeat(150)));
        assert_eq!(name_of(Some("cu"), Some("")).as_deref(), Some("cu"));
        assert_eq!(name_of(None, None), None);
        assert_eq!(extended_ran_node_name(&named(b"\x03\x80cu-cp-01")), None);
    }
}
