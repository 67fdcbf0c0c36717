//! Reads a configuration file into its type.
use crate::renamed::renamed_keys;
use crate::{Lines, Report};
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads a text into `T`. `file` is the name that error messages carry.
///
/// # Errors
/// The text holds keys of an earlier release (all of them are reported, with their new names), is
/// not YAML, or does not fit `T`. Each message names the line.
pub fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<(T, Lines), Report> {
    let lines = Lines::read(text);
    let renamed = renamed_keys(&lines);
    if !renamed.is_empty() {
        return Err(Report::of(file, &lines, &renamed));
    }
    match serde_saphyr::from_str(text) {
        Ok(value) => Ok((value, lines)),
        Err(error) => {
            let position =
                error.location().map_or(file.to_string(), |at| format!("{file}:{}", at.line()));
            Err(Report { lines: vec![format!("{position}: {}", error.render())] })
        }
    }
}

/// Reads a file into `T`.
///
/// # Errors
/// The file cannot be read, or one of the errors of [`read`].
pub fn read_file<T: DeserializeOwned>(path: &Path) -> Result<(T, Lines), Report> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Report { lines: vec![format!("{name}: cannot be read: {e}")] })?;
    read(&name, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Section {
        #[allow(dead_code)]
        tac: u32,
    }

    #[test]
    fn a_wrong_type_and_an_unknown_key_are_reported_with_their_line() {
        let wrong = read::<Section>("x.yaml", "# comment\ntac: many\n").unwrap_err().to_string();
        assert!(wrong.starts_with("x.yaml:2:"), "{wrong}");
        let unknown = read::<Section>("x.yaml", "tac: 1\n\ntak: 2\n").unwrap_err().to_string();
        assert!(unknown.starts_with("x.yaml:3:") && unknown.contains("tak"), "{unknown}");
    }

    #[test]
    fn text_that_is_not_yaml_is_reported_with_its_line() {
        let wrong = read::<Section>("x.yaml", "tac: 1\n  : : [\n").unwrap_err().to_string();
        assert!(wrong.starts_with("x.yaml:2:"), "{wrong}");
    }
}
