//! The console: its files are in the program.
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};

/// A file of the console.
struct Asset {
    path: &'static str,
    kind: &'static str,
    content: &'static [u8],
}

macro_rules! assets {
    ($($path:literal $kind:literal,)*) => {
        &[$(Asset {
            path: $path,
            kind: $kind,
            content: include_bytes!(concat!("../../../console/", $path)),
        },)*]
    };
}

/// All files. The first one answers at `/`.
const ASSETS: &[Asset] = assets! {
    "index.html" "text/html; charset=utf-8",
    "style.css" "text/css; charset=utf-8",
    "icon.svg" "image/svg+xml",
    "main.js" "text/javascript; charset=utf-8",
    "api.js" "text/javascript; charset=utf-8",
    "dom.js" "text/javascript; charset=utf-8",
    "update.js" "text/javascript; charset=utf-8",
    "labels.js" "text/javascript; charset=utf-8",
    "confirm.js" "text/javascript; charset=utf-8",
    "form.js" "text/javascript; charset=utf-8",
    "text.js" "text/javascript; charset=utf-8",
    "causes.js" "text/javascript; charset=utf-8",
    "chart.js" "text/javascript; charset=utf-8",
    "supi.js" "text/javascript; charset=utf-8",
    "picture.js" "text/javascript; charset=utf-8",
    "list.js" "text/javascript; charset=utf-8",
    "table.js" "text/javascript; charset=utf-8",
    "pages/overview.js" "text/javascript; charset=utf-8",
    "pages/ues.js" "text/javascript; charset=utf-8",
    "pages/ladder.js" "text/javascript; charset=utf-8",
    "pages/sessions.js" "text/javascript; charset=utf-8",
    "pages/subscribers.js" "text/javascript; charset=utf-8",
    "pages/groups.js" "text/javascript; charset=utf-8",
    "pages/radio.js" "text/javascript; charset=utf-8",
    "pages/userplane.js" "text/javascript; charset=utf-8",
    "pages/lab.js" "text/javascript; charset=utf-8",
    "pages/map.js" "text/javascript; charset=utf-8",
    "pages/policies.js" "text/javascript; charset=utf-8",
    "pages/administration.js" "text/javascript; charset=utf-8",
    "pages/backups.js" "text/javascript; charset=utf-8",
};

/// Answers with a file of the console.
pub async fn serve(request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let path = request.uri().path().trim_start_matches('/');
    let asset = match path {
        "" => ASSETS.first(),
        // The identity provider sends the browser here.
        "oidc" => ASSETS.first(),
        path => ASSETS.iter().find(|asset| asset.path == path),
    };
    let Some(asset) = asset else { return StatusCode::NOT_FOUND.into_response() };
    let mut response = asset.content.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    // The files change with the program, and are small.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_load_is_small_and_needs_no_other_origin() {
        let total: usize = ASSETS.iter().map(|asset| asset.content.len()).sum();
        // Uncompressed; gzip makes a quarter of it.
        assert!(total < 300 * 1024, "{total} bytes");
        for asset in ASSETS {
            let text = String::from_utf8_lossy(asset.content);
            let foreign = text
                .split("http")
                .skip(1)
                .any(|rest| rest.starts_with("://") || rest.starts_with("s://"));
            let is_namespace =
                text.matches("http").count() == text.matches("http://www.w3.org/").count();
            assert!(!foreign || is_namespace, "{} names another origin", asset.path);
        }
    }

    #[test]
    fn every_module_that_is_imported_is_embedded() {
        for asset in ASSETS.iter().filter(|asset| asset.path.ends_with(".js")) {
            let text = String::from_utf8_lossy(asset.content);
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from =
                    line.rsplit_once(" from ").map(|(_, from)| from.trim_matches(['"', ';']));
                let name = from.unwrap_or_default().trim_start_matches("./");
                let name = name.trim_start_matches("../");
                let is_embedded = ASSETS
                    .iter()
                    .any(|other| other.path == name || other.path == format!("pages/{name}"));
                assert!(is_embedded, "{}: {line}", asset.path);
            }
        }
    }
}
