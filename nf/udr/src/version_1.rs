//! The operations of version 2 as version 1 of the API, which Open5GS's UDM and PCF request (quirk
//! `dr_v1`). There, a context that is stored is answered with 204, and an authentication advances
//! the sequence number: Open5GS's UDM leaves this to the UDR.
use crate::{Udr, problem};
use martlet_interop::{Quirk, SbiQuirk};
use martlet_sbi::{
    Body, BoxFuture, JsonPatch, OperationInfo, PatchItem, Problem, Request, Response, Route,
};
use martlet_sbi_api::nudr_dr::NUDR_DR;
use std::sync::{Arc, LazyLock};

/// Open5GS's step between the sequence numbers of two authentications.
const STEP: u64 = 32;
/// Maximum sequence number (TS 33.102, 6.3.2).
const MAX_SQN: u64 = (1 << 48) - 1;

static OPERATIONS: LazyLock<Vec<OperationInfo>> =
    LazyLock::new(|| NUDR_DR::OPERATIONS.iter().map(|newer| newer.at_version("v1")).collect());

/// The same operation with version v1 in its path.
pub(crate) fn route(udr: &Arc<Udr>, newer: &Route) -> Option<Route> {
    let operation = OPERATIONS.iter().find(|older| older.name == newer.operation.name)?;
    let (udr, handler) = (udr.clone(), newer.handler.clone());
    Some(Route {
        operation,
        handler: Arc::new(move |parameters, query, request| {
            SbiQuirk::DrVersion1.met("udr", request.user_agent().unwrap_or("unknown"));
            let (udr, handler) = (udr.clone(), handler.clone());
            let answer: BoxFuture<'static, Result<Response, Problem>> = Box::pin(async move {
                let supi = parameters.get(0).to_string();
                let request = match operation.name {
                    "AmfContext3gpp" => with_pointer(request)?,
                    _ => request,
                };
                let answer = handler(parameters, query, request).await?;
                if operation.name == "CreateAuthenticationStatus" {
                    udr.advance_by_step(&supi).await;
                }
                Ok(of_version_1(operation.name, answer))
            });
            answer
        }),
    })
}

fn with_pointer(request: Request) -> Result<Request, Problem> {
    let Request { operation, method, target, headers, body, deadline } = request;
    let mut patch: JsonPatch = body.take()?;
    patch.0.iter_mut().for_each(to_pointer);
    Ok(Request { operation, method, target, headers, body: Body::of(patch), deadline })
}

/// Open5GS's UDM replaces `PurgeFlag` when the UE was purged. It is no JSON pointer, and the member
/// may not be there yet.
fn to_pointer(item: &mut PatchItem) {
    if item.path == "PurgeFlag" {
        (item.op, item.path) = ("add".into(), "/purgeFlag".into());
    }
}

/// Version 1 does not tell a new context from a replaced one.
fn of_version_1(operation: &str, answer: Response) -> Response {
    match (operation, answer.status) {
        ("CreateAmfContext3gpp" | "CreateOrUpdateSmfRegistration", 201) => {
            Response::new(204, Body::empty())
        }
        _ => answer,
    }
}

impl Udr {
    /// Advances a sequence number. Otherwise, the USIM has it resynchronised.
    async fn advance_by_step(&self, supi: &str) {
        let states = self.data.before_advance(supi).await;
        let Some(subscriber) = states.ok().and_then(|states| states.into_iter().next()) else {
            return;
        };
        let next = (subscriber.sqn + STEP) & MAX_SQN;
        let advanced = self.data.advance_sqn(supi, subscriber.sqn, next).await;
        if let Err(problem) = advanced.map_err(problem::of_store) {
            tracing::debug!(%problem, "sequence number not advanced");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_an_older_one() {
        let newer: Vec<_> = NUDR_DR::OPERATIONS.iter().map(|it| (it.name, it.path)).collect();
        let older: Vec<_> = OPERATIONS.iter().map(|it| (it.name, it.path)).collect();
        assert_eq!(newer, older);
        assert!(OPERATIONS.iter().all(|it| (it.api, it.version) == ("nudr-dr", "v1")));
    }

    #[test]
    fn the_member_of_a_purge_gets_a_pointer() {
        let item = |op: &str, path: &str| PatchItem {
            op: op.into(),
            path: path.into(),
            from: None,
            value: Some(true.into()),
        };
        let mut items = [item("replace", "PurgeFlag"), item("replace", "/imsVoPs")];
        items.iter_mut().for_each(to_pointer);
        assert_eq!(items, [item("add", "/purgeFlag"), item("replace", "/imsVoPs")]);
    }

    #[test]
    fn a_new_context_is_answered_without_body() {
        let answered = |operation, status| {
            of_version_1(operation, Response::new(status, Body::empty())).status
        };
        assert_eq!(answered("CreateAmfContext3gpp", 201), 204);
        assert_eq!(answered("CreateOrUpdateSmfRegistration", 204), 204);
        assert_eq!(answered("CreateSdmSubscriptions", 201), 201);
        assert_eq!(answered("QueryAmData", 200), 200);
    }
}
