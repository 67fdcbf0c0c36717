//! Restore of a backup at the next start of the core.
use super::*;
use martlet_lab::CoreProcess;
use martlet_store::testing::TestPostgres;
use martlet_tests::{in_namespace, in_namespace_within};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Longest time of a test.
const LONGEST: Duration = Duration::from_secs(300);
/// A user that no machine has.
const USER: u32 = 54_321;

/// Makes a backup, and returns its folder.
fn backup(api: &Caller, folder: &Path) -> Result<String> {
    let folder = folder.display().to_string();
    let made = api.post("/backups", json!({"folder": folder}))?.expect(202)?.body;
    let job = ended(api, &made, Duration::from_secs(60))?;
    ensure!(job["state"] == "succeeded", "{job}");
    Ok(folder)
}

fn preview(api: &Caller, folder: &str) -> Result<Response> {
    api.request("GET", &format!("/restores/preview?folder={folder}"), None)
}

/// Stages the restore of a backup.
fn stage(api: &Caller, folder: &str) -> Result<Value> {
    let tag = preview(api, folder)?.expect(200)?.tag()?;
    let staged = api.with("if-match", &tag).post("/restores", json!({"folder": folder}))?;
    Ok(staged.expect(202)?.body)
}

/// The status and the type of a refused preview, which names the remedy.
fn refused(api: &Caller, folder: &str) -> Result<(u16, String)> {
    let refused = preview(api, folder)?;
    ensure!(refused.status >= 400, "{refused:?}");
    let problem = &refused.body;
    ensure!(problem["remedy"].is_string() && problem["detail"].is_string(), "{problem}");
    // What cannot be seen cannot be staged.
    let staged = api.with("if-match", "*").post("/restores", json!({"folder": folder}))?;
    ensure!(staged.status == refused.status, "{staged:?}");
    let kind = problem["type"].as_str().context("a type")?;
    Ok((refused.status, kind.trim_start_matches("urn:martlet:problem:").to_string()))
}

const FIRST: &str = "/subscribers/imsi-001010000000001";

fn change(api: &Caller) -> Result<()> {
    let patch = Some(json!({"msisdn": "491700000077"}));
    api.with("if-match", "*").request("PATCH", FIRST, patch)?.expect(200)?;
    api.post("/subscribers", subscriber(8))?.expect(201)?;
    Ok(())
}

/// What the next start of a core has to have after `change`.
fn is_restored(api: &Caller, before: &Value) -> Result<()> {
    ensure!(api.get(FIRST)? == *before, "{}", api.get(FIRST)?);
    api.request("GET", "/subscribers/imsi-001010000000008", None)?.expect(404)?;
    let restores = api.get("/restores")?;
    ensure!(restores["staged"].is_null() && restores["last"]["error"].is_null(), "{restores}");
    ensure!(restores["last"]["recorded"] == true, "{restores}");
    let log = api.get("/audit?action=restore&limit=5")?;
    let entry = &log["items"][0];
    ensure!(entry["what"] == "restore.carry-out" && entry["via"] == "start", "{log}");
    ensure!(entry["after"]["replaced"].is_string() && log["intact"] == true, "{log}");
    ensure!(log["items"].as_array().is_some_and(|all| all.len() == 1), "{log}");
    Ok(())
}

