//! The keys of a new subscriber, from options or a file.
use anyhow::{Context, Result, bail};
use std::path::Path;
use zeroize::Zeroizing;

/// The keys of a subscriber as text, from options or a file.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) key: Option<Zeroizing<String>>,
    pub(super) opc: Option<Zeroizing<String>>,
    pub(super) op: Option<Zeroizing<String>>,
    pub(super) topc: Option<Zeroizing<String>>,
}

impl Keys {
    /// The keys of a file, or of standard input for `-`.
    pub(super) fn of_file(file: &Path) -> Result<Keys> {
        let text = match file.as_os_str() == "-" {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(file),
        };
        let name = match file.as_os_str() == "-" {
            true => "standard input".to_string(),
            false => format!("--key-file {}", file.display()),
        };
        Keys::read(&Zeroizing::new(text.with_context(|| name.clone())?), &name)
    }

    /// Reads lines such as `key: …`. An error names the line and does not show it.
    fn read(text: &str, name: &str) -> Result<Keys> {
        let mut keys = Keys::default();
        for (n, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || {
                format!("{name}, line {}: write key, opc, op or topc, a colon, and digits", n + 1)
            };
            let (field, value) = line.split_once([':', '=']).with_context(wrong)?;
            let field = match field.trim().to_ascii_lowercase().as_str() {
                "key" | "k" => &mut keys.key,
                "opc" => &mut keys.opc,
                "op" => &mut keys.op,
                "topc" => &mut keys.topc,
                _ => bail!(wrong()),
            };
            if field.replace(Zeroizing::new(value.trim().trim_matches('"').into())).is_some() {
                bail!("{name}, line {}: the value occurs twice", n + 1);
            }
        }
        Ok(keys)
    }
}
