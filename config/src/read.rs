//! Reads a file into its type.
use crate::{Lines, Report};
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads a text. `file` is the name that messages carry. A message names the line and shows it.
pub fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<(T, Lines), Report> {
    match serde_saphyr::from_str(text) {
        Ok(value) => Ok((value, Lines::read(text))),
        Err(error) => {
            let place =
                error.location().map_or(file.to_string(), |at| format!("{file}:{}", at.line()));
            Err(Report { lines: vec![format!("{place}: {}", error.render())] })
        }
    }
}

/// Reads a file.
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
    fn a_wrong_type_and_an_unknown_name_are_told_by_line() {
        let wrong = read::<Section>("x.yaml", "# comment\ntac: many\n").unwrap_err().to_string();
        assert!(wrong.starts_with("x.yaml:2:"), "{wrong}");
        let unknown = read::<Section>("x.yaml", "tac: 1\n\ntak: 2\n").unwrap_err().to_string();
        assert!(unknown.starts_with("x.yaml:3:") && unknown.contains("tak"), "{unknown}");
    }

    #[test]
    fn what_is_not_yaml_is_told_by_line() {
        let wrong = read::<Section>("x.yaml", "tac: 1\n  : : [\n").unwrap_err().to_string();
        assert!(wrong.starts_with("x.yaml:2:"), "{wrong}");
    }
}
