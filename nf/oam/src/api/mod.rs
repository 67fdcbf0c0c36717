//! The operations of `/api/v1`, each declared once: the route, its OpenAPI 3.1 description, and the
//! code. What an operation needs of its caller is in [`needed`](crate::authentication::needed).
mod administration;
mod alarms;
mod configuration;
mod examples;
mod functions;
mod gnbs;
mod jobs;
mod lab_reports;
mod lab_runs;
mod live_trace;
mod location_requests;
mod oidc;
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
use crate::idempotency::{self, once};
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use http::{HeaderName, HeaderValue, StatusCode, header};
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::{CompressionLayer, CompressionLevel};
use tower_http::set_header::SetResponseHeaderLayer;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Maximum length of a body in bytes: an import of some ten thousand subscribers.
const MAX_BODY: usize = 16 << 20;
/// Maximum length of a body with a configuration or a part of it in bytes. Each change of one
/// reads, compares and checks the whole file.
const MAX_CONFIGURATION: usize = 1 << 20;

/// Scripts and styles come from this origin alone, and no other page may frame this one.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: \
                   blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action \
                   'self'; frame-ancestors 'none'";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Martlet northbound API",
        description = "Operation and maintenance of a Martlet 5G core. Lists have cursors, changes \
                       of what has an ETag take If-Match, a POST takes an Idempotency-Key, and \
                       errors are problem details (RFC 9457) that name the field and the remedy.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    servers((url = "/api/v1")),
    modifiers(&Security),
    security(("token" = []), ("session" = [])),
    components(schemas(ProblemDetails)),
    tags(
        (name = "session", description = "Sign in and out"),
        (name = "subscribers", description = "Subscribers, imports and SIM batches"),
        (name = "ues", description = "UEs that the core knows"),
        (name = "gnbs", description = "gNBs"),
        (name = "user plane", description = "Rules, counters, traces and captures"),
        (name = "network", description = "Overview, slices, data networks, policies, charging"),
        (name = "administration", description = "Users, tokens, audit log, backup, configuration"),
    )
)]
struct Document;

struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let Some(components) = document.components.as_mut() else { return };
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("mt_ID_SECRET");
        components.add_security_scheme("token", SecurityScheme::Http(token.build()));
        let cookie = ApiKey::Cookie(ApiKeyValue::new("martlet-session"));
        components.add_security_scheme("session", SecurityScheme::ApiKey(cookie));
    }
}

fn operations() -> OpenApiRouter<Arc<Oam>> {
    use utoipa_axum::router::UtoipaMethodRouterExt;
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(
            routes!(session::sign_in, session::show, session::sign_out)
                .layer(DefaultBodyLimit::max(MAX_SIGN_IN)),
        )
        .routes(routes!(session::change_password))
        .routes(routes!(oidc::show, oidc::begin))
        .routes(routes!(oidc::callback).layer(DefaultBodyLimit::max(MAX_SIGN_IN)))
        .routes(routes!(subscribers::list, subscribers::create))
        .routes(routes!(
            subscribers::show,
            subscribers::replace,
            subscribers::change,
            subscribers::remove
        ))
        .routes(routes!(subscriber_imports::start))
        .routes(routes!(subscriber_changes::start))
        .routes(routes!(subscriber_changes::groups))
        .routes(routes!(sim_batches::list, sim_batches::create))
        .routes(routes!(ues::list))
        .routes(routes!(ues::show))
        .routes(routes!(ues::history))
        .routes(routes!(ues::sessions))
        .routes(routes!(ues::release))
        .routes(routes!(ues::page))
        .routes(routes!(ues::deregister))
        .routes(routes!(ues::locate))
        .routes(routes!(location_requests::list, location_requests::start))
        .routes(routes!(location_requests::show, location_requests::remove))
        .routes(routes!(location_requests::stop))
        .routes(routes!(location_requests::transmission_points))
        .routes(routes!(ue_messages::record))
        .routes(routes!(ue_messages::pcap))
        .routes(routes!(gnbs::list))
        .routes(routes!(gnbs::release))
        .routes(routes!(gnbs::interfaces))
        .routes(routes!(user_plane::show))
        .routes(routes!(user_plane::session))
        .routes(routes!(user_plane::trace))
        .routes(routes!(live_trace::trace))
        .routes(routes!(user_plane::capture, user_plane::end_capture))
        .routes(routes!(user_plane::renew))
        .routes(routes!(user_plane::charging))
        .routes(routes!(user_plane::charging_of, user_plane::set_charging))
        .routes(routes!(overview::overview))
        .routes(routes!(overview::events))
        .routes(routes!(overview::recent_events))
        .routes(routes!(overview::functions))
        .routes(routes!(functions::status))
        .routes(routes!(functions::network))
        .routes(routes!(functions::drain))
        .routes(routes!(functions::rebalance))
        .routes(routes!(overview::version))
        .routes(routes!(lab_reports::list))
        .routes(routes!(lab_reports::show))
        .routes(routes!(lab_reports::plot))
        .routes(routes!(lab_runs::show, lab_runs::start))
        .routes(routes!(alarms::list))
        .routes(routes!(alarms::acknowledge))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::show, jobs::cancel))
        .merge(of_configuration())
        .routes(routes!(configuration::plan, configuration::set_plan))
        .routes(routes!(administration::users, administration::add_user))
        .routes(routes!(administration::change_user, administration::remove_user))
        .routes(routes!(administration::tokens, administration::add_token))
        .routes(routes!(administration::remove_token))
        .routes(routes!(administration::audit))
        .routes(routes!(administration::backups, administration::back_up))
        .routes(routes!(restores::show, restores::stage, restores::withdraw))
        .routes(routes!(restores::preview))
        .routes(routes!(administration::certificates))
}

/// Operations whose body is the configuration or a part of it.
fn of_configuration() -> OpenApiRouter<Arc<Oam>> {
    OpenApiRouter::new()
        .routes(routes!(services::slices::show, services::slices::change))
        .routes(routes!(services::data_networks::show, services::data_networks::change))
        .routes(routes!(services::classifiers::show, services::classifiers::change))
        .routes(routes!(services::policies::show, services::policies::change))
        .routes(routes!(configuration::show, configuration::change))
        .routes(routes!(configuration::check))
        .layer(DefaultBodyLimit::max(MAX_CONFIGURATION))
}

/// The OpenAPI 3.1 description of all operations.
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = operations().into_openapi();
    for item in document.paths.paths.values_mut() {
        item.post.as_mut().into_iter().for_each(idempotency::describe);
    }
    let mut document = named(document);
    examples::add(&mut document);
    document
}

/// Gives each operation an identity of its method and path: functions of several modules have the
/// same name.
fn named(mut document: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    for (path, item) in &mut document.paths.paths {
        let words: Vec<&str> =
            path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let operations = [
            ("get", &mut item.get),
            ("post", &mut item.post),
            ("put", &mut item.put),
            ("patch", &mut item.patch),
            ("delete", &mut item.delete),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                operation.operation_id = Some(format!("{method}_{}", words.join("_")));
            }
        }
    }
    document
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
    // The description takes a megabyte of small values, and is seldom read: it is made when it is.
    let (operations, _) = operations().split_for_parts();
    let described = || async { Json(document()) };
    let api = operations
        .route("/openapi.json", axum::routing::get(described))
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
