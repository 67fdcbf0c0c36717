//! Errors name the key of the configuration and what is wrong, and never print a secret.
use std::path::{Path, PathBuf};
use std::process::Command;

const MARTLET: &str = env!("CARGO_BIN_EXE_martlet");
/// A private key, as hexadecimal digits and as decimal ones, which YAML reads as a number.
const HEX: &str = "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d";
const DECIMAL: &str = "7391846205739184620573918462057391846205739184620573918462057391";
const PASSWORD: &str = "staple-horse-battery";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("martlet-secrets-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.join(name);
        std::fs::write(&file, text).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the program, which has to fail, and returns what it printed.
fn failure(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(MARTLET);
    command.args(arguments).current_dir(folder).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(!output.status.success(), "{arguments:?} succeeded: {text}");
    text
}

/// No part of a secret that is longer than 5 characters is in the text.
fn assert_hidden(text: &str, what: &str) {
    for secret in [HEX, DECIMAL, PASSWORD] {
        for part in secret.as_bytes().windows(6) {
            let part = std::str::from_utf8(part).unwrap();
            assert!(!text.contains(part), "{what} shows {part}: {text}");
        }
    }
}

#[test]
fn configuration_errors_print_no_secret() {
    let folder = Folder::new("configuration");
    let url = format!("postgresql://core:{PASSWORD}@127.0.0.1:1/martlet");
    let key = |value: &str| {
        format!(
            "udm:\n  home_network_keys:\n    - id: 1\n      scheme: A\n      private: {value}\n"
        )
    };
    // The faulty text, and what the error has to name.
    let cases = [
        (key(&HEX[..63]), "private"),
        (key(&format!("{HEX}00")), "private"),
        (key(&format!("x{}", &HEX[1..])), "private"),
        (key(&format!("{DECIMAL}1")), "private"),
        (key(&format!("[{HEX}]")), "private"),
        (key(&format!("{{ hex: {HEX} }}")), "private"),
        (key(&format!("\"{HEX}")), "martlet.yaml"),
        (key(&format!("{HEX}\n     scheme: B")), "martlet.yaml"),
        (key(&format!("{HEX}\n      colour: blue")), "colour"),
        (key(&format!("{HEX}\n  null_scheme: maybe")), "null_scheme"),
        (format!("udm:\n  home_network_keys: {HEX}\n"), "martlet.yaml:2"),
        (
            format!("udm:\n  home_network_keys: [{{ id: 1, scheme: C, private: {HEX} }}]\n"),
            "martlet.yaml:2",
        ),
        (format!("udm:\n  home_network_keys: [{{ id: 1, scheme: A, privat: {HEX} }}]\n"), "privat"),
        (format!("udm: {{ {HEX}: 1 }}\n"), "martlet.yaml:1"),
        (format!("udr:\n  path: [{url:?}]\n"), "path"),
        (format!("udr:\n  path: {url:?}\n  flush_interval_ms: {url:?}\n"), "martlet.yaml:3"),
        (format!("udr: {{ path: {url:?}, key_fil: x }}\n"), "key_fil"),
        (format!("amf:\n  context_store: {{ database: [{url:?}] }}\n"), "database"),
        (format!("smf:\n  context_store: {{ database: {url:?}, lease: 1 }}\n"), "lease"),
        (format!("chf:\n  context_store:\n    database: {{ url: {url:?} }}\n"), "database"),
        (
            format!("oam:\n  traces: {{ endpoint: \"https://user:{PASSWORD}@127.0.0.1/\" }}\n"),
            "endpoint",
        ),
        (
            format!("oam:\n  traces: {{ endpoint: [\"http://user:{PASSWORD}@127.0.0.1/\"] }}\n"),
            "endpoint",
        ),
    ];
    for (text, named) in &cases {
        let file = folder.write("martlet.yaml", text).display().to_string();
        for arguments in [&["check", &file][..], &["up", "-c", &file]] {
            let error = failure(&folder.0, arguments, &[]);
            assert!(error.contains(named), "{named} is not named for {text}: {error}");
            assert_hidden(&error, text);
        }
    }
}

#[test]
fn errors_of_the_database_print_no_secret() {
    let folder = Folder::new("database");
    // No server answers there.
    for url in [
        format!("postgresql://core:{PASSWORD}@127.0.0.1:1/martlet"),
        format!("postgresql://127.0.0.1:1/martlet?user=core&password={PASSWORD}"),
        format!("postgresql://core:{PASSWORD}@127.0.0.1:port/martlet"),
    ] {
        let file = folder.write("martlet.yaml", &format!("udr: {{ path: {url:?} }}\n"));
        let file = file.display().to_string();
        let error = failure(&folder.0, &["subscriber", "list", "-c", &file], &[]);
        assert_hidden(&error, &url);
        assert_hidden(&failure(&folder.0, &["subscriber", "list", "--db", &url], &[]), &url);
    }
    // The operator's key: one of 63 digits, in the file and in the environment.
    let wrong = &HEX[..63];
    folder.write("wrong.key", wrong);
    let file = folder.write("martlet.yaml", "udr: { path: new.db, key_file: wrong.key }\n");
    let add = [
        "subscriber",
        "add",
        "001010000000001",
        "--key",
        "465b5ce8b199b49faa5f0a2ee238a6bc",
        "--opc",
        "cd63cb71954a9f4e48a5994e37a02baf",
        "-c",
        &file.display().to_string(),
    ];
    let error = failure(&folder.0, &add, &[]);
    assert!(error.contains("64 hexadecimal digits"), "{error}");
    assert_hidden(&error, "udr.key_file");
    assert_hidden(&failure(&folder.0, &add, &[("MARTLET_STORE_KEY", wrong)]), "the environment");
}

#[test]
fn errors_of_subscribers_print_no_secret() {
    let folder = Folder::new("subscriber");
    let short = &HEX[..31];
    for option in ["--key", "--opc", "--op"] {
        let other = if option == "--key" { "--opc" } else { "--key" };
        let whole = "00".repeat(16);
        let add = ["subscriber", "add", "--db", "x.db", "001010000000001"];
        let add = [&add[..], &[option, short, other, &whole]].concat();
        let error = failure(&folder.0, &add, &[]);
        assert!(error.contains("32 hexadecimal digits"), "{error}");
        assert_hidden(&error, option);
    }
}

/// Keys from a file or standard input are not in the list of processes, and an error does not show
/// them.
#[test]
fn keys_are_read_from_a_file_and_from_standard_input() {
    use std::io::Write;
    use std::process::Stdio;
    let folder = Folder::new("key-file");
    let (k, opc) = (&HEX[..32], &HEX[32..]);
    let add = |imsi: &str, file: &str, input: &str| {
        let mut command = Command::new(MARTLET);
        command.args(["subscriber", "add", "--db", "x.db", imsi, "--key-file", file]);
        command.current_dir(&folder.0).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        // A program that refuses its options does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), text)
    };
    let keys = format!("# of the card\nkey: {k}\nopc = {opc}\n");
    folder.write("card.keys", &keys);
    let (added, text) = add("001010000000001", "card.keys", "");
    assert!(added, "{text}");
    let (added, text) = add("001010000000002", "-", &keys);
    assert!(added, "{text}");
    for imsi in ["001010000000001", "001010000000002"] {
        let mut show = Command::new(MARTLET);
        show.args(["subscriber", "show", "--db", "x.db", "--keys", imsi]).current_dir(&folder.0);
        let shown = String::from_utf8(show.output().unwrap().stdout).unwrap();
        assert!(shown.contains(k) && shown.contains(opc), "{shown}");
    }
    for wrong in [
        format!("key {k}\n"),
        format!("key: {k}\nopx: {opc}\n"),
        format!("key: {k}\nopc: {}\n", &opc[1..]),
        format!("key: {k}\nkey: {k}\n"),
        format!("opc: {opc}\n"),
        format!("key: {k}\n"),
    ] {
        let (added, text) = add("001010000000003", "-", &wrong);
        assert!(!added, "{wrong}: {text}");
        assert_hidden(&text, &wrong);
    }
}
