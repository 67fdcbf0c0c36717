//! DNS responses for tests.
use std::net::IpAddr;

fn labels(name: &str) -> Vec<u8> {
    let mut octets: Vec<u8> = Vec::new();
    for label in name.split('.') {
        octets.push(label.len() as u8);
        octets.extend(label.as_bytes());
    }
    octets.push(0);
    octets
}

/// An answer with a canonical name, whose address it tells; names are compressed as servers do
/// it.
pub fn message(
    question: &str,
    canonical: Option<&str>,
    addresses: &[IpAddr],
    holds: u32,
) -> Vec<u8> {
    let records = addresses.len() as u16 + u16::from(canonical.is_some());
    let mut octets = [0x1234u16, 0x8180, 1, records, 0, 0].map(u16::to_be_bytes).concat();
    octets.extend(labels(question));
    octets.extend([0, 1, 0, 1]);
    let mut owner = [0xc0, 12];
    let record = |owner: [u8; 2], kind: u16, data: &[u8], octets: &mut Vec<u8>| {
        octets.extend(owner);
        octets.extend([kind, 1].map(u16::to_be_bytes).concat());
        octets.extend(holds.to_be_bytes());
        octets.extend((data.len() as u16).to_be_bytes());
        octets.extend(data);
    };
    if let Some(canonical) = canonical {
        record(owner, 5, &labels(canonical), &mut octets);
        let at = octets.len() - labels(canonical).len();
        owner = [0xc0 | (at >> 8) as u8, at as u8];
    }
    for address in addresses {
        match address {
            IpAddr::V4(address) => record(owner, 1, &address.octets(), &mut octets),
            IpAddr::V6(address) => record(owner, 28, &address.octets(), &mut octets),
        }
    }
    octets
}