#[test]
fn a_staged_restore_is_carried_out_by_the_next_start() {
    in_namespace_within(LONGEST, || async {
        let site = api_site("restore")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let before = api.get(FIRST)?;
        let folder = backup(&api, &site.0.join("backup"))?;
        let listed = api.get("/backups")?;
        ensure!(listed[0]["folder"] == folder && listed[0]["subscribers"] == 2, "{listed}");
        ensure!(listed[0]["available"] == true && listed[0]["by"].is_string(), "{listed}");
        change(&api)?;

        let seen = preview(&api, &folder)?.expect(200)?;
        let expected = json!({"now": 3, "in_backup": 2, "lost": 1, "back": 0, "changed": 1});
        ensure!(seen.body["subscribers"] == expected, "{}", seen.body);
        // The backup is made after its own entry of the audit log.
        ensure!(seen.body["changes_since"] == 2, "{}", seen.body);
        ensure!(seen.body["key"] == "same" && seen.body["version"].is_string(), "{}", seen.body);
        let body = json!({"folder": folder});
        api.post("/restores", body.clone())?.expect(428)?;
        let seen = api.with("if-match", &seen.tag()?);
        api.post("/subscribers", subscriber(9))?.expect(201)?;
        seen.post("/restores", body.clone())?.expect(412)?;
        api.request("DELETE", "/subscribers/imsi-001010000000009", None)?.expect(428)?;
        let any = api.with("if-match", "*");
        any.request("DELETE", "/subscribers/imsi-001010000000009", None)?.expect(204)?;
        api.request("DELETE", "/restores", None)?.expect(404)?;
        seen.post("/restores", body.clone())?.expect(202)?;
        let second = any.post("/restores", body)?.expect(409)?;
        ensure!(second.body["remedy"].to_string().contains("withdraw"), "{}", second.body);
        api.request("DELETE", "/restores", None)?.expect(204)?;
        ensure!(api.get("/restores")?["staged"].is_null());
        let staged = stage(&api, &folder)?;
        ensure!(api.get("/restores")?["staged"] == staged, "{staged}");
        let log = api.get("/audit?action=restore&limit=9")?;
        let entries = log["items"].as_array().context("entries")?;
        let whats: Vec<_> = entries.iter().map(|entry| entry["what"].as_str()).collect();
        let expected = ["restore.stage", "restore.withdraw", "restore.stage"].map(Some);
        ensure!(whats == expected, "{log}");

        // A second core beside the running one carries nothing out.
        let mut command = std::process::Command::new(MARTLET);
        let second = command.args(["up", "-c"]).arg(site.config()).output()?;
        ensure!(!second.status.success(), "a second core runs");
        ensure!(api.get("/restores")?["staged"] == staged, "{}", api.get("/restores")?);
        ensure!(api.get(FIRST)? != before, "nothing changes before the start");
        core.stop()?;

        let core = site.start(&[])?;
        is_restored(&api, &before)?;
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        gnb.shutdown().await;
        // The replaced files are a backup, too.
        let replaced = api.get("/restores")?["last"]["replaced"].clone();
        stage(&api, replaced.as_str().context("a folder")?)?;
        core.stop()?;
        let core = site.start(&[])?;
        api.get("/subscribers/imsi-001010000000008")?;
        ensure!(api.get(FIRST)?["msisdn"] == "491700000077");
        core.stop()
    });
}

/// Root starts the functions with a user each. The API, which has no rights, stages the restore.
#[test]
fn a_core_with_a_user_for_each_function_restores_files_with_their_owners() {
    in_namespace_within(LONGEST, || async {
        let site = Site::new("restore-split")?;
        let config = std::fs::read_to_string(site.config())?;
        let config = config.replace("oam: {", "oam: { api: { enabled: true },");
        std::fs::write(site.config(), format!("{config}security: {{ user: \"{USER}\" }}\n"))?;
        std::os::unix::fs::chown(&site.0, Some(USER), Some(USER))?;
        let core = site.start(&["--split"])?;
        let api = Caller::socket(&site);
        let gnb = gnb().await?;
        api.until_it_answers().await?;
        let before = api.get(FIRST)?;
        let owners = || -> Result<Vec<(u32, u32, u32)>> {
            let of = |name: &str| {
                let status = std::fs::metadata(site.0.join(name))?;
                Ok((status.uid(), status.gid(), status.mode() & 0o777))
            };
            let names = ["martlet.db", "martlet.amf.db", "martlet.smf.db", "operator.key"];
            names.into_iter().map(of).collect()
        };
        let (owned, folder) = (owners()?, backup(&api, &site.0.join("backup"))?);
        change(&api)?;
        stage(&api, &folder)?;
        core.stop()?;
        let core = site.start(&["--split"])?;
        api.until_it_answers().await?;
        is_restored(&api, &before)?;
        ensure!(owners()? == owned, "{:?} instead of {owned:?}", owners()?);
        let gnb = gnb.connect_again().await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        gnb.shutdown().await;
        core.stop()
    });
}

/// Copies a backup into a folder beside it.
fn copied(folder: &str, name: &str) -> Result<PathBuf> {
    let copy = Path::new(folder).with_file_name(name);
    std::fs::create_dir(&copy)?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        std::fs::copy(entry.path(), copy.join(entry.file_name()))?;
    }
    Ok(copy)
}

