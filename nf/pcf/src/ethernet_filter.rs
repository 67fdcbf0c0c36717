//! Packet filters of Ethernet sessions, as written in the configuration.
use martlet_sbi_api::npcf_sm_policy_control::EthFlowDescription;

/// A filter that does not parse.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: {reason}; write for example ethernet type 88f7 vlan 5")]
pub struct FilterError {
    text: String,
    reason: &'static str,
}

/// Parses `ethernet [type HEX] [vlan NUMBER] [priority NUMBER] [from ADDRESS] [to ADDRESS]`, for
/// the downlink direction. None if the text is not an Ethernet filter.
///
/// # Errors
/// The text starts with `ethernet` but does not parse.
pub fn parse(text: &str) -> Result<Option<EthFlowDescription>, FilterError> {
    let mut words = text.split_ascii_whitespace();
    if words.next() != Some("ethernet") {
        return Ok(None);
    }
    let invalid = |reason| FilterError { text: text.to_string(), reason };
    let mut description = EthFlowDescription::default();
    let (mut vlan, mut priority) = (None, None);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| invalid("a word has no value"))?;
        let number = |max: u16| {
            value
                .parse::<u16>()
                .ok()
                .filter(|n| *n <= max)
                .ok_or_else(|| invalid("a number does not parse or is too large"))
        };
        match word {
            "type" => {
                let kind = u16::from_str_radix(value.trim_start_matches("0x"), 16)
                    .map_err(|_| invalid("the type is not hexadecimal"))?;
                description.eth_type = format!("{kind:04x}");
            }
            "vlan" => vlan = Some(number(4094)?),
            "priority" => priority = Some(number(7)?),
            "from" | "to" => {
                let octets: Vec<&str> = value.split(['-', ':']).collect();
                if octets.len() != 6
                    || octets.iter().any(|o| o.len() != 2 || u8::from_str_radix(o, 16).is_err())
                {
                    return Err(invalid("a MAC address has six bytes"));
                }
                let address = if word == "from" {
                    &mut description.source_mac_addr
                } else {
                    &mut description.dest_mac_addr
                };
                *address = Some(octets.join("-").to_ascii_lowercase());
            }
            _ => return Err(invalid("unknown word")),
        }
    }
    if let Some(vlan) = vlan.or(priority.map(|_| 0)) {
        description.vlan_tags = Some(vec![format!("{:04x}", vlan | priority.unwrap_or(0) << 13)]);
    }
    Ok(Some(description))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethernet_filters_are_parsed() {
        assert_eq!(parse("permit out ip from any to assigned"), Ok(None));
        let all = parse("ethernet type 0x88f7 vlan 5 priority 3 from 02:00:00:00:00:0A")
            .unwrap()
            .unwrap();
        assert_eq!((all.eth_type.as_str(), all.vlan_tags.unwrap()[0].as_str()), ("88f7", "6005"));
        assert_eq!(all.source_mac_addr.as_deref(), Some("02-00-00-00-00-0a"));
        for wrong in [
            "ethernet type",
            "ethernet type x",
            "ethernet vlan 4095",
            "ethernet from 02:00",
            "ethernet up 1",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
