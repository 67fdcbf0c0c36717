//! Users, API tokens and sessions. Users and tokens are in the store, with hashes in place of
//! passwords and tokens; sessions are in memory and end with the process.
use crate::problem::Failure;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use martlet_store::Store;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use utoipa::ToSchema;

/// Kind of the contexts of users in the store.
const USER: &str = "oam-user";
/// Kind of the contexts of API tokens.
const TOKEN: &str = "oam-token";
/// Maximum number of users, of API tokens, and of sessions.
const MAX_ACCOUNTS: usize = 1000;
/// Name of the first administrator.
pub const FIRST_ADMINISTRATOR: &str = "admin";
/// Minimum length of a password in characters.
const MIN_PASSWORD: usize = 12;
/// Maximum length of a password in bytes.
const MAX_PASSWORD: usize = 256;

/// Breached passwords of 12 characters and more among the 30,000 most frequent ones, in lower case:
/// the list of zxcvbn (https://github.com/dropbox/zxcvbn), Copyright Dan Wheeler and Dropbox, Inc.,
/// MIT licence.
const BREACHED: &str = include_str!("common_passwords.txt");

/// What a user may do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads what names no account and no secret.
    Viewer,
    /// Also changes subscribers, UEs and gNBs, and traces packets.
    Operator,
    /// Also changes the configuration, users and tokens, and reads the audit log.
    Administrator,
}

/// A part of what a role may do. API tokens have some of those of their user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Read.
    Read,
    /// Change subscribers.
    Subscribers,
    /// Release, page, locate and deregister UEs; gNBs, sessions, traces, charging.
    Network,
    /// Configuration, backup, users, tokens and the audit log.
    Administration,
}

impl Role {
    /// The scopes of the role.
    pub fn scopes(self) -> &'static [Scope] {
        match self {
            Role::Viewer => &[Scope::Read],
            Role::Operator => &[Scope::Read, Scope::Subscribers, Scope::Network],
            Role::Administrator => {
                &[Scope::Read, Scope::Subscribers, Scope::Network, Scope::Administration]
            }
        }
    }
}

/// A user.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct User {
    /// The name.
    pub name: String,
    /// The role.
    pub role: Role,
    /// The password, hashed with argon2id.
    pub hash: String,
    /// Whether the password must be changed first.
    pub must_change: bool,
    /// Seconds since 1970.
    pub created: u64,
}

/// An API token.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ApiToken {
    /// Identity, a part of the token.
    pub id: String,
    /// Name that the user gave.
    pub name: String,
    /// The user.
    pub user: String,
    /// SHA-256 of the secret part, in hexadecimal digits.
    pub hash: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Seconds since 1970.
    pub created: u64,
    /// Seconds since 1970.
    pub expires: u64,
}

/// A user of the identity provider. The role is that of the sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExternalUser {
    /// The issuer.
    pub issuer: String,
    /// The user's identity at the issuer.
    pub subject: String,
    /// The name that the console shows.
    pub name: String,
    /// The role.
    pub role: Role,
}

impl ExternalUser {
    /// The name in the audit log. No local user has a colon in its name.
    pub fn account(&self) -> String {
        format!("oidc:{}", self.subject)
    }
}

/// A session of the console.
#[derive(Debug, Clone)]
pub struct Session {
    /// The user.
    pub user: String,
    /// The user of the identity provider; none for a local user.
    pub external: Option<ExternalUser>,
    /// Token that requests that change something carry in `X-CSRF-Token`.
    pub csrf: String,
    started: Instant,
    used: Instant,
}

/// Sessions, by the SHA-256 of their identity.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<String, Session>>);

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A random text of 256 bits.
pub fn random_text() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    fill(&mut bytes)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Random bytes.
pub fn fill(bytes: &mut [u8]) -> Result<(), Failure> {
    SystemRandom::new().fill(bytes).map_err(|_| Failure::unavailable("no random numbers"))
}

/// SHA-256 of a text in hexadecimal digits.
pub fn sha256(text: &str) -> String {
    hex::encode(digest(&SHA256, text.as_bytes()))
}

fn hasher() -> Result<Argon2<'static>, Failure> {
    // OWASP's recommendation for argon2id: 19 MiB, two passes, one lane.
    let params = Params::new(19_456, 2, 1, None);
    let params = params.map_err(|error| Failure::unavailable(error.to_string()))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// Hashes a password. Takes some ten milliseconds.
pub fn hash_password(password: &str) -> Result<String, Failure> {
    let mut salt = [0; 16];
    fill(&mut salt)?;
    let failed = |error: argon2::password_hash::Error| Failure::unavailable(error.to_string());
    let salt = SaltString::encode_b64(&salt).map_err(failed)?;
    Ok(hasher()?.hash_password(password.as_bytes(), &salt).map_err(failed)?.to_string())
}

