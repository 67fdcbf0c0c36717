//! Subscribers one by one, imported, in SIM batches, and changed as a group.
use super::*;
use martlet_tests::in_namespace;

#[test]
fn subscribers_with_conflicts_pages_idempotency_and_imports() {
    in_namespace(|| async {
        let site = api_site("api-subscribers")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let supi = "/subscribers/imsi-001010000000007";
        let once = api.with("idempotency-key", "a-key-of-this-test");
        once.post("/subscribers", subscriber(7))?.expect(201)?;
        let again = once.post("/subscribers", subscriber(7))?.expect(201)?;
        ensure!(again.header("idempotent-replay") == Some("true"), "{again:?}");
        once.post("/subscribers", subscriber(8))?.expect(422)?;
        api.post("/subscribers", subscriber(7))?.expect(409)?;

        let mut wrong = subscriber(9);
        wrong["slices"][0]["dnns"][0]["ambr_uplink"] = "fast".into();
        let refused = api.post("/subscribers", wrong)?.expect(400)?;
        ensure!(refused.header("content-type") == Some("application/problem+json"));
        ensure!(refused.body["field"] == "slices[0].dnns[0].ambr_uplink", "{}", refused.body);

        let read = api.request("GET", supi, None)?.expect(200)?;
        ensure!(!read.body.to_string().contains(KEY), "the key is shown");
        let tag = read.tag()?;
        let msisdn = |number: &str| Some(json!({"msisdn": number}));
        api.request("PATCH", supi, msisdn("491700000007"))?.expect(428)?;
        let changed = api.with("if-match", &tag).request("PATCH", supi, msisdn("491700000007"))?;
        let changed = changed.expect(200)?;
        ensure!(changed.body["msisdn"] == "491700000007");
        // A stale edit overwrites nothing.
        api.with("if-match", &tag).request("PATCH", supi, msisdn("491700000008"))?.expect(412)?;
        ensure!(api.get(supi)?["msisdn"] == "491700000007");

        let all: Vec<Value> = (20..60).map(subscriber).collect();
        let import = |dry_run| {
            let text = Value::from(all.clone()).to_string();
            json!({"format": "martlet", "text": text, "dry_run": dry_run, "replace": true})
        };
        let ended = |started: Value| ended(&api, &started, Duration::from_secs(60));
        let before = api.get("/subscribers")?["total"].clone();
        let dry = ended(api.post("/subscriber-imports", import(true))?.expect(202)?.body)?;
        ensure!(dry["result"]["new"] == 40, "{dry}");
        ensure!(api.get("/subscribers")?["total"] == before, "a dry run changed something");
        let done = ended(api.post("/subscriber-imports", import(false))?.expect(202)?.body)?;
        ensure!(done["state"] == "succeeded", "{done}");
        // The preview of another import names the fields that it would change, and no key.
        let mut other = all[0].clone();
        other["msisdn"] = "491700000020".into();
        other["key"] = "000102030405060708090a0b0c0d0e0f".into();
        let text = Value::from(vec![other]).to_string();
        let body = json!({"format": "martlet", "text": text, "dry_run": true});
        let preview = ended(api.post("/subscriber-imports", body)?.expect(202)?.body)?;
        let differences = json!([
            {"field": "msisdn", "before": all[0]["msisdn"], "after": "491700000020"},
            {"field": "key", "before": "(hidden)", "after": "(hidden)"},
        ]);
        ensure!(preview["result"]["first"][0]["differences"] == differences, "{preview}");

        let batch = json!({"name": "spring", "count": 5, "template": {
            "supi": "imsi-001010000001000", "slices": subscriber(1)["slices"]}});
        let made = api.post("/sim-batches", batch)?.expect(201)?.body;
        ensure!(made["sims"].as_array().is_some_and(|sims| sims.len() == 5), "{made}");
        ensure!(!api.get("/sim-batches")?.to_string().contains("opc"), "keys are shown again");

        let seen = supis(&api, "/subscribers?limit=7")?;
        ensure!(seen.len() as u64 == api.get("/subscribers")?["total"].as_u64().unwrap_or(0));
        ensure!(seen.is_sorted(), "{seen:?}");
        let descending = supis(&api, "/subscribers?limit=7&order=desc")?;
        ensure!(descending.iter().eq(seen.iter().rev()), "{descending:?}");
        api.request("GET", "/subscribers?order=down", None)?.expect(400)?;

        let tag = api.request("GET", supi, None)?.tag()?;
        api.with("if-match", &tag).request("DELETE", supi, None)?.expect(204)?;
        api.request("GET", supi, None)?.expect(404)?;
        core.stop()
    });
}

