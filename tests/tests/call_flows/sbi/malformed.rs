//! Requests over HTTP that are not as they should be (TS 29.500, 5.2.7).
use crate::bystander::Witness;
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_tests::{Growth, TestCore, in_namespace, run};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// What a function answers.
#[derive(Debug)]
struct Answer {
    status: u16,
    content_type: String,
    problem: Value,
}

/// Sends a request with `curl`, as another vendor's function might.
async fn ask(method: &str, url: &str, content_type: &str, body: &str) -> Result<Answer> {
    let file = std::env::temp_dir().join(format!("martlet-body-{}", std::process::id()));
    std::fs::write(&file, body)?;
    let body = format!("@{}", file.display());
    let header = format!("Content-Type: {content_type}");
    let mut words = vec![
        "--silent",
        "--show-error",
        "--max-time",
        "5",
        "--http2-prior-knowledge",
        "--request",
        method,
    ];
    if method != "GET" {
        words.extend(["--header", &header, "--data-binary", &body]);
    }
    words.extend(["--write-out", "\n%{http_code} %{content_type}", url]);
    let said = run("curl", &words).await;
    std::fs::remove_file(&file)?;
    let said = said?;
    let (body, line) = said.rsplit_once('\n').context("curl tells the status last")?;
    let (status, content_type) = line.split_once(' ').context("curl tells the status")?;
    let problem = serde_json::from_str(body).unwrap_or(Value::Null);
    Ok(Answer { status: status.parse()?, content_type: content_type.to_string(), problem })
}

/// ProblemDetails with this status and cause, or without one.
async fn is_refused(request: (&str, &str, &str, &str), status: u16, cause: &str) -> Result<()> {
    let (method, url, content_type, body) = request;
    let answer = ask(method, url, content_type, body).await?;
    ensure!(
        answer.status == status
            && answer.content_type == "application/problem+json"
            && answer.problem["status"] == status
            && answer.problem["cause"].as_str().unwrap_or_default() == cause,
        "{method} {url}: {status} {cause} is due: {answer:?}"
    );
    Ok(())
}

#[test]
fn invalid_requests_are_answered_with_problem_details() {
    if !martlet_tests::has("curl") {
        return;
    }
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let witness = Witness::at(&core).await?;
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
        let counted = Growth::of("martlet_sbi_requests_total", &[("nf", "udm"), ("status", "400")]);
        let refused = Growth::of("martlet_sbi_http_refused_total", &[("reason", "body")]);

        // Bodies: no JSON, not the right JSON, none, another media type, too large.
        is_refused(("POST", &ueau, json, "{"), 400, "INVALID_MSG_FORMAT").await?;
        is_refused(("POST", &ueau, json, "[]"), 400, "INVALID_MSG_FORMAT").await?;
        is_refused(
            ("POST", &ueau, json, r#"{"servingNetworkName": 5}"#),
            400,
            "INVALID_MSG_FORMAT",
        )
        .await?;
        is_refused(("POST", &ueau, "text/plain", "hello"), 415, "UNSUPPORTED_MEDIA_TYPE").await?;
        let large = format!("{{\"servingNetworkName\": \"{}\"}}", "x".repeat(2 << 20));
        is_refused(("POST", &ueau, json, &large), 413, "").await?;
        ensure!(counted.so_far() >= 3.0 && refused.so_far() >= 1.0, "they are counted");
        // Multipart bodies: no boundary, no parts, a part that is named and not there.
        is_refused(("POST", &contexts, "multipart/related", "--x\r\n"), 400, "INVALID_MSG_FORMAT")
            .await?;
        is_refused(
            ("POST", &contexts, "multipart/related; boundary=x", "--x--\r\n"),
            400,
            "INVALID_MSG_FORMAT",
        )
        .await?;
        is_refused(("POST", &format!("{contexts}/1/modify"), json, "{}"), 404, "CONTEXT_NOT_FOUND")
            .await?;

        // Paths, methods, queries.
        is_refused(
            ("GET", &format!("{udm}/nudm-nothing/v1/x"), json, ""),
            404,
            "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        )
        .await?;
        is_refused(("GET", &format!("{udm}/"), json, ""), 404, "RESOURCE_URI_STRUCTURE_NOT_FOUND")
            .await?;
        is_refused(("DELETE", &ueau, json, ""), 405, "METHOD_NOT_ALLOWED").await?;
        let sdm = format!("{udm}/nudm-sdm/v2/imsi-001010000000001");
        is_refused(
            ("GET", &format!("{sdm}/sm-data?single-nssai=%7B"), json, ""),
            400,
            "OPTIONAL_QUERY_PARAM_INCORRECT",
        )
        .await?;
        // Things that are not there.
        is_refused(
            ("GET", &format!("{udm}/nudm-sdm/v2/imsi-001010000000999/am-data"), json, ""),
            404,
            "USER_NOT_FOUND",
        )
        .await?;
        let nobody = format!("{amf}/namf-comm/v1/ue-contexts/imsi-001010000000999/n1-n2-messages");
        is_refused(("POST", &nobody, json, r#"{"pduSessionId": 1}"#), 404, "CONTEXT_NOT_FOUND")
            .await?;
        witness.is_untouched().await?;

        // What is no HTTP ends its connection.
        for junk in [
            &b"\x00\x01\x02\x03junk\r\n\r\n"[..],
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            let mut stream = tokio::net::TcpStream::connect("127.0.0.17:7777").await?;
            stream.write_all(junk).await?;
            let mut said = Vec::new();
            let ended = tokio::time::timeout(
                std::time::Duration::from_secs(5),
                stream.read_to_end(&mut said),
            )
            .await;
            ensure!(ended.is_ok(), "the connection ends");
        }
        witness.and_all_is_well().await
    });
}
