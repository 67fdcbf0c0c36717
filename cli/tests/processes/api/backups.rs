//! Backups that the API makes.
use super::*;
use martlet_tests::in_namespace;

/// A backup that the API made brings back subscribers and accounts of its time.
#[test]
fn a_backup_of_the_api_is_restored() {
    in_namespace(|| async {
        let site = api_site("api-restore")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        api.post("/subscribers", subscriber(7))?.expect(201)?;
        let user = json!({"name": "otto", "role": "operator", "password": "first passphrase"});
        api.post("/users", user)?.expect(201)?;
        let restored_path = "/subscribers/imsi-001010000000007";
        let before = api.get(restored_path)?;
        let folder = site.0.join("backup").display().to_string();
        let made = api.post("/backups", json!({"folder": folder}))?.expect(202)?.body;
        let give_up = Instant::now() + Duration::from_secs(60);
        let job = format!("/jobs/{}", made["id"].as_str().context("a job")?);
        while api.get(&job)?["state"] != "succeeded" {
            ensure!(Instant::now() < give_up, "{}", api.get(&job)?);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let with = api.with("if-match", "*");
        with.request("DELETE", restored_path, None)?.expect(204)?;
        api.post("/subscribers", subscriber(8))?.expect(201)?;
        api.request("DELETE", "/users/otto", None)?.expect(204)?;

        let config = site.config().display().to_string();
        let restore = |more: &[&str]| {
            let arguments = [&["restore", folder.as_str(), "-c", config.as_str()], more].concat();
            std::process::Command::new(MARTLET).args(arguments).output()
        };
        core.stop()?;
        ensure!(!restore(&[])?.status.success(), "a database is replaced without --replace");
        // SQLite would write a journal that stays beside the restored database into it.
        let journal = site.0.join("martlet.db-journal");
        std::fs::write(&journal, "of the old database")?;
        let restored = restore(&["--replace"])?;
        ensure!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
        ensure!(!journal.exists(), "the journal of the old database is still there");

        let core = site.start(&[])?;
        ensure!(api.get(restored_path)? == before, "{}", api.get(restored_path)?);
        api.request("GET", "/subscribers/imsi-001010000000008", None)?.expect(404)?;
        Caller::tcp().sign_in("otto", "first passphrase")?;
        let gnb = gnb().await?;
        // The operator's key opens the keys of the restored subscriber.
        registration_cycle(&ue(&gnb, 7)?).await?;
        core.stop()
    });
}
