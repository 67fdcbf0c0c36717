//! Invalid HTTP requests (TS 29.500, 5.2.7).
use crate::bystander::Bystander;
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_tests::{MetricDelta, TestCore, in_namespace, run};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The answer of a function.
#[derive(Debug)]
struct Answer {
    status: u16,
    content_type: String,
    problem: Value,
}

/// Sends a request with `curl`.
async fn send(method: &str, url: &str, content_type: &str, body: &str) -> Result<Answer> {
    let file = std::env::temp_dir().join(format!("martlet-body-{}", std::process::id()));
    std::fs::write(&file, body)?;
    let body = format!("@{}", file.display());
    let header = format!("Content-Type: {content_type}");
    let mut arguments = vec![
        "--silent",
        "--show-error",
        "--max-time",
        "5",
        "--http2-prior-knowledge",
        "--request",
        method,
    ];
    if method != "GET" {
        arguments.extend(["--header", &header, "--data-binary", &body]);
    }
    arguments.extend(["--write-out", "\n%{http_code} %{content_type}", url]);
    let output = run("curl", &arguments).await;
    std::fs::remove_file(&file)?;
    let output = output?;
    let (body, line) = output.rsplit_once('\n').context("no status in the output of curl")?;
    let (status, content_type) =
        line.split_once(' ').context("no content type in the output of curl")?;
    let problem = serde_json::from_str(body).unwrap_or(Value::Null);
    Ok(Answer { status: status.parse()?, content_type: content_type.to_string(), problem })
}

/// Expects ProblemDetails with this status and cause; the cause may be absent.
async fn expect_problem(request: (&str, &str, &str, &str), status: u16, cause: &str) -> Result<()> {
    let (method, url, content_type, body) = request;
    let answer = send(method, url, content_type, body).await?;
    ensure!(
        answer.status == status
            && answer.content_type == "application/problem+json"
            && answer.problem["status"] == status
            && answer.problem["cause"].as_str().unwrap_or_default() == cause,
        "{method} {url}: {status} {cause} expected, not {answer:?}"
    );
    Ok(())
}

#[test]
fn invalid_requests_are_answered_with_problem_details() {
    if !martlet_tests::is_installed("curl") {
        return;
    }
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let bystander = Bystander::at(&core).await?;
        let (json, udm, smf, amf) = (
            "application/json",
            "http://127.0.0.12:7777",
            "http://127.0.0.16:7777",
            "http://127.0.0.17:7777",
        );
        let ueau = format!(
            "{udm}/nudm-ueau/v1/imsi-001010000000001/security-information/generate-auth-data"
        );
        let contexts = format!("{smf}/nsmf-pdusession/v1/sm-contexts");
        let counted =
            MetricDelta::of("martlet_sbi_requests_total", &[("nf", "udm"), ("status", "400")]);
        let refused = MetricDelta::of("martlet_sbi_http_refused_total", &[("reason", "body")]);

        // Bodies: not JSON, other JSON, empty, another media type, too large.
        expect_problem(("POST", &ueau, json, "{"), 400, "INVALID_MSG_FORMAT").await?;
        expect_problem(("POST", &ueau, json, "[]"), 400, "INVALID_MSG_FORMAT").await?;
        expect_problem(
            ("POST", &ueau, json, r#"{"servingNetworkName": 5}"#),
            400,
            "INVALID_MSG_FORMAT",
        )
        .await?;
        expect_problem(("POST", &ueau, "text/plain", "hello"), 415, "UNSUPPORTED_MEDIA_TYPE")
            .await?;
        let large = format!("{{\"servingNetworkName\": \"{}\"}}", "x".repeat(2 << 20));
        expect_problem(("POST", &ueau, json, &large), 413, "").await?;
        ensure!(counted.get() >= 3.0 && refused.get() >= 1.0, "the errors are not counted");
        // Multipart bodies: no boundary, no parts, a reference to a missing part.
        expect_problem(
            ("POST", &contexts, "multipart/related", "--x\r\n"),
            400,
            "INVALID_MSG_FORMAT",
        )
        .await?;
        expect_problem(
            ("POST", &contexts, "multipart/related; boundary=x", "--x--\r\n"),
            400,
            "INVALID_MSG_FORMAT",
        )
        .await?;
        expect_problem(
            ("POST", &format!("{contexts}/1/modify"), json, "{}"),
            404,
            "CONTEXT_NOT_FOUND",
        )
        .await?;

        // Paths, methods and queries.
        expect_problem(
            ("GET", &format!("{udm}/nudm-nothing/v1/x"), json, ""),
            404,
            "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        )
        .await?;
        expect_problem(
            ("GET", &format!("{udm}/"), json, ""),
            404,
            "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        )
        .await?;
        expect_problem(("DELETE", &ueau, json, ""), 405, "METHOD_NOT_ALLOWED").await?;
        let sdm = format!("{udm}/nudm-sdm/v2/imsi-001010000000001");
        expect_problem(
            ("GET", &format!("{sdm}/sm-data?single-nssai=%7B"), json, ""),
            400,
            "OPTIONAL_QUERY_PARAM_INCORRECT",
        )
        .await?;
        // Resources that do not exist.
        expect_problem(
            ("GET", &format!("{udm}/nudm-sdm/v2/imsi-001010000000999/am-data"), json, ""),
            404,
            "USER_NOT_FOUND",
        )
        .await?;
        let unknown = format!("{amf}/namf-comm/v1/ue-contexts/imsi-001010000000999/n1-n2-messages");
        expect_problem(
            ("POST", &unknown, json, r#"{"pduSessionId": 1}"#),
            404,
            "CONTEXT_NOT_FOUND",
        )
        .await?;
        bystander.expect_undisturbed().await?;

        // Bytes that are not HTTP close the connection.
        for junk in [
            &b"\x00\x01\x02\x03junk\r\n\r\n"[..],
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            let mut stream = tokio::net::TcpStream::connect("127.0.0.17:7777").await?;
            stream.write_all(junk).await?;
            let mut response = Vec::new();
            let ended = tokio::time::timeout(
                std::time::Duration::from_secs(5),
                stream.read_to_end(&mut response),
            )
            .await;
            ensure!(ended.is_ok(), "the connection stays open");
        }
        bystander.expect_core_works().await
    });
}
