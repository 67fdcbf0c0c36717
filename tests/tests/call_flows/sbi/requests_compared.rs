//! The requests of the network functions, as the table in `docs/interop.md` compares them with
//! those of other vendors.
use crate::security::scas::{peer, problem};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_sbi_api::nnrf_nfmanagement::{NfManagementClient, NfProfile, NfStatus, NfType};
use martlet_smf::ChargingMode;
use martlet_tests::{
    GATEWAY, TestCore, compared_requests, eventually, in_namespace, internet, reaches,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// An operation as `service!` declares it.
struct Declared {
    /// `service operation`.
    name: String,
    /// The method of the client.
    method: String,
    /// The type of the client.
    client: String,
}

/// The operations that a source file declares.
fn declared(source: &str) -> Vec<Declared> {
    let mut all = Vec::new();
    for service in source.split("service! {").skip(1) {
        let header = service.split('{').next().unwrap_or_default();
        let types = header.split_once("pub ").map_or("", |(_, types)| types);
        let client = types.split('/').nth(1).unwrap_or_default().trim();
        let api = header.split('"').nth(1).unwrap_or_default();
        let words: Vec<&str> = service.split_whitespace().collect();
        for words in words.windows(3) {
            let ["op" | "callback", method, name] = words else { continue };
            let Some(name) = name.strip_prefix('"').and_then(|name| name.split('"').next()) else {
                continue;
            };
            all.push(Declared {
                name: format!("{api} {name}"),
                method: method.to_string(),
                client: client.to_string(),
            });
        }
    }
    all
}

/// The Rust sources below a folder, without those of tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_of_tests = path.file_stem().is_some_and(|name| name == "tests");
        match path.is_dir() {
            _ if is_of_tests => {}
            true => sources(&path, found)?,
            false if path.extension().is_some_and(|it| it == "rs") => found.push(path),
            false => {}
        }
    }
    Ok(())
}

/// Whether a source calls a method of another value than `self`.
fn calls(source: &str, method: &str) -> bool {
    let called = format!(".{method}(");
    source.match_indices(&called).any(|(at, _)| !source[..at].trim_end().ends_with("self"))
}

/// The operations of 3GPP that a function requests, by their calls in the sources.
fn sent() -> Result<BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    sources(&root.join("sbi/api/src"), &mut files)?;
    let mut all = Vec::new();
    for file in files {
        all.extend(declared(&read_to_string(file)?));
    }
    ensure!(all.len() > 120, "only {} operations are declared", all.len());
    let mut clients: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for operation in &all {
        clients.entry(&operation.method).or_default().insert(&operation.client);
    }
    let mut files = Vec::new();
    for function in std::fs::read_dir(root.join("nf"))? {
        let folder = function?.path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut files)?;
        }
    }
    let mut sent = BTreeSet::new();
    for file in files {
        let source = read_to_string(file)?;
        let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for operation in &all {
            // Several services can have a method of the same name.
            let is_unique = clients[operation.method.as_str()].len() == 1;
            if calls(source, &operation.method) && (is_unique || source.contains(&operation.client))
            {
                sent.insert(operation.name.clone());
            }
        }
    }
    sent.retain(|operation| !operation.starts_with("nmartlet-"));
    Ok(sent)
}

/// A request that is added to a function needs a row of the table, and so a comparison.
#[test]
fn each_request_has_a_row_of_the_table() -> Result<()> {
    let (sent, rows) = (sent()?, compared_requests()?);
    let without: Vec<_> = sent.iter().filter(|request| !rows.contains_key(*request)).collect();
    ensure!(without.is_empty(), "docs/interop.md has no row for {without:?}");
    let stale: Vec<_> = rows.keys().filter(|request| !sent.contains(*request)).collect();
    ensure!(stale.is_empty(), "docs/interop.md has rows of requests that are not sent: {stale:?}");
    Ok(())
}

#[test]
fn calls_are_found_in_sources() {
    let source = "service! {\n    /// Doc.\n    pub A / AClient / TABLE\n        \
                  = \"na\" / \"v1\" {\n\
                  op get_it\n \"GetIt\": GET \"/{id}\",\n \
                  callback tell \"Tell\": POST \"/\", } }";
    let all = declared(source);
    let names: Vec<_> = all.iter().map(|one| (&*one.name, &*one.method, &*one.client)).collect();
    assert_eq!(names, [("na GetIt", "get_it", "AClient"), ("na Tell", "tell", "AClient")]);
    assert!(calls("client\n    .get_it(1)", "get_it"));
    assert!(!calls("self.get_it(1)", "get_it") && !calls("it.get_it.id", "get_it"));
}

fn requests(core: &TestCore, operation: &str) -> Vec<(Value, Value)> {
    core.sbi_record.requests(operation)
}

