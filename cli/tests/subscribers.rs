//! `martlet subscriber`, run as a user does: which database it uses, what it changes, and what it
//! refuses.
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const MARTLET: &str = env!("CARGO_BIN_EXE_martlet");
const KEYS: [&str; 4] =
    ["--key", "465b5ce8b199b49faa5f0a2ee238a6bc", "--opc", "cd63cb71954a9f4e48a5994e37a02baf"];
const IMSI: &str = "001010000000001";

/// A folder with a configuration, and another one, in which the commands run.
struct Folders(PathBuf);

impl Folders {
    fn new(name: &str) -> Folders {
        let root = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        for folder in ["core", "elsewhere"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        // No core of this machine listens there.
        std::fs::write(root.join("core/martlet.yaml"), "oam: { socket: oam.sock }\n").unwrap();
        Folders(root)
    }

    fn config(&self) -> String {
        self.0.join("core/martlet.yaml").display().to_string()
    }

    fn database(&self) -> PathBuf {
        self.0.join("core/martlet.db")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(MARTLET);
        command.args(["--log", "warn", "subscriber"]).args(arguments);
        command.current_dir(self.0.join("elsewhere")).env("MARTLET_CONFIG", self.config());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that succeeds, and returns its standard output.
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that fails, and returns its error.
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn file(&self, name: &str, text: &str) -> String {
        let file = self.0.join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn the_database_is_that_of_the_configuration_from_any_folder() {
    let folders = Folders::new("database");
    // Reading creates nothing.
    let error = folders.fails(&["list"]);
    assert!(error.contains("there is no database") && error.contains("MARTLET_CONFIG"), "{error}");
    assert!(!folders.database().exists());

    let added = folders.run(&[&["add", IMSI], &KEYS[..]].concat());
    assert!(added.status.success(), "{added:?}");
    let note = String::from_utf8_lossy(&added.stderr);
    assert!(note.contains("is new, and no core answers at"), "{note}");
    assert!(note.contains("/core/oam.sock"), "{note}");
    assert!(folders.database().exists(), "beside the configuration");
    assert!(is_empty(&folders.0.join("elsewhere")), "not in the folder of the caller");

    // -c has precedence over the variable.
    let other = folders.file("elsewhere/other.yaml", "state_dir: ../core\n");
    let listed = folders.command(&["list", "-c", &other]).env("MARTLET_CONFIG", "/none").output();
    let listed = listed.unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains(IMSI), "{listed:?}");
    // Without a configuration the path is relative to the working directory.
    let mut without = folders.command(&["list"]);
    let without =
        without.env_remove("MARTLET_CONFIG").current_dir(folders.0.join("core")).output().unwrap();
    assert!(String::from_utf8_lossy(&without.stdout).contains(IMSI), "{without:?}");
}

/// As with the packaged service, whose unit runs as the owner of its state directory.
#[test]
fn files_that_root_creates_belong_to_the_owner_of_the_folder() {
    use std::os::unix::fs::{MetadataExt, chown};
    const USER: u32 = 54_321;
    if !nix::unistd::geteuid().is_root() {
        eprintln!("SKIPPED: files are given to others by root only");
        return;
    }
    let folders = Folders::new("owner");
    let add = [&["add", IMSI], &KEYS[..]].concat();
    // The operator's key is in a folder of root.
    let configuration = "oam: { socket: oam.sock }\nudr: { key_file: ../elsewhere/key }\n";
    std::fs::write(folders.config(), configuration).unwrap();
    chown(folders.0.join("core"), Some(USER), Some(USER)).unwrap();
    folders.ok(&add);
    let key = folders.0.join("elsewhere/key");
    for file in [folders.database(), key.clone()] {
        let status = std::fs::metadata(&file).unwrap();
        let of = (status.uid(), status.gid(), status.mode() & 0o777);
        assert_eq!(of, (USER, USER, 0o600), "{}", file.display());
    }
    // What exists stays as it is, and so does what root creates in its own folder.
    std::fs::remove_file(folders.database()).unwrap();
    chown(&key, Some(0), Some(0)).unwrap();
    folders.ok(&add);
    assert_eq!(std::fs::metadata(&key).unwrap().uid(), 0);
    folders.ok(&[&add[..], &["--db", "root.db"]].concat());
    assert_eq!(std::fs::metadata(folders.0.join("elsewhere/root.db")).unwrap().uid(), 0);
}

#[test]
fn set_changes_one_field_and_keeps_the_sequence_number() {
    let folders = Folders::new("set");
    let add = ["add", IMSI, "--sqn", "0000000000e0", "--slice", "1-0000a7", "--dnn", "internet"];
    folders.ok(&[&add[..], &["--dnn", "ims"], &KEYS[..]].concat());
    folders.ok(&["set", IMSI, "--dnn", "ims", "--downlink", "7 Mbps", "--msisdn", "491701"]);
    let shown: serde_json::Value = serde_json::from_str(&folders.ok(&["show", IMSI])).unwrap();
    assert_eq!((&shown["sqn"], &shown["msisdn"]), (&"0000000000e0".into(), &"491701".into()));
    let slice = &shown["slices"][0];
    assert_eq!(slice["sd"], "0000a7", "hexadecimal");
    let rates = [&slice["dnns"][0]["ambr_downlink"], &slice["dnns"][1]["ambr_downlink"]];
    assert_eq!(rates, ["1 Gbps", "7 Mbps"]);
    assert_eq!(shown["key"], "(hidden; --keys shows it)");
    // A wrong change changes nothing.
    let error = folders.fails(&["set", IMSI, "--static-ip", "10.45.0.9", "--amf", "9001"]);
    assert!(error.contains("2 are selected"), "{error}");
    let error = folders.fails(&["set", IMSI, "--downlink", "fast"]);
    assert!(error.contains("write for example 100 Mbps"), "{error}");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&folders.ok(&["show", IMSI])).unwrap(),
        shown
    );
    assert!(folders.fails(&["set", "001010000000009", "--arp", "1"]).contains("no subscriber"));
}

#[test]
fn session_types_and_static_addresses_are_set_and_removed() {
    let folders = Folders::new("addresses");
    let add = ["add", IMSI, "--session-type", "ipv4v6", "--session-type", "ipv4"];
    folders.ok(&[&add[..], &["--static-ip6", "fd45:0:0:9::1"], &KEYS[..]].concat());
    let network = || {
        let shown: serde_json::Value = serde_json::from_str(&folders.ok(&["show", IMSI])).unwrap();
        shown["slices"][0]["dnns"][0].clone()
    };
    let added = network();
    assert_eq!(added["session_types"], serde_json::json!(["IPV4V6", "IPV4"]));
    assert_eq!(added["static_ipv6"], "fd45:0:0:9::1");
    folders.ok(&["set", IMSI, "--session-type", "ipv6", "--static-ip", "10.45.0.9"]);
    let set = network();
    assert_eq!(set["session_types"], serde_json::json!(["IPV6"]));
    assert_eq!(
        (&set["static_ipv4"], &set["static_ipv6"]),
        (&"10.45.0.9".into(), &added["static_ipv6"])
    );
    folders.ok(&["set", IMSI, "--static-ip", "none", "--static-ip6", "none"]);
    let without = network();
    assert!(without["static_ipv4"].is_null() && without["static_ipv6"].is_null(), "{without}");
    let error = folders.fails(&["set", IMSI, "--static-ip", "10.45.0.300"]);
    assert!(error.contains("--static-ip \"10.45.0.300\": write an address, or none"), "{error}");
}

#[test]
fn an_address_in_two_slices_of_another_subscriber_or_outside_the_pool_is_refused() {
    let folders = Folders::new("shared-addresses");
    fn add<'a>(imsi: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["add", imsi], more, &KEYS[..]].concat()
    }
    let address = ["--static-ip", "10.45.255.9"];
    let slices = ["--slice", "1", "--slice", "2"];
    let error = folders.fails(&add(IMSI, &[&slices[..], &address].concat()));
    assert!(error.contains("belongs to one slice") && error.contains("--slice 1 "), "{error}");
    // What the configuration does not serve is noted.
    let stderr = |arguments: &[&str]| {
        let output = folders.run(arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let notes = stderr(&add(IMSI, &[&slices[..], &["--dnn", "ims"]].concat()));
    assert!(notes.contains("the slice 2 in smf.slices") && !notes.contains("slice 1"), "{notes}");
    assert_eq!(notes.matches("the data network ims in smf.dnns").count(), 1, "{notes}");
    let notes = stderr(&add("001010000000002", &address));
    assert!(!notes.contains("static address") && !notes.contains("smf."), "{notes}");
    let taken = "imsi-001010000000002 has the static address 10.45.255.9 in internet: give \
                 imsi-001010000000003 another one";
    let error = folders.fails(&add("001010000000003", &address));
    assert!(error.contains(taken), "{error}");
    let outside = ["--static-ip", "10.46.0.9"];
    let error = folders.fails(&add("001010000000003", &outside));
    assert!(error.contains("not in the pool of internet"), "{error}");
    assert!(error.contains("10.45.0.2 to 10.45.255.254"), "{error}");
    // The database of another core may have other pools.
    folders.ok(&add("001010000000004", &[&outside[..], &["--db", "other.db"]].concat()));
    folders.ok(&add("001010000000003", &[]));
    assert!(folders.fails(&["set", "001010000000003", address[0], address[1]]).contains(taken));
    assert!(folders.fails(&["set", "001010000000003", outside[0], outside[1]]).contains("pool"));
    let header = "imsi,key,opc,dnn,static_ip";
    let line =
        |imsi: &str, ip: &str| format!("{header}\n{imsi},{},{},internet,{ip}\n", KEYS[1], KEYS[3]);
    let file = folders.file("taken.csv", &line("001010000000003", "10.45.255.9"));
    let error = folders.fails(&["import", &file, "--replace"]);
    assert!(error.contains(taken) && error.contains("nothing was imported"), "{error}");
    let file = folders.file("outside.csv", &line("001010000000003", "10.46.0.9"));
    assert!(folders.fails(&["import", &file, "--replace"]).contains("not in the pool"));
    // Its owner keeps the address.
    folders.ok(&["set", "001010000000002", "--downlink", "5 Mbps"]);
    let all = folders.0.join("all.json").display().to_string();
    folders.ok(&["export", "--output", &all]);
    folders.ok(&["import", &all, "--replace"]);
}

#[test]
fn set_reads_keys_from_a_file() {
    let folders = Folders::new("key-file");
    folders.ok(&[&["add", IMSI], &KEYS[..]].concat());
    let [k, op] = ["00112233445566778899aabbccddeeff", "cdc202d5123e20f62b6d676ac72cb318"];
    let file = folders.file("card.keys", &format!("key: {k}\nop: {op}\n"));
    folders.ok(&["set", IMSI, "--key-file", &file]);
    let shown = folders.ok(&["show", IMSI, "--keys"]);
    assert!(shown.contains(k) && !shown.contains(KEYS[3]), "{shown}");
    let file = folders.file("op.keys", &format!("op: {op}\n"));
    let error = folders.fails(&["set", IMSI, "--key-file", &file]);
    assert!(error.contains("write the key, too"), "{error}");
    // The error names the file.
    let file = folders.file("wrong.keys", "kex: 1\n");
    let error = folders.fails(&["set", IMSI, "--key-file", &file]);
    assert!(error.contains("wrong.keys, line 1: "), "{error}");
    let error = folders.fails(&["set", IMSI, "--key-file", "absent.keys"]);
    assert!(error.contains("--key-file absent.keys: No such file"), "{error}");
}

#[test]
fn what_show_prints_is_imported() {
    let folders = Folders::new("shown");
    folders.ok(&[&["add", IMSI, "--sqn", "0000000000e0", "--amf", "8001"], &KEYS[..]].concat());
    let shown = folders.ok(&["show", IMSI, "--keys"]);
    assert!(shown.contains("\"8001\"") && shown.contains("\"0000000000e0\""), "{shown}");
    let file = folders.file("shown.json", &shown);
    folders.ok(&["import", &file, "--db", "other.db"]);
    assert_eq!(folders.ok(&["show", IMSI, "--keys", "--db", "other.db"]), shown);
    // An error names the subscriber and what to write.
    let wrong = folders.file("wrong.json", &shown.replace("8001", "80"));
    let error = folders.fails(&["import", &wrong, "--replace"]);
    assert!(error.contains(IMSI) && error.contains("4 hexadecimal digits"), "{error}");
}

#[test]
fn a_list_ends_with_its_reader() {
    let folders = Folders::new("pipe");
    folders.ok(&[&["add", IMSI, "--count", "3000"], &KEYS[..]].concat());
    let mut list = folders.command(&["list", "--limit", "3000"]);
    let mut list = list.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The reader leaves at once, as `head` does after its lines.
    drop(list.stdout.take());
    let output = list.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error_of_one_line() {
    let folders = Folders::new("full-output");
    folders.ok(&[&["add", IMSI], &KEYS[..]].concat());
    let check = |mut command: Command| {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command.stdout(full).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.starts_with("martlet: standard output cannot be written"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    };
    check(folders.command(&["show", IMSI, "--keys"]));
    for arguments in [&["defaults"][..], &["reference", "keys"], &["completions", "bash"]] {
        let mut command = Command::new(MARTLET);
        command.args(arguments);
        check(command);
    }
}

#[test]
fn tuak_keys_are_hidden_and_encrypted() {
    let folders = Folders::new("tuak");
    let topc = "bd04d9530e87513c5d837ac2ad954623a8e2330c115305a73eb45d1f40cccbff";
    folders.ok(&["add", IMSI, "--key", KEYS[1], "--topc", topc]);
    assert!(!folders.ok(&["show", IMSI]).contains(topc));
    assert!(folders.ok(&["show", IMSI, "--keys"]).contains(topc));
    let file = [".db", ".db-wal"]
        .map(|end| std::fs::read(folders.database().with_extension(&end[1..])).unwrap_or_default());
    let text = String::from_utf8_lossy(&file.concat()).into_owned();
    assert!(text.contains(IMSI) && !text.contains(topc));
    assert!(folders.ok(&["export", "--format", "csv"]).contains(topc));
}

#[test]
fn an_import_or_export_that_would_lose_fields_needs_lossy() {
    let folders = Folders::new("lossy");
    let text = format!(
        r#"{{"imsi":"{IMSI}","security":{{"k":"{}","opc":"{}"}},"slice":[{{"sst":1,
        "default_indicator":true,"session":[{{"name":"internet","type":1,
        "pcc_rule":[{{"qos":{{"index":1}}}}]}}]}}]}}"#,
        KEYS[1], KEYS[3]
    );
    let file = folders.file("open5gs.json", &text);
    let error = folders.fails(&["import", &file]);
    assert!(error.contains("--lossy") && error.contains("pcc_rule: imsi-00101"), "{error}");
    assert!(!error.contains(KEYS[1]));
    assert_eq!(folders.ok(&["list"]), "", "nothing was imported");
    folders.ok(&["import", "--lossy", &file]);
    folders.ok(&["set", IMSI, "--allowed-tacs", "1,2"]);
    let error = folders.fails(&["export", "--format", "open5gs"]);
    assert!(error.contains("service_area: imsi-00101"), "{error}");
    assert!(folders.ok(&["export", "--format", "open5gs", "--lossy"]).contains(IMSI));
    assert!(folders.fails(&["import", "--lossy", &file]).contains("exists"));
    // Of several files, an error names the one that is wrong, and none is imported.
    let line =
        |imsi: u64, key: &str| format!("imsi,key,opc\n00101000000010{imsi},{key},{}\n", KEYS[3]);
    let good = folders.file("good.csv", &line(1, KEYS[1]));
    let wrong = folders.file("wrong.csv", &line(2, "465b"));
    let error = folders.fails(&["import", &good, &wrong]);
    assert!(error.contains("wrong.csv: line 2: ") && !error.contains("good.csv"), "{error}");
    assert!(!error.contains("465b") && !folders.ok(&["list"]).contains("001010000000101"));
}

