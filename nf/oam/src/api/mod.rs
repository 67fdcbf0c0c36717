//! The operations of `/api/v1`, each declared once: the route, its OpenAPI 3.1 description, and the
//! code. A test makes `openapi.json` of the descriptions, and the program serves that file. What an
//! operation needs of its caller is in [`needed`](crate::authentication::needed).
mod administration;
mod alarms;
mod configuration;
#[cfg(test)]
mod description;
#[cfg(test)]
mod examples;
mod functions;
mod gnbs;
mod jobs;
mod lab_reports;
mod lab_runs;
mod live_trace;
mod location_requests;
mod oidc;
mod operations;
mod overview;
pub mod restores;
mod services;
mod session;
mod sim_batches;
mod subscriber_body;
mod subscriber_changes;
mod subscriber_imports;
mod subscribers;
mod ue_messages;
mod ues;
mod user_plane;

use crate::authentication::{MAX_SIGN_IN, admit};
use crate::console;
use crate::idempotency::once;
use crate::problem::Failure;
use crate::state::Oam;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use operations::{Operations, routes};
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::{CompressionLayer, CompressionLevel};
use tower_http::set_header::SetResponseHeaderLayer;

/// Maximum length of a body in bytes: an import of some ten thousand subscribers.
const MAX_BODY: usize = 16 << 20;
/// Maximum length of a body with a configuration or a part of it in bytes. Each change of one
/// reads, compares and checks the whole file.
const MAX_CONFIGURATION: usize = 1 << 20;

/// The OpenAPI 3.1 description of all operations. A test in `description` compares it with them.
const DESCRIPTION: &str = include_str!("openapi.json");

/// Scripts and styles come from this origin alone, and no other page may frame this one.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: \
                   blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action \
                   'self'; frame-ancestors 'none'";

fn operations() -> Operations {
    Operations::default()
        .merge(routes!(session::sign_in, session::show, session::sign_out).body_limit(MAX_SIGN_IN))
        .merge(routes!(session::change_password))
        .merge(routes!(oidc::show, oidc::begin))
        .merge(routes!(oidc::callback).body_limit(MAX_SIGN_IN))
        .merge(routes!(subscribers::list, subscribers::create))
        .merge(routes!(
            subscribers::show,
            subscribers::replace,
            subscribers::change,
            subscribers::remove
        ))
        .merge(routes!(subscriber_imports::start))
        .merge(routes!(subscriber_changes::start))
        .merge(routes!(subscriber_changes::groups))
        .merge(routes!(sim_batches::list, sim_batches::create))
        .merge(routes!(ues::list))
        .merge(routes!(ues::show))
        .merge(routes!(ues::history))
        .merge(routes!(ues::sessions))
        .merge(routes!(ues::release))
        .merge(routes!(ues::page))
        .merge(routes!(ues::deregister))
        .merge(routes!(ues::locate))
        .merge(routes!(location_requests::list, location_requests::start))
        .merge(routes!(location_requests::show, location_requests::remove))
        .merge(routes!(location_requests::stop))
        .merge(routes!(location_requests::transmission_points))
        .merge(routes!(ue_messages::record))
        .merge(routes!(ue_messages::pcap))
        .merge(routes!(gnbs::list))
        .merge(routes!(gnbs::release))
        .merge(routes!(gnbs::interfaces))
        .merge(routes!(user_plane::show))
        .merge(routes!(user_plane::session))
        .merge(routes!(user_plane::trace))
        .merge(routes!(live_trace::trace))
        .merge(routes!(user_plane::capture, user_plane::end_capture))
        .merge(routes!(user_plane::renew))
        .merge(routes!(user_plane::charging))
        .merge(routes!(user_plane::charging_of, user_plane::set_charging))
        .merge(routes!(overview::overview))
        .merge(routes!(overview::events))
        .merge(routes!(overview::recent_events))
        .merge(routes!(overview::functions))
        .merge(routes!(functions::status))
        .merge(routes!(functions::network))
        .merge(routes!(functions::drain))
        .merge(routes!(functions::rebalance))
        .merge(routes!(overview::version))
        .merge(routes!(lab_reports::list))
        .merge(routes!(lab_reports::show))
        .merge(routes!(lab_reports::plot))
        .merge(routes!(lab_runs::show, lab_runs::start))
        .merge(routes!(alarms::list))
        .merge(routes!(alarms::acknowledge))
        .merge(routes!(jobs::list))
        .merge(routes!(jobs::show, jobs::cancel))
        .merge(of_configuration())
        .merge(routes!(configuration::plan, configuration::set_plan))
        .merge(routes!(administration::users, administration::add_user))
        .merge(routes!(administration::change_user, administration::remove_user))
        .merge(routes!(administration::tokens, administration::add_token))
        .merge(routes!(administration::remove_token))
        .merge(routes!(administration::audit))
        .merge(routes!(administration::backups, administration::back_up))
        .merge(routes!(restores::show, restores::stage, restores::withdraw))
        .merge(routes!(restores::preview))
        .merge(routes!(administration::certificates))
}

