//! `martlet pki`: certificates and keys of the network functions.
use crate::table::table;
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use martlet::config::{Config, PkiFile, find};
use martlet::pki::{self, Validity};
use std::path::PathBuf;

/// Commands for certificates and keys.
#[derive(Subcommand)]
pub enum PkiCommand {
    /// Make a CA, a certificate for each function, and the NRF's key for access tokens
    Init(InitArgs),
    /// Make the folder of one machine: certificates of its functions, without the keys of others
    Bundle(BundleArgs),
    /// Add the certificate of a function
    Add(AddArgs),
    /// Renew certificates, with new keys
    Renew(RenewArgs),
    /// Revoke a certificate
    Revoke(RevokeArgs),
    /// Show certificates and when they expire; exit code 1 if one expires within 30 days
    Status(FolderArgs),
}

/// The folder of `martlet pki init`.
#[derive(Args)]
pub struct FolderArgs {
    /// Folder of `martlet pki init`
    #[arg(long, default_value = "pki")]
    pki: PathBuf,
}

/// Addresses for certificates.
#[derive(Args)]
pub struct NamesArgs {
    /// Configuration with the functions' addresses in `sbi` [default: $MARTLET_CONFIG, else
    /// /etc/martlet/martlet.yaml if it exists, else built-in]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Additional DNS name or IP address for all certificates
    #[arg(long = "name")]
    names: Vec<String>,
}

impl NamesArgs {
    fn config(&self) -> Result<Config> {
        Config::load_without_pki(find(self.config.clone()).as_deref())
    }
}

/// Arguments of `martlet pki init`.
#[derive(Args)]
pub struct InitArgs {
    /// Folder for the files
    #[arg(long, default_value = "pki")]
    out: PathBuf,
    #[command(flatten)]
    names: NamesArgs,
}

/// Arguments of `martlet pki bundle`.
#[derive(Args)]
pub struct BundleArgs {
    /// Functions of the machine
    #[arg(required = true)]
    functions: Vec<String>,
    /// Folder for the files of the machine
    #[arg(long)]
    out: PathBuf,
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    names: NamesArgs,
}

/// Arguments of `martlet pki add`.
#[derive(Args)]
pub struct AddArgs {
    /// The function, or core for all functions in one process
    function: String,
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    names: NamesArgs,
}

/// Arguments of `martlet pki renew`.
#[derive(Args)]
pub struct RenewArgs {
    /// Certificates to renew [default: those that expire within 30 days]
    functions: Vec<String>,
    /// Days until they expire
    #[arg(long, default_value_t = pki::FUNCTION_DAYS)]
    days: u32,
    #[command(flatten)]
    folder: FolderArgs,
}

/// Arguments of `martlet pki revoke`.
#[derive(Args)]
pub struct RevokeArgs {
    /// A certificate of the folder by its name, or the file of any other one
    certificate: String,
    #[command(flatten)]
    folder: FolderArgs,
}

/// Runs the command.
pub fn run(command: PkiCommand) -> Result<()> {
    match command {
        PkiCommand::Init(args) => init(&args),
        PkiCommand::Bundle(args) => bundle(&args),
        PkiCommand::Add(args) => {
            let (folder, function) = (&args.folder.pki, &args.function);
            pki::add(&args.names.config()?, folder, function, &args.names.names)?;
            println!(
                "Made {}. Copy it with its key to sbi.pki of its machine, and restart the \
                 function.",
                folder.join(format!("{function}.pem")).display()
            );
            Ok(())
        }
        PkiCommand::Renew(args) => {
            let renewed = pki::renew(&args.folder.pki, &args.functions, args.days)?;
            match renewed.is_empty() {
                true => println!("No certificate expires within {} days.", pki::WARNING_DAYS),
                false => {
                    println!(
                        "Renewed: {}. These functions use the new ones within a minute, or after \
                         SIGHUP.",
                        renewed.join(", ")
                    );
                }
            }
            Ok(())
        }
        PkiCommand::Revoke(args) => {
            pki::revoke(&args.folder.pki, &args.certificate)?;
            println!(
                "Revoked. Copy {} to sbi.pki of each machine: new connections are refused within \
                 a minute. Restart the functions to end open ones. `martlet pki add` or `martlet \
                 pki bundle` makes another certificate.",
                args.folder.pki.join(PkiFile::REVOKED).display()
            );
            Ok(())
        }
        PkiCommand::Status(args) => status(&args),
    }
}

fn init(args: &InitArgs) -> Result<()> {
    pki::init(&args.names.config()?, &args.out, &args.names.names)?;
    println!(
        "Certificates and keys are in {}. Set sbi.pki to this folder in the configuration.",
        args.out.display()
    );
    println!(
        "For several machines, make a folder for each with `martlet pki bundle`, and keep {} \
         offline.",
        PkiFile::AUTHORITY_KEY
    );
    Ok(())
}

fn bundle(args: &BundleArgs) -> Result<()> {
    let names = &args.names;
    pki::bundle(&names.config()?, &args.folder.pki, &args.functions, &args.out, &names.names)?;
    println!(
        "{} has the certificates of {}. Copy it to their machine and set sbi.pki to it.",
        args.out.display(),
        args.functions.join(", ")
    );
    Ok(())
}

fn status(args: &FolderArgs) -> Result<()> {
    let all = pki::status(&args.pki)?;
    let header: Vec<String> =
        ["certificate", "expires", "days", "state", "names"].map(String::from).to_vec();
    let rows = all.iter().map(|certificate| {
        let days = certificate.days_left();
        let state = match (certificate.is_revoked, certificate.validity()) {
            (true, _) => "revoked",
            (false, Validity::Expired) => "expired",
            (false, Validity::ExpiresSoon) => "expires soon",
            (false, Validity::Valid) => "valid",
        };
        let expires = certificate.expires.strftime("%Y-%m-%d").to_string();
        let names = certificate.subjects.join(", ");
        vec![certificate.name.clone(), expires, days.to_string(), state.into(), names]
    });
    println!("{}", table(&header, rows));
    let due = all.iter().filter(|certificate| certificate.days_left() <= pki::WARNING_DAYS);
    let due: Vec<_> = due.map(|certificate| certificate.name.as_str()).collect();
    if !due.is_empty() {
        bail!("{} must be renewed: run `martlet pki renew`", due.join(", "));
    }
    Ok(())
}
