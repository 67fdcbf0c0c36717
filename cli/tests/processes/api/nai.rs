//! A SUPI that is a network-specific identifier of the longest length (TS 23.003, 28.7.2): wherever
//! the API takes a SUPI.
use super::*;
use martlet_tests::in_namespace;

/// An NAI of 253 bytes.
fn longest_nai(user: &str) -> String {
    let realm = "plant.example.com";
    format!("{user}{}@{realm}", "u".repeat(253 - user.len() - 1 - realm.len()))
}

#[test]
fn a_subscriber_with_the_longest_nai_is_found_everywhere() {
    in_namespace(|| async {
        let site = api_site("api-nai")?;
        let config = std::fs::read_to_string(site.config())?;
        std::fs::write(site.config(), format!("{config}chf: {{ enabled: true }}\n"))?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        // The second one has what a path or a query has to encode (RFC 7542, 2.2).
        let second = "sensor-2/a?b#c%2Fd+e\u{e9}";
        let (first, second) = (longest_nai("sensor-1"), longest_nai(second));
        let body = |nai: &str| {
            let mut body = subscriber(1);
            body["supi"] = format!("nai-{nai}").into();
            body
        };
        for nai in [&first, &second] {
            api.post("/subscribers", body(nai))?.expect(201)?;
        }
        let refused = api.post("/subscribers", body(&format!("a{first}")))?.expect(400)?.body;
        ensure!(refused["field"] == "supi", "{refused}");

        // The cursor of a page has the whole SUPI.
        let both = [format!("nai-{first}"), format!("nai-{second}")];
        ensure!(supis(&api, "/subscribers?limit=1&search=nai-sensor")? == both);
        let descending = supis(&api, "/subscribers?limit=1&search=nai-sensor&order=desc")?;
        ensure!(descending.iter().eq(both.iter().rev()), "{descending:?}");
        ensure!(supis(&api, &format!("/subscribers?limit=10&search=nai-{first}"))? == both[..1]);

        let gnb = gnb().await?;
        let mut ues = Vec::new();
        for (n, nai) in [(1, &first), (2, &second)] {
            let mut config = ue_config(n)?;
            config.nai = Some(nai.clone());
            let ue = gnb.new_ue(config)?;
            ue.register().await?;
            ues.push(ue);
        }
        // The AMF may have yet to take REGISTRATION COMPLETE.
        let give_up = Instant::now() + Duration::from_secs(60);
        while supis(&api, "/ues?limit=1&search=nai-sensor")? != both {
            ensure!(Instant::now() < give_up, "{}", api.get("/ues")?);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        for search in [first.clone(), format!("nai-{first}")] {
            ensure!(supis(&api, &format!("/ues?limit=10&search={search}"))? == both[..1]);
        }
        let beyond = format!("/ues?search=nai-{first}m");
        api.request("GET", &beyond, None)?.expect(400)?;

        ensure!(api.get(&format!("/ues/nai-{first}"))?["state"] == "registered, connected");
        let segment = martlet_sbi::path_segment(&both[1]).into_owned();
        ensure!(api.get(&format!("/subscribers/{segment}"))?["supi"] == both[1]);
        let path = format!("/ues/{segment}");
        let shown = api.get(&path)?;
        ensure!(shown["supi"] == both[1] && shown["state"] == "registered, connected", "{shown}");
        ues[1].establish_pdu_session(martlet_ran::PduSessionRequest::default()).await?;
        let sessions = api.get(&format!("{path}/sessions"))?;
        ensure!(sessions.as_array().is_some_and(|all| all.len() == 1), "{sessions}");
        let quota = Some(json!({"bytes": 1_000_000}));
        let charging = format!("/charging/{segment}");
        api.with("if-match", "*").request("PUT", &charging, quota)?.expect(200)?;
        let account = api.get(&charging)?;
        ensure!(account["accounts"][&both[1]]["left"].is_u64(), "{account}");
        // The UE has no LPP: the AMF knows it, and the LMF refuses.
        let located = tokio::task::spawn_blocking({
            let (api, path) = (api.clone(), format!("{path}/location"));
            move || api.post(&path, json!({}))
        });
        let located = located.await??;
        ensure!(located.status != 400 && located.status != 404, "{located:?}");
        // Entries are written once a second.
        let give_up = Instant::now() + Duration::from_secs(60);
        loop {
            let history = api.get(&format!("{path}/history"))?.to_string();
            if history.contains("registered") {
                break;
            }
            ensure!(Instant::now() < give_up, "{history}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let commands = [
            (&["ue", &both[1], "history"][..], "registered"),
            (&["charging", &both[1]], "sensor-2/"),
        ];
        for (arguments, expected) in commands {
            let mut command = std::process::Command::new(MARTLET);
            let shown = command.args(arguments).arg("-c").arg(site.config()).output()?;
            let text = String::from_utf8_lossy(&shown.stdout);
            let error = String::from_utf8_lossy(&shown.stderr);
            ensure!(shown.status.success() && text.contains(expected), "{text}{error}");
        }
        let recording = api.post(&format!("{path}/messages"), json!({"seconds": 1}))?;
        let recording = ended(&api, &recording.expect(202)?.body, Duration::from_secs(60))?;
        ensure!(recording["state"] == "succeeded", "{recording}");
        let periodic = json!({"supi": both[1], "interval_s": 60, "seconds": 60});
        api.post("/location-requests", periodic)?.expect(201)?;
        let select = json!({"select": {"supis": both}, "add_groups": ["sensors"]});
        let changed = api.post("/subscriber-changes", select)?.expect(202)?.body;
        let changed = ended(&api, &changed, Duration::from_secs(60))?;
        ensure!(changed["result"]["done"] == 2, "{changed}");
        let done = tokio::task::spawn_blocking({
            let (api, path) = (api.clone(), path.clone());
            move || api.post(&format!("{path}/release"), json!({}))
        });
        done.await??.expect(200)?;
        let log = api.get(&format!("/audit?target={segment}"))?;
        let actions: Vec<_> = log["items"].as_array().into_iter().flatten().collect();
        for what in ["subscriber.create", "ue.record-messages", "ue.release"] {
            ensure!(actions.iter().any(|entry| entry["what"] == what), "no {what} in {log}");
        }
        core.stop()
    });
}