/// Operations whose body is the configuration or a part of it.
fn of_configuration() -> Operations {
    use services::{classifiers, data_networks, policies, slices};
    Operations::default()
        .merge(routes!(slices::show, slices::change))
        .merge(routes!(data_networks::show, data_networks::change))
        .merge(routes!(classifiers::show, classifiers::change))
        .merge(routes!(policies::show, policies::change))
        .merge(routes!(configuration::show, configuration::change))
        .merge(routes!(configuration::check))
        .body_limit(MAX_CONFIGURATION)
}

async fn unknown(request: Request) -> Failure {
    Failure::not_found(format!("there is no resource {}", request.uri().path()))
        .remedy("see /api/v1/openapi.json")
}

async fn wrong_method() -> Failure {
    Failure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        "The resource does not allow this method",
        "the method is not allowed here",
    )
    .remedy("see /api/v1/openapi.json")
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Failure::of_the_program().into_response()
}

/// The API and the console.
pub fn router(oam: Arc<Oam>) -> Router {
    let description = || async { ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION) };
    let api = operations()
        .into_router()
        .route("/openapi.json", axum::routing::get(description))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(oam.clone(), once))
        .layer(middleware::from_fn_with_state(oam.clone(), admit))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .with_state(oam);
    let fixed = |name: HeaderName, value: &'static str| {
        SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
    };
    Router::new()
        .nest("/api/v1", api)
        .fallback(console::serve)
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(fixed(header::CONTENT_SECURITY_POLICY, CSP))
        .layer(fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(fixed(header::X_FRAME_OPTIONS, "DENY"))
        .layer(fixed(header::REFERRER_POLICY, "no-referrer"))
        .layer(fixed(HeaderName::from_static("cross-origin-opener-policy"), "same-origin"))
        .layer(fixed(HeaderName::from_static("cross-origin-resource-policy"), "same-origin"))
        .layer(fixed(
            HeaderName::from_static("permissions-policy"),
            "camera=(), microphone=(), geolocation=()",
        ))
}

#[cfg(test)]
mod tests {
    use super::description::document;
    use super::*;
    use crate::authentication::{Needed, needed};

    #[test]
    fn the_description_is_openapi_3_1_with_a_problem_for_each_operation() {
        let document = serde_json::to_value(document()).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{document}");
        let paths = document["paths"].as_object().unwrap();
        let mut identities = std::collections::BTreeSet::new();
        assert!(paths.len() > 35, "{} paths", paths.len());
        for (path, operations) in paths {
            for (method, operation) in operations.as_object().unwrap() {
                let responses = operation["responses"].as_object().unwrap();
                assert!(responses.contains_key("4XX"), "{method} {path}");
                assert!(operation["summary"].is_string(), "{method} {path} has no summary");
                assert!(identities.insert(operation["operationId"].to_string()), "{method} {path}");
            }
        }
    }

    /// OWASP ASVS V7.4.1, V7.4.3: the last handler answers, without what is inside.
    #[tokio::test]
    async fn a_panic_is_a_problem_without_its_text() {
        use http_body_util::BodyExt;
        use tower::Service;
        async fn fails() -> &'static str {
            panic!("text of the program")
        }
        let mut router: Router = Router::new()
            .route("/", axum::routing::get(fails))
            .layer(CatchPanicLayer::custom(panicked));
        let request: Request = Request::default();
        let response = router.call(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains("urn:martlet:problem:internal"), "{body}");
        assert!(!body.contains("text of the program") && !body.contains(".rs"), "{body}");
    }

    /// A new path below an unknown word would need an administrator; the words are all known.
    #[test]
    fn every_operation_needs_what_the_table_says() {
        let document = serde_json::to_value(document()).unwrap();
        for (path, operations) in document["paths"].as_object().unwrap() {
            for method in operations.as_object().unwrap().keys() {
                let method = method.to_uppercase().parse().unwrap();
                let needed = needed(&method, path);
                let is_sign_in = path == "/session" && method == http::Method::POST;
                let is_public = is_sign_in || path.starts_with("/session/oidc");
                assert_eq!(needed == Needed::Nothing, is_public, "{method} {path}");
            }
        }
    }
}
