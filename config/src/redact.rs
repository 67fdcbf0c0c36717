//! Keeps secrets out of error messages: long numbers, which may be keys, and passwords in URLs. The
//! reader does not show the values of keys that are known to be secret; this catches a secret in a
//! place where none belongs.

/// A run with at least so many digits of a number or key is hidden. An IPv4 address has 12.
const MIN_DIGITS: usize = 13;
/// The text that replaces a secret.
const HIDDEN: &str = "(hidden)";

/// The message without what looks like a key, and without the passwords of URLs.
pub(crate) fn redact(message: &str) -> String {
    without_long_numbers(&without_passwords(message))
}

fn without_passwords(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ')');
        let end = after.find(is_end).unwrap_or(after.len());
        let (url, remainder) = after.split_at(end);
        out.push_str(&without_password(url));
        rest = remainder;
    }
    out.push_str(rest);
    out
}

/// A URL after its scheme: the password of the user, and a query, which may name one, are hidden.
fn without_password(url: &str) -> String {
    let (main, query) = url.split_once('?').map_or((url, ""), |(main, _)| (main, "?(hidden)"));
    let main = match main.rsplit_once('@') {
        Some((user, host)) => {
            let name = user.split_once(':').map_or(user, |(name, _)| name);
            format!("{name}@{host}")
        }
        None => main.to_string(),
    };
    format!("{main}{query}")
}

fn without_long_numbers(message: &str) -> String {
    let is_part = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | '_' | '+' | '-');
    let mut out = String::new();
    let mut rest = message;
    while let Some(start) = rest.find(is_part) {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        let (run, remainder) = after.split_at(after.find(|c| !is_part(c)).unwrap_or(after.len()));
        let digits = run.chars().filter(char::is_ascii_hexdigit).count();
        out.push_str(if digits >= MIN_DIGITS { HIDDEN } else { run });
        rest = remainder;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_passwords_are_hidden_and_addresses_are_not() {
        let same = "smf.dnns[0]: 192.168.100.100:8805 and fd00:10:45::/48 do not fit 10.45.0.0/16";
        assert_eq!(redact(same), same);
        let key = "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d";
        assert_eq!(redact(&format!("string \"{key}\"")), "string \"(hidden)\"");
        assert_eq!(redact("float `1.2345678901234567e63`"), "float `(hidden)`");
        assert_eq!(
            redact("\"postgresql://core:pass:w@rd@db.example/martlet?password=x\" is wrong"),
            "\"postgresql://core@db.example/martlet?(hidden)\" is wrong"
        );
    }
}