#[test]
fn a_group_of_subscribers_is_changed_by_a_job_with_a_preview() {
    in_namespace(|| async {
        let site = api_site("api-groups")?;
        site.subscribe(100, 40)?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let job = |body: Value| -> Result<Value> {
            let started = api.post("/subscriber-changes", body)?.expect(202)?.body;
            ended(&api, &started, Duration::from_secs(60))
        };
        let digits = json!({"imsi": "00101000000011"});
        let joined = job(json!({"select": digits, "add_groups": ["sensors"]}))?;
        ensure!(joined["result"]["done"] == 10, "{joined}");
        let groups = json!([{"name": "sensors", "subscribers": 10}]);
        ensure!(api.get("/subscriber-groups")? == groups);
        let page = api.get("/subscribers?group=sensors")?;
        ensure!(page["items"].as_array().is_some_and(|items| items.len() == 10), "{page}");

        let change = |more: Value| {
            let mut body = json!({"select": {"group": "sensors"}, "ambr_uplink": "5 Mbps",
                "data_network": {"name": "internet", "five_qi": 8}});
            if let (Some(members), Value::Object(more)) = (body.as_object_mut(), more) {
                members.extend(more);
            }
            body
        };
        let preview = job(change(json!({"dry_run": true})))?["result"].clone();
        ensure!(preview["matching"] == 10 && preview["changed"] == 10, "{preview}");
        ensure!(preview["fields"]["slices[0].dnns[0].five_qi"] == 10, "{preview}");
        ensure!(preview["first"][0]["differences"][0]["after"] == "5 Mbps", "{preview}");
        let path = "/subscribers/imsi-001010000000110";
        ensure!(api.get(path)?["ambr_uplink"] == "1 Gbps", "a preview changed something");

        // What was changed since the preview is a conflict.
        let msisdn = Some(json!({"msisdn": "491700000007"}));
        api.with("if-match", "*").request("PATCH", path, msisdn)?.expect(200)?;
        let version = json!({"version": preview["version"]});
        let stale = job(change(version))?;
        ensure!(stale["state"] == "failed", "{stale}");
        ensure!(stale["error"].to_string().contains("since the preview"), "{stale}");
        ensure!(api.get(path)?["ambr_uplink"] == "1 Gbps", "a stale change was made");

        let preview = job(change(json!({"dry_run": true})))?["result"].clone();
        let done = job(change(json!({"version": preview["version"]})))?;
        ensure!(done["state"] == "succeeded" && done["result"]["done"] == 10, "{done}");
        let changed = api.get(path)?;
        ensure!(changed["slices"][0]["dnns"][0]["five_qi"] == 8, "{changed}");
        ensure!(changed["msisdn"] == "491700000007", "{changed}");
        ensure!(api.get("/subscribers/imsi-001010000000100")?["ambr_uplink"] == "1 Gbps");
        let wrong = json!({"select": {"group": "sensors"}, "ambr_uplink": "fast"});
        let refused = api.post("/subscriber-changes", wrong)?.expect(400)?.body;
        ensure!(refused["field"] == "ambr_uplink" && refused["remedy"].is_string(), "{refused}");
        ensure!(api.get("/audit")?.to_string().contains("subscriber.change-many"));
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 110)?).await?;
        core.stop()
    });
}

/// TS 23.501, 5.8.2.2.3: a static address belongs to one subscription.
#[test]
fn a_static_address_of_another_subscriber_or_outside_the_pool_is_refused() {
    in_namespace(|| async {
        let site = api_site("api-static-addresses")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let with = |n: u64, ip: &str| {
            let mut body = subscriber(n);
            body["slices"][0]["dnns"][0]["static_ipv4"] = ip.into();
            body
        };
        let (path, field) = ("/subscribers/imsi-001010000000008", "slices[0].dnns[0].static_ipv4");
        api.post("/subscribers", with(7, "10.45.255.9"))?.expect(201)?;
        let refused = api.post("/subscribers", with(8, "10.45.255.9"))?.expect(409)?.body;
        ensure!(refused["field"] == field, "{refused}");
        let detail = "imsi-001010000000007 has the static address 10.45.255.9 in internet";
        ensure!(refused["detail"] == detail && refused["remedy"].is_string(), "{refused}");
        let outside = api.post("/subscribers", with(8, "10.46.0.9"))?.expect(400)?.body;
        ensure!(outside["field"] == field, "{outside}");

        api.post("/subscribers", with(8, "10.45.255.8"))?.expect(201)?;
        let any = api.with("if-match", "*");
        any.request("PUT", path, Some(with(8, "10.45.255.9")))?.expect(409)?;
        let slices = json!({"slices": with(8, "10.46.0.9")["slices"]});
        any.request("PATCH", path, Some(slices))?.expect(400)?;
        // Other fields are changed beside the address.
        any.request("PATCH", path, Some(json!({"ambr_uplink": "5 Mbps"})))?.expect(200)?;
        let stored = api.get(path)?;
        ensure!(stored["slices"][0]["dnns"][0]["static_ipv4"] == "10.45.255.8", "{stored}");

        for is_dry in [true, false] {
            let text = Value::from(vec![with(9, "10.45.255.9")]).to_string();
            let body = json!({"format": "martlet", "text": text, "dry_run": is_dry});
            let started = api.post("/subscriber-imports", body)?.expect(202)?.body;
            let failed = ended(&api, &started, Duration::from_secs(60))?;
            ensure!(failed["state"] == "failed", "{failed}");
            ensure!(failed["error"].to_string().contains(detail), "{failed}");
        }
        let batch = json!({"name": "fixed", "count": 2, "template": {
            "supi": "imsi-001010000002000", "slices": with(1, "10.45.255.7")["slices"]}});
        api.post("/sim-batches", batch)?.expect(409)?;
        core.stop()
    });
}
