//! TLS to a PostgreSQL server, with certificates that are right and wrong.
use martlet_store::testing::TestPostgres;
use martlet_store::{DatabaseUrl, Secret, Store, StoreError, Subscriber, tls_clients};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// An authority, a certificate of a server for a name, and one that has expired.
fn certificates(folder: &Path, name: &str) -> Vec<(String, String)> {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, &key);
    let own = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_string()]).unwrap();
    let certificate = params.signed_by(&own, &issuer).unwrap();
    params.not_after = rcgen::date_time_ymd(2020, 1, 2);
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    let expired = params.signed_by(&own, &issuer).unwrap();
    let path = |file: &str| folder.join(file).display().to_string();
    vec![
        (path("ca.pem"), authority.pem()),
        (path("server.pem"), certificate.pem()),
        (path("expired.pem"), expired.pem()),
        (path("server-key.pem"), own.serialize_pem()),
    ]
}

/// A free port that the kernel gives to no other program, also while the server restarts: it is
/// below those that connections and listeners at port 0 get, unless these begin at 1024.
fn free_port() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let end: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
    let (first, end) = if end > 2048 { (end / 2, end) } else { (1024, 32_768) };
    // Tests that run at the same time begin at different ports.
    let start = std::process::id() as usize % usize::from(end.checked_sub(first).unwrap());
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..end).cycle().skip(start).take(usize::from(end - first)).find(is_free).unwrap()
}

#[test]
fn the_certificate_and_its_name_are_checked() {
    let port = free_port();
    let started = TestPostgres::start_with("tls", |folder| {
        for (file, text) in certificates(folder, "localhost") {
            std::fs::write(&file, text)?;
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
        }
        let file = |name: &str| folder.join(name).display().to_string();
        Ok(vec![
            "listen_addresses=127.0.0.1".into(),
            format!("port={port}"),
            "ssl=on".into(),
            format!("ssl_cert_file={}", file("server.pem")),
            format!("ssl_key_file={}", file("server-key.pem")),
        ])
    });
    let Some(mut server) = started.unwrap() else { return };
    let root = server.folder().join("ca.pem");
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o644)).unwrap();
    let [certificate, expired] = ["server.pem", "expired.pem"].map(|f| server.folder().join(f));
    let key = server.folder().join("operator.key");
    let open = |host: &str, parameters: &str| {
        let url = format!("postgresql://martlet@{host}:{port}/postgres?{parameters}");
        Store::open_at(&DatabaseUrl::parse(&url), Some(&key))
    };
    let right = format!("sslmode=verify-full&sslrootcert={}", root.display());
    let store = open("localhost", &right).unwrap();
    let subscriber =
        Subscriber::new("imsi-001010000000001", Secret([1; 16]), Secret([2; 16]), "internet");
    store.add(&[subscriber], false).unwrap();
    assert_eq!(store.count().unwrap(), 1);
    let refused = |outcome: Result<Store, StoreError>, part: &str| {
        let error = outcome.err().expect("the connection is refused").to_string();
        assert!(error.contains(part), "{error}");
    };
    // A name that is not in the certificate, and an authority that has not signed it.
    refused(open("127.0.0.1", &right), "write a name of the server's certificate");
    refused(open("localhost", "sslmode=verify-full"), "sslrootcert");
    refused(open("localhost", "sslmode=prefer"), "sslmode=verify-full");
    // It expires while the store is open, and is renewed.
    let right_one = std::fs::read(&certificate).unwrap();
    std::fs::copy(&expired, &certificate).unwrap();
    server.restart().unwrap();
    let error = store.count().unwrap_err().to_string();
    assert!(error.contains("renew the server's certificate"), "{error}");
    refused(open("localhost", &right), "renew the server's certificate");
    std::fs::write(&certificate, right_one).unwrap();
    server.restart().unwrap();
    assert_eq!(store.count().unwrap(), 1);
    // The server has a certificate of another authority, which the store reads when it is asked to.
    let renewed = certificates(server.folder(), "localhost");
    let authority = std::fs::read(&root).unwrap();
    for (file, text) in &renewed {
        std::fs::write(file, text).unwrap();
    }
    std::fs::write(&root, authority).unwrap();
    server.restart().unwrap();
    assert!(store.count().is_err(), "the former authority");
    let client = tls_clients().into_iter().find(|client| client.files().contains(&root)).unwrap();
    std::fs::write(&root, "broken").unwrap();
    assert!(client.reload().unwrap_err().to_string().contains("ca.pem"));
    std::fs::write(&root, &renewed[0].1).unwrap();
    client.reload().unwrap();
    assert_eq!(store.count().unwrap(), 1);
}