#[test]
fn backups_that_cannot_be_restored_are_refused_with_the_remedy() {
    in_namespace_within(LONGEST, || async {
        let site = api_site("restore-refused")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let folder = backup(&api, &site.0.join("backup"))?;
        let refused = |name: &str, harm: &dyn Fn(&Path) -> Result<()>| {
            let copy = copied(&folder, name)?;
            harm(&copy)?;
            refused(&api, &copy.display().to_string()).context(name.to_string())
        };
        let is = |found: (u16, String), status: u16, kind: &str| {
            ensure!(found == (status, kind.into()), "{found:?} instead of {status} {kind}");
            Ok(())
        };
        let without_manifest = |copy: &Path| std::fs::remove_file(copy.join("backup.json"));
        let content = |copy: &Path, name: &str| {
            let mut bytes = std::fs::read(copy.join(name))?;
            // The second page: a tree of rows.
            bytes[4096..6096].fill(0x5a);
            std::fs::write(copy.join(name), bytes)
        };
        let of_content = |copy: &Path| Ok(content(copy, "amf.db")?);
        is(refused("content", &of_content)?, 422, "backup-damaged")?;
        let of_structure = |copy: &Path| {
            without_manifest(copy)?;
            Ok(content(copy, "subscribers.db")?)
        };
        is(refused("structure", &of_structure)?, 422, "backup-damaged")?;
        let missing = |copy: &Path| Ok(std::fs::remove_file(copy.join("smf.db"))?);
        is(refused("missing", &missing)?, 422, "backup-damaged")?;
        let half = |copy: &Path| {
            let text = std::fs::read_to_string(copy.join("backup.json"))?;
            let text = text.replace("\"complete\": true", "\"complete\": false");
            Ok(std::fs::write(copy.join("backup.json"), text)?)
        };
        is(refused("half", &half)?, 422, "backup-incomplete")?;
        let newer = |copy: &Path| {
            without_manifest(copy)?;
            // `user_version` of the header of SQLite.
            let mut bytes = std::fs::read(copy.join("subscribers.db"))?;
            bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
            Ok(std::fs::write(copy.join("subscribers.db"), bytes)?)
        };
        is(refused("newer", &newer)?, 422, "backup-too-new")?;
        let key = |copy: &Path| {
            without_manifest(copy)?;
            Ok(std::fs::write(copy.join("operator.key"), "07".repeat(32))?)
        };
        is(refused("key", &key)?, 422, "backup-key")?;
        let link = |copy: &Path| {
            std::fs::rename(copy.join("amf.db"), copy.join("other"))?;
            Ok(std::os::unix::fs::symlink(copy.join("other"), copy.join("amf.db"))?)
        };
        is(refused("link", &link)?, 422, "no-backup")?;
        let empty = |copy: &Path| Ok(std::fs::remove_file(copy.join("subscribers.db"))?);
        is(refused("empty", &empty)?, 422, "no-backup")?;
        is(self::refused(&api, "/no/such/folder")?, 422, "no-backup")?;
        is(self::refused(&api, "/var/../etc")?, 400, "invalid-field")?;
        is(self::refused(&api, "relative")?, 400, "invalid-field")?;
        let nothing = json!({"staged": null, "last": null, "backup_folder": site.0});
        ensure!(api.get("/restores")? == nothing);
        ensure!(!site.0.join("martlet.db.restores/staged").exists(), "copies are left");

        // A backup of an earlier version has no description.
        let earlier = copied(&folder, "earlier")?;
        without_manifest(&earlier)?;
        let seen = preview(&api, &earlier.display().to_string())?.expect(200)?.body;
        ensure!(seen["version"].is_null() && seen["made"].as_u64() > Some(1_700_000_000), "{seen}");
        core.stop()
    });
}

#[test]
fn a_restore_without_room_is_refused_and_leaves_no_copies() {
    in_namespace(|| async {
        let site = Site(std::env::temp_dir().join(format!("martlet-room-{}", std::process::id())));
        std::fs::create_dir_all(&site.0)?;
        unshare(CloneFlags::CLONE_NEWNS)?;
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
        mount(Some("disk"), &site.0, Some("tmpfs"), MsFlags::empty(), Some("size=9m"))?;
        drop(site);
        let site = api_site("room")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let folder = backup(&api, &site.0.join("backup"))?;
        let room = nix::sys::statvfs::statvfs(&site.0)?;
        let room = room.blocks_available() * room.fragment_size();
        std::fs::write(site.0.join("filling"), vec![0; room as usize - (2 << 20)])?;
        let full = api.with("if-match", "*").post("/restores", json!({"folder": folder}))?;
        let full = full.expect(507)?.body;
        ensure!(full["remedy"].to_string().contains("make room"), "{full}");
        ensure!(api.get("/restores")?["staged"].is_null());
        ensure!(!site.0.join("martlet.db.restores/staged").exists(), "copies are left");
        std::fs::remove_file(site.0.join("filling"))?;
        stage(&api, &folder)?;
        core.stop()
    });
}

