//! An identity that a network function has again after a restart.

/// A UUID made of what tells a function from all others: this machine, and these texts. The same
/// each time.
pub fn stable_uuid(texts: &[&str]) -> String {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    for text in std::iter::once(&machine.as_str()).chain(texts) {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    let digest = context.finish();
    let mut octets = [0; 16];
    octets.copy_from_slice(&digest.as_ref()[..16]);
    // The form of one drawn at random (RFC 9562, 5.4).
    octets[6] = octets[6] & 0x0f | 0x40;
    octets[8] = octets[8] & 0x3f | 0x80;
    let text = hex::encode(octets);
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_each_time_and_another_for_others() {
        let one = stable_uuid(&["amf", "127.0.0.17:7777"]);
        assert_eq!(one, stable_uuid(&["amf", "127.0.0.17:7777"]));
        assert_ne!(one, stable_uuid(&["amf1", "27.0.0.17:7777"]));
        assert_eq!((one.len(), &one[14..15]), (36, "4"));
    }
}
