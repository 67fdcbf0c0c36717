//! `martlet subscriber show`.
use super::database::DatabaseArgs;
use super::values::supi;
use crate::runtime;
use anyhow::{Context, Result};
use clap::Args;
use martlet_sbi::path_segment;

/// Arguments of `martlet subscriber show`.
#[derive(Args)]
pub struct ShowArgs {
    /// IMSI, or nai-user@realm
    supi: String,
    /// Show the keys, from the database itself: the API never shows them
    #[arg(long)]
    keys: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// What is shown for a key.
const HIDDEN: &str = "(hidden; --keys shows it)";

pub(super) fn show(args: &ShowArgs) -> Result<()> {
    let supi = supi(&args.supi);
    let api = if args.keys { None } else { args.database.api()? };
    if let Some(api) = api {
        let mut value =
            runtime::block_on(api.get(&format!("/subscribers/{}", path_segment(&supi))))?;
        value["key"] = HIDDEN.into();
        value["opc"] = HIDDEN.into();
        println!("{}", serde_json::to_string_pretty(&value)?);
        return Ok(());
    }
    let found = args.database.open_existing()?.store.subscriber(&supi)?;
    let subscriber = found.with_context(|| format!("there is no subscriber {supi}"))?;
    let mut value = serde_json::to_value(&*subscriber)?;
    value["sqn"] = format!("{:012x}", subscriber.sqn).into();
    value["amf"] = format!("{:02x}{:02x}", subscriber.amf[0], subscriber.amf[1]).into();
    if !args.keys {
        for pointer in ["/key", "/opc", "/tuak/topc", "/tuak/key"] {
            if let Some(secret) = value.pointer_mut(pointer) {
                *secret = HIDDEN.into();
            }
        }
    }
    println!("{}", serde_json::to_string_pretty(&value)?);
    Ok(())
}
