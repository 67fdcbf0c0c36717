//! `martlet subscriber`: the subscriber database.
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use martlet::config::Config;
use martlet::exchange::{self, Format};
use martlet_store::{
    AuthenticationMethod, Secret, ServiceArea, Store, SubscribedDnn, SubscribedSlice, Subscriber,
};
use martlet_udr::UdrConfig;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Commands for the subscriber database. The core may run at the same time.
#[derive(Subcommand)]
pub enum SubscriberCommand {
    /// Add a subscriber, or several with consecutive IMSIs
    Add(Box<AddArgs>),
    /// List subscribers
    List(ListArgs),
    /// Show a subscriber
    Show(ShowArgs),
    /// Remove subscribers
    Remove(RemoveArgs),
    /// Import subscribers from Open5GS, free5GC, CSV or JSON
    Import(ImportArgs),
    /// Export all subscribers with their keys
    Export(ExportArgs),
}

/// The subscriber database.
#[derive(Args)]
pub struct DatabaseArgs {
    /// Configuration with the database in `udr.path`
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Database, instead of the configuration's: a file, or a postgresql:// URL
    #[arg(long, value_name = "FILE|URL")]
    db: Option<String>,
}

impl DatabaseArgs {
    fn open(&self) -> Result<Store> {
        let udr = match &self.db {
            Some(path) => UdrConfig { path: path.clone(), ..UdrConfig::default() },
            None => Config::load(self.config.as_deref())?.udr,
        };
        let url = martlet_store::DatabaseUrl::parse(&udr.path);
        if url == martlet_store::DatabaseUrl::Memory {
            bail!("udr.path is :memory:, which only the core can access: set it to a file");
        }
        let key_file = Some(udr.key_file).filter(|file| !file.is_empty()).map(PathBuf::from);
        Ok(Store::open_at(&url, key_file.as_deref())?)
    }
}

/// An authentication method.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Method {
    /// 5G-AKA
    #[value(name = "5g-aka")]
    FiveGAka,
    /// EAP-AKA'
    #[value(name = "eap-aka-prime")]
    EapAkaPrime,
}

