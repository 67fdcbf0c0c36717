//! Requests to locate a UE, and its track.
use super::*;
use martlet_tests::in_namespace;

#[test]
fn a_ue_is_located_periodically_and_its_track_is_removed() {
    in_namespace(|| async {
        let site = api_site("api-location")?;
        let config = std::fs::read_to_string(site.config())?;
        let cells = "lmf: { cells: [{ nr_cell_id: \"000001001\", pci: 1, lat: 54.0924, lon: \
                     12.0991 }] }\n";
        std::fs::write(site.config(), format!("{config}{cells}"))?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let points = api.get("/transmission-points")?;
        ensure!(points[0]["name"] == "000001001" && points[0]["latitude"] == 54.0924, "{points}");
        let gnb = gnb().await?;
        let ue = ue(&gnb, 1)?;
        ue.register().await?;
        let wrong = json!({"supi": "imsi-001010000000001", "interval_s": 0, "seconds": 60});
        let refused = api.post("/location-requests", wrong)?.expect(400)?.body;
        ensure!(refused["field"] == "interval_s", "{refused}");
        let body = json!({"supi": "imsi-001010000000001", "interval_s": 1, "seconds": 60});
        let started = api.post("/location-requests", body)?.expect(201)?.body;
        let path = format!("/location-requests/{}", started["id"].as_str().context("an id")?);
        let give_up = Instant::now() + Duration::from_secs(60);
        loop {
            let request = api.get(&path)?;
            let positions = request["positions"].as_array().context("positions")?;
            if positions.len() >= 2 {
                ensure!(positions[0]["semi_major"].as_f64().is_some_and(|m| m > 0.0), "{request}");
                ensure!(positions[0]["ms"].as_u64() < positions[1]["ms"].as_u64(), "{request}");
                break;
            }
            ensure!(Instant::now() < give_up, "{request}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // Tracks are not for viewers.
        let user = json!({"name": "vera", "role": "viewer", "password": "first passphrase"});
        api.post("/users", user)?.expect(201)?;
        let viewer = Caller::tcp().sign_in("vera", "first passphrase")?;
        viewer.change_password("first passphrase", "another passphrase")?;
        viewer.request("GET", "/location-requests", None)?.expect(403)?;
        let stopped = api.post(&format!("{path}/stop"), json!({}))?.expect(200)?.body;
        ensure!(stopped["state"] == "stopped", "{stopped}");
        let length = |request: &Value| request["positions"].as_array().map_or(0, Vec::len);
        ensure!(length(&api.get(&path)?) >= 2, "the track ends with the request");
        api.request("DELETE", &path, None)?.expect(204)?;
        api.request("GET", &path, None)?.expect(404)?;
        let interfaces = api.get("/interfaces")?["interfaces"].to_string();
        ensure!(interfaces.contains("gnb-1") && interfaces.contains("N4"), "{interfaces}");
        core.stop()
    });
}
