//! `martlet subscriber`: who may register.
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use martlet::config::Config;
use martlet::exchange::{self, Form};
use martlet_store::{
    AuthenticationMethod, Secret, ServiceArea, Store, SubscribedDnn, SubscribedSlice, Subscriber,
};
use martlet_udr::UdrConfig;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// Who may register. The core may run meanwhile.
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
    /// Take subscribers over from Open5GS, free5GC, or a table
    Import(ImportArgs),
    /// Write all subscribers with their keys
    Export(ExportArgs),
}

/// Where the database is.
#[derive(Args)]
pub struct Place {
    /// Configuration whose `udr.path` names the database
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// The database itself: a file, or a postgresql:// address
    #[arg(long)]
    db: Option<String>,
}

impl Place {
    fn open(&self) -> Result<Store> {
        let udr = match &self.db {
            Some(path) => UdrConfig { path: path.clone(), ..UdrConfig::default() },
            None => Config::load(self.config.as_deref())?.udr,
        };
        let place = martlet_store::DatabaseUrl::parse(&udr.path);
        if place == martlet_store::DatabaseUrl::Memory {
            bail!("udr.path is :memory:, which only the core itself sees: write a file there");
        }
        let key_file = Some(udr.key_file).filter(|file| !file.is_empty()).map(PathBuf::from);
        Ok(Store::open_at(&place, key_file.as_deref())?)
    }
}

/// How a subscriber is authenticated.
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
    /// imsi- and 14 or 15 digits; imsi- may be left out
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
    /// How the subscriber is authenticated
    #[arg(long, value_enum, default_value = "5g-aka")]
    method: Method,
    /// Authentication management field: 4 hexadecimal digits
    #[arg(long, default_value = "8000")]
    amf: String,
    /// Last sequence number used: 12 hexadecimal digits
    #[arg(long, default_value = "000000000000")]
    sqn: String,
    /// Telephone number
    #[arg(long)]
    msisdn: Option<String>,
    /// Slices as SST or SST-SD with six hexadecimal digits; the first one is the default
    #[arg(long = "slice", default_value = "1")]
    slices: Vec<String>,
    /// Data networks in every slice; the first one is the default
    #[arg(long = "dnn", default_value = "internet")]
    dnns: Vec<String>,
    /// Session AMBR downlink, such as "100 Mbps"
    #[arg(long, default_value = martlet_store::DEFAULT_AMBR)]
    downlink: String,
    /// Session AMBR uplink
    #[arg(long, default_value = martlet_store::DEFAULT_AMBR)]
    uplink: String,
    /// A fixed address in the first data network
    #[arg(long, conflicts_with = "count")]
    static_ip: Option<Ipv4Addr>,
    /// Tracking areas where it gets service, if not everywhere, such as 1,2
    #[arg(long, value_delimiter = ',', conflicts_with = "no_service_in")]
    service_in: Vec<u32>,
    /// Tracking areas where it gets none
    #[arg(long, value_delimiter = ',')]
    no_service_in: Vec<u32>,
    /// How many, with consecutive IMSIs
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// In place of those that are there
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    place: Place,
}

/// What is listed.
#[derive(Args)]
pub struct ListArgs {
    /// At most so many
    #[arg(long, default_value_t = 1000)]
    limit: usize,
    #[command(flatten)]
    place: Place,
}

/// What is shown.
#[derive(Args)]
pub struct ShowArgs {
    /// The subscriber
    supi: String,
    /// With its keys
    #[arg(long)]
    keys: bool,
    #[command(flatten)]
    place: Place,
}

/// What is removed.
#[derive(Args)]
pub struct RemoveArgs {
    /// The first one
    supi: String,
    /// How many, with consecutive IMSIs
    #[arg(long, default_value_t = 1)]
    count: u64,
    #[command(flatten)]
    place: Place,
}

/// What is taken over.
#[derive(Args)]
pub struct ImportArgs {
    /// Files; of free5GC one for each collection, or one for all
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Their form
    #[arg(long, value_enum, default_value = "auto")]
    format: Form,
    /// In place of those that are there
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    place: Place,
}

/// What is written.
#[derive(Args)]
pub struct ExportArgs {
    /// The form: martlet, csv or open5gs
    #[arg(long, value_enum, default_value = "martlet")]
    format: Form,
    /// A new file, readable by its owner alone; left out, standard output
    #[arg(short, long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
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
        (None, None) => bail!("--opc, --op or --topc is needed"),
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
    args.place.open()?.add(&all, args.replace)?;
    match all.len() {
        1 => println!("{} may register", first.supi),
        n => println!("{n} subscribers from {} on may register", first.supi),
    }
    Ok(())
}

fn import(args: &ImportArgs) -> Result<()> {
    let text =
        |file: &PathBuf| std::fs::read_to_string(file).with_context(|| file.display().to_string());
    let texts = args.files.iter().map(text).collect::<Result<Vec<_>>>()?;
    let subscribers = exchange::read(args.format, &texts)?;
    if subscribers.is_empty() {
        bail!("there is no subscriber in it");
    }
    args.place.open()?.add(&subscribers, args.replace)?;
    println!("{} subscribers may register", subscribers.len());
    Ok(())
}

fn export(args: &ExportArgs) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let store = args.place.open()?;
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
            println!("{} subscribers are in {}, with their keys", all.len(), file.display());
        }
    }
    Ok(())
}

fn list(args: &ListArgs) -> Result<()> {
    let store = args.place.open()?;
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
    let found = args.place.open()?.subscriber(&supi)?;
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
    let store = args.place.open()?;
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
