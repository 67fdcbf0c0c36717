//! What must not be read by whoever gets hold of the database: sealed with the operator's key
//! (AES-256-GCM).
use crate::{Place, StoreError};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The variable that has the operator's key, before any file.
pub const KEY_VARIABLE: &str = "MARTLET_STORE_KEY";

/// What a sealed text begins with.
const MARK: &str = "sealed1:";

/// Seals and opens with the operator's key.
pub struct Seal(LessSafeKey);

impl Seal {
    /// From 32 octets.
    pub fn new(key: &[u8; 32]) -> Seal {
        // A key of the length that the algorithm has is always taken.
        Seal(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).expect("a key of 32 octets")))
    }

    /// For what ends with the process.
    pub fn of_this_process() -> Result<Seal, StoreError> {
        random().map(|key| Seal::new(&key))
    }

    /// The one for a place: `file` has the operator's key where that is not in the environment, or
    /// the file that belongs to the place.
    pub(crate) fn at(place: &Place, file: Option<&Path>) -> Result<Seal, StoreError> {
        match (file, place.key_file()) {
            (Some(file), _) => Seal::load(file),
            (None, Some(file)) => Seal::load(&file),
            (None, None) => Seal::of_this_process(),
        }
    }

    /// The operator's key: of the environment (`MARTLET_STORE_KEY`), else of this file, which is
    /// made where there is none.
    ///
    /// # Errors
    /// Neither is 64 hexadecimal digits, or the file can be neither read nor made.
    pub fn load(file: &Path) -> Result<Seal, StoreError> {
        if let Ok(text) = std::env::var(KEY_VARIABLE) {
            return parse(&text).ok_or_else(|| {
                StoreError::Key(format!("{KEY_VARIABLE} is not 64 hexadecimal digits"))
            });
        }
        let failed =
            |error: std::io::Error| StoreError::Key(format!("{}: {error}", file.display()));
        if !file.try_exists().map_err(failed)? {
            make(file).map_err(failed)?;
        }
        let text = std::fs::read_to_string(file).map_err(failed)?;
        parse(&text).ok_or_else(|| {
            StoreError::Key(format!("{} does not hold 64 hexadecimal digits", file.display()))
        })
    }

    /// Seals; what is opened must be of the same place.
    pub fn seal(&self, place: &str, open: &[u8]) -> Result<Vec<u8>, StoreError> {
        let number: [u8; NONCE_LEN] = random()?;
        let mut octets = open.to_vec();
        let nonce = Nonce::assume_unique_for_key(number);
        let sealed =
            self.0.seal_in_place_append_tag(nonce, Aad::from(place.as_bytes()), &mut octets);
        sealed.map_err(|_| StoreError::Key("a value cannot be sealed".into()))?;
        octets.extend_from_slice(&number);
        Ok(octets)
    }

    /// Opens what was sealed for this place.
    ///
    /// # Errors
    /// It was sealed with another key or for another place, or was changed.
    pub fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        let wrong = || StoreError::Sealed(place.to_string());
        let (text, nonce) = sealed.split_last_chunk::<NONCE_LEN>().ok_or_else(wrong)?;
        let mut octets = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let open = self
            .0
            .open_in_place(nonce, Aad::from(place.as_bytes()), &mut octets)
            .map_err(|_| wrong())?
            .len();
        octets.truncate(open);
        Ok(octets)
    }

    /// Seals a text into a text.
    pub fn seal_text(&self, place: &str, open: &str) -> Result<String, StoreError> {
        Ok(format!("{MARK}{}", BASE64_STANDARD_NO_PAD.encode(self.seal(place, open.as_bytes())?)))
    }

    /// Opens a text; one that was never sealed is given as it is, with `false`.
    pub fn open_text(&self, place: &str, text: &str) -> Result<(String, bool), StoreError> {
        let Some(sealed) = text.strip_prefix(MARK) else { return Ok((text.into(), false)) };
        let wrong = || StoreError::Sealed(place.to_string());
        let octets = BASE64_STANDARD_NO_PAD.decode(sealed).map_err(|_| wrong())?;
        Ok((String::from_utf8(self.open(place, &octets)?).map_err(|_| wrong())?, true))
    }
}

fn parse(text: &str) -> Option<Seal> {
    let mut key = [0; 32];
    hex::decode_to_slice(text.trim(), &mut key).ok().map(|()| Seal::new(&key))
}

/// Random octets of the kernel. The library's own generator would spend tens of milliseconds of
/// processor time on each process's first number, and far more on a small board, to gather what the
/// kernel has.
fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut octets = [0; N];
    getrandom::fill(&mut octets)
        .map_err(|error| StoreError::Key(format!("the system gives no random numbers: {error}")))?;
    Ok(octets)
}

/// Makes a file with a new key, for its owner alone. Of several who do so at once, the first one's
/// stays, and it is whole from the moment when it is seen.
fn make(file: &Path) -> std::io::Result<()> {
    let key: [u8; 32] = random().map_err(|error| std::io::Error::other(error.to_string()))?;
    let tag: [u8; 8] = random().map_err(|error| std::io::Error::other(error.to_string()))?;
    let draft = file.with_extension(format!("{}.draft", hex::encode(tag)));
    let written = (|| {
        let mut open = std::fs::OpenOptions::new();
        let mut made = open.write(true).create_new(true).mode(0o600).open(&draft)?;
        writeln!(made, "{}", hex::encode(key))?;
        made.sync_all()?;
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
    fn what_is_sealed_opens_with_the_same_key_for_the_same_place_alone() {
        let seal = Seal::new(&[7; 32]);
        let sealed = seal.seal_text("imsi-1/key", "465b5ce8").unwrap();
        assert!(!sealed.contains("465b5ce8"));
        assert_ne!(
            sealed,
            seal.seal_text("imsi-1/key", "465b5ce8").unwrap(),
            "each has a nonce of its own"
        );
        assert_eq!(seal.open_text("imsi-1/key", &sealed).unwrap(), ("465b5ce8".into(), true));
        assert!(seal.open_text("imsi-2/key", &sealed).is_err());
        assert!(Seal::new(&[8; 32]).open_text("imsi-1/key", &sealed).is_err());
        assert_eq!(seal.open_text("imsi-1/key", "465b5ce8").unwrap(), ("465b5ce8".into(), false));
        assert!(seal.open("x", &[1, 2, 3]).is_err());
    }

    #[test]
    fn a_key_file_is_made_once_and_for_its_owner_alone() {
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
        assert!(all.iter().all(|sealed| seal.open("x", sealed).is_ok()), "all have the one key");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&file, "no key").unwrap();
        assert!(Seal::load(&file).err().unwrap().to_string().contains("64 hexadecimal"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
