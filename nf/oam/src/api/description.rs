//! Makes the OpenAPI 3.1 description of all operations from the attributes of their handlers and
//! types. The program has the file that a test here compares with it and writes.
use super::examples;
use crate::idempotency::{HEADER, KEY_LENGTH};
use crate::problem::ProblemDetails;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;

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

/// The OpenAPI 3.1 description of all operations.
pub fn document() -> utoipa::openapi::OpenApi {
    let described = OpenApiRouter::with_openapi(Document::openapi());
    let operations = super::operations().descriptions.into_iter();
    let mut document = operations.fold(described, OpenApiRouter::routes).into_openapi();
    for item in document.paths.paths.values_mut() {
        item.post.as_mut().into_iter().for_each(describe_idempotency);
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

/// Adds the header to the description of a POST. Each POST honours it, since
/// [`once`](crate::idempotency::once) serves all.
fn describe_idempotency(post: &mut Operation) {
    let (min, max) = KEY_LENGTH.into_inner();
    let text = ObjectBuilder::new().schema_type(Type::String);
    let header = ParameterBuilder::new()
        .name(HEADER)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "a new one for each new request, such as a UUID. Within a day, the request that is \
             sent again does nothing and gets the first response, or 409 if that has secrets or \
             is a stream",
        ))
        .schema(Some(text.min_length(Some(min)).max_length(Some(max))));
    post.parameters.get_or_insert_default().push(header.build());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::DESCRIPTION;
    use std::path::Path;

    /// `MARTLET_WRITE=1 cargo test -p martlet-oam --lib the_file_is_the_description` writes the
    /// file.
    #[test]
    fn the_file_is_the_description() {
        let made = serde_json::to_string_pretty(&document()).unwrap() + "\n";
        if std::env::var_os("MARTLET_WRITE").is_some() {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api/openapi.json");
            std::fs::write(file, made).unwrap();
            return;
        }
        let line = made.lines().zip(DESCRIPTION.lines()).find(|(made, stored)| made != stored);
        assert!(
            made == DESCRIPTION,
            "nf/oam/src/api/openapi.json is outdated, first at {line:?}. To write it: \
             MARTLET_WRITE=1 cargo test -p martlet-oam --lib the_file_is_the_description"
        );
    }
}
