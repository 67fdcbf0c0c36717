//! Where a database is: a file, a server, or memory.
use std::fmt;
use std::path::PathBuf;

/// Where a database is.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// In the memory of this process.
    Memory,
    /// An SQLite file.
    File(PathBuf),
    /// A PostgreSQL database: a `postgresql://` URL.
    Postgres(String),
}

impl DatabaseUrl {
    /// Reads a configuration value: a `postgresql://` URL, `:memory:`, or a file path.
    pub fn parse(text: &str) -> DatabaseUrl {
        match text {
            ":memory:" => DatabaseUrl::Memory,
            _ if text.starts_with("postgresql://") || text.starts_with("postgres://") => {
                DatabaseUrl::Postgres(text.into())
            }
            _ => DatabaseUrl::File(text.into()),
        }
    }

    /// The default database for a network function's contexts: `martlet.amf.db` beside
    /// `martlet.db`, the same PostgreSQL database, or none for one in memory.
    pub fn for_function(&self, function: &str) -> Option<DatabaseUrl> {
        match self {
            DatabaseUrl::Memory => None,
            DatabaseUrl::Postgres(url) => Some(DatabaseUrl::Postgres(url.clone())),
            DatabaseUrl::File(path) => {
                let extension = path.extension().and_then(|text| text.to_str()).unwrap_or("db");
                Some(DatabaseUrl::File(path.with_extension(format!("{function}.{extension}"))))
            }
        }
    }

    /// The default file of the operator's key: beside a database file, or in the working directory.
    pub fn key_file(&self) -> Option<PathBuf> {
        match self {
            DatabaseUrl::Memory => None,
            DatabaseUrl::File(path) => Some(PathBuf::from(format!("{}.key", path.display()))),
            DatabaseUrl::Postgres(_) => Some(PathBuf::from("martlet.key")),
        }
    }
}

impl fmt::Display for DatabaseUrl {
    /// Leaves out the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseUrl::Memory => f.write_str(":memory:"),
            DatabaseUrl::File(path) => f.write_str(&without_password(&path.display().to_string())),
            DatabaseUrl::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

/// A URL, or what was meant as one, without its password and its parameters, which may name one.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once(":/") else { return url.to_string() };
    let (main, parameters) = rest.split_once('?').map_or((rest, ""), |(main, _)| (main, "?…"));
    let slash = if main.starts_with('/') { "/" } else { "" };
    let main = match main.trim_start_matches('/').rsplit_once('@') {
        Some((user, host)) => {
            format!("{slash}{}@{host}", user.split(':').next().unwrap_or_default())
        }
        None => main.to_string(),
    };
    format!("{scheme}:/{main}{parameters}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_parsed_by_its_scheme_and_displayed_without_its_password() {
        assert_eq!(DatabaseUrl::parse(":memory:"), DatabaseUrl::Memory);
        assert_eq!(
            DatabaseUrl::parse("a/martlet.db").for_function("amf"),
            Some(DatabaseUrl::File("a/martlet.amf.db".into()))
        );
        let server = DatabaseUrl::parse("postgresql://core:secret@db.example/martlet");
        assert_eq!(server.to_string(), "postgresql://core@db.example/martlet");
        assert_eq!(server.for_function("smf"), Some(server.clone()));
        assert!(!format!("{server:?}").contains("secret"));
        let shown = |text: &str| DatabaseUrl::parse(text).to_string();
        assert_eq!(shown("postgresql://db/martlet?password=secret"), "postgresql://db/martlet?…");
        assert_eq!(shown("postgresql:/core:secret@db/martlet"), "postgresql:/core@db/martlet");
        assert_eq!(shown("/var/lib/martlet.db"), "/var/lib/martlet.db");
    }
}
