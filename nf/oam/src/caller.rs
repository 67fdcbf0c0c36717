//! The caller of a request: how the request arrived, and who sent it.
use crate::accounts::{Role, Scope};
use crate::problem::Failure;
use axum::extract::FromRequestParts;
use http::request::Parts;
use std::net::SocketAddr;

/// How a request arrived. The server sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Over the unix socket, from an admitted user.
    Socket {
        /// The user that the kernel reports.
        uid: u32,
    },
    /// Over TCP.
    Tcp {
        /// The address.
        address: SocketAddr,
        /// Whether with TLS.
        is_secure: bool,
    },
}

impl Peer {
    /// The name of the session's cookie.
    pub fn cookie(self) -> &'static str {
        match self {
            Peer::Tcp { is_secure: true, .. } => "__Host-martlet-session",
            _ => "martlet-session",
        }
    }

    /// The name of the cookie that binds a sign-in with the identity provider to its browser.
    pub fn sign_in_cookie(self) -> &'static str {
        match self {
            Peer::Tcp { is_secure: true, .. } => "__Host-martlet-sign-in",
            _ => "martlet-sign-in",
        }
    }
}

/// How the caller proved who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// By the unix socket.
    Socket,
    /// By a session.
    Session {
        /// Identity of the session.
        id: String,
        /// Its CSRF token.
        csrf: String,
        /// Whether the password must be changed first.
        must_change: bool,
        /// Name at the identity provider; none for a local user.
        external_name: Option<String>,
    },
    /// By an API token.
    Token {
        /// Identity of the token.
        id: String,
    },
}

impl Via {
    /// The word of the audit log.
    pub fn word(&self) -> &'static str {
        match self {
            Via::Socket => "socket",
            Via::Session { .. } => "session",
            Via::Token { .. } => "token",
        }
    }
}

/// The caller of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The user.
    pub name: String,
    /// The user's role.
    pub role: Role,
    /// What it may do now.
    pub scopes: Vec<Scope>,
    /// How it proved who it is.
    pub via: Via,
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let caller = parts.extensions.get::<Caller>().cloned();
        caller.ok_or_else(|| Failure::unauthenticated("the request names no caller"))
    }
}
