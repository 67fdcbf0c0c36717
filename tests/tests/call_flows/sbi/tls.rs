//! Mutual TLS and access tokens on the service-based interface (TS 33.501, 13).
use anyhow::{Context, Result, ensure};
use martlet::config::{Config, PkiFile};
use martlet::core::Sbi;
use martlet::pki;
use martlet_sbi::{ApiRoot, CallPolicy, Peer, Router};
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nnrf_oauth2::{AccessTokenReq, NrfAccessTokenClient};
use martlet_sbi_api::nudm_sdm::{AmDataQuery, UdmSubscriberDataManagementClient};
use martlet_sbi_http::{ClientLimits, HttpBinding, HttpServer, ServerLimits, Tls};
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A temporary folder of certificates.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Folder> {
        let folder =
            std::env::temp_dir().join(format!("martlet-pki-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        pki::init(&Config::default(), &folder, &[])?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn load(authority: &Path, own: &Path, name: &str) -> Result<Tls> {
    let file = |end: &str| own.join(format!("{name}{end}.pem"));
    Tls::load(&authority.join(PkiFile::AUTHORITY), &file(""), &file("-key"))
        .map_err(anyhow::Error::msg)
}

/// A client with this certificate, or without one.
fn peer(tls: Option<Tls>, at: &str) -> Result<Peer> {
    let binding =
        HttpBinding::new(ClientLimits { retries: 0, ..ClientLimits::default() }).with_tls(tls);
    let (root, _) = ApiRoot::split(at).context("not an API root")?;
    Ok(Peer::new(Arc::new(binding), root, "AMF", CallPolicy::default()))
}

/// TS 33.117, TC_PROTECT_TRANSPORT_LAYER and TC_AUTHORIZATION_TOKEN_VERIFICATION_FAILURE_ONE_PLMN,
/// of each function.
#[test]
fn ts_33_117_requests_need_a_client_certificate_and_a_token() {
    in_namespace(|| async {
        let folder = Folder::new("served")?;
        let path = folder.0.clone();
        let core = TestCore::start_on(Sbi::Http, move |config| {
            config.sbi.pki = path.display().to_string()
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.release_to_idle().await?;
        ue.service_request().await?;

        let (udm, nrf) = ("https://127.0.0.12:7777", "https://127.0.0.10:7777");
        let supi = "imsi-001010000000001";
        let ask = |peer: Peer| async move {
            UdmSubscriberDataManagementClient::new(peer)
                .get_am_data(supi, AmDataQuery::default())
                .await
        };
        // Rejected: no TLS, a certificate of another authority, no token.
        let plain = ask(peer(None, "http://127.0.0.12:7777")?).await;
        ensure!(plain.as_ref().is_err_and(|problem| problem.transport.is_some()), "{plain:?}");
        let others = Folder::new("others")?;
        let attacker = ask(peer(Some(load(&folder.0, &others.0, "amf")?), udm)?).await;
        ensure!(
            attacker.as_ref().is_err_and(|problem| problem.transport.is_some()),
            "{attacker:?}"
        );
        let tls = load(&folder.0, &folder.0, "amf")?;
        let known = ask(peer(Some(tls.clone()), udm)?).await;
        ensure!(known.as_ref().is_err_and(|problem| problem.status() == 401), "{known:?}");

        // The NRF issues tokens to registered functions only.
        let query = SearchQuery {
            target_nf_type: Some(NfType::Amf),
            requester_nf_type: Some(NfType::Smf),
            ..SearchQuery::default()
        };
        let found =
            NfDiscoveryClient::new(peer(Some(tls.clone()), nrf)?).search_nf_instances(query).await;
        let found = found.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let amf = found
            .nf_instances
            .first()
            .context("the AMF is not registered")?
            .nf_instance_id
            .to_string();
        // All functions of this core have one certificate.
        let own = load(&folder.0, &folder.0, "core")?;
        let tokens = NrfAccessTokenClient::new(peer(Some(own), nrf)?);
        let wanted = |id: &str, nf_type: &str, scope: &str| AccessTokenReq {
            grant_type: "client_credentials".into(),
            nf_instance_id: id.into(),
            nf_type: Some(nf_type.into()),
            target_nf_type: Some("UDM".into()),
            target_nf_instance_id: None,
            scope: scope.into(),
        };
        let token = tokens.access_token_request(wanted(&amf, "AMF", "nudm-sdm")).await;
        let token = token.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        ensure!(
            token.token_type == "Bearer" && token.access_token.split('.').count() == 3,
            "{token:?}"
        );
        for (id, nf_type) in
            [("11111111-1111-4111-8111-111111111111", "AMF"), (amf.as_str(), "SMF")]
        {
            let refused = tokens.access_token_request(wanted(id, nf_type, "nudm-sdm")).await;
            ensure!(
                refused.as_ref().is_err_and(|problem| problem.cause() == "invalid_client"),
                "{refused:?}"
            );
        }
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// The former certificates of both ends are revoked, so that a new connection shows which one is
/// used.
#[tokio::test]
async fn renewed_certificates_are_used_by_new_connections_and_old_ones_continue() -> Result<()> {
    let folder = Folder::new("renewed")?;
    let all = &folder.0;
    std::fs::remove_dir_all(all)?;
    pki::init(&Config::default(), all, &["127.0.0.1".into()])?;
    let mut config = Config::default();
    config.sbi.pki = all.display().to_string();
    let tls = |name: &str| config.sbi.tls(name)?.context("no certificate");
    let (server, client) = (tls("smf")?, tls("amf")?);
    let start = async |tls: &Tls| -> Result<String> {
        let limits = ServerLimits { tls: Some(tls.clone()), ..ServerLimits::default() };
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = HttpServer::bind(any, Arc::new(Router::new()), limits).await?;
        let at = format!("https://{}", server.local_addr()?);
        tokio::spawn(server.run());
        Ok(at)
    };
    let at = start(&server).await?;
    // No service is there: an answer without one shows the connection.
    let is_connected = async |peer: &Peer| {
        let search = NfDiscoveryClient::new(peer.clone());
        let answer = search.search_nf_instances(SearchQuery::default()).await;
        answer.is_err_and(|problem| problem.transport.is_none())
    };
    let established = peer(Some(client.clone()), &at)?;
    ensure!(is_connected(&established).await, "with the first certificates");

    let former = tls("amf")?;
    let former_server = start(&tls("smf")?).await?;
    for name in ["amf", "smf"] {
        std::fs::copy(all.join(format!("{name}.pem")), all.join(format!("former-{name}.pem")))?;
    }
    pki::renew(all, &["amf".into(), "smf".into()], pki::FUNCTION_DAYS)?;
    for name in ["amf", "smf"] {
        pki::revoke(all, &all.join(format!("former-{name}.pem")).display().to_string())?;
    }
    server.reload()?;
    ensure!(is_connected(&established).await, "the established connection continues");
    ensure!(!is_connected(&peer(Some(former), &at)?).await, "a revoked client is refused");
    ensure!(!is_connected(&peer(Some(client.clone()), &at)?).await, "not reloaded");
    client.reload()?;
    ensure!(is_connected(&peer(Some(client.clone()), &at)?).await, "both have new certificates");
    let with_former = is_connected(&peer(Some(client.clone()), &former_server)?).await;
    ensure!(!with_former, "a revoked server is refused");
    ensure!(is_connected(&established).await, "the established connection continues");

    // A list that was in force does not vanish with its file, or with the text in it.
    let revoked = all.join(PkiFile::REVOKED);
    std::fs::write(&revoked, "")?;
    for _ in 0..2 {
        let error = server.reload().err().map(|error| error.to_string()).unwrap_or_default();
        ensure!(error.contains("revocation list is missing"), "{error}");
        let _ = std::fs::remove_file(&revoked);
    }
    ensure!(is_connected(&peer(Some(client), &at)?).await, "what was in use is in use");
    Ok(())
}

#[test]
fn missing_certificate_file_is_named_in_the_error() {
    let folder = Folder::new("missing").expect("certificates");
    std::fs::remove_file(folder.0.join("amf-key.pem")).expect("the file exists");
    let mut config = Config::default();
    config.sbi.pki = folder.0.display().to_string();
    assert!(config.sbi.tls("smf").is_ok_and(|tls| tls.is_some()));
    let error = config.sbi.tls("amf").err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("amf-key.pem") && error.contains("pki init"), "{error}");
    assert!(pki::init(&config, &folder.0, &[]).is_err(), "an existing authority was overwritten");
}
