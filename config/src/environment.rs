//! Environment variables in a configuration: `${NAME}` stands for the value of a variable, such as
//! the address that an orchestrator gives a container.
use crate::{Lines, Report};

/// Replaces each `${NAME}` outside comments. `file` is the name that error messages carry;
/// `variable` returns the value of a variable.
///
/// # Errors
/// A variable is not set, its name is wrong, or its value has characters that would change the
/// structure of the file. All of them are reported, without any value.
pub fn with_environment(
    file: &str,
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, Report> {
    if !text.contains("${") {
        return Ok(text.into());
    }
    let keys = Lines::read(text);
    let mut wrong = Vec::new();
    let mut out = String::with_capacity(text.len());
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let (mut rest, comment) = line.split_at(comment_of(line));
        while let Some(start) = rest.find("${") {
            let (before, after) = rest.split_at(start);
            out.push_str(before);
            let (name, end) = match after.find('}') {
                Some(end) => (&after[2..end], end + 1),
                None => ("", after.len()),
            };
            match value_of(name, &variable) {
                Ok(value) => out.push_str(&value),
                Err(error) => {
                    let line = n as u64 + 1;
                    let key = keys.at(line, before.len() as u64 + 1).unwrap_or_default();
                    let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
                    wrong.push(format!("{file}:{line}: {key}{error}"));
                }
            }
            rest = &after[end..];
        }
        out.push_str(rest);
        out.push_str(comment);
    }
    if wrong.is_empty() { Ok(out) } else { Err(Report { lines: wrong }) }
}

/// What is wrong with a variable, without its value.
#[derive(Debug, thiserror::Error)]
enum VariableError {
    #[error("`${{` begins the name of an environment variable: write one such as ${{POD_IP}}")]
    Name,
    #[error(
        "the environment variable {0} is not set: set it, or write the value in place of ${{{0}}}"
    )]
    NotSet(String),
    #[error(
        "the value of the environment variable {0} has a space, a quotation mark, a backslash or \
         #: write it in the file, or percent-encoded if it is part of a URL"
    )]
    Characters(String),
}

/// The value of a variable.
fn value_of(
    name: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, VariableError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) || name.starts_with(|c: char| c.is_numeric()) {
        return Err(VariableError::Name);
    }
    let value = variable(name).filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| VariableError::NotSet(name.into()))?;
    let is_plain = |c: char| c.is_ascii_graphic() && !['"', '\'', '\\', '`', '#'].contains(&c);
    match value.chars().all(is_plain) {
        true => Ok(value),
        false => Err(VariableError::Characters(name.into())),
    }
}

/// Where the comment of a line begins; the length of the line if it has none.
fn comment_of(line: &str) -> usize {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before.is_whitespace() => return at,
            // Inside a plain value, a quotation mark is a character.
            (None, '"' | '\'') if !before.is_alphanumeric() => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        before = c;
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, String> {
        let variable = |name: &str| match name {
            "POD_IP" => Some("10.1.2.3".to_string()),
            "PASSWORD" => Some("p%20w".into()),
            "EMPTY" => Some(String::new()),
            "TWO" => Some("secret two".into()),
            _ => None,
        };
        with_environment("f", text, variable).map_err(|report| report.to_string())
    }

    #[test]
    fn variables_are_replaced_outside_comments() {
        let text = "sbi:\n  amf: ${POD_IP}:7777 # not ${UNSET}\n  # ${UNSET}\nudr: { path: \
                    \"postgresql://m:${PASSWORD}@db/m#${POD_IP}\" }\n";
        let due = "sbi:\n  amf: 10.1.2.3:7777 # not ${UNSET}\n  # ${UNSET}\nudr: { path: \
                   \"postgresql://m:p%20w@db/m#10.1.2.3\" }\n";
        assert_eq!(filled(text).unwrap(), due);
        assert_eq!(filled("a: $x {y}\n").unwrap(), "a: $x {y}\n");
    }

    #[test]
    fn all_wrong_variables_are_reported_with_their_lines_and_without_values() {
        let error =
            filled("sbi:\n  amf: ${UNSET}:1\n  smf: ${EMPTY}\n  nrf: ${1}\n  udr: ${TWO}\n")
                .unwrap_err();
        let lines: Vec<&str> = error.lines().collect();
        assert!(lines[0].starts_with("f:2: sbi.amf: the environment variable UNSET"), "{error}");
        assert!(lines[1].starts_with("f:3: sbi.smf: the environment variable EMPTY"), "{error}");
        assert!(lines[2].starts_with("f:4: sbi.nrf: `${` begins"), "{error}");
        assert!(lines[3].starts_with("f:5: sbi.udr: the value of"), "{error}");
        assert!(lines.len() == 4 && !error.contains("secret"), "{error}");
    }
}
