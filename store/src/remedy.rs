//! What the operator can do about a failure of the database.
use rustls::{AlertDescription, CertificateError, Error as TlsError};
use std::error::Error;
use std::io;
use tokio_postgres::error::SqlState;

/// A remedy as the end of an error's text.
pub(crate) fn text(remedy: Option<&str>) -> String {
    remedy.map_or_else(String::new, |remedy| format!(": {remedy}"))
}

/// The remedy for a failure of SQLite.
pub(crate) fn of_sqlite(error: &rusqlite::Error) -> Option<&'static str> {
    match error.sqlite_error_code()? {
        _ if is_sqlite_full(error) => Some("make room on its disk"),
        rusqlite::ErrorCode::ReadOnly => Some("let this user write the file and its folder"),
        _ => None,
    }
}

/// SQLITE_IOERR_SHMSIZE: the file `-shm` beside the database has no room. Readers need it, too.
const SHARED_MEMORY_SIZE: i32 = 10 | (19 << 8);

/// Whether the disk of a SQLite database is full.
pub(crate) fn is_sqlite_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
        || error.sqlite_extended_error_code() == Some(SHARED_MEMORY_SIZE)
}

/// The remedy for a failure of a PostgreSQL server, or of the connection to it.
pub(crate) fn of_postgres(error: &tokio_postgres::Error) -> Option<&'static str> {
    if let Some(code) = error.code() {
        return of_code(code);
    }
    of_connection(error.source()?.downcast_ref::<io::Error>()?)
}

fn of_connection(cause: &io::Error) -> Option<&'static str> {
    use io::ErrorKind::{
        ConnectionRefused, HostUnreachable, NetworkUnreachable, NotFound, PermissionDenied,
    };
    if let Some(tls) = cause.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) {
        return of_tls(tls);
    }
    match cause.kind() {
        ConnectionRefused | NotFound => {
            Some("start the server, or correct host and port of the URL")
        }
        HostUnreachable | NetworkUnreachable => Some("correct the network, or the host of the URL"),
        // Of the client library: the server is a replica.
        PermissionDenied if cause.to_string().contains("does not allow writes") => Some(NO_WRITES),
        _ if cause.to_string().starts_with("failed to lookup") => {
            Some("correct the host of the URL, or name resolution on this machine")
        }
        _ => None,
    }
}

fn of_code(code: &SqlState) -> Option<&'static str> {
    let remedies = [
        (SqlState::DISK_FULL, "make room on the server's disk"),
        (SqlState::UNDEFINED_TABLE, OTHER_VERSION),
        (SqlState::UNDEFINED_COLUMN, OTHER_VERSION),
        (SqlState::INVALID_PASSWORD, WRONG_USER),
        (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, WRONG_USER),
        (SqlState::INVALID_CATALOG_NAME, "create the database (createdb), or correct the URL"),
        (SqlState::TOO_MANY_CONNECTIONS, "raise max_connections of the server"),
        (SqlState::READ_ONLY_SQL_TRANSACTION, NO_WRITES),
    ];
    remedies.into_iter().find(|(of, _)| of == code).map(|(_, remedy)| remedy)
}

const OTHER_VERSION: &str =
    "a program of another version has changed the tables: start that version here, too";
const NO_WRITES: &str =
    "the URL leads to a server that takes no writes: name the primary, or all servers";
const WRONG_USER: &str = "correct user and password of the URL, or the server's pg_hba.conf";

fn of_tls(error: &TlsError) -> Option<&'static str> {
    use CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet,
        NotValidYetContext, UnknownIssuer,
    };
    match error {
        TlsError::InvalidCertificate(reason) => match reason {
            Expired | ExpiredContext { .. } => Some("renew the server's certificate"),
            NotValidYet | NotValidYetContext { .. } => {
                Some("set the clock of this machine, or wait until the certificate is valid")
            }
            NotValidForName | NotValidForNameContext { .. } => {
                Some("write a name of the server's certificate as host of the URL")
            }
            UnknownIssuer => Some("name the certificate of the server's authority: sslrootcert"),
            _ => None,
        },
        TlsError::AlertReceived(AlertDescription::CertificateExpired) => {
            Some("renew the certificate of sslcert, and restart the function")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_in_one_line_with_its_remedy() {
        let failure = |code, text: &str| {
            let error = rusqlite::ffi::Error::new(code);
            crate::StoreError::from(rusqlite::Error::SqliteFailure(error, Some(text.into())))
        };
        for full in [failure(13, "database or disk is full"), failure(4874, "disk I/O error")] {
            assert!(full.is_full() && full.source().is_none());
            let text = "SQLite failed: the disk is full: make room on its disk";
            assert_eq!(full.to_string(), text);
        }
        let other = failure(266, "disk I/O error");
        assert_eq!(other.to_string(), "SQLite failed: disk I/O error (code 266)");
        assert!(!other.is_full() && other.remedy().is_none());
        assert!(failure(8, "readonly").to_string().ends_with("write the file and its folder"));
    }

    #[test]
    fn failures_of_a_connection_have_a_remedy() {
        let tls = |error: TlsError| io::Error::new(io::ErrorKind::InvalidData, error);
        let certificate = |error| tls(TlsError::InvalidCertificate(error));
        let lookup = "failed to lookup address information: Name or service not known";
        let replica = "database does not allow writes";
        for (error, remedy) in [
            (io::ErrorKind::ConnectionRefused.into(), "start the server"),
            (io::ErrorKind::HostUnreachable.into(), "correct the network"),
            (io::Error::other(lookup), "name resolution"),
            (io::Error::new(io::ErrorKind::PermissionDenied, replica), "name the primary"),
            (certificate(CertificateError::Expired), "renew the server's certificate"),
            (certificate(CertificateError::UnknownIssuer), "sslrootcert"),
            (tls(TlsError::AlertReceived(AlertDescription::CertificateExpired)), "sslcert"),
        ] {
            let found = of_connection(&error).unwrap_or_default();
            assert!(found.contains(remedy), "{error}: {found}");
        }
        assert_eq!(of_connection(&io::ErrorKind::UnexpectedEof.into()), None);
        assert_eq!(of_code(&SqlState::SYNTAX_ERROR), None);
        assert_eq!(text(Some("do this")), ": do this");
    }
}