/// A subscriber to add.
#[derive(Args)]
pub struct AddArgs {
    /// IMSI of 14 or 15 digits, with or without imsi-
    supi: String,
    /// K: 32 hexadecimal digits
    #[arg(long)]
    key: String,
    /// OPc: 32 hexadecimal digits
    #[arg(long, required_unless_present_any = ["op", "topc"], conflicts_with = "op")]
    opc: Option<String>,
    /// OP of the operator, from which OPc is derived: 32 hexadecimal digits
    #[arg(long)]
    op: Option<String>,
    /// TOPc of a USIM with TUAK: 64 hexadecimal digits
    #[arg(long, conflicts_with_all = ["op", "opc"])]
    topc: Option<String>,
    /// Authentication method
    #[arg(long, value_enum, default_value = "5g-aka")]
    method: Method,
    /// Authentication management field: 4 hexadecimal digits
    #[arg(long, default_value = "8000")]
    amf: String,
    /// Last sequence number used: 12 hexadecimal digits
    #[arg(long, default_value = "000000000000")]
    sqn: String,
    /// MSISDN
    #[arg(long)]
    msisdn: Option<String>,
    /// Slice as SST or SST-SD, with six hexadecimal digits; repeat for more, the first is the
    /// default
    #[arg(long = "slice", default_value = "1")]
    slices: Vec<String>,
    /// DNN in every slice; repeat for more, the first is the default
    #[arg(long = "dnn", default_value = "internet")]
    dnns: Vec<String>,
    /// Session AMBR downlink, such as "100 Mbps"
    #[arg(long, default_value = martlet_store::DEFAULT_AMBR)]
    downlink: String,
    /// Session AMBR uplink
    #[arg(long, default_value = martlet_store::DEFAULT_AMBR)]
    uplink: String,
    /// Static IPv4 address in the first data network
    #[arg(long, conflicts_with = "count")]
    static_ip: Option<Ipv4Addr>,
    /// Allowed tracking areas, such as 1,2 [default: all]
    #[arg(long, value_delimiter = ',', conflicts_with = "no_service_in")]
    service_in: Vec<u32>,
    /// Non-allowed tracking areas
    #[arg(long, value_delimiter = ',')]
    no_service_in: Vec<u32>,
    /// Number of subscribers, with consecutive IMSIs
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Replace existing subscribers
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Arguments of `martlet subscriber list`.
#[derive(Args)]
pub struct ListArgs {
    /// Maximum number of subscribers
    #[arg(long, default_value_t = 1000)]
    limit: usize,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Arguments of `martlet subscriber show`.
#[derive(Args)]
pub struct ShowArgs {
    /// IMSI
    supi: String,
    /// Show the keys
    #[arg(long)]
    keys: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Arguments of `martlet subscriber remove`.
#[derive(Args)]
pub struct RemoveArgs {
    /// IMSI of the first subscriber
    supi: String,
    /// Number of subscribers, with consecutive IMSIs
    #[arg(long, default_value_t = 1)]
    count: u64,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Arguments of `martlet subscriber import`.
#[derive(Args)]
pub struct ImportArgs {
    /// Files; for free5GC one for each collection, or one for all
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Format of the files
    #[arg(long, value_enum, default_value = "auto")]
    format: Format,
    /// Replace existing subscribers
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Arguments of `martlet subscriber export`.
#[derive(Args)]
pub struct ExportArgs {
    /// Format: martlet, csv or open5gs
    #[arg(long, value_enum, default_value = "martlet")]
    format: Format,
    /// New file, readable by its owner only [default: standard output]
    #[arg(short, long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Runs the command.
pub fn run(command: SubscriberCommand) -> Result<()> {
    match command {
        SubscriberCommand::Add(args) => add(&args),
        SubscriberCommand::List(args) => list(&args),
        SubscriberCommand::Show(args) => show(&args),
        SubscriberCommand::Remove(args) => remove(&args),
        SubscriberCommand::Import(args) => import(&args),
        SubscriberCommand::Export(args) => export(&args),
    }
}

fn supi(text: &str) -> String {
    if text.bytes().all(|b| b.is_ascii_digit()) { format!("imsi-{text}") } else { text.to_string() }
}

fn key(name: &str, text: &str) -> Result<Secret> {
    Secret::from_hex(text).with_context(|| format!("--{name}: a key is 32 hexadecimal digits"))
}

fn slice(text: &str) -> Result<(u8, Option<u32>)> {
    let wrong = || format!("--slice {text:?}: write 1, or 1-010203 with a differentiator");
    let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
    let sd = sd.map(|sd| if sd.len() == 6 { u32::from_str_radix(sd, 16).ok() } else { None });
    match sd {
        Some(None) => bail!(wrong()),
        sd => Ok((sst.parse().ok().with_context(wrong)?, sd.flatten())),
    }
}

fn subscriber(args: &AddArgs) -> Result<Subscriber> {
    let k = key("key", &args.key)?;
    let opc = match (&args.opc, &args.op) {
        (Some(opc), _) => key("opc", opc)?,
        (None, Some(op)) => Secret(martlet_security::aka::opc(&k.0, &key("op", op)?.0)),
        // TUAK has no OPc.
        (None, None) if args.topc.is_some() => Secret([0; 16]),
        (None, None) => bail!("one of --opc, --op and --topc is required"),
    };
    let mut subscriber = Subscriber::new(&supi(&args.supi), k, opc, "internet");
    if let Some(topc) = &args.topc {
        let topc = Secret::from_hex(topc).context("--topc: TOPc is 64 hexadecimal digits")?;
        subscriber.tuak = Some(martlet_store::Tuak::new(topc));
    }
    subscriber.authentication_method = match args.method {
        Method::FiveGAka => AuthenticationMethod::FiveGAka,
        Method::EapAkaPrime => AuthenticationMethod::EapAkaPrime,
    };
    let amf = u16::from_str_radix(&args.amf, 16).ok().filter(|_| args.amf.len() == 4);
    subscriber.amf = amf.context("--amf: write 4 hexadecimal digits, such as 8000")?.to_be_bytes();
    subscriber.sqn =
        u64::from_str_radix(&args.sqn, 16).context("--sqn: write 12 hexadecimal digits")?;
    subscriber.msisdn = args.msisdn.clone();
    subscriber.service_area = match (args.service_in.as_slice(), args.no_service_in.as_slice()) {
        ([], []) => None,
        (allowed @ [_, ..], _) => Some(ServiceArea::Allowed(allowed.to_vec())),
        (_, without) => Some(ServiceArea::NotAllowed(without.to_vec())),
    };
    let dnn = |(n, name): (usize, &String)| SubscribedDnn {
        default: n == 0,
        ambr_downlink: args.downlink.clone(),
        ambr_uplink: args.uplink.clone(),
        static_ipv4: args.static_ip.filter(|_| n == 0),
        ..SubscribedDnn::new(name)
    };
    let dnns: Vec<_> = args.dnns.iter().enumerate().map(dnn).collect();
    subscriber.slices = Vec::new();
    for (n, text) in args.slices.iter().enumerate() {
        let (sst, sd) = slice(text)?;
        subscriber.slices.push(SubscribedSlice { sst, sd, default: n == 0, dnns: dnns.clone() });
    }
    Ok(subscriber)
}

fn add(args: &AddArgs) -> Result<()> {
    let first = subscriber(args)?;
    first.check()?;
    let all: Option<Vec<_>> = (0..args.count).map(|n| first.nth(n)).collect();
    let all = all.context("--count goes beyond the last IMSI of this length")?;
    args.database.open()?.add(&all, args.replace)?;
    match all.len() {
        1 => println!("{} added", first.supi),
        n => println!("{n} subscribers added, from {} on", first.supi),
    }
    Ok(())
}

fn import(args: &ImportArgs) -> Result<()> {
    let text =
        |file: &PathBuf| std::fs::read_to_string(file).with_context(|| file.display().to_string());
    let texts = args.files.iter().map(text).collect::<Result<Vec<_>>>()?;
    let subscribers = exchange::read(args.format, &texts)?;
    if subscribers.is_empty() {
        bail!("the files contain no subscriber");
    }
    args.database.open()?.add(&subscribers, args.replace)?;
    println!("{} subscribers added", subscribers.len());
    Ok(())
}

fn export(args: &ExportArgs) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let store = args.database.open()?;
    let mut all = Vec::new();
    loop {
        let after = all.last().map_or(String::new(), |last: &Subscriber| last.supi.clone());
        let more = store.list(&after, 1000)?;
        if more.is_empty() {
            break;
        }
        all.extend(more);
    }
    let text = exchange::write(args.format, &all)?;
    match &args.output {
        None => print!("{text}"),
        Some(file) => {
            let mut open = std::fs::OpenOptions::new();
            let opened = open.write(true).create_new(true).mode(0o600).open(file);
            opened.with_context(|| file.display().to_string())?.write_all(text.as_bytes())?;
            println!("{} subscribers with their keys written to {}", all.len(), file.display());
        }
    }
    Ok(())
}

fn list(args: &ListArgs) -> Result<()> {
    let store = args.database.open()?;
    for subscriber in store.list("", args.limit)? {
        let slices = subscriber.slices.iter().map(|slice| {
            let sd = slice.sd.map_or(String::new(), |sd| format!("-{sd:06x}"));
            let dnns: Vec<_> = slice.dnns.iter().map(|dnn| dnn.name.as_str()).collect();
            format!("{}{sd} ({})", slice.sst, dnns.join(", "))
        });
        println!("{}  {}", subscriber.supi, slices.collect::<Vec<_>>().join("  "));
    }
    let (count, limit) = (store.count()?, args.limit as u64);
    if count > limit {
        println!("… and {} more", count - limit);
    }
    Ok(())
}

fn show(args: &ShowArgs) -> Result<()> {
    let supi = supi(&args.supi);
    let found = args.database.open()?.subscriber(&supi)?;
    let subscriber = found.with_context(|| format!("there is no subscriber {supi}"))?;
    let mut value = serde_json::to_value(&*subscriber)?;
    value["sqn"] = format!("{:012x}", subscriber.sqn).into();
    value["amf"] = format!("{:02x}{:02x}", subscriber.amf[0], subscriber.amf[1]).into();
    if !args.keys {
        for name in ["key", "opc"] {
            value[name] = "(hidden; --keys shows it)".into();
        }
    }
    println!("{}", serde_json::to_string_pretty(&value)?);
    Ok(())
}

fn remove(args: &RemoveArgs) -> Result<()> {
    let store = args.database.open()?;
    let first = Subscriber::new(&supi(&args.supi), Secret([0; 16]), Secret([0; 16]), "internet");
    let mut removed = 0;
    for n in 0..args.count {
        let supi = first.nth(n).context("--count goes beyond the last IMSI of this length")?.supi;
        removed += u64::from(store.remove(&supi)?);
    }
    if removed == 0 {
        bail!("there is no subscriber {}", first.supi);
    }
    println!("{removed} removed");
    Ok(())
}
