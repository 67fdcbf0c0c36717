//! The configuration as a text, and its slices, networks, policies and classifiers by field.
use super::*;
use martlet_tests::in_namespace;

#[test]
fn a_policy_is_changed_over_the_api_and_the_rest_needs_a_restart() {
    in_namespace(|| async {
        let site = api_site("api-configuration")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let read = api.request("GET", "/configuration", None)?.expect(200)?;
        let text = read.body["text"].as_str().context("a text")?.to_string();
        let changed = format!("{text}pcf: {{ default_5qi: 8 }}\nsmf: {{ max_sessions: 77 }}\n");
        let body = || Some(json!({"text": changed}));
        let checked = api.post("/configuration/check", json!({"text": changed}))?.expect(200)?;
        ensure!(checked.body["restart"] == json!(["smf.max_sessions"]), "{}", checked.body);
        let wrong = json!({"text": format!("{text}pcf: {{ defualt_5qi: 8 }}\n")});
        let refused = api.post("/configuration/check", wrong)?.expect(400)?;
        ensure!(refused.body["detail"].to_string().contains("defualt_5qi"), "{}", refused.body);
        let write = api.with("if-match", &read.tag()?);
        let done = write.request("PUT", "/configuration", body())?.expect(200)?;
        ensure!(done.body["applied"].to_string().contains("pcf"), "{}", done.body);
        ensure!(api.get("/policies")?["default_5qi"] == 8);
        write.request("PUT", "/configuration", body())?.expect(412)?;

        let folder = site.0.join("backup");
        let made = api.post("/backups", json!({"folder": folder}))?.expect(202)?.body;
        let give_up = Instant::now() + Duration::from_secs(60);
        let id = made["id"].as_str().context("a job")?;
        while api.get(&format!("/jobs/{id}"))?["state"] != "succeeded" {
            ensure!(Instant::now() < give_up, "{}", api.get(&format!("/jobs/{id}"))?);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        ensure!(folder.join("subscribers.db").exists() && folder.join("operator.key").exists());
        api.post("/backups", json!({"folder": "../x"}))?.expect(400)?;
        core.stop()
    });
}

fn fields_of(problem: &Value) -> Vec<String> {
    let errors = problem["errors"].as_array().into_iter().flatten();
    errors.filter_map(|error| error["field"].as_str().map(str::to_string)).collect()
}

#[test]
fn slices_networks_policies_and_classifiers_are_changed_by_their_fields() {
    in_namespace(|| async {
        let site = api_site("api-services")?;
        let config = std::fs::read_to_string(site.config())?;
        let commented = format!("{config}# Policies of this site.\npcf:\n  default_arp: 7 # low\n");
        std::fs::write(site.config(), commented)?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let put = |path: &str, tag: &str, body: &Value| {
            api.with("if-match", tag).request("PUT", path, Some(body.clone()))
        };
        let read = api.request("GET", "/policies", None)?.expect(200)?;
        let (tag, present) = (read.tag()?, read.body);
        api.request("PUT", "/policies", Some(present.clone()))?.expect(428)?;
        let mut wrong = present.clone();
        wrong["default_arp"] = 16.into();
        wrong["flows"] = json!([{"name": "voice", "five_qi": 0, "filters": ["permit nothing"]}]);
        let refused = put("/policies", &tag, &wrong)?.expect(400)?;
        let fields = fields_of(&refused.body);
        for field in ["default_arp", "flows[0].five_qi"] {
            ensure!(fields.iter().any(|of| of == field), "{field} is not in {}", refused.body);
        }
        let mut wanted = present.clone();
        wanted["default_5qi"] = 8.into();
        wanted["flows"] = json!([{"name": "voice", "five_qi": 1, "precedence": 10,
            "filters": ["permit out 17 from 10.0.0.0/8 5060 to assigned"],
            "guaranteed_uplink": "100 Kbps", "guaranteed_downlink": "100 Kbps"}]);
        let preview = put("/policies?dry_run=true", &tag, &wanted)?.expect(200)?.body;
        let lines = preview["difference"].to_string();
        ensure!(lines.contains("+   default_5qi: 8") && lines.contains("voice"), "{preview}");
        ensure!(api.get("/policies")? == present, "a preview changed something");
        let done = put("/policies", &tag, &wanted)?.expect(200)?.body;
        ensure!(
            done["applied"].to_string().contains("pcf") && done["restart"] == json!([]),
            "{done}"
        );
        ensure!(api.get("/policies")?["flows"][0]["name"] == "voice");
        let text = std::fs::read_to_string(site.config())?;
        ensure!(text.contains("# Policies of this site.") && text.contains("# low"), "{text}");
        // A stale edit overwrites nothing.
        put("/policies", &tag, &present)?.expect(412)?;
        ensure!(api.get("/policies")?["default_5qi"] == 8);

        let read = api.request("GET", "/data-networks", None)?.expect(200)?;
        let mut networks = json!({"networks": read.body["networks"]});
        networks["networks"][0]["pool"] = "10.45.0.1/16".into();
        let refused = put("/data-networks", &read.tag()?, &networks)?.expect(400)?.body;
        ensure!(fields_of(&refused).contains(&"networks[0].pool".into()), "{refused}");
        networks["networks"] = read.body["networks"].clone();
        // The data network has an IPv6 pool.
        for wrong in [0, 1279] {
            networks["networks"][0]["mtu"] = wrong.into();
            let refused = put("/data-networks", &read.tag()?, &networks)?.expect(400)?.body;
            ensure!(fields_of(&refused) == ["networks[0].mtu"], "{refused}");
            ensure!(refused.to_string().contains("write 1280 or more"), "{refused}");
        }
        networks["networks"][0]["mtu"] = 1300.into();
        let done = put("/data-networks", &read.tag()?, &networks)?.expect(200)?.body;
        ensure!(done["restart"] == json!(["smf.dnns"]), "{done}");
        ensure!(api.get("/data-networks")?["networks"][0]["mtu"] == 1300);

        let read = api.request("GET", "/uplink-classifiers", None)?.expect(200)?;
        let classifier = |via: &str| {
            json!({"classifiers": [{"dnn": "internet", "via": via,
                "local": ["permit out ip from 10.98.0.0/16 to assigned"]}]})
        };
        let refused = put("/uplink-classifiers", &read.tag()?, &classifier("192.0.2.1:8805"))?;
        let refused = refused.expect(400)?.body;
        ensure!(fields_of(&refused).contains(&"classifiers[0].via".into()), "{refused}");
        let upf = read.body["upfs"][0].as_str().context("a UPF")?;
        let preview = put("/uplink-classifiers?dry_run=true", &read.tag()?, &classifier(upf))?;
        ensure!(preview.expect(200)?.body["restart"] == json!(["smf.branching"]));

        let read = api.request("GET", "/slices", None)?.expect(200)?;
        let slices = |sd: &str| json!({"slices": [{"sst": 1}, {"sst": 1, "sd": sd}]});
        let refused = put("/slices", &read.tag()?, &slices("x"))?.expect(400)?.body;
        ensure!(refused["field"].as_str().is_some_and(|f| f.starts_with("slices[1]")), "{refused}");
        let done = put("/slices", &read.tag()?, &slices("0000a7"))?.expect(200)?.body;
        // What needs a restart is said until there is one.
        ensure!(done["restart"] == json!(["network.slices", "smf.dnns"]), "{done}");
        ensure!(api.get("/slices")?["smf"][1]["sd"] == "0000a7", "{}", api.get("/slices")?);
        core.stop()?;
        // The file that the API wrote starts a core.
        site.start(&[])?.stop()
    });
}
