//! The configuration file for the API: its secrets are hidden, and stay when it is written.
use super::edit as text_edit;
use super::secrets;
use martlet::config::Config;
use martlet_config::{from_yaml, text_of};
use martlet_oam::{AccessError, Configuration, ConfigurationEdit};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The file and its values, with those of the defaults.
pub fn show(file: Option<&Path>) -> Result<Configuration, AccessError> {
    let failed = |error: &dyn std::fmt::Display| AccessError::Unavailable(error.to_string());
    let config = Config::load(file).map_err(|e| failed(&format!("{e:#}")))?;
    let text = file.map(text_of).transpose().map_err(|e| failed(&format!("{e:?}")))?;
    let mut written: Value = from_yaml(text.as_deref().unwrap_or_default()).unwrap_or_default();
    let mut values = json!({
        "network": written["network"], "nrf": config.nrf, "udr": config.udr, "udm": config.udm,
        "ausf": config.ausf, "pcf": config.pcf, "nssf": config.nssf, "chf": config.chf,
        "upf": config.upf, "smf": config.smf, "lmf": config.lmf, "amf": config.amf,
    });
    secrets::hide_members(&mut values);
    secrets::hide_members(&mut written);
    let (text, _) = secrets::hide(&text.unwrap_or_default())?;
    Ok(Configuration { file: file.map(Path::to_path_buf), text, values, written })
}

/// A changed configuration that was checked, in a file beside the one that it may replace.
pub struct Checked {
    draft: PathBuf,
    file: PathBuf,
    /// The text of the present file.
    pub before: String,
    /// The new text.
    pub after: String,
}

impl Drop for Checked {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.draft);
    }
}

/// Checks a changed configuration.
pub fn check(file: Option<&Path>, text: &str) -> Result<Checked, AccessError> {
    let file = file.ok_or_else(|| {
        AccessError::Unsupported("the core runs with the defaults: start it with -c FILE".into())
    })?;
    let failed = |error: &dyn std::fmt::Display| AccessError::Unavailable(error.to_string());
    let before = text_of(file).map_err(|error| failed(&format!("{error:?}")))?;
    let (_, hidden) = secrets::hide(&before)?;
    let after = secrets::reveal(text, &hidden)?;
    let draft = PathBuf::from(format!("{}.new", file.display()));
    let checked = Checked { draft, file: file.to_path_buf(), before, after };
    let may_not = |error: std::io::Error| {
        AccessError::Unsupported(format!(
            "{}: {error}: this process may not write there; change the file on the machine, and \
             reload it with SIGHUP",
            checked.draft.display()
        ))
    };
    let replaced = std::fs::metadata(file);
    let mode = replaced.as_ref().map_or(0o600, |metadata| metadata.permissions().mode());
    let _ = std::fs::remove_file(&checked.draft);
    let mut open = std::fs::OpenOptions::new();
    let open = open.write(true).create_new(true).mode(mode & 0o777).open(&checked.draft);
    let mut open = open.map_err(may_not)?;
    // The other functions may read the file by its group. In another group than this process's
    // own, it stays as it is.
    let _ = replaced.map(|file| std::os::unix::fs::fchown(&open, None, Some(file.gid())));
    open.write_all(checked.after.as_bytes()).and_then(|()| open.sync_all()).map_err(may_not)?;
    let errors = Config::load(Some(&checked.draft)).err();
    match errors {
        None => Ok(checked),
        Some(error) => {
            let (draft, file) = (checked.draft.display().to_string(), file.display().to_string());
            let detail = format!("{error:#}").replace(&draft, &file);
            let fields = detail.lines().filter_map(|line| field(line, &file)).collect();
            Err(AccessError::Invalid { detail, fields })
        }
    }
}

/// The key that a line of a report names, and what is wrong: `FILE:LINE: KEY: MESSAGE`.
fn field(line: &str, file: &str) -> Option<(String, String)> {
    let (place, rest) = line.strip_prefix(file)?.split_once(": ")?;
    let is_number = |b: u8| b.is_ascii_digit() || b == b':';
    let (key, message) = rest.split_once(": ")?;
    let in_key = |b: u8| b.is_ascii_alphanumeric() || b"_.[]".contains(&b);
    let is_key = !key.is_empty() && key.bytes().all(in_key);
    (place.bytes().all(is_number) && is_key).then(|| (key.into(), message.into()))
}

/// The text with changed values.
pub fn edit(text: &str, edits: &[ConfigurationEdit]) -> Result<String, AccessError> {
    edits.iter().try_fold(text.to_string(), |text, edit| {
        text_edit::set(&text, &edit.path, &edit.value)
            .map_err(|error| AccessError::Refused { status: 409, detail: error.to_string() })
    })
}

impl Checked {
    /// Replaces the file.
    pub fn write(&self) -> Result<(), AccessError> {
        std::fs::rename(&self.draft, &self.file)
            .map_err(|error| AccessError::Unavailable(format!("{}: {error}", self.file.display())))
    }
}
