//! Where data are kept: a file, a server, or memory.
use std::path::{Path, PathBuf};

/// Where data are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In this process alone.
    Memory,
    /// In an SQLite file.
    File(PathBuf),
    /// In a PostgreSQL database: a `postgresql://` address.
    Postgres(String),
}

impl Place {
    /// Of the text in a configuration: a `postgresql://` address, `:memory:`, or a file.
    pub fn parse(text: &str) -> Place {
        match text {
            ":memory:" => Place::Memory,
            _ if text.starts_with("postgresql://") || text.starts_with("postgres://") => {
                Place::Postgres(text.into())
            }
            _ => Place::File(text.into()),
        }
    }

    /// The place of a network function's contexts beside that of the subscribers: `martlet.amf.db`
    /// beside `martlet.db`, the same PostgreSQL database, or none.
    pub fn beside(&self, function: &str) -> Option<Place> {
        match self {
            Place::Memory => None,
            Place::Postgres(address) => Some(Place::Postgres(address.clone())),
            Place::File(path) => {
                let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("db");
                Some(Place::File(path.with_extension(format!("{function}.{ending}"))))
            }
        }
    }

    /// The file of the operator's key where nothing else is said: beside the database's file.
    pub fn key_file(&self) -> Option<PathBuf> {
        match self {
            Place::Memory => None,
            Place::File(path) => Some(Path::new(&format!("{}.key", path.display())).to_path_buf()),
            Place::Postgres(_) => Some(PathBuf::from("martlet.key")),
        }
    }
}

impl std::fmt::Display for Place {
    /// Without a password that the address may have.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Memory => f.write_str(":memory:"),
            Place::File(path) => write!(f, "{}", path.display()),
            Place::Postgres(address) => {
                let shown = address.split_once("://").and_then(|(scheme, rest)| {
                    let (user, host) = rest.rsplit_once('@')?;
                    Some(format!(
                        "{scheme}://{}@{host}",
                        user.split(':').next().unwrap_or_default()
                    ))
                });
                f.write_str(shown.as_deref().unwrap_or(address))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_by_its_text_and_never_shows_a_password() {
        assert_eq!(Place::parse(":memory:"), Place::Memory);
        assert_eq!(
            Place::parse("a/martlet.db").beside("amf"),
            Some(Place::File("a/martlet.amf.db".into()))
        );
        let server = Place::parse("postgresql://core:secret@db.example/martlet");
        assert_eq!(server.to_string(), "postgresql://core@db.example/martlet");
        assert_eq!(server.beside("smf"), Some(server));
    }
}