/// Whether a password has this hash. Takes as long as [`hash_password`].
pub fn verify_password(password: &str, hash: &str) -> bool {
    let (Ok(hash), Ok(hasher)) = (PasswordHash::new(hash), hasher()) else { return false };
    hasher.verify_password(password.as_bytes(), &hash).is_ok()
}

/// Checks a new password.
pub fn check_password(user: &str, password: &str) -> Result<(), Failure> {
    let wrong = |detail: &str| {
        Err(Failure::field("password", detail, "write 12 to 256 characters of any kind"))
    };
    if password.chars().count() < MIN_PASSWORD {
        return wrong("the password is shorter than 12 characters");
    }
    if password.len() > MAX_PASSWORD {
        return wrong("the password is longer than 256 bytes");
    }
    let folded = password.to_lowercase();
    let first = folded.chars().next();
    let is_repeated = folded.chars().all(|c| Some(c) == first);
    let is_common = ["password", "123456789012", "qwertyuiop", "martlet"]
        .iter()
        .any(|word| folded.replace(word, "").len() < 6);
    let is_breached = BREACHED.lines().any(|breached| breached == folded);
    if folded.contains(&user.to_lowercase()) || is_repeated || is_common || is_breached {
        return wrong("the password contains the name of the user, or is easy to guess");
    }
    Ok(())
}

/// Checks the name of a user.
pub fn check_name(name: &str) -> Result<(), Failure> {
    let is_valid = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'@');
    match (1..=64).contains(&name.len()) && name.bytes().all(is_valid) {
        true => Ok(()),
        false => Err(Failure::field(
            "name",
            "the name has a character that is not allowed",
            "write 1 to 64 letters, digits, and . - _ @",
        )),
    }
}

/// A user by name.
pub fn user(store: &Store, name: &str) -> Result<Option<User>, Failure> {
    let value = store.context("", USER, name)?;
    Ok(value.and_then(|value| serde_json::from_str(&value).ok()))
}

/// All users.
pub fn users(store: &Store) -> Result<Vec<User>, Failure> {
    let all = store.contexts("", USER)?;
    Ok(all.iter().filter_map(|(_, value)| serde_json::from_str(value).ok()).collect())
}

/// Writes a user.
pub fn put_user(store: &Store, user: &User) -> Result<(), Failure> {
    let value = serde_json::to_string(user).map_err(|e| Failure::unavailable(e.to_string()))?;
    store.put_context("", USER, &user.name, &value)?;
    Ok(())
}

/// Adds a user.
pub fn add_user(store: &Store, name: &str, role: Role, password: &str) -> Result<User, Failure> {
    check_name(name)?;
    check_password(name, password)?;
    let all = users(store)?;
    if all.iter().any(|user| user.name == name) {
        return Err(Failure::conflict(format!("the user {name} exists")));
    }
    if all.len() >= MAX_ACCOUNTS {
        return Err(Failure::conflict("there are 1000 users").remedy("remove one first"));
    }
    let hash = hash_password(password)?;
    let user = User { name: name.into(), role, hash, must_change: true, created: now() };
    put_user(store, &user)?;
    Ok(user)
}

/// Removes a user and its tokens. The last administrator stays.
pub fn remove_user(store: &Store, name: &str) -> Result<User, Failure> {
    let removed =
        user(store, name)?.ok_or_else(|| Failure::not_found(format!("there is no user {name}")))?;
    keep_an_administrator(store, &removed)?;
    store.remove_context("", USER, name)?;
    for token in tokens(store)?.iter().filter(|token| token.user == name) {
        store.remove_context("", TOKEN, &token.id)?;
    }
    Ok(removed)
}

/// Refuses a change after which there is no administrator.
pub fn keep_an_administrator(store: &Store, changed: &User) -> Result<(), Failure> {
    let is_other = |user: &User| user.role == Role::Administrator && user.name != changed.name;
    if changed.role == Role::Administrator && !users(store)?.iter().any(is_other) {
        return Err(Failure::conflict("this is the last administrator")
            .remedy("make another user administrator first"));
    }
    Ok(())
}

/// Makes the first administrator if there is no user. Returns its one-time password.
pub fn make_first_administrator(store: &Store) -> Result<Option<String>, Failure> {
    if !store.contexts("", USER)?.is_empty() {
        return Ok(None);
    }
    let password = random_text()?[..20].to_string();
    let hash = hash_password(&password)?;
    let user = User {
        name: FIRST_ADMINISTRATOR.into(),
        role: Role::Administrator,
        hash,
        must_change: true,
        created: now(),
    };
    put_user(store, &user)?;
    Ok(Some(password))
}

