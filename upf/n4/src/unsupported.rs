//! Elements of session requests that ask for something that is not supported. A request with one of
//! them is rejected with "Service not supported" and the element's type, so that no SMF believes
//! that it applies. Elements that only inform, and unknown ones, are passed over (TS 29.244, 7.6).
use martlet_pfcp::Header;

/// Message types of session establishment and modification (7.3).
const WITH_RULES: [u8; 2] = [50, 52];

/// Groups in which such elements are looked for: Create and Update PDR, PDI, FAR, Forwarding
/// Parameters, URR and QER.
const GROUPS: [u16; 11] = [1, 9, 2, 3, 10, 4, 11, 6, 13, 7, 14];

/// The elements (table 8.1.2-1).
const UNSUPPORTED: [u16; 30] = [
    72,  // Dropped DL Traffic Threshold
    97,  // DL Flow Level Marking
    98,  // Header Enrichment
    115, // Time Quota Mechanism
    118, // Aggregated URRs
    137, // Proxying
    146, // Ethernet Inactivity Timer
    147, // Additional Monitoring Time
    163, // Activation Time
    164, // Deactivation Time
    165, // Create MAR
    188, // IP Multicast Addressing Info
    194, // Create Bridge Info for TSC
    212, // Create SRR
    213, // Update SRR
    220, // Provide ATSSS Control Information
    242, // QoS Monitoring per QoS flow Control Information
    255, // Redundant Transmission Detection Parameters
    261, // Provide RDS Configuration Information
    263, // Query Packet Rate Status
    270, // Redundant Transmission Forwarding Parameters
    277, // L2TP Session Information
    276, // L2TP Tunnel Information
    293, // IP Address and Port Number Replacement
    294, // DNS Query Filter
    300, // MBS Session N4mb Control Information
    310, // MBS Session N4 Control Information
    316, // DSCP to PPI Control Information
    322, // Metadata
    334, // Protocol Description: how PDU sets and ends of data bursts are found
];

/// Elements whose flags each ask for something, and that ask for nothing without one.
const FLAGS: [u16; 2] = [
    251, // QER Control Indications: packet rates of CIoT and their status
    319, // QER Indications: marks of PDU sets, ends of data bursts, congestion and MBS
];

/// Groups within groups: a PDI within a Create PDR.
const DEEPEST: usize = 2;

/// The first unsupported element of a session request.
pub(super) fn find(header: &Header, body: &[u8]) -> Option<u16> {
    if WITH_RULES.contains(&header.message_type) { within(body, 0) } else { None }
}

/// Malformed elements are left to the decoder.
fn within(mut bytes: &[u8], depth: usize) -> Option<u16> {
    while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
        let kind = u16::from_be_bytes([head[0], head[1]]);
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let (value, rest) = rest.split_at_checked(length)?;
        let asks = FLAGS.contains(&kind) && value.iter().any(|flags| *flags != 0);
        if asks || UNSUPPORTED.contains(&kind) {
            return Some(kind);
        }
        if depth < DEEPEST
            && GROUPS.contains(&kind)
            && let Some(found) = within(value, depth + 1)
        {
            return Some(found);
        }
        bytes = rest;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(message_type: u8) -> Header {
        Header { message_type, seid: Some(0), sequence: 1, priority: None }
    }

    #[test]
    fn an_element_is_found_in_its_group_and_in_requests_alone() {
        // Header Enrichment in the Forwarding Parameters of a Create FAR.
        let far = [0, 3, 0, 10, 0, 4, 0, 6, 0, 98, 0, 2, 0, 0];
        assert_eq!(find(&header(50), &far), Some(98));
        assert_eq!(find(&header(56), &far), None);
        // Not in a group that has another meaning, and not in a value.
        let other = [0, 60, 0, 6, 0, 98, 0, 2, 0, 0];
        assert_eq!(find(&header(50), &other), None);
        for length in 0..far.len() {
            let _ = find(&header(50), &far[..length]);
        }
    }
}
