//! What HTTP adds: cookies, caching, sizes of bodies, TLS, and pages of other sites.
use super::*;
use martlet_tests::in_namespace;

/// OWASP ASVS V3.1.1, V8.2.1, V12.1.1, V13.1.3.
#[test]
fn secrets_are_no_parameters_answers_are_not_cached_and_bodies_are_bounded() {
    in_namespace(|| async {
        let site = api_site("api-asvs")?;
        let core = site.start(&[])?;
        let local = Caller::socket(&site);
        let user = json!({"name": "vera", "role": "viewer", "password": "first passphrase"});
        local.post("/users", user)?.expect(201)?;
        let body = json!({"name": "ci", "days": 1, "user": "vera", "scopes": ["read"]});
        let made = local.post("/tokens", body)?.expect(201)?;
        ensure!(made.header("cache-control") == Some("no-store"), "{made:?}");
        let token = made.body["token"].as_str().context("a token")?;
        let bearer = Caller::tcp().with("authorization", &format!("Bearer {token}"));
        for (caller, path, status) in [
            (&bearer, "/subscribers", 200),
            (&bearer, "/users", 403),
            (&bearer, "/nothing", 403),
            (&Caller::tcp(), "/subscribers", 401),
        ] {
            let answer = caller.request("GET", path, None)?.expect(status)?;
            ensure!(answer.header("cache-control") == Some("no-store"), "{path}: {answer:?}");
        }
        for name in ["token", "access_token", "authorization"] {
            let path = format!("/subscribers?{name}={token}");
            Caller::tcp().request("GET", &path, None)?.expect(401)?;
        }
        let session = Caller::tcp().sign_in("vera", "first passphrase")?;
        let cookie = session.headers[0].1.replace('=', "%3D");
        Caller::tcp().request("GET", &format!("/session?cookie={cookie}"), None)?.expect(401)?;
        // Who is not signed in sends no more than a sign-in needs.
        let long = json!({"user": "vera", "password": "x".repeat(5000)});
        Caller::tcp().post("/session", long)?.expect(413)?;
        // Nor with an idempotency key, for which the body is read first: the answer comes before
        // the rest of the body.
        let mut stream = std::net::TcpStream::connect(ADDRESS)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let head = format!(
            "POST /api/v1/session HTTP/1.1\r\nhost: {ADDRESS}\r\ncontent-type: \
             application/json\r\nidempotency-key: a-key-without-caller\r\ncontent-length: \
             1000000\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&[b' '; 6000])?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        ensure!(status == *b"HTTP/1.1 413", "{}", String::from_utf8_lossy(&status));
        core.stop()
    });
}

/// OWASP ASVS V3.4.1 to V3.4.4, V9.1.2, V9.1.3: with TLS the cookie is Secure with the prefix
/// `__Host-`, and old versions of TLS are refused.
#[test]
fn cookies_over_tls_are_secure_and_old_versions_are_refused() {
    const SCRIPT: &str = r#"
import http.client, json, socket, ssl, sys, warnings
warnings.simplefilter("ignore")
def context(version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context
client = http.client.HTTPSConnection(
    "127.0.0.1", 9080, context=context(ssl.TLSVersion.TLSv1_3), timeout=5)
client.request("POST", "/api/v1/session", sys.argv[1], {"content-type": "application/json"})
response = client.getresponse()
print(response.status, response.headers["set-cookie"])
for version in [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1]:
    stream = socket.create_connection(("127.0.0.1", 9080), timeout=5)
    try:
        context(version).wrap_socket(stream)
        print("accepted", version)
    except ssl.SSLError as error:
        print("refused", error.reason)
"#;
    in_namespace(|| async {
        let site = api_site("api-tls")?;
        let pair = rcgen::generate_simple_self_signed(["127.0.0.1".to_string()])?;
        let (certificate, key) = (site.0.join("api.pem"), site.0.join("api.key"));
        std::fs::write(&certificate, pair.cert.pem())?;
        std::fs::write(&key, pair.signing_key.serialize_pem())?;
        let config = std::fs::read_to_string(site.config())?;
        let files = format!("enabled: true, certificate: {certificate:?}, key: {key:?},");
        std::fs::write(site.config(), config.replace("enabled: true,", &files))?;
        let core = site.start(&[])?;
        let body = json!({"user": "admin", "password": first_password(&site)?}).to_string();
        let python = tokio::process::Command::new("python3").args(["-c", SCRIPT, &body]).output();
        let output = python.await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{text}{errors}");
        let cookie = text.lines().find(|line| line.starts_with("200 ")).context("a cookie")?;
        for part in ["__Host-martlet-session=", "Path=/", "HttpOnly", "SameSite=Strict"] {
            ensure!(cookie.contains(part), "{part} is not in {cookie}");
        }
        ensure!(cookie.contains("; Secure") && !cookie.contains("Domain"), "{cookie}");
        ensure!(text.matches("refused").count() == 3, "{text}");
        core.stop()
    });
}

/// cert-manager and ACME clients renew the certificate while the core runs.
#[test]
fn a_renewed_certificate_is_used_without_a_restart() {
    // Keeps a connection, and prints the certificate of a new one for each line that it reads.
    const SCRIPT: &str = r#"
import http.client, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
kept = http.client.HTTPSConnection("127.0.0.1", 9080, context=context, timeout=20)
kept.connect()
socket = kept.sock
for line in sys.stdin:
    kept.request("GET", "/api/v1/openapi.json")
    response = kept.getresponse()
    response.read()
    new = ssl.get_server_certificate(("127.0.0.1", 9080)).encode().hex()
    print(kept.sock is socket, new, flush=True)
"#;
    in_namespace(|| async {
        let site = api_site("api-renewed")?;
        let folder = site.0.join("tls");
        std::fs::create_dir(&folder)?;
        let (certificate, key) = (folder.join("tls.crt"), folder.join("tls.key"));
        let make = || rcgen::generate_simple_self_signed(["127.0.0.1".to_string()]);
        let first = make()?;
        std::fs::write(&certificate, first.cert.pem())?;
        std::fs::write(&key, first.signing_key.serialize_pem())?;
        let config = std::fs::read_to_string(site.config())?;
        let files = format!("enabled: true, certificate: {certificate:?}, key: {key:?},");
        std::fs::write(site.config(), config.replace("enabled: true,", &files))?;
        let core = site.start(&[])?;
        let mut client = std::process::Command::new("python3")
            .args(["-c", SCRIPT])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()?;
        let mut ask = client.stdin.take().context("a pipe")?;
        let mut answers = std::io::BufReader::new(client.stdout.take().context("a pipe")?);
        let mut new_connection = || -> Result<String> {
            ask.write_all(b"\n")?;
            let mut line = String::new();
            std::io::BufRead::read_line(&mut answers, &mut line)?;
            let new = line.trim().strip_prefix("True ").context("the connection was lost")?;
            Ok(String::from_utf8(hex::decode(new)?)?.split_whitespace().collect())
        };
        let text = |pem: String| pem.split_whitespace().collect::<String>();
        ensure!(new_connection()? == text(first.cert.pem()), "the first certificate");

        let replace = |file: &std::path::Path, text: String| -> Result<()> {
            let new = folder.join("new");
            std::fs::write(&new, text)?;
            Ok(std::fs::rename(&new, file)?)
        };
        let reload = || -> Result<()> {
            let pid = nix::unistd::Pid::from_raw(core.id() as i32);
            Ok(nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP)?)
        };
        let log_has = async |text: &str| -> Result<()> {
            let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
            loop {
                let log = std::fs::read_to_string(site.0.join("core.log"))?;
                if log.contains(text) {
                    return Ok(());
                }
                ensure!(tokio::time::Instant::now() < give_up, "{text} is not in {log}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let second = make()?;
        replace(&certificate, second.cert.pem())?;
        reload()?;
        log_has("changed certificate files not used").await?;
        ensure!(new_connection()? == text(first.cert.pem()), "half of the pair is not used");
        replace(&key, second.signing_key.serialize_pem())?;
        reload()?;
        // The core logs warnings alone.
        let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
        while new_connection()? != text(second.cert.pem()) {
            ensure!(tokio::time::Instant::now() < give_up, "the renewed pair is not used");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        drop(ask);
        client.wait()?;
        core.stop()
    });
}

/// A page of another site, also one whose name leads to this machine by DNS rebinding, reads and
/// changes nothing, not even in the browser of a user who is signed in.
#[test]
fn attack_web_page_asks_the_api() {
    in_namespace(|| async {
        let site = api_site("api-web")?;
        let core = site.start(&[])?;
        let password = first_password(&site)?;
        let admin = Caller::tcp().sign_in("admin", &password)?;
        admin.change_password(&password, "a correct horse battery")?;
        let own = admin.with("origin", &format!("http://{ADDRESS}"));
        own.request("GET", "/ues", None)?.expect(200)?;
        for origin in ["https://evil.example", "null", "http://127.0.0.1:9090"] {
            let page = admin.with("origin", origin);
            page.request("GET", "/ues", None)?.expect(403)?;
            page.post("/subscribers", subscriber(7))?.expect(403)?;
        }
        admin.with("sec-fetch-site", "cross-site").request("GET", "/ues", None)?.expect(403)?;
        for host in ["evil.example", "evil.example:9080"] {
            admin.with("host", host).request("GET", "/ues", None)?.expect(421)?;
        }
        // The page itself may not be framed, and takes scripts from its origin alone.
        let mut stream = std::net::TcpStream::connect(ADDRESS)?;
        write!(stream, "GET / HTTP/1.1\r\nhost: {ADDRESS}\r\nconnection: close\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        let head = page.to_lowercase();
        ensure!(head.contains("script-src 'self'") && head.contains("frame-ancestors 'none'"));
        ensure!(!head.contains("unsafe-inline"), "{page}");
        let head = head.split_once("\r\n\r\n").context("a head")?.0;
        for line in ["x-content-type-options: nosniff", "referrer-policy: no-referrer"] {
            ensure!(head.contains(line), "no {line} in {head}");
        }
        // Nothing names the program or its version.
        for name in ["server:", "x-powered-by:", "martlet", env!("CARGO_PKG_VERSION")] {
            ensure!(!head.contains(name), "{name} is in {head}");
        }
        core.stop()
    });
}
