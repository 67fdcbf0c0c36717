//! Access tokens for notifications (TS 33.501, 13.4.1). Martlet's functions need none for their
//! callbacks; another vendor's may need one for the service that the callback URI names, as
//! free5GC's PCF does for `npcf-callback`.
use super::{Tokens, has_challenge};
use crate::callbacks::{self, Callbacks};
use crate::tolerance::Tolerance;
use http::StatusCode;
use martlet_interop::SbiQuirk;
use martlet_sbi::{ApiRoot, BoxFuture, Problem, Request, Response, Transport};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of consumers that are known to need a token.
const MAX_CONSUMERS: usize = 1024;

/// A transport that adds a token to a notification once its consumer has rejected one without.
pub(crate) struct AtCallback {
    inner: Arc<dyn Transport>,
    tokens: Arc<Tokens>,
    callbacks: Arc<Callbacks>,
    /// Hosts and ports of the consumers that rejected a notification without a token.
    required: Mutex<HashSet<String>>,
    tolerance: Tolerance,
}

impl AtCallback {
    pub fn new(
        inner: Arc<dyn Transport>,
        tokens: Arc<Tokens>,
        callbacks: Arc<Callbacks>,
        tolerance: Tolerance,
    ) -> Self {
        AtCallback { inner, tokens, callbacks, required: Mutex::default(), tolerance }
    }

    async fn send_with_token(
        &self,
        to: &ApiRoot,
        mut request: Request,
    ) -> Result<Response, Problem> {
        let again = request.copy();
        let known = self.is_required(&to.authority);
        if known {
            self.attach(to, &mut request).await?;
        }
        let answer = self.inner.send(to, request).await;
        let is_rejected =
            answer.as_ref().is_ok_and(|it| it.status == StatusCode::UNAUTHORIZED.as_u16());
        let Some(mut request) = again.filter(|_| is_rejected) else { return answer };
        if self.tolerance.is_strict() {
            return answer;
        }
        if known {
            // The rejected one may be of an NRF that has another key since its restart.
            self.tokens.clear();
        }
        match self.attach(to, &mut request).await {
            Ok(true) => {}
            // There is no token for this consumer: its answer is final.
            Ok(false) => return answer,
            Err(problem) => {
                tracing::debug!(consumer = %to, %problem, "no token for a notification");
                return answer;
            }
        }
        self.tolerance.tolerates(SbiQuirk::CallbackToken, &to.authority);
        if !answer.as_ref().is_ok_and(has_challenge) {
            self.tolerance.tolerates(SbiQuirk::MissingChallenge, &to.authority);
        }
        self.require(to);
        self.inner.send(to, request).await
    }

    fn require(&self, to: &ApiRoot) {
        let mut required = self.required.lock().unwrap_or_else(PoisonError::into_inner);
        if required.len() >= MAX_CONSUMERS {
            required.clear();
        }
        if required.insert(to.authority.clone()) {
            tracing::info!(consumer = %to, "the consumer requires access tokens for notifications");
        }
    }

    fn is_required(&self, authority: &str) -> bool {
        self.required.lock().unwrap_or_else(PoisonError::into_inner).contains(authority)
    }

    /// Adds a token for the callbacks of the function that is registered at this address. No other
    /// peer gets one: it could use the token at other functions.
    async fn attach(&self, to: &ApiRoot, request: &mut Request) -> Result<bool, Problem> {
        let Some(authority) = callbacks::authority(&format!("{to}/")) else { return Ok(false) };
        let Some(consumer) = self.callbacks.registered(&authority).await? else { return Ok(false) };
        let service = service(&consumer);
        let path = request.target.split('?').next().unwrap_or_default();
        if !path.split('/').any(|segment| segment == service) {
            return Ok(false);
        }
        self.tokens.attach_for_callback(request, service).await?;
        Ok(true)
    }
}

/// The name that free5GC's functions have for their callbacks, in the path and as the scope of a
/// token.
fn service(consumer: &NfType) -> String {
    format!("n{}-callback", consumer.as_str().to_ascii_lowercase())
}

impl Transport for AtCallback {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        match request.operation.is_some_and(|operation| operation.api.ends_with("-callback")) {
            true => Box::pin(self.send_with_token(to, request)),
            false => self.inner.send(to, request),
        }
    }
}
