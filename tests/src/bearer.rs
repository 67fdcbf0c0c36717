//! A client that sends its requests with an access token.
use http::HeaderValue;
use http::header::AUTHORIZATION;
use martlet_sbi::{ApiRoot, BoxFuture, CallPolicy, Peer, Problem, Request, Response, Transport};
use martlet_sbi_http::{ClientLimits, HttpBinding};
use std::sync::Arc;

/// Sends requests with a token, or with none.
struct WithToken {
    binding: HttpBinding,
    token: Option<String>,
}

impl Transport for WithToken {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        mut request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        let value =
            self.token.iter().map(|token| HeaderValue::from_str(&format!("Bearer {token}")));
        request.headers.extend(value.flatten().map(|value| (AUTHORIZATION, value)));
        self.binding.send(to, request)
    }
}

/// The function at a host and port, to which an SMF sends requests with a token, or with none.
pub fn peer_with_token(token: Option<String>, authority: &str) -> Peer {
    let binding = HttpBinding::new(ClientLimits::default());
    let transport = Arc::new(WithToken { binding, token });
    Peer::new(transport, ApiRoot::http(authority), "SMF", CallPolicy::default())
}
