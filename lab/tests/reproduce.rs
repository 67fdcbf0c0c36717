//! `make reproduce`: parts of the report that are kept, repeated, or fail.
use anyhow::{Context, Result, ensure};
use martlet_tests::in_namespace_within;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Folder> {
        let path = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    fn text(&self, file: &str) -> Result<String> {
        fs::read_to_string(self.0.join(file)).with_context(|| file.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// deploy/reproduce/run.sh in a tree of its own, with programs that note their arguments in place
/// of the lab and of the guest.
struct Tree(Folder);

/// The lab: notes its arguments, and writes a report in which figures have these marks.
const LAB: &str = r#"#!/bin/bash
echo "$*" >> calls
echo '{"figures": [{
"mark": "MARK"
}]}' > out/summary.json
"#;
/// The guest: measures, unless there is a file `broken`.
const GUEST: &str = r#"#!/bin/bash
echo "guest $KERNEL rounds=$ROUNDS real=$REALTIME only=$ONLY" >> calls
[ ! -e broken ] || exit 1
mkdir -p target/guest/results/lcs-upp
echo '{}' > target/guest/results/lcs-upp/summary.json
echo "measured $(grep -c ^guest calls)" > target/guest/results/lcs-upp/raw.csv
"#;

impl Tree {
    fn new(name: &str, mark: &str) -> Result<Tree> {
        let tree = Tree(Folder::new(name)?);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/reproduce/run.sh");
        fs::create_dir_all(tree.0.0.join("deploy/reproduce"))?;
        fs::copy(script, tree.0.0.join("deploy/reproduce/run.sh"))?;
        tree.program("lab", &LAB.replace("MARK", mark))?;
        tree.program("guest", GUEST)?;
        Ok(tree)
    }

    fn program(&self, name: &str, text: &str) -> Result<()> {
        let path = self.0.0.join(name);
        fs::write(&path, text)?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?)
    }

    fn run(&self, variables: &[(&str, &str)]) -> Result<Output> {
        let usual = [("OUT", "out"), ("LAB", "./lab"), ("GUEST", "./guest"), ("AS_ROOT", "")];
        let mut command = Command::new("bash");
        command.arg(self.0.0.join("deploy/reproduce/run.sh")).env_remove("AGAIN");
        for name in ["QUICK", "ROUNDS", "TRIAL", "KERNEL"] {
            command.env_remove(name);
        }
        Ok(command.envs(usual).envs(variables.iter().copied()).output()?)
    }

    /// The calls of lab and guest since the last time.
    fn calls(&self) -> Result<Vec<String>> {
        let calls = self.0.text("calls")?.lines().map(String::from).collect();
        fs::write(self.0.0.join("calls"), "")?;
        Ok(calls)
    }
}

#[test]
fn the_part_of_the_guest_is_measured_once_for_each_program() -> Result<()> {
    let tree = Tree::new("reproduce-once", "other testbed")?;
    let output = tree.run(&[])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = tree.calls()?;
    ensure!(calls[0] == "guest linux-image-rt-amd64 rounds=1000 real=1 only=lab", "{calls:?}");
    let reproduce = "--log info reproduce all --resume --out out --keep lcs-upp";
    ensure!(calls[1..] == [reproduce], "{calls:?}");
    ensure!(tree.0.text("out/lcs-upp/raw.csv")? == "measured 1\n");
    // Nothing has changed.
    ensure!(tree.run(&[])?.status.success());
    ensure!(tree.calls()? == [reproduce]);
    // Another length, another program, and a request.
    tree.run(&[("ROUNDS", "5")])?;
    ensure!(tree.calls()?[0].contains("rounds=5 "));
    tree.program("lab", &(LAB.replace("MARK", "true") + "# another build\n"))?;
    tree.run(&[("ROUNDS", "5")])?;
    ensure!(tree.calls()?.len() == 2);
    tree.run(&[("ROUNDS", "5"), ("AGAIN", "switch")])?;
    ensure!(tree.calls()?.len() == 1);
    tree.run(&[("ROUNDS", "5"), ("AGAIN", "switch lcs-upp")])?;
    ensure!(tree.calls()?.len() == 2);
    Ok(())
}

#[test]
fn a_guest_that_fails_does_not_stop_the_report() -> Result<()> {
    let tree = Tree::new("reproduce-broken", "incomplete")?;
    fs::write(tree.0.0.join("broken"), "")?;
    let output = tree.run(&[("QUICK", "1"), ("TRIAL", "2")])?;
    let calls = tree.calls()?;
    ensure!(
        calls[1..] == ["--log info reproduce all --resume --out out --quick --trial 2"],
        "{calls:?}"
    );
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(1), "{error}");
    ensure!(error.contains("LCS-UPP in a guest") && error.contains("1 of 17 figures"), "{error}");
    // The guest works now: its part is measured, although the lab made one here.
    fs::remove_file(tree.0.0.join("broken"))?;
    tree.run(&[])?;
    ensure!(tree.0.text("out/lcs-upp/raw.csv")? == "measured 1\n");
    Ok(())
}

/// A debug build gives no meaningful values.
#[test]
fn reproduce_resumes_with_the_parts_that_are_missing() {
    in_namespace_within(Duration::from_secs(1800), || async {
        let folder = Folder::new("reproduce-resume")?;
        let run = |paper: &str, more: &[&str]| -> Result<Value> {
            let output = Command::new(env!("CARGO_BIN_EXE_martlet-lab"))
                .args(["--log", "warn", "reproduce", paper, "--quick", "--minimal", "--resume"])
                .arg("--out")
                .arg(&folder.0)
                .args(more)
                .output()?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Ok(serde_json::from_str(&folder.text("summary.json")?)?)
        };
        let first = run("lcs-upp", &[])?;
        let lower = &first["figures"][1];
        ensure!(lower["mark"] == "incomplete", "{lower}");
        let reason = lower["reason"].as_str().context("reason")?;
        for part in ["Type 2, kernel TLS is absent (", "Type 3, kernel module is absent ("] {
            ensure!(reason.contains(part), "{reason}");
        }
        ensure!(lower["command"].as_str().is_some_and(|it| it.contains("--rounds 5")), "{lower}");
        // No two measurements are alike.
        let raw = || folder.text("lcs-upp/raw.csv");
        let measured = raw()?;
        run("lcs-upp", &[])?;
        ensure!(raw()? == measured, "the part was measured again");
        let origin = folder.text("lcs-upp/origin.json")?;
        fs::write(folder.0.join("lcs-upp/origin.json"), origin.replace("\"5\"", "\"6\""))?;
        run("lcs-upp", &["--keep", "lcs-upp"])?;
        ensure!(raw()? == measured, "a part to keep was measured again");
        run("lcs-upp", &[])?;
        ensure!(raw()? != measured, "a part of other options was kept");
        // A part that fails has no figures of an older one, and is tried again.
        let failed = run("switch", &["--switch-program", "missing"])?;
        ensure!(failed["figures"][0]["mark"] == "absent", "{failed}");
        ensure!(!folder.0.join("switch/origin.json").exists());
        Ok(())
    });
}
