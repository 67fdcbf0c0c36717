//! Links as lists of one. A link may be an object or a list (TS 29.571, 5.2.4.8), but free5GC's AMF
//! reads lists alone, and the AMFs of Open5GS and OAI objects alone.
use martlet_sbi::{Body, BoxFuture, Problem, Request, Response, Route};
use martlet_sbi_api::common::Links;
use martlet_sbi_api::nausf_ueauthentication::{EapSession, UeAuthenticationCtx};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How the `User-Agent` of free5GC's functions begins. It would be their NF type (TS 29.500,
/// 5.2.2.2).
const GENERATED_CLIENT: &str = "OpenAPI-Generator/";

/// The route with lists in its answers to functions of free5GC.
pub(crate) fn for_generated_clients(route: Route) -> Route {
    let Route { operation, handler } = route;
    Route {
        operation,
        handler: Arc::new(move |parameters, query, request: Request| {
            let is_generated =
                request.user_agent().is_some_and(|it| it.starts_with(GENERATED_CLIENT));
            let answer = handler(parameters, query, request);
            let answer: BoxFuture<'static, Result<Response, Problem>> = match is_generated {
                true => Box::pin(async move { with_lists(operation.name, answer.await?) }),
                false => answer,
            };
            answer
        }),
    }
}

fn with_lists(operation: &str, response: Response) -> Result<Response, Problem> {
    let Response { status, headers, body } = response;
    let body = match operation {
        "Authenticate" => {
            let mut context: UeAuthenticationCtx = body.take()?;
            to_lists(&mut context.links);
            Body::of(context)
        }
        "EapAuthMethod" => {
            let mut session: EapSession = body.take()?;
            session.links.iter_mut().for_each(to_lists);
            Body::of(session)
        }
        _ => body,
    };
    Ok(Response { status, headers, body })
}

fn to_lists(links: &mut BTreeMap<String, Links>) {
    for link in links.values_mut() {
        if let Links::One(one) = link {
            let one = std::mem::take(one);
            *link = Links::Many(vec![one]);
        }
    }
}
