//! An error and its sources on one line.

/// The text of an error, followed by those of its sources. A source whose text is in a text before
/// it is left out: texts that end with a remedy contain their reason.
pub fn error_text(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |all, text| {
        match all.contains(&text) {
            true => all,
            false if all.is_empty() => text,
            false => format!("{all}: {text}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_reason_that_the_text_contains_is_not_repeated() {
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let remedy = "udr: permission denied; `udr.path` configures the database";
        let error = Err::<(), _>(denied).context(remedy).context("the core does not start");
        let error = error.unwrap_err();
        assert_eq!(
            error_text(&error),
            "the core does not start: udr: permission denied; `udr.path` configures the database"
        );
    }

    #[test]
    fn a_reason_that_the_text_lacks_is_added() {
        let error = anyhow::anyhow!("the file ends early").context("not read: subscribers.csv");
        assert_eq!(error_text(&error), "not read: subscribers.csv: the file ends early");
    }
}
