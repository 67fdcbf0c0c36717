//! `martlet backup` and `martlet restore`: the databases, the operator's key and the configuration.
use crate::api_client::Api;
use crate::config_args::ConfigArgs;
use crate::oam_client::{self, Endpoint};
use crate::runtime;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use hyper::Method;
use martlet::backups::{self, BackupError, KEY};
use martlet::config::{Config, database_name};
use martlet_store::KEY_VARIABLE;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `martlet backup`.
#[derive(Args)]
pub struct BackupArgs {
    /// New folder for the backup, readable by its owner only
    folder: PathBuf,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Arguments of `martlet restore`.
#[derive(Args)]
pub struct RestoreArgs {
    /// Folder of `martlet backup`
    #[arg(required_unless_present = "withdraw")]
    folder: Option<PathBuf>,
    /// Replace existing databases and keys
    #[arg(long)]
    replace: bool,
    /// Withdraw the restore that waits for the next start
    #[arg(long, conflicts_with_all = ["folder", "replace"])]
    withdraw: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// How long a running core may take to answer.
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// Has a running core make the backup, so that its audit log names it. A core without the right to
/// write there refuses, and the caller copies the files.
async fn over_api(api: &Api, folder: &Path) -> Result<Vec<String>> {
    let folder = std::path::absolute(folder)?;
    let body = serde_json::json!({"folder": folder.display().to_string()});
    let made = api.job("/backups", &body).await?;
    let files = made["files"].as_array().into_iter().flatten();
    Ok(files.filter_map(|name| name.as_str().map(str::to_string)).collect())
}

/// Makes a consistent copy of each database while a core may run.
pub fn backup(args: &BackupArgs) -> Result<()> {
    let (config, file) = (args.config.load()?, args.config.file());
    let made = Api::of_core(&config).map(|api| runtime::block_on(over_api(&api, &args.folder)));
    let copied = match made {
        // Under the systemd unit, the core has a /tmp of its own.
        Some(Ok(_)) if is_missing(&args.folder) => {
            eprintln!(
                "note: the core made the backup in a folder that it alone sees, such as its own \
                 /tmp, which ends with it: this command copies the files"
            );
            copy(&config, file.as_deref(), &args.folder)?
        }
        Some(Ok(copied)) => copied,
        // What exists was not made by this command.
        Some(Err(error)) if args.folder.exists() => return Err(error),
        Some(Err(error)) => {
            eprintln!(
                "note: the core did not make the backup ({error:#}): this command copies the \
                 files, and the audit log has no entry"
            );
            copy(&config, file.as_deref(), &args.folder)?
        }
        None => copy(&config, file.as_deref(), &args.folder)?,
    };
    let has_key = copied.iter().any(|name| name == KEY);
    if !has_key {
        eprintln!(
            "note: the operator's key is not in a file: keep the value of {KEY_VARIABLE} with this \
             backup"
        );
    }
    let databases = copied.iter().filter(|name| name.ends_with(".db")).count();
    println!(
        "{}{} in {}",
        counted(databases, "database"),
        if has_key { " and the operator's key" } else { "" },
        args.folder.display()
    );
    Ok(())
}

/// Whether a folder does not exist. One in a folder that this user may not enter may exist.
fn is_missing(folder: &Path) -> bool {
    matches!(folder.try_exists(), Ok(false))
}

fn copy(config: &Config, file: Option<&Path>, folder: &Path) -> Result<Vec<String>> {
    backups::copy(config, file, folder, None).map(|made| made.files).map_err(with_remedy)
}

fn with_remedy(error: BackupError) -> anyhow::Error {
    anyhow!("{error}: {}", error.remedy())
}

/// Who runs this command, as the audit log names users of the socket.
fn caller() -> String {
    format!("uid:{}", nix::unistd::geteuid())
}

/// Restores a backup: at once, or by the next start of the core if it runs.
pub fn restore(args: &RestoreArgs) -> Result<()> {
    let config = args.config.load()?;
    let targets = backups::targets(&config).map_err(with_remedy)?;
    let running = running(&config)?;
    let Some(folder) = &args.folder else {
        return match running {
            Some(api) => runtime::block_on(withdraw_over_api(&api)),
            None => {
                withdrawn(backups::withdraw(&config, &caller()).map_err(with_remedy)?.is_some())
            }
        };
    };
    let folder = std::path::absolute(folder)?;
    let seen = match &running {
        Some(api) => runtime::block_on(preview_over_api(api, &folder))?,
        None => (serde_json::json!(backups::preview(&config, &folder).map_err(with_remedy)?), None),
    };
    print_preview(&seen.0);
    if let Some(taken) = targets.iter().find(|target| target.file.exists() && !args.replace) {
        bail!("{} exists: --replace replaces it", taken.file.display());
    }
    if let Some(api) = running {
        return runtime::block_on(stage_over_api(&api, &folder, seen.1));
    }
    if let Some(file) = backups::in_use(&config).map_err(with_remedy)? {
        return Err(with_remedy(BackupError::InUse(file)));
    }
    backups::stage(&config, &folder, &caller()).map_err(with_remedy)?;
    let last = backups::carry_out(&config).map_err(with_remedy)?;
    let last = last.context("another process has carried the restore out")?;
    if let Some(error) = last.error {
        bail!("nothing was replaced: {error}: {}", last.remedy.unwrap_or_default());
    }
    let files = counted(last.staged.files.len(), "file");
    println!("{files} restored from {}", folder.display());
    if let Some(replaced) = last.replaced {
        println!("the replaced files are in {replaced}");
    }
    Ok(())
}

/// The API of a core that runs with the databases of a configuration.
///
/// # Errors
/// Such a core runs, and its API cannot be reached.
fn running(config: &Config) -> Result<Option<Api>> {
    let oam = Endpoint::of_core(config);
    let status = runtime::block_on(oam_client::status_within(&oam, STATUS_TIMEOUT));
    let is_this = |status: &Value| status["database"] == database_name(&config.database());
    if !status.is_ok_and(|status| is_this(&status)) {
        return Ok(None);
    }
    let api = Api::of_running_core(config);
    api.map(Some).with_context(|| format!("a core runs with this database at {oam}: stop it first"))
}

fn print_preview(seen: &Value) {
    let count = |name: &str| seen["subscribers"][name].as_u64();
    let shown = |name: &str| count(name).map_or("?".into(), |n| n.to_string());
    let made = seen["made"].as_i64().and_then(|at| jiff::Timestamp::from_second(at).ok());
    println!(
        "backup of {} with {} subscribers; now there are {}",
        made.map_or("?".into(), |made| made.to_string()),
        shown("in_backup"),
        shown("now")
    );
    println!(
        "{} subscribers are lost, {} come back, {} get the data of the backup",
        shown("lost"),
        shown("back"),
        shown("changed")
    );
    if let Some(since) = seen["changes_since"].as_u64() {
        println!("{since} changes since the backup are lost");
    }
}

async fn preview_over_api(api: &Api, folder: &Path) -> Result<(Value, Option<String>)> {
    let folder = folder.display().to_string();
    let path = format!("/restores/preview?folder={}", martlet_sbi::path_segment(&folder));
    let response = api.request(Method::GET, &path, &[], None).await?;
    let tag = response.tag.clone();
    Ok((response.ok()?, tag))
}

async fn stage_over_api(api: &Api, folder: &Path, tag: Option<String>) -> Result<()> {
    let tag = tag.context("the preview has no entity tag")?;
    let body = serde_json::json!({"folder": folder.display().to_string()});
    let headers = [("if-match", tag.as_str())];
    api.request(Method::POST, "/restores", &headers, Some(&body)).await?.ok()?;
    println!("staged: the next start of the core restores {}", folder.display());
    Ok(())
}

async fn withdraw_over_api(api: &Api) -> Result<()> {
    let response = api.request(Method::DELETE, "/restores", &[], None).await?;
    withdrawn(response.status != 404)?;
    response.ok().map(drop)
}

fn withdrawn(was_staged: bool) -> Result<()> {
    ensure!(was_staged, "no restore is staged");
    println!("withdrawn: the next start restores nothing");
    Ok(())
}

/// A number with its noun: `1 file`, `2 files`.
fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_this_user_may_not_enter_is_not_missing() {
        let folder = std::env::temp_dir();
        assert!(!is_missing(&folder));
        assert!(is_missing(&folder.join("martlet-none")));
        // As for a folder without the right to enter it, this is unknown.
        assert!(!is_missing(&folder.join("x".repeat(300))));
    }
}