/// All API tokens.
pub fn tokens(store: &Store) -> Result<Vec<ApiToken>, Failure> {
    let all = store.contexts("", TOKEN)?;
    Ok(all.iter().filter_map(|(_, value)| serde_json::from_str(value).ok()).collect())
}

/// Makes an API token. The second value is the token itself, which is shown once.
pub fn add_token(
    store: &Store,
    user: &str,
    name: &str,
    scopes: Vec<Scope>,
    days: u64,
) -> Result<(ApiToken, String), Failure> {
    if tokens(store)?.len() >= MAX_ACCOUNTS {
        return Err(Failure::conflict("there are 1000 tokens").remedy("remove one first"));
    }
    let mut id = [0; 8];
    fill(&mut id)?;
    let (id, secret) = (hex::encode(id), random_text()?);
    let created = now();
    let token = ApiToken {
        id: id.clone(),
        name: name.into(),
        user: user.into(),
        hash: sha256(&secret),
        scopes,
        created,
        expires: created + days * 86_400,
    };
    let value = serde_json::to_string(&token).map_err(|e| Failure::unavailable(e.to_string()))?;
    store.put_context("", TOKEN, &id, &value)?;
    Ok((token, format!("mt_{id}_{secret}")))
}

/// Removes an API token. Returns it if it existed.
pub fn remove_token(store: &Store, id: &str) -> Result<Option<ApiToken>, Failure> {
    let value = store.context("", TOKEN, id)?;
    let token = value.and_then(|value| serde_json::from_str(&value).ok());
    Ok(if store.remove_context("", TOKEN, id)? { token } else { None })
}

/// Whether an API token exists, and has not expired.
pub fn is_valid_token(store: &Store, id: &str) -> Result<bool, Failure> {
    let value = store.context("", TOKEN, id)?;
    let token = value.and_then(|value| serde_json::from_str::<ApiToken>(&value).ok());
    Ok(token.is_some_and(|token| token.expires > now()))
}

/// The API token of an `Authorization` header, if it is valid now.
pub fn verify_token(store: &Store, presented: &str) -> Result<Option<ApiToken>, Failure> {
    let parts = presented.strip_prefix("mt_").and_then(|rest| rest.split_once('_'));
    let Some((id, secret)) = parts.filter(|(id, _)| id.len() == 16) else { return Ok(None) };
    let value = store.context("", TOKEN, id)?;
    let token = value.and_then(|value| serde_json::from_str::<ApiToken>(&value).ok());
    let is_equal = |token: &ApiToken| {
        let hash = sha256(secret);
        aws_lc_rs::constant_time::verify_slices_are_equal(hash.as_bytes(), token.hash.as_bytes())
            .is_ok()
    };
    Ok(token.filter(|token| is_equal(token) && token.expires > now()))
}

impl Session {
    fn new(user: String, external: Option<ExternalUser>) -> Result<Self, Failure> {
        let now = Instant::now();
        Ok(Session { user, external, csrf: random_text()?, started: now, used: now })
    }

    /// A new session of a local user.
    ///
    /// # Errors
    /// There are no random numbers.
    pub fn of_local(user: &str) -> Result<Self, Failure> {
        Self::new(user.into(), None)
    }

    /// A new session of a user of the identity provider.
    ///
    /// # Errors
    /// There are no random numbers.
    pub fn of_external(user: ExternalUser) -> Result<Self, Failure> {
        Self::new(user.account(), Some(user))
    }
}

impl Sessions {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a session. Returns its identity for the cookie.
    pub fn start(&self, session: Session) -> Result<String, Failure> {
        let id = random_text()?;
        let mut all = self.all();
        if all.len() >= MAX_ACCOUNTS {
            // The longest idle one ends.
            let oldest = all.iter().min_by_key(|(_, session)| session.used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                all.remove(&oldest);
            }
        }
        all.insert(sha256(&id), session);
        Ok(id)
    }

    /// The session of a cookie, unless it has ended.
    pub fn find(&self, id: &str, idle: Duration, longest: Duration) -> Option<Session> {
        let key = sha256(id);
        let mut all = self.all();
        let session = all.get_mut(&key)?;
        if session.used.elapsed() > idle || session.started.elapsed() > longest {
            all.remove(&key);
            return None;
        }
        session.used = Instant::now();
        Some(session.clone())
    }

    /// Whether a session has not ended. The check does not count as a use of the session.
    pub fn is_alive(&self, id: &str, longest: Duration) -> bool {
        let all = self.all();
        all.get(&sha256(id)).is_some_and(|session| session.started.elapsed() < longest)
    }

    /// Ends a session.
    pub fn end(&self, id: &str) {
        self.all().remove(&sha256(id));
    }