/// What was staged is damaged meanwhile: the core starts with its data, and reports it.
#[test]
fn a_restore_that_cannot_be_carried_out_leaves_the_data_and_is_reported() {
    in_namespace_within(LONGEST, || async {
        let site = api_site("restore-failed")?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        let folder = backup(&api, &site.0.join("backup"))?;
        change(&api)?;
        stage(&api, &folder)?;
        core.stop()?;
        std::fs::write(site.0.join("martlet.db.restores/staged/amf.db"), "damaged")?;
        let core = site.start(&[])?;
        api.get("/subscribers/imsi-001010000000008")?;
        let restores = api.get("/restores")?;
        ensure!(restores["staged"].is_null(), "{restores}");
        ensure!(restores["last"]["error"].to_string().contains("amf.db"), "{restores}");
        let alarms = api.get("/alarms")?;
        let failed = alarms.as_array().into_iter().flatten().find(|a| a["id"] == "restore-failed");
        let failed = failed.context("no alarm")?;
        ensure!(failed["what"].to_string().contains("amf.db"), "{failed}");
        ensure!(failed["remedy"].to_string().contains("stage the restore again"), "{failed}");
        let acknowledged = api.post("/alarms/restore-failed/acknowledgement", json!({}))?;
        let by = acknowledged.expect(200)?.body["acknowledged_by"].clone();
        ensure!(api.get("/restores")?["last"]["acknowledged_by"] == by && by.is_string());
        let give_up = Instant::now() + Duration::from_secs(60);
        while api.get("/alarms")?.to_string().contains("restore-failed") {
            ensure!(Instant::now() < give_up, "the alarm stays");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let log = api.get("/audit?action=restore.fail")?;
        ensure!(log["items"][0]["after"]["error"].is_string(), "{log}");
        let text = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(text.contains("restore not carried out, starting with the old data"), "{text}");
        core.stop()
    });
}

#[test]
fn a_core_without_database_files_names_the_remedy() {
    in_namespace_within(LONGEST, || async {
        let Some(server) = TestPostgres::start("restore")? else { return Ok(()) };
        let site = Site::on("restore-pg", Some(&server.url()))?;
        let config = std::fs::read_to_string(site.config())?;
        let config = config.replace("oam: {", "oam: { api: { enabled: true },");
        std::fs::write(site.config(), config)?;
        let core = site.start(&[])?;
        let api = Caller::socket(&site);
        for path in ["/backups", "/restores"] {
            ensure!(api.request("GET", path, None)?.status == 200, "{path}");
        }
        let found = preview(&api, "/backup")?.expect(422)?.body;
        ensure!(found["remedy"].to_string().contains("pg_dump"), "{found}");
        let made = api.post("/backups", json!({"folder": site.0.join("backup")}))?;
        let job = ended(&api, &made.expect(202)?.body, Duration::from_secs(60))?;
        ensure!(job["error"].to_string().contains("udr.path"), "{job}");
        core.stop()
    });
}

/// Runs `martlet restore`.
fn restore(site: &Site, arguments: &[&str]) -> Result<std::process::Output> {
    let mut command = std::process::Command::new(MARTLET);
    Ok(command.arg("restore").args(arguments).arg("-c").arg(site.config()).output()?)
}

#[test]
fn the_command_stages_a_restore_while_the_core_runs() {
    in_namespace_within(LONGEST, || async {
        let site = api_site("restore-command")?;
        let core: CoreProcess = site.start(&[])?;
        let api = Caller::socket(&site);
        let before = api.get(FIRST)?;
        let folder = backup(&api, &site.0.join("backup of today"))?;
        change(&api)?;
        let asked = restore(&site, &[&folder])?;
        let errors = String::from_utf8_lossy(&asked.stderr);
        ensure!(!asked.status.success() && errors.contains("--replace"), "{errors}");
        let staged = restore(&site, &[&folder, "--replace"])?;
        let text = String::from_utf8_lossy(&staged.stdout);
        ensure!(staged.status.success() && text.contains("the next start"), "{staged:?}");
        ensure!(text.contains("1 subscribers are lost"), "{text}");
        ensure!(restore(&site, &["--withdraw"])?.status.success());
        ensure!(!restore(&site, &["--withdraw"])?.status.success(), "it was withdrawn");
        ensure!(restore(&site, &[&folder, "--replace"])?.status.success());
        core.stop()?;
        // It stays staged: another one has to wait.
        let second = restore(&site, &[&folder, "--replace"])?;
        let errors = String::from_utf8_lossy(&second.stderr);
        ensure!(!second.status.success() && errors.contains("--withdraw"), "{errors}");
        let core = site.start(&[])?;
        is_restored(&api, &before)?;
        core.stop()
    });
}
