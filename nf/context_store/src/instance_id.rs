//! The NF instance ID of a network function whose contexts outlive its process.

/// Returns an NF instance ID (a UUID) that is the same after each restart: a hash of this machine's
/// identity and of texts that distinguish the function from others on the machine.
pub fn stable_instance_id(texts: &[&str]) -> String {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    for text in std::iter::once(&machine.as_str()).chain(texts) {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    let digest = context.finish();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_ref()[..16]);
    // Version 4 and variant bits (RFC 9562, 5.4).
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = hex::encode(bytes);
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instance_id_depends_only_on_its_texts() {
        let one = stable_instance_id(&["amf", "127.0.0.17:7777"]);
        assert_eq!(one, stable_instance_id(&["amf", "127.0.0.17:7777"]));
        assert_ne!(one, stable_instance_id(&["amf1", "27.0.0.17:7777"]));
        assert_eq!((one.len(), &one[14..15]), (36, "4"));
    }
}
