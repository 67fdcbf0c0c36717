//! The scripts of deploy/external find the programs of other cores.
use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Folder> {
        let path = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("programs"))?;
        fs::create_dir_all(path.join("files"))?;
        Ok(Folder(path))
    }

    /// A program that fails, which ends the script.
    fn program(&self, name: &str) -> Result<()> {
        let path = self.0.join("programs").join(name);
        fs::write(&path, "#!/bin/sh\nexit 1\n")?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?)
    }

    /// What the script that starts free5GC's functions writes. The folder of the programs is
    /// relative, as a person may name it.
    fn free5gc(&self) -> Result<String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../deploy/external/free5gc-functions.sh")
            .canonicalize()?;
        let variables = [
            ("MARTLET_LAB_FOLDER", "files"),
            ("MARTLET_LAB_PROGRAMS", "programs"),
            ("MARTLET_LAB_AMF", "127.60.0.5"),
            ("MARTLET_LAB_PLMN", "00101"),
            ("MARTLET_LAB_TAC", "1"),
            ("MARTLET_LAB_SLICE", "1-010203"),
            ("MARTLET_LAB_DNN", "internet"),
            ("MARTLET_LAB_FIRST_IMSI", "001010000000001"),
            ("MARTLET_LAB_SUBSCRIBERS", "1"),
            ("MARTLET_LAB_KEY", "00"),
            ("MARTLET_LAB_OPC", "00"),
        ];
        let mut command = Command::new(script);
        command.current_dir(&self.0).env("PATH", "/usr/bin:/bin").env_remove("FREE5GC_FUNCTIONS");
        let output = command.envs(variables).output().context("free5gc-functions.sh")?;
        ensure!(!output.status.success(), "the programs of this test fail");
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn free5gc_runs_with_the_functions_that_are_installed() -> Result<()> {
    let folder = Folder::new("external-scripts")?;
    let missing = folder.free5gc()?;
    ensure!(missing.contains("no program martlet"), "{missing}");
    folder.program("martlet")?;
    folder.program("free5gc-amf")?;
    let amf = folder.free5gc()?;
    ensure!(amf.contains("functions of free5GC: amf; all others"), "{amf}");
    // Without a database, PCF and NRF cannot run; without MongoDB itself, the NRF finds nothing.
    folder.program("free5gc-pcf")?;
    folder.program("nrf")?;
    let without = folder.free5gc()?;
    ensure!(without.contains("functions of free5GC: amf; all others"), "{without}");
    folder.program("mongodb")?;
    let stand_in = folder.free5gc()?;
    ensure!(stand_in.contains("functions of free5GC: amf pcf; all others"), "{stand_in}");
    folder.program("mongod")?;
    let all = folder.free5gc()?;
    ensure!(all.contains("functions of free5GC: amf pcf nrf; all others"), "{all}");
    Ok(())
}
