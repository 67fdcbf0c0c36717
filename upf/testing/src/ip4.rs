//! IPv4 headers.

/// Sets the checksum of the header at the start of a packet (RFC 791).
pub fn set_checksum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let header = usize::from(packet[0] & 0x0f) * 4;
    let words = packet[..header]
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