    /// Ends all sessions of a user, except for one.
    pub fn end_of_user(&self, user: &str, except: Option<&str>) {
        let except = except.map(sha256);
        self.all().retain(|key, session| session.user != user || Some(key) == except.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_administrator_is_made_once() {
        let store = Store::in_memory().unwrap();
        let password = make_first_administrator(&store).unwrap().unwrap();
        assert_eq!(make_first_administrator(&store).unwrap(), None);
        let admin = user(&store, FIRST_ADMINISTRATOR).unwrap().unwrap();
        assert!(verify_password(&password, &admin.hash) && admin.must_change);
        assert!(!verify_password("another one", &admin.hash));
        assert!(admin.hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", admin.hash);
        assert_eq!(remove_user(&store, FIRST_ADMINISTRATOR).unwrap_err().problem().status, 409);
        // 120 bits at least in letters and digits, and another one for each core.
        let other = make_first_administrator(&Store::in_memory().unwrap()).unwrap().unwrap();
        assert!(password.len() >= 20 && password != other, "{password}");
    }

    #[test]
    fn equal_passwords_have_different_hashes() {
        let store = Store::in_memory().unwrap();
        let [one, other] = ["eva", "otto"].map(|name| {
            add_user(&store, name, Role::Viewer, "a long passphrase").unwrap();
            user(&store, name).unwrap().unwrap().hash
        });
        assert_ne!(one, other, "the hashes have no salt");
        let salt = |hash: &str| hash.split('$').nth(4).map(str::len);
        // 128 bits in base64.
        assert!(salt(&one) >= Some(22), "{one}");
    }

    #[test]
    fn a_token_has_its_scopes_expires_and_ends_with_its_user() {
        let store = Store::in_memory().unwrap();
        make_first_administrator(&store).unwrap();
        add_user(&store, "eva", Role::Operator, "a long passphrase").unwrap();
        let (made, text) = add_token(&store, "eva", "ci", vec![Scope::Read], 1).unwrap();
        let found = verify_token(&store, &text).unwrap().unwrap();
        assert_eq!((found.id, found.scopes), (made.id.clone(), vec![Scope::Read]));
        let stored = store.context("", TOKEN, &made.id).unwrap().unwrap();
        // The secret may have a `_`, too.
        let secret = text.strip_prefix(&format!("mt_{}_", made.id)).unwrap();
        assert!(!stored.contains(secret), "the secret is stored");
        let wrong = format!("mt_{}_{}", made.id, "x".repeat(43));
        assert!(verify_token(&store, &wrong).unwrap().is_none());
        let (_, expired) = add_token(&store, "eva", "old", vec![Scope::Read], 0).unwrap();
        assert!(verify_token(&store, &expired).unwrap().is_none());
        remove_user(&store, "eva").unwrap();
        assert!(verify_token(&store, &text).unwrap().is_none());
    }

    #[test]
    fn passwords_that_are_easy_to_guess_are_refused() {
        // Too short, of one character, common, the user's name, and breached ones.
        let breached = ["1qaz2wsx3edc", "Leavemealone", "sonyericsson"];
        let others = ["short", "aaaaaaaaaaaaaaaa", "password1234", "my name is eva!"];
        for wrong in others.into_iter().chain(breached) {
            assert!(check_password("eva", wrong).is_err(), "{wrong}");
        }
        assert!(check_password("eva", "a correct horse").is_ok());
        // Long ones, spaces and any letters are allowed.
        assert!(check_password("eva", &"correct horse ".repeat(16)).is_ok());
        assert!(check_password("eva", "пароль из слов 鳥").is_ok());
    }

    #[test]
    fn sessions_end_when_idle_and_with_their_user() {
        let sessions = Sessions::default();
        let session = Session::of_local("eva").unwrap();
        let csrf = session.csrf.clone();
        let id = sessions.start(session).unwrap();
        let hour = Duration::from_secs(3600);
        assert_eq!(sessions.find(&id, hour, hour).unwrap().csrf, csrf);
        // 256 bits in base64, another one at each sign-in, and stored as a hash.
        let other = sessions.start(Session::of_local("otto").unwrap()).unwrap();
        assert!(id.len() == 43 && other.len() == 43 && id != other, "{id} {other}");
        assert!(!sessions.all().contains_key(&id), "the identity is stored");
        assert!(sessions.all().contains_key(&sha256(&id)));
        assert!(sessions.find("another", hour, hour).is_none());
        sessions.end_of_user("eva", Some(&id));
        assert!(sessions.find(&id, hour, hour).is_some());
        assert!(sessions.find(&id, Duration::ZERO, hour).is_none(), "idle");
        let id = sessions.start(Session::of_local("eva").unwrap()).unwrap();
        sessions.end_of_user("eva", None);
        assert!(sessions.find(&id, hour, hour).is_none());
    }
}
