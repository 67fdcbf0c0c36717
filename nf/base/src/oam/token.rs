//! The token of OAM requests over TCP: random, in a file that only its owner can read.
use aws_lc_rs::constant_time::verify_slices_are_equal;
use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Random bytes of a token.
const BYTES: usize = 32;

/// A token. `Debug` does not show it.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(hidden)")
    }
}

impl Token {
    /// Reads the token of a file.
    ///
    /// # Errors
    /// The file cannot be read, others can read it, or it holds no token.
    pub fn read(file: &Path) -> std::io::Result<Token> {
        let named = |kind, text: &str| Error::new(kind, format!("{}: {text}", file.display()));
        let opened = std::fs::File::open(file).map_err(|e| named(e.kind(), &e.to_string()))?;
        let metadata = opened.metadata()?;
        if !metadata.is_file() || metadata.permissions().mode() & 0o077 != 0 {
            let text = "others can read the token: remove the file, and the core makes another";
            return Err(named(ErrorKind::PermissionDenied, text));
        }
        let mut text = String::new();
        opened.take(4096).read_to_string(&mut text)?;
        let token = text.trim();
        if token.len() != 2 * BYTES || !token.bytes().all(|b| b.is_ascii_hexdigit()) {
            let text = "the file holds no token: remove it, and the core makes another";
            return Err(named(ErrorKind::InvalidData, text));
        }
        Ok(Token(token.to_string()))
    }

    /// Reads the token of a file, and creates the file when it is missing.
    ///
    /// # Errors
    /// As [`Token::read`], or the file cannot be created.
    pub fn load(file: &Path) -> std::io::Result<Token> {
        if !file.exists() {
            let mut bytes = [0; BYTES];
            std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
            let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            // If several processes start at once, the first link is used.
            let mut draft = file.as_os_str().to_owned();
            draft.push(format!(".{}", std::process::id()));
            let mut open = std::fs::OpenOptions::new();
            let mut opened = open.write(true).create_new(true).mode(0o600).open(&draft)?;
            let written = opened.write_all(format!("{token}\n").as_bytes());
            let linked = written.and_then(|()| std::fs::hard_link(&draft, file));
            std::fs::remove_file(&draft)?;
            match linked {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Token::read(file)
    }

    /// The value of the `Authorization` header.
    pub fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Whether the value of an `Authorization` header has this token. Takes the same time for all
    /// wrong tokens of its length.
    pub fn admits(&self, header: &[u8]) -> bool {
        let scheme = header.split_at_checked(7);
        let presented = scheme.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "));
        presented.is_some_and(|(_, token)| {
            verify_slices_are_equal(token.trim_ascii(), self.0.as_bytes()).is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_is_private_and_admits_only_itself() {
        let folder = std::env::temp_dir().join(format!("martlet-token-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("oam.token");
        let token = Token::load(&file).unwrap();
        assert_eq!(Token::load(&file).unwrap().header(), token.header());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(token.admits(token.header().as_bytes()));
        for wrong in ["", "Bearer", "Bearer ", "Basic abc", &token.header()[..70]] {
            assert!(!token.admits(wrong.as_bytes()), "{wrong}");
        }
        assert!(!format!("{token:?}").contains(&token.0));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Token::load(&file).unwrap_err().to_string().contains("others can read"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
