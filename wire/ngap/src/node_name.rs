//! The name of a RAN node: a PrintableString of 1 to 150 characters (TS 38.413, 9.4.5).

use oxirush_ngap::ngap::NGAPPDU;

/// The identifier of the information element RAN Node Name (TS 38.413, 9.4.7).
const RAN_NODE_NAME: u16 = 82;
const MAX_LENGTH: usize = 150;

/// The RAN Node Name of a message, also with underscores, which a PrintableString does not have
/// (X.680, 41.4): srsRAN's gNB is `cu_cp_01` by default. `None` if there is no name, or if it has
/// other characters.
pub fn ran_node_name(pdu: &NGAPPDU<'_>) -> Option<String> {
    let elements = pdu.protocol_ies().ok()?;
    let element = elements.0.iter().find(|element| element.id.0 == RAN_NODE_NAME)?;
    // Aligned PER: the extension bit, the length less 1 in 8 bits, and padding (X.691, 30.5).
    let (head, text) = element.value.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*head) >> 7) + 1;
    let is_of_name = |octet: &u8| octet.is_ascii_alphanumeric() || b" '()+,-./:=?_".contains(octet);
    let is_name = length <= MAX_LENGTH && text.len() == length && text.iter().all(is_of_name);
    is_name.then(|| String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxirush_ngap::ngap::{Criticality, NGAP_PDU, PagingDRX, ProtocolIEField};
    use oxirush_ngap::{build_ngap, ie};

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
}
