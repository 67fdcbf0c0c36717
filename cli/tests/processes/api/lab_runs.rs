//! Runs of the lab that the API starts.
use super::*;

/// A run of the real program; `make release-lab` or `cargo build -p martlet-lab` builds it.
#[test]
fn a_quick_run_of_the_lab_is_started_over_the_api() {
    let program = std::path::Path::new(MARTLET).with_file_name("martlet-lab");
    if !program.exists() {
        return martlet_tests::skip("a quick run: martlet-lab is not built");
    }
    martlet_tests::in_namespace_within(Duration::from_secs(600), || async {
        let site = api_site("api-lab")?;
        let config = std::fs::read_to_string(site.config())?;
        let (reports, socket) = (site.0.join("lab"), site.0.join("lab.sock"));
        let lab = format!("lab_reports: {reports:?}, lab_socket: {socket:?}, enabled: true,");
        std::fs::write(site.config(), config.replace("enabled: true,", &lab))?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let without = api.get("/lab-runs")?;
        ensure!(without["available"] == false, "{without}");
        ensure!(without["remedy"].to_string().contains("install martlet-lab"), "{without}");
        let request = |name: &str| api.post("/lab-runs", json!({"experiment": name}));
        let refused = request("sbi")?.expect(422)?.body;
        ensure!(refused["detail"].to_string().contains("does not serve"), "{refused}");

        let args = martlet_lab::serve::ServeArgs {
            socket: socket.clone(),
            out: reports,
            user: Vec::new(),
            limit_min: 4,
            // Beside other tests a run of the lowest priority may never end.
            nice: 0,
            program: Some(program),
        };
        let server = tokio::spawn(martlet_lab::serve::serve(args));
        let give_up = Instant::now() + Duration::from_secs(60);
        let api2 = api.clone();
        let ask = move |path: &'static str| {
            let api = api2.clone();
            tokio::task::spawn_blocking(move || api.get(path))
        };
        while ask("/lab-runs").await??["available"] != true {
            ensure!(Instant::now() < give_up, "{}", ask("/lab-runs").await??);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let api2 = api.clone();
        tokio::task::spawn_blocking(move || -> Result<()> {
            let request = |name: &str| api2.post("/lab-runs", json!({"experiment": name}));
            let refused = request("upf; reboot")?.expect(400)?.body;
            ensure!(refused["field"] == "experiment", "{refused}");
            // A run that is cancelled leaves no report.
            let started = request("sbi")?.expect(202)?.body;
            let path = format!("/jobs/{}", started["id"].as_str().context("a job")?);
            let give_up = Instant::now() + Duration::from_secs(60);
            while !api2.get(&path)?["result"].to_string().contains("sbi begins") {
                ensure!(Instant::now() < give_up, "{}", api2.get(&path)?);
                std::thread::sleep(Duration::from_millis(50));
            }
            request("sbi")?.expect(409)?;
            api2.request("DELETE", &path, None)?.expect(200)?;
            while !api2.get("/lab-runs")?["running"].is_null() {
                ensure!(Instant::now() < give_up, "the run goes on");
                std::thread::sleep(Duration::from_millis(50));
            }
            ensure!(api2.get("/lab-reports")? == json!([]));
            let started = request("sbi")?.expect(202)?.body;
            let done = ended(&api2, &started, Duration::from_secs(240))?;
            ensure!(done["state"] == "succeeded", "{done}");
            let report = done["result"]["report"].as_str().context("a report")?;
            let shown = api2.get(&format!("/lab-reports/{report}"))?;
            ensure!(shown["lab"] == "sbi" && shown["values"][0]["value"].is_number(), "{shown}");
            Ok(())
        })
        .await??;
        server.abort();
        core.stop()
    });
}
