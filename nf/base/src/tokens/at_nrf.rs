//! Access tokens for the NRF's own services. Martlet's NRF needs none; another vendor's may need
//! them for all but the registration, which is the condition of a token (TS 29.510, 5.4.2.2.1).
use super::{Tokens, has_challenge};
use crate::tolerance::Tolerance;
use http::StatusCode;
use martlet_interop::SbiQuirk;
use martlet_sbi::{ApiRoot, BoxFuture, Problem, Request, Response, Transport};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the log has named the missing key. All functions of a process lack the same.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// A transport that adds a token to requests for the NRF's services once the NRF has rejected one
/// without.
pub(crate) struct AtNrf {
    inner: Arc<dyn Transport>,
    /// None without `sbi.token_key`.
    tokens: Option<Arc<Tokens>>,
    /// Whether the NRF rejected a request without a token.
    required: AtomicBool,
    tolerance: Tolerance,
}

impl AtNrf {
    pub fn new(
        inner: Arc<dyn Transport>,
        tokens: Option<Arc<Tokens>>,
        tolerance: Tolerance,
    ) -> Self {
        AtNrf { inner, tokens, required: AtomicBool::new(false), tolerance }
    }

    async fn send_with_token(
        &self,
        tokens: &Tokens,
        to: &ApiRoot,
        mut request: Request,
        api: &'static str,
    ) -> Result<Response, Problem> {
        let again = request.copy();
        if self.required.load(Ordering::Relaxed) {
            tokens.attach_for_nrf(&mut request, api).await?;
        }
        let answer = self.inner.send(to, request).await;
        let is_rejected =
            answer.as_ref().is_ok_and(|it| it.status == StatusCode::UNAUTHORIZED.as_u16());
        let Some(mut request) = again.filter(|_| is_rejected) else { return answer };
        if !answer.as_ref().is_ok_and(has_challenge)
            && !self.tolerance.tolerates(SbiQuirk::MissingChallenge, &to.authority)
        {
            return answer;
        }
        if !self.required.swap(true, Ordering::Relaxed) {
            tracing::info!(nrf = %to, "the NRF requires access tokens for its services");
        }
        // The rejected one may be of an NRF that has another key since its restart.
        tokens.clear();
        tokens.attach_for_nrf(&mut request, api).await?;
        self.inner.send(to, request).await
    }

    async fn send_without_token(
        &self,
        to: &ApiRoot,
        request: Request,
    ) -> Result<Response, Problem> {
        let answer = self.inner.send(to, request).await;
        if answer.as_ref().is_ok_and(|it| it.status == StatusCode::UNAUTHORIZED.as_u16())
            && !REPORTED.swap(true, Ordering::Relaxed)
        {
            tracing::error!(
                nrf = %to,
                "the NRF requires access tokens, and sbi.token_key is not configured: write the \
                 file of the public key or certificate of the NRF's tokens there; for free5GC's \
                 NRF, set sbi.interop.service_tokens, too"
            );
        }
        answer
    }
}

/// The NRF's service of a request.
fn service(request: &Request) -> Option<&'static str> {
    let api = request.operation?.api;
    matches!(api, "nnrf-nfm" | "nnrf-disc").then_some(api)
}

/// Whether a request is the registration, before which there are no tokens.
fn is_registration(request: &Request) -> bool {
    request.operation.is_some_and(|operation| operation.name == "RegisterNFInstance")
}

impl Transport for AtNrf {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        match (service(&request), &self.tokens) {
            (Some(api), Some(tokens)) if !is_registration(&request) => {
                Box::pin(self.send_with_token(tokens, to, request, api))
            }
            (Some(_), None) => Box::pin(self.send_without_token(to, request)),
            _ => self.inner.send(to, request),
        }
    }
}