/// Each request of these procedures has the members that the table says.
#[test]
fn requests_have_the_members_of_the_table() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            config.chf.enabled = true;
            config.smf.charging.mode = ChargingMode::Offline;
            config.amf.network_name.time_zone = Some("+02:00".into());
            config.smf.set = serde_json::from_value(json!({"id": "1", "member": 0})).ok();
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let second = ue.establish_pdu_session(internet()).await?.psi;
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.release_pdu_session(second).await?;
        ue.deregister().await?;
        core.until_all_released().await?;
        core.sbi_record.check_members()?;
        let set = "set1.smfset.5gc.mnc001.mcc001";
        for (_, registration) in requests(&core, "nudm-uecm Registration") {
            ensure!(registration["smfSetId"] == set, "{registration}");
        }
        for (query, _) in requests(&core, "nudm-uecm SmfDeregistration") {
            ensure!(query["smf-set-id"] == set, "{query}");
        }
        for operation in ["Create", "Release"] {
            let operation = format!("nchf-convergedcharging {operation}");
            for (_, request) in requests(&core, &operation) {
                let information = &request["pDUSessionChargingInformation"];
                ensure!(information["uetimeZone"] == "+02:00", "{operation}: {request}");
                let serving = &information["pduSessionInformation"]["servingNetworkFunctionID"];
                let amf = &serving["servingNetworkFunctionInformation"];
                ensure!(amf["nFPLMNID"]["mcc"] == "001", "{operation}: {request}");
            }
        }
        core.sbi_record.check(&["nchf-convergedcharging Release"]).await
    });
}

/// The NRF knows who asks, so that it does not notify a function of itself, and so that NRFs of
/// others get a token for the one that they notify.
#[test]
fn nrf_gets_slices_access_and_the_requester() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        core.register_use_session_and_deregister(&gnb, 1).await?;
        let registered: BTreeMap<String, Value> = requests(&core, "nnrf-nfm RegisterNFInstance")
            .into_iter()
            .filter_map(|(_, body)| Some((body["nfInstanceId"].as_str()?.to_string(), body)))
            .collect();
        let of_type = |kind: &str| {
            let found = registered.values().find(|profile| profile["nfType"] == kind);
            found.with_context(|| format!("no {kind} registered"))
        };
        let amf = of_type("AMF")?;
        let slices = &amf["perPlmnSnssaiList"][0];
        ensure!(slices["plmnId"]["mcc"] == "001" && slices["sNssaiList"][0]["sst"] == 1, "{amf}");
        ensure!(amf["nfInstanceName"].is_string(), "{amf}");
        let smf = of_type("SMF")?;
        ensure!(smf["smfInfo"]["accessType"] == json!(["3GPP_ACCESS"]), "{smf}");

        let searches = requests(&core, "nnrf-disc SearchNFInstances");
        ensure!(!searches.is_empty(), "no discovery");
        for (query, _) in searches {
            let requester = query["requester-nf-instance-id"].as_str().and_then(|id| {
                let profile = registered.get(id)?;
                Some(profile["nfType"] == query["requester-nf-type"])
            });
            ensure!(requester == Some(true), "{query}");
        }
        let subscriptions = requests(&core, "nnrf-nfm CreateSubscription");
        ensure!(!subscriptions.is_empty(), "no subscription");
        for (_, subscription) in subscriptions {
            let id = subscription["reqNfInstanceId"].as_str().unwrap_or_default();
            let profile = registered.get(id).with_context(|| subscription.to_string())?;
            ensure!(profile["nfType"] == subscription["reqNfType"], "{subscription}");
            ensure!(subscription["requesterFeatures"] == "1", "{subscription}");
            let events = subscription["reqNotifEvents"].as_array().map(Vec::len);
            ensure!(events == Some(3), "{subscription}");
        }

        // A further UDM: its consumers are notified, each with its subscription.
        let id = "5c1d3b26-6a7f-4a52-9d1f-4f6b8b8d2a01";
        let parsed = id.parse().context("an ID")?;
        let mut profile = NfProfile::new(parsed, NfType::Udm, NfStatus::Registered);
        profile.ipv4_addresses = Some(vec![[127, 0, 0, 90].into()]);
        let std::net::IpAddr::V4(nrf) = core.config().sbi.nrf.first().ip() else {
            anyhow::bail!("the tests use IPv4");
        };
        let nrf = NfManagementClient::new(peer(nrf.octets()[3])?);
        nrf.register_nf_instance(id, profile).await.map_err(problem)?;
        let notified = || requests(&core, "nnrf-nfstatus-callback NFStatusNotify");
        let of_it = || {
            let of_it = |(_, body): &(Value, Value)| body["nfProfile"]["nfInstanceId"] == id;
            let found: Vec<_> = notified().into_iter().filter(of_it).collect();
            (!found.is_empty()).then_some(found)
        };
        let found =
            eventually("a notification of the UDM", of_it, || format!("{:?}", notified())).await?;
        for (_, body) in found {
            let subscription = &body["subscriptionContext"];
            ensure!(subscription["subscriptionId"].is_string(), "{body}");
            ensure!(subscription["subscrCond"]["nfType"] == "UDM", "{body}");
        }
        core.sbi_record
            .check(&["nnrf-nfm CreateSubscription", "nnrf-nfstatus-callback NFStatusNotify"])
            .await
    });
}