#[test]
fn sim_generate_makes_subscribers_and_programming_files_without_showing_keys() {
    let folders = Folders::new("sim");
    let out = folders.0.join("cards");
    let cards = folders.file(
        "cards.csv",
        "ICCID;ADM1\n8988211000000000011;11112222\n8988211000000000029;33334444\n",
    );
    let run_into = |out: &Path, more: &[&str]| {
        let mut command = Command::new(MARTLET);
        command.args(["sim", "generate", "--count", "2", "--plmn", "99970", "-o"]).arg(out);
        command.args(more).env("MARTLET_CONFIG", folders.config()).output().unwrap()
    };
    let run = |more: &[&str]| run_into(&out, more);
    let made = run(&["--cards", &cards]);
    assert!(made.status.success(), "{made:?}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    // Keys are in the files, and the same in each; the screen has none.
    let programming = read("pysim.csv");
    let rows: Vec<Vec<&str>> = programming.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!(rows[0].join(","), "name,iccid,mcc,mnc,imsi,ki,opc,acc,adm1");
    assert_eq!(rows[1][1..5], ["8988211000000000011", "999", "70", "999700000000001"]);
    assert_eq!((rows.len(), rows[2][7], rows[2][8]), (3, "0004", "33334444"));
    let exported = folders.ok(&["export", "--format", "csv"]);
    let private = read("home_network_key.yaml");
    let digits = private.split('"').nth(1).unwrap();
    assert_eq!(digits.len(), 64);
    for row in &rows[1..] {
        assert!(exported.contains(row[5]) && read("subscribers.csv").contains(row[6]));
    }
    let screen = format!("{made:?}");
    for secret in [rows[1][5], rows[1][6], digits] {
        assert!(!screen.contains(secret) && !read("suci.pysim").contains(secret));
    }
    assert!(read("suci.pysim").contains("\"identifier\":1"));
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&out).unwrap().permissions().mode() & 0o077, 0);
    // A refusal leaves no folder.
    let second = folders.0.join("second");
    let refused = run_into(&second, &[]);
    assert!(!refused.status.success(), "the subscribers exist: {refused:?}");
    assert!(!second.exists(), "{refused:?}");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(error.contains("exists: --first") && !error.contains("--replace"), "{error}");
    // The key that was made is one for the configuration.
    std::fs::copy(out.join("home_network_key.yaml"), folders.config()).unwrap();
    assert!(!run(&[]).status.success(), "the folder exists");
    std::fs::remove_dir_all(&out).unwrap();
    let again = run(&["--files-only"]);
    assert!(again.status.success(), "{again:?}");
    assert!(!out.join("home_network_key.yaml").exists(), "the core's key is used");
}

