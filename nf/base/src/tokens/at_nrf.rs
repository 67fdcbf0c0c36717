//! Access tokens for the NRF's own services. Martlet's NRF needs none; another vendor's may need
//! them for all but the registration, which is the condition of a token (TS 29.510, 5.4.2.2.1).
use super::Tokens;
use http::StatusCode;
use martlet_sbi::{ApiRoot, BoxFuture, Problem, Request, Response, Transport};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A transport that adds a token to requests for the NRF's services once the NRF has rejected one
/// without.
pub(crate) struct AtNrf {
    inner: Arc<dyn Transport>,
    tokens: Arc<Tokens>,
    /// Whether the NRF rejected a request without a token.
    required: AtomicBool,
}

impl AtNrf {
    pub fn new(inner: Arc<dyn Transport>, tokens: Arc<Tokens>) -> Self {
        AtNrf { inner, tokens, required: AtomicBool::new(false) }
    }

    async fn send_with_token(
        &self,
        to: &ApiRoot,
        mut request: Request,
        api: &'static str,
    ) -> Result<Response, Problem> {
        let again = request.copy();
        if self.required.load(Ordering::Relaxed) {
            self.tokens.attach_for_nrf(&mut request, api).await?;
        }
        let answer = self.inner.send(to, request).await;
        let is_rejected =
            answer.as_ref().is_ok_and(|it| it.status == StatusCode::UNAUTHORIZED.as_u16());
        let Some(mut request) = again.filter(|_| is_rejected) else { return answer };
        if !self.required.swap(true, Ordering::Relaxed) {
            tracing::info!(nrf = %to, "the NRF requires access tokens for its services");
        }
        // The rejected one may be of an NRF that has another key since its restart.
        self.tokens.clear();
        self.tokens.attach_for_nrf(&mut request, api).await?;
        self.inner.send(to, request).await
    }
}

/// The NRF's service of a request that may need a token.
fn service(request: &Request) -> Option<&'static str> {
    let operation = request.operation?;
    let needs_none = operation.name == "RegisterNFInstance";
    Some(operation.api).filter(|api| matches!(*api, "nnrf-nfm" | "nnrf-disc") && !needs_none)
}

impl Transport for AtNrf {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        match service(&request) {
            Some(api) => Box::pin(self.send_with_token(to, request, api)),
            None => self.inner.send(to, request),
        }
    }
}
