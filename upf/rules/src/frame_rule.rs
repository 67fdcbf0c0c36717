//! Ethernet packet filters (TS 29.244, 7.5.2.2-3; TS 23.501, 5.7.6.3).
use super::{Direction, Flow, SdfRule, SdfRuleError};
use martlet_pfcp::ie::{EthernetPacketFilter, Tag};

type Range = ([u8; 6], [u8; 6]);

/// A filter for frames, ready to match.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct FrameRule {
    /// Sender and receiver, each a range where it counts; one pair of these fits.
    addresses: Vec<(Option<Range>, Option<Range>)>,
    ethertype: Option<u16>,
    c_tag: Option<Tag>,
    s_tag: Option<Tag>,
    /// For the downlink as it is written, for the uplink with its sides exchanged.
    both_ways: bool,
    rules: Vec<SdfRule>,
}

impl FrameRule {
    /// From the information element.
    ///
    /// # Errors
    /// An SDF filter in it is malformed.
    pub fn of(filter: &EthernetPacketFilter) -> Result<FrameRule, SdfRuleError> {
        let range =
            |low: Option<[u8; 6]>, high: Option<[u8; 6]>| low.map(|low| (low, high.unwrap_or(low)));
        let rules = filter.sdf_filters.iter().map(SdfRule::of).collect::<Result<_, _>>()?;
        Ok(FrameRule {
            addresses: filter
                .mac_addresses
                .iter()
                .map(|mac| {
                    (
                        range(mac.source, mac.upper_source),
                        range(mac.destination, mac.upper_destination),
                    )
                })
                .collect(),
            ethertype: filter.ethertype.map(|kind| kind.0),
            c_tag: filter.c_tag.map(|tag| tag.0),
            s_tag: filter.s_tag.map(|tag| tag.0),
            both_ways: filter.properties.is_some_and(|properties| properties.0 & 1 != 0),
            rules,
        })
    }

    /// Whether a frame matches.
    pub fn matches(&self, flow: &Flow, direction: Direction) -> bool {
        let Some(header) = &flow.ethernet else { return false };
        let exchanged = self.both_ways && direction == Direction::Uplink;
        let (source, destination) = if exchanged {
            (header.destination, header.source)
        } else {
            (header.source, header.destination)
        };
        let within = |range: &Option<Range>, address| {
            range.is_none_or(|(low, high)| low <= address && address <= high)
        };
        (self.addresses.is_empty()
            || self.addresses.iter().any(|(s, d)| within(s, source) && within(d, destination)))
            && self.ethertype.is_none_or(|kind| kind == header.ethertype)
            && self.c_tag.is_none_or(|tag| tag_matches(&tag, header.c_tag))
            && self.s_tag.is_none_or(|tag| tag_matches(&tag, header.s_tag))
            && (self.rules.is_empty()
                || self.rules.iter().any(|rule| rule.matches(flow, direction)))
    }
}

fn tag_matches(wanted: &Tag, there: Option<u16>) -> bool {
    let Some(there) = there else { return false };
    wanted.pcp.is_none_or(|pcp| u16::from(pcp) == there >> 13)
        && wanted.dei.is_none_or(|dei| dei == (there & 0x1000 != 0))
        && wanted.vid.is_none_or(|vid| vid == there & 0x0fff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};
    use martlet_pfcp::ie::{CTag, Ethertype, MacAddress};

    /// From 02:…:01 to 02:…:02, customer's VLAN 5 with priority 3, a UDP packet to port 53.
    fn frame() -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0x60, 5, 8, 0];
        frame.extend([
            0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 99, 0, 53, 0, 8,
            0, 0,
        ]);
        frame
    }

    #[test]
    fn a_frame_is_read_and_filters_find_it() {
        let flow = Flow::of_frame(&frame()).unwrap();
        let header = flow.ethernet.unwrap();
        assert_eq!(
            (header.c_tag, header.s_tag, header.ethertype),
            (Some(0x6005), None, ETHERTYPE_IPV4)
        );
        assert_eq!((flow.ports, flow.length), (Some((99, 53)), 46));
        // Cut short anywhere, it is a shorter frame or none.
        for length in 0..frame().len() {
            assert_eq!(Flow::of_frame(&frame()[..length]).is_some(), length >= 18, "{length}");
        }

        let rule = |filter: EthernetPacketFilter| FrameRule::of(&filter).unwrap();
        let empty = || EthernetPacketFilter {
            filter_id: None,
            properties: None,
            mac_addresses: vec![],
            ethertype: None,
            c_tag: None,
            s_tag: None,
            sdf_filters: vec![],
        };
        let down = Direction::Downlink;
        assert!(rule(empty()).matches(&flow, down));
        let tag = |tag| rule(EthernetPacketFilter { c_tag: Some(CTag(tag)), ..empty() });
        assert!(tag(Tag { pcp: Some(3), dei: Some(false), vid: Some(5) }).matches(&flow, down));
        assert!(!tag(Tag { pcp: Some(4), ..Tag::default() }).matches(&flow, down));
        assert!(
            !rule(EthernetPacketFilter { ethertype: Some(Ethertype(ETHERTYPE_IPV6)), ..empty() })
                .matches(&flow, down)
        );
        let from = MacAddress {
            source: Some([2, 0, 0, 0, 0, 0]),
            upper_source: Some([2, 0, 0, 0, 0, 1]),
            ..MacAddress::default()
        };
        let mut from = EthernetPacketFilter { mac_addresses: vec![from], ..empty() };
        assert!(rule(from.clone()).matches(&flow, down));
        from.properties = Some(martlet_pfcp::ie::EthernetFilterProperties(1));
        assert!(!rule(from).matches(&flow, Direction::Uplink));
    }
}
