//! Failover on request of the producer: one that is not available answers 500 with the cause
//! NF_FAILOVER, and the consumer selects another member of the set (TS 29.500, 5.2.7.2).
use martlet_sbi::{BoxFuture, PathParams, Problem, Query, Request, Response, Route};
use std::sync::Arc;

/// The cause.
const NF_FAILOVER: &str = "NF_FAILOVER";

/// The same routes, which refuse requests while the function is not available.
pub fn refuse_while(
    routes: Vec<Route>,
    is_unavailable: impl Fn() -> bool + Send + Sync + 'static,
) -> Vec<Route> {
    let is_unavailable = Arc::new(is_unavailable);
    let guarded = |route: Route| {
        let (handler, is_unavailable) = (route.handler.clone(), is_unavailable.clone());
        let handler = Arc::new(
            move |parameters: PathParams,
                  query: Query,
                  request: Request|
                  -> BoxFuture<'static, Result<Response, Problem>> {
                match is_unavailable() {
                    true => Box::pin(async { Err(failover_request()) }),
                    false => handler(parameters, query, request),
                }
            },
        );
        Route { operation: route.operation, handler }
    };
    routes.into_iter().map(guarded).collect()
}

/// The problem by which a producer has the consumer select another one. The request was not
/// executed.
pub fn failover_request() -> Problem {
    Problem::new(500, NF_FAILOVER).detail("the function is not available: select another one")
}

/// Whether a producer's response requests another producer.
pub(crate) fn is_requested(answer: &Result<Response, Problem>) -> bool {
    match answer {
        Err(problem) => problem.cause() == NF_FAILOVER,
        Ok(response) if response.status == 500 => {
            let body = response.body.to_encoded().ok().flatten();
            body.is_some_and(|body| {
                body.bytes.windows(NF_FAILOVER.len()).any(|part| part == NF_FAILOVER.as_bytes())
            })
        }
        Ok(_) => false,
    }
}
