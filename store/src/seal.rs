//! Encryption of stored secrets with the operator's key (AES-256-GCM).
use crate::{DatabaseUrl, StoreError};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use zeroize::Zeroizing;

/// The environment variable with the operator's key; it takes precedence over a file.
pub const KEY_VARIABLE: &str = "MARTLET_STORE_KEY";

/// Prefix of an encrypted text.
const PREFIX: &str = "sealed1:";

/// Encrypts (seals) and decrypts (opens) values with the operator's key.
pub struct Seal(LessSafeKey);

impl Seal {
    /// With a key of 32 bytes.
    pub fn new(key: &[u8; 32]) -> Seal {
        // `new` fails for other lengths only.
        Seal(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).expect("a key of 32 bytes")))
    }

    /// With a random key, for data that end with the process.
    pub fn random() -> Result<Seal, StoreError> {
        random().map(|key| Seal::new(&key))
    }

    /// With the operator's key for a database: from the environment, else from `key_file`, else
    /// from the database's default key file.
    ///
    /// # Errors
    /// As [`Seal::load`].
    pub fn for_database(url: &DatabaseUrl, key_file: Option<&Path>) -> Result<Seal, StoreError> {
        match (key_file, url.key_file()) {
            (Some(file), _) => Seal::load(file),
            (None, Some(file)) => Seal::load(&file),
            (None, None) => Seal::random(),
        }
    }

    /// With the operator's key from the environment (`MARTLET_STORE_KEY`), else from this file,
    /// which is created with a random key when it is missing.
    ///
    /// # Errors
    /// The key is not 64 hexadecimal digits, or the file can be neither read nor created.
    pub fn load(file: &Path) -> Result<Seal, StoreError> {
        if let Ok(text) = std::env::var(KEY_VARIABLE) {
            return parse(&text).ok_or_else(|| {
                StoreError::Key(format!("{KEY_VARIABLE} is not 64 hexadecimal digits"))
            });
        }
        let failed =
            |error: std::io::Error| StoreError::Key(format!("{}: {error}", file.display()));
        if !file.try_exists().map_err(failed)? {
            create_key_file(file).map_err(failed)?;
        }
        let text = Zeroizing::new(std::fs::read_to_string(file).map_err(failed)?);
        parse(&text).ok_or_else(|| {
            StoreError::Key(format!("{} does not hold 64 hexadecimal digits", file.display()))
        })
    }

    /// Encrypts a value. `name` is authenticated with it, so that a value opens only under the name
    /// under which it was sealed. The nonce follows the ciphertext.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn seal(&self, name: &str, plain: &[u8]) -> Result<Vec<u8>, StoreError> {
        let nonce_bytes: [u8; NONCE_LEN] = random()?;
        let mut bytes = plain.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce_bytes);
        let sealed = self.0.seal_in_place_append_tag(nonce, Aad::from(name.as_bytes()), &mut bytes);
        sealed.map_err(|_| StoreError::Key("a value cannot be encrypted".into()))?;
        bytes.extend_from_slice(&nonce_bytes);
        Ok(bytes)
    }

    /// Decrypts a value that was sealed under this name.
    ///
    /// # Errors
    /// The value was sealed with another key or under another name, or was changed.
    pub fn open(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        let wrong = || StoreError::Sealed(name.to_string());
        let (text, nonce) = sealed.split_last_chunk::<NONCE_LEN>().ok_or_else(wrong)?;
        let mut bytes = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self
            .0
            .open_in_place(nonce, Aad::from(name.as_bytes()), &mut bytes)
            .map_err(|_| wrong())?
            .len();
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Encrypts a text into a text: a prefix and base64.
    ///
    /// # Errors
    /// As [`Seal::seal`].
    pub fn seal_text(&self, name: &str, plain: &str) -> Result<String, StoreError> {
        let sealed = self.seal(name, plain.as_bytes())?;
        Ok(format!("{PREFIX}{}", BASE64_STANDARD_NO_PAD.encode(sealed)))
    }

    /// Decrypts a text and returns `true` with it. Returns a text without the prefix unchanged,
    /// with `false`.
    ///
    /// # Errors
    /// As [`Seal::open`].
    pub fn open_text(&self, name: &str, text: &str) -> Result<(String, bool), StoreError> {
        let Some(sealed) = text.strip_prefix(PREFIX) else { return Ok((text.into(), false)) };
        let wrong = || StoreError::Sealed(name.to_string());
        let bytes = BASE64_STANDARD_NO_PAD.decode(sealed).map_err(|_| wrong())?;
        Ok((String::from_utf8(self.open(name, &bytes)?).map_err(|_| wrong())?, true))
    }
}

fn parse(text: &str) -> Option<Seal> {
    let mut key = Zeroizing::new([0; 32]);
    hex::decode_to_slice(text.trim(), &mut *key).ok().map(|()| Seal::new(&key))
}

/// Random bytes from the kernel. The library's own generator spends tens of milliseconds of CPU
/// time on the first number of each process, and far more on a small board.
fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreError::Key(format!("the system has no random numbers: {error}")))?;
    Ok(bytes)
}

/// Creates a file with a random key that only its owner can read. Of several processes that do so
/// at once the first succeeds, and no process sees a partial file.
fn create_key_file(file: &Path) -> std::io::Result<()> {
    let key: [u8; 32] = random().map_err(|error| std::io::Error::other(error.to_string()))?;
    let key = Zeroizing::new(key);
    let tag: [u8; 8] = random().map_err(|error| std::io::Error::other(error.to_string()))?;
    let draft = file.with_extension(format!("{}.draft", hex::encode(tag)));
    let written = (|| {
        let mut open = std::fs::OpenOptions::new();
        let mut written = open.write(true).create_new(true).mode(0o600).open(&draft)?;
        writeln!(written, "{}", *Zeroizing::new(hex::encode(*key)))?;
        written.sync_all()?;
        match std::fs::hard_link(&draft, file) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    })();
    let _ = std::fs::remove_file(&draft);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_opens_only_with_its_key_and_under_its_name() {
        let seal = Seal::new(&[7; 32]);
        let sealed = seal.seal_text("imsi-1/key", "465b5ce8").unwrap();
        assert!(!sealed.contains("465b5ce8"));
        assert_ne!(
            sealed,
            seal.seal_text("imsi-1/key", "465b5ce8").unwrap(),
            "each call has its own nonce"
        );
        assert_eq!(seal.open_text("imsi-1/key", &sealed).unwrap(), ("465b5ce8".into(), true));
        assert!(seal.open_text("imsi-2/key", &sealed).is_err());
        assert!(Seal::new(&[8; 32]).open_text("imsi-1/key", &sealed).is_err());
        assert_eq!(seal.open_text("imsi-1/key", "465b5ce8").unwrap(), ("465b5ce8".into(), false));
        assert!(seal.open("x", &[1, 2, 3]).is_err());
    }

    #[test]
    fn a_key_file_is_created_once_and_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("martlet-seal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("martlet.db.key");
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let file = file.clone();
                std::thread::spawn(move || Seal::load(&file).unwrap().seal("x", b"y").unwrap())
            })
            .collect();
        let all: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let seal = Seal::load(&file).unwrap();
        assert!(all.iter().all(|sealed| seal.open("x", sealed).is_ok()), "all threads use one key");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&file, "no key").unwrap();
        assert!(Seal::load(&file).err().unwrap().to_string().contains("64 hexadecimal"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
