//! Shared test code of the wire formats: mutated messages ([`mutate`]), comparison with pycrate
//! ([`oracle`]) and tshark ([`capture`]). For tests only.

pub mod capture;
pub mod mutate;
pub mod oracle;

/// The fields of each line of a file of vectors: tab-separated, `#` starts a comment.
pub fn lines(file: &str) -> impl Iterator<Item = Vec<&str>> {
    file.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
}

/// The bytes of hexadecimal digits.
///
/// # Panics
/// On anything else, since then a vector is wrong.
pub fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap_or_else(|error| panic!("{text:?} is not hexadecimal: {error}"))
}

/// The bytes of the last field of each line of a file of vectors: the seeds of [`mutate`].
pub fn seeds(file: &str) -> Vec<Vec<u8>> {
    lines(file).filter_map(|fields| fields.last().map(|text| bytes(text))).collect()
}
