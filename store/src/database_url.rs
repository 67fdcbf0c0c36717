//! Where a database is: a file, a server, or memory.
use std::fmt;
use std::path::PathBuf;

/// Where a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            DatabaseUrl::File(path) => write!(f, "{}", path.display()),
            DatabaseUrl::Postgres(url) => {
                let without_password = url.split_once("://").and_then(|(scheme, rest)| {
                    let (user, host) = rest.rsplit_once('@')?;
                    let user = user.split(':').next().unwrap_or_default();
                    Some(format!("{scheme}://{user}@{host}"))
                });
                f.write_str(without_password.as_deref().unwrap_or(url))
            }
        }
    }
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
        assert_eq!(server.for_function("smf"), Some(server));
    }
}