#[test]
fn a_backup_is_restored_with_its_keys() {
    let folders = Folders::new("backup");
    folders.ok(&[&["add", IMSI], &KEYS[..]].concat());
    let before = folders.ok(&["show", IMSI, "--keys"]);
    let copy = folders.0.join("copy").display().to_string();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(MARTLET);
        command.args(arguments).env("MARTLET_CONFIG", folders.config()).output().unwrap()
    };
    let made = run(&["backup", &copy]);
    assert!(made.status.success(), "{made:?}");
    assert!(!run(&["backup", &copy]).status.success(), "the folder exists");
    folders.ok(&["remove", IMSI]);
    let refused = run(&["restore", &copy]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--replace"), "{refused:?}");
    assert!(folders.fails(&["show", IMSI]).contains("no subscriber"));
    // The key of the machine is lost too.
    std::fs::remove_file(folders.database().with_extension("db.key")).unwrap();
    let restored = run(&["restore", "--replace", &copy]);
    assert!(restored.status.success(), "{restored:?}");
    assert_eq!(folders.ok(&["show", IMSI, "--keys"]), before);
}

#[test]
fn completions_manual_pages_and_the_version_are_made() {
    let folders = Folders::new("pages");
    let run = |arguments: &[&str]| {
        let output = Command::new(MARTLET).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&["completions", shell]).contains("subscriber"), "{shell}");
    }
    let pages = folders.0.join("man");
    run(&["man", &pages.display().to_string()]);
    let page = std::fs::read_to_string(pages.join("martlet-subscriber-import.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("lossy"), "{page}");
    assert!(run(&["version", "--verbose"]).contains("database schema"));
}
