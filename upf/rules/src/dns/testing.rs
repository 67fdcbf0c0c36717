//! DNS responses for tests.
use std::net::IpAddr;

fn labels(name: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    for label in name.split('.') {
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

/// A response with a canonical name and its address; names are compressed as servers do.
pub fn message(
    question: &str,
    canonical: Option<&str>,
    addresses: &[IpAddr],
    holds: u32,
) -> Vec<u8> {
    let records = addresses.len() as u16 + u16::from(canonical.is_some());
    let mut bytes = [0x1234u16, 0x8180, 1, records, 0, 0].map(u16::to_be_bytes).concat();
    bytes.extend(labels(question));
    bytes.extend([0, 1, 0, 1]);
    let mut owner = [0xc0, 12];
    let record = |owner: [u8; 2], kind: u16, data: &[u8], bytes: &mut Vec<u8>| {
        bytes.extend(owner);
        bytes.extend([kind, 1].map(u16::to_be_bytes).concat());
        bytes.extend(holds.to_be_bytes());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
    };
    if let Some(canonical) = canonical {
        record(owner, 5, &labels(canonical), &mut bytes);
        let at = bytes.len() - labels(canonical).len();
        owner = [0xc0 | (at >> 8) as u8, at as u8];
    }
    for address in addresses {
        match address {
            IpAddr::V4(address) => record(owner, 1, &address.octets(), &mut bytes),
            IpAddr::V6(address) => record(owner, 28, &address.octets(), &mut bytes),
        }
    }
    bytes
}
