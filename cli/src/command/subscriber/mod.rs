//! `martlet subscriber`: the subscriber database. Where a core with the northbound API runs, the
//! commands go over it, so that its audit log has each change.
mod over_api;

use crate::api_client::Api;
use crate::config_args::ConfigArgs;
use crate::oam_client::{self, Endpoint};
use crate::runtime;
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use martlet::config::{Config, database_name};
use martlet::exchange::{self, Format, Losses};
use martlet_store::{
    AuthenticationMethod, DatabaseUrl, Secret, ServiceArea, Store, StoreError, SubscribedDnn,
    SubscribedSlice, Subscriber,
};
use martlet_udr::UdrConfig;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::time::Duration;
use zeroize::Zeroizing;

/// Commands for the subscriber database. The core may run at the same time.
///
/// They go over the API of the running core. `--db`, and a core that does not run, mean the
/// database itself; so do commands that read keys, which the API never shows.
#[derive(Subcommand)]
pub enum SubscriberCommand {
    /// Add a subscriber, or several with consecutive IMSIs
    Add(Box<AddArgs>),
    /// Change fields of a subscriber, and keep the others
    Set(Box<SetArgs>),
    /// List subscribers
    List(ListArgs),
    /// Show a subscriber
    Show(ShowArgs),
    /// Remove subscribers
    Remove(RemoveArgs),
    /// Import subscribers from Open5GS, free5GC, UERANSIM, CSV or JSON
    Import(ImportArgs),
    /// Export all subscribers with their keys
    Export(ExportArgs),
}

/// The subscriber database.
#[derive(Args)]
pub struct DatabaseArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Database, instead of the configuration's `udr.path`: a file, or a postgresql:// URL
    #[arg(long, value_name = "FILE|URL")]
    db: Option<String>,
}

/// A database that a command has opened.
struct Opened {
    store: Store,
    url: DatabaseUrl,
    config: Config,
    /// Whether the command has created it.
    is_new: bool,
}

/// How long a running core may take to say which database it uses.
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

impl Opened {
    /// Prints a note if no core reads what has been written: the core that runs uses another
    /// database, or none runs and the database is new. Or if the audit log lacks it.
    fn report_reader(&self) {
        if self.config.oam.api.enabled {
            eprintln!(
                "note: the database was changed itself, and not over the API of a running core, so \
                 the audit log has no entry"
            );
        }
        // The UDR of another machine has the database of such a core.
        if self.config.sbi.external.iter().any(|name| name == "udr") {
            return;
        }
        let (oam, name) = (Endpoint::of_core(&self.config), database_name(&self.url));
        let status = runtime::block_on(oam_client::status_within(&oam, STATUS_TIMEOUT));
        match status.ok().and_then(|status| status["database"].as_str().map(str::to_string)) {
            Some(used) if used != name => eprintln!(
                "note: the core at {oam} uses the database {used}, so it does not see this change \
                 of {name}: select its configuration with -c or MARTLET_CONFIG, or its database \
                 with --db"
            ),
            None if self.is_new => eprintln!(
                "note: the database {name} is new, and no core answers at {oam}: start one with \
                 the same configuration, and from the same folder if there is none"
            ),
            _ => {}
        }
    }
}

impl DatabaseArgs {
    /// The configuration.
    pub fn config(&self) -> Result<Config> {
        self.config.load()
    }

    /// The API of the running core with this database.
    pub fn api(&self) -> Result<Option<Api>> {
        match &self.db {
            Some(_) => Ok(None),
            None => Ok(Api::of_core(&self.config.load()?)),
        }
    }

    /// Adds new subscribers to the database itself.
    pub fn add(&self, subscribers: &[Subscriber]) -> Result<()> {
        let opened = self.open()?;
        opened.store.add(subscribers, false)?;
        opened.report_reader();
        Ok(())
    }

    /// Opens the database for a command that writes.
    fn open(&self) -> Result<Opened> {
        let mut config = self.config.load()?;
        if let Some(path) = &self.db {
            config.udr = UdrConfig { path: path.clone(), ..UdrConfig::default() };
        }
        let url = config.database();
        if url == DatabaseUrl::Memory {
            bail!("udr.path is :memory:, which only the core can access: set it to a file");
        }
        let is_new = matches!(&url, DatabaseUrl::File(file) if !file.exists());
        let key_file = config.udr.key_file.clone();
        let key_file = Some(key_file).filter(|file| !file.is_empty()).map(PathBuf::from);
        let store = Store::open_at(&url, key_file.as_deref())?;
        Ok(Opened { store, url, config, is_new })
    }

    /// Opens the database for a command that needs an existing one.
    fn open_existing(&self) -> Result<Opened> {
        let url = match &self.db {
            Some(path) => DatabaseUrl::parse(path),
            None => self.config.load()?.database(),
        };
        if let DatabaseUrl::File(file) = &url
            && !file.exists()
        {
            bail!(
                "there is no database {}: select the core's configuration with -c or \
                 MARTLET_CONFIG, or a database with --db",
                database_name(&url)
            );
        }
        self.open()
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
    /// File with the keys, `-` for standard input: lines such as `key: …` and `opc: …` with the
    /// names of the following options. Other users see options in the list of processes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "opc", "op", "topc"])]
    key_file: Option<PathBuf>,
    /// K: 32 hexadecimal digits
    #[arg(long, required_unless_present = "key_file")]
    key: Option<String>,
    /// OPc: 32 hexadecimal digits
    #[arg(
        long,
        required_unless_present_any = ["op", "topc", "key_file"],
        conflicts_with = "op"
    )]
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
    #[arg(long, value_delimiter = ',', conflicts_with = "non_allowed_tacs")]
    allowed_tacs: Vec<u32>,
    /// Non-allowed tracking areas
    #[arg(long, value_delimiter = ',')]
    non_allowed_tacs: Vec<u32>,
    /// Number of subscribers, with consecutive IMSIs
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// Replace existing subscribers
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Fields of a subscriber to change.
#[derive(Args)]
pub struct SetArgs {
    /// IMSI
    supi: String,
    /// K: 32 hexadecimal digits
    #[arg(long)]
    key: Option<String>,
    /// OPc: 32 hexadecimal digits
    #[arg(long)]
    opc: Option<String>,
    /// Authentication method
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// Authentication management field: 4 hexadecimal digits
    #[arg(long)]
    amf: Option<String>,
    /// MSISDN; empty removes it
    #[arg(long)]
    msisdn: Option<String>,
    /// UE AMBR downlink, such as "100 Mbps"
    #[arg(long)]
    ue_downlink: Option<String>,
    /// UE AMBR uplink
    #[arg(long)]
    ue_uplink: Option<String>,
    /// Allowed tracking areas, such as 1,2; `all` removes the restriction
    #[arg(long, conflicts_with = "non_allowed_tacs")]
    allowed_tacs: Option<String>,
    /// Non-allowed tracking areas
    #[arg(long, value_delimiter = ',')]
    non_allowed_tacs: Option<Vec<u32>>,
    /// Slice whose data networks are changed, as SST or SST-SD [default: all]
    #[arg(long)]
    slice: Option<String>,
    /// Data network that is changed [default: all]
    #[arg(long)]
    dnn: Option<String>,
    /// Session AMBR downlink of the data networks
    #[arg(long)]
    downlink: Option<String>,
    /// Session AMBR uplink of the data networks
    #[arg(long)]
    uplink: Option<String>,
    /// 5QI of the default flow of the data networks
    #[arg(long = "5qi")]
    five_qi: Option<u8>,
    /// ARP priority level of the data networks
    #[arg(long)]
    arp: Option<u8>,
    /// Static IPv4 address; needs one data network
    #[arg(long)]
    static_ip: Option<Ipv4Addr>,
    /// An address of the static /64 prefix; needs one data network
    #[arg(long)]
    static_ip6: Option<Ipv6Addr>,
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
    /// Show the keys, from the database itself: the API never shows them
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
    /// Import subscribers although fields of them are not carried
    #[arg(long)]
    lossy: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Arguments of `martlet subscriber export`.
#[derive(Args)]
pub struct ExportArgs {
    /// Format of the file
    #[arg(long, value_enum, default_value = "martlet")]
    format: Format,
    /// Export subscribers although the format does not carry all of their fields
    #[arg(long)]
    lossy: bool,
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
        SubscriberCommand::Set(args) => set(&args),
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

fn method(method: Method) -> AuthenticationMethod {
    match method {
        Method::FiveGAka => AuthenticationMethod::FiveGAka,
        Method::EapAkaPrime => AuthenticationMethod::EapAkaPrime,
    }
}

fn management_field(text: &str) -> Result<[u8; 2]> {
    let amf = u16::from_str_radix(text, 16).ok().filter(|_| text.len() == 4);
    Ok(amf.context("--amf: write 4 hexadecimal digits, such as 8000")?.to_be_bytes())
}

/// A slice as SST or SST-SD.
pub fn slice(text: &str) -> Result<(u8, Option<u32>)> {
    let wrong = || format!("--slice {text:?}: write 1, or 1-010203 with a differentiator");
    let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
    let sd = sd.map(|sd| if sd.len() == 6 { u32::from_str_radix(sd, 16).ok() } else { None });
    match sd {
        Some(None) => bail!(wrong()),
        sd => Ok((sst.parse().ok().with_context(wrong)?, sd.flatten())),
    }
}

/// The keys of a subscriber as text, from options or a file.
#[derive(Default)]
struct Keys {
    key: Option<Zeroizing<String>>,
    opc: Option<Zeroizing<String>>,
    op: Option<Zeroizing<String>>,
    topc: Option<Zeroizing<String>>,
}

impl Keys {
    fn of(args: &AddArgs) -> Result<Keys> {
        let Some(file) = &args.key_file else {
            let text = |option: &Option<String>| option.clone().map(Zeroizing::new);
            let (opc, op) = (text(&args.opc), text(&args.op));
            return Ok(Keys { key: text(&args.key), opc, op, topc: text(&args.topc) });
        };
        let text = match file.as_os_str() == "-" {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(file),
        };
        let name = if file.as_os_str() == "-" { "standard input" } else { "--key-file" };
        Keys::read(&Zeroizing::new(text.with_context(|| name.to_string())?), name)
    }

    /// Reads lines such as `key: …`. An error names the line and does not show it.
    fn read(text: &str, name: &str) -> Result<Keys> {
        let mut keys = Keys::default();
        for (n, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || {
                format!("{name}, line {}: write key, opc, op or topc, a colon, and digits", n + 1)
            };
            let (field, value) = line.split_once([':', '=']).with_context(wrong)?;
            let field = match field.trim().to_ascii_lowercase().as_str() {
                "key" | "k" => &mut keys.key,
                "opc" => &mut keys.opc,
                "op" => &mut keys.op,
                "topc" => &mut keys.topc,
                _ => bail!(wrong()),
            };
            if field.replace(Zeroizing::new(value.trim().trim_matches('"').into())).is_some() {
                bail!("{name}, line {}: the value occurs twice", n + 1);
            }
        }
        Ok(keys)
    }
}

fn subscriber(args: &AddArgs) -> Result<Subscriber> {
    let keys = Keys::of(args)?;
    let k = key("key", keys.key.as_ref().context("the key K is missing")?)?;
    let opc = match (&keys.opc, &keys.op) {
        (Some(_), Some(_)) => bail!("OPc is derived from OP: write one of opc and op"),
        (Some(opc), None) => key("opc", opc)?,
        (None, Some(op)) => Secret(martlet_security::aka::opc(&k.0, &key("op", op)?.0)),
        // TUAK has no OPc.
        (None, None) if keys.topc.is_some() => Secret([0; 16]),
        (None, None) => bail!("one of opc, op and topc is required"),
    };
    let mut subscriber = Subscriber::new(&supi(&args.supi), k, opc, "internet");
    if let Some(topc) = &keys.topc {
        let topc = Secret::from_hex(topc).context("--topc: TOPc is 64 hexadecimal digits")?;
        subscriber.tuak = Some(martlet_store::Tuak::new(topc));
    }
    subscriber.authentication_method = method(args.method);
    subscriber.amf = management_field(&args.amf)?;
    subscriber.sqn =
        u64::from_str_radix(&args.sqn, 16).context("--sqn: write 12 hexadecimal digits")?;
    subscriber.msisdn = args.msisdn.clone();
    subscriber.service_area = match (args.allowed_tacs.as_slice(), args.non_allowed_tacs.as_slice())
    {
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
    first
        .nth(args.count.saturating_sub(1))
        .context("--count goes beyond the last IMSI of this length")?;
    let all = (0..args.count).filter_map(|n| first.nth(n));
    let report = |added: u64| match added {
        1 => println!("{} added", first.supi),
        n => println!("{n} subscribers added, from {} on", first.supi),
    };
    if let Some(api) = args.database.api()? {
        let mut import = over_api::Import::new(api, args.replace)?;
        for subscriber in all {
            import.add(&subscriber)?;
        }
        report(import.finish()?);
        return Ok(());
    }
    let opened = args.database.open()?;
    report(opened.store.import(all.map(Ok::<_, StoreError>), args.replace)?);
    opened.report_reader();
    Ok(())
}

fn set(args: &SetArgs) -> Result<()> {
    let supi = supi(&args.supi);
    let k = args.key.as_deref().map(|text| key("key", text)).transpose()?;
    let opc = args.opc.as_deref().map(|text| key("opc", text)).transpose()?;
    let amf = args.amf.as_deref().map(management_field).transpose()?;
    let selected = args.slice.as_deref().map(slice).transpose()?;
    let tacs = |text: &str| {
        let tacs = text.split(',').map(|tac| tac.trim().parse());
        tacs.collect::<Result<Vec<u32>, _>>()
            .with_context(|| format!("--allowed-tacs {text:?}: write for example 1,2, or all"))
    };
    let area = match (args.allowed_tacs.as_deref(), &args.non_allowed_tacs) {
        (None, None) => None,
        (Some("all"), _) => Some(None),
        (Some(text), _) => Some(Some(ServiceArea::Allowed(tacs(text)?))),
        (None, Some(without)) => Some(Some(ServiceArea::NotAllowed(without.clone()))),
    };
    let change = |subscriber: &mut Subscriber| -> Result<()> {
        if let Some(k) = &k {
            subscriber.key = k.clone();
        }
        if let Some(opc) = &opc {
            subscriber.opc = opc.clone();
        }
        subscriber.amf = amf.unwrap_or(subscriber.amf);
        if let Some(new) = args.method {
            subscriber.authentication_method = method(new);
        }
        if let Some(number) = &args.msisdn {
            subscriber.msisdn = Some(number.clone()).filter(|number| !number.is_empty());
        }
        if let Some(area) = &area {
            subscriber.service_area.clone_from(area);
        }
        let rate = |field: &mut String, new: &Option<String>| {
            if let Some(new) = new {
                field.clone_from(new);
            }
        };
        rate(&mut subscriber.ambr_downlink, &args.ue_downlink);
        rate(&mut subscriber.ambr_uplink, &args.ue_uplink);
        let is_selected = |slice: &&mut SubscribedSlice| {
            selected.is_none_or(|selected| selected == (slice.sst, slice.sd))
        };
        let dnns = subscriber.slices.iter_mut().filter(is_selected);
        let dnns: Vec<&mut SubscribedDnn> = dnns
            .flat_map(|slice| &mut slice.dnns)
            .filter(|dnn| args.dnn.as_ref().is_none_or(|name| *name == dnn.name))
            .collect();
        let has_address = args.static_ip.is_some() || args.static_ip6.is_some();
        ensure!(
            !dnns.is_empty(),
            "{supi} has no such data network: see `martlet subscriber show {supi}`"
        );
        ensure!(
            dnns.len() == 1 || !has_address,
            "an address belongs to one data network, and {} are selected: name one with --slice \
             and --dnn",
            dnns.len()
        );
        for dnn in dnns {
            rate(&mut dnn.ambr_downlink, &args.downlink);
            rate(&mut dnn.ambr_uplink, &args.uplink);
            dnn.five_qi = args.five_qi.unwrap_or(dnn.five_qi);
            dnn.arp_priority = args.arp.unwrap_or(dnn.arp_priority);
            dnn.static_ipv4 = args.static_ip.or(dnn.static_ipv4);
            dnn.static_ipv6 = args.static_ip6.or(dnn.static_ipv6);
        }
        Ok(())
    };
    let report = |is_changed: bool| match is_changed {
        false => println!("{supi} has these values already"),
        true => println!("{supi} changed"),
    };
    if let Some(api) = args.database.api()? {
        let written = over_api::Written { key: k.as_ref(), opc: opc.as_ref(), amf };
        report(runtime::block_on(over_api::change(&api, &supi, &written, change))?);
        return Ok(());
    }
    let opened = args.database.open_existing()?;
    let mut before = String::new();
    let changed = opened.store.change(&supi, |subscriber| {
        before = serde_json::to_string(subscriber).unwrap_or_default();
        change(subscriber)
    })?;
    let changed = changed.with_context(|| format!("there is no subscriber {supi}"))?;
    report(serde_json::to_string(&changed)? != before);
    opened.report_reader();
    Ok(())
}

/// Subscribers that wait between the reader of the files and the writer of the database.
const QUEUE: usize = 1000;

/// Imports over the API: the files are read twice, so that fields that would be lost are known
/// before anything is sent.
fn import_over_api(args: &ImportArgs, api: Api) -> Result<()> {
    let read = |each: &mut dyn FnMut(Subscriber) -> Result<()>| {
        let open = |file: &PathBuf| {
            let file = std::fs::File::open(file).with_context(|| file.display().to_string())?;
            Ok(Box::new(BufReader::with_capacity(1 << 16, file)) as Box<dyn BufRead>)
        };
        let inputs = args.files.iter().map(open).collect::<Result<Vec<_>>>()?;
        exchange::read(args.format, inputs, each)
    };
    let (mut count, mut last) = (0u64, String::new());
    let losses = read(&mut |subscriber| {
        count += 1;
        last = subscriber.supi;
        Ok(())
    });
    let losses = losses.with_context(|| match last.is_empty() {
        true => "nothing was imported".to_string(),
        false => format!("nothing was imported; {last} was the last subscriber read"),
    })?;
    if !losses.is_empty() {
        ensure!(args.lossy, refused(&losses, "import"));
        eprintln!("These fields were not imported:\n{losses}");
    }
    ensure!(count > 0, "the files contain no subscriber");
    let progress = ProgressBar::new(count);
    let mut import = over_api::Import::new(api, args.replace)?;
    read(&mut |subscriber| {
        progress.inc(1);
        import.add(&subscriber)
    })?;
    let imported = import.finish()?;
    progress.finish_and_clear();
    println!("{imported} subscribers added");
    Ok(())
}

fn import(args: &ImportArgs) -> Result<()> {
    if let Some(api) = args.database.api()? {
        return import_over_api(args, api);
    }
    let mut total = 0;
    let open = |file: &PathBuf| {
        let opened = std::fs::File::open(file).with_context(|| file.display().to_string())?;
        total += opened.metadata()?.len();
        Ok(opened)
    };
    let files = args.files.iter().map(open).collect::<Result<Vec<_>>>()?;
    let progress = ProgressBar::new(total);
    let style = "{bar:40} {bytes}/{total_bytes}  {msg} subscribers  {elapsed}";
    progress.set_style(ProgressStyle::with_template(style)?);
    let inputs: Vec<Box<dyn BufRead + Send>> = files
        .into_iter()
        .map(|file| {
            Box::new(BufReader::with_capacity(1 << 16, progress.wrap_read(file)))
                as Box<dyn BufRead + Send>
        })
        .collect();
    // A thread reads the files while this one encrypts and writes.
    let (sender, receiver) = sync_channel::<Result<Subscriber>>(QUEUE);
    let format = args.format;
    let reader = std::thread::spawn(move || {
        let inputs = inputs.into_iter().map(|input| input as Box<dyn BufRead>).collect();
        let outcome = exchange::read(format, inputs, &mut |subscriber| {
            sender.send(Ok(subscriber)).context("the import was ended")
        });
        outcome.unwrap_or_else(|error| {
            let _ = sender.send(Err(error));
            Losses::default()
        })
    });
    let mut reader = Some(reader);
    let mut losses = Losses::default();
    let mut count = 0u64;
    let mut last = String::new();
    let subscribers = std::iter::from_fn(|| match receiver.recv() {
        Ok(subscriber) => {
            count += 1;
            if count.is_multiple_of(1000) {
                progress.set_message(count.to_string());
            }
            if let Ok(subscriber) = &subscriber {
                last.clone_from(&subscriber.supi);
            }
            Some(subscriber)
        }
        Err(_) => {
            // All has been read: fields that were not carried end the transaction.
            let outcome = reader.take()?.join();
            losses = outcome.unwrap_or_default();
            (!args.lossy && !losses.is_empty()).then(|| Err(refused(&losses, "import")))
        }
    });
    let opened = args.database.open()?;
    let imported = opened.store.import(subscribers, args.replace);
    progress.finish_and_clear();
    let imported = imported.with_context(|| match last.is_empty() {
        true => "nothing was imported".to_string(),
        false => format!("nothing was imported; {last} was the last subscriber read"),
    })?;
    if !losses.is_empty() {
        eprintln!("These fields were not imported:\n{losses}");
    }
    ensure!(imported > 0, "the files contain no subscriber");
    println!("{imported} subscribers added");
    opened.report_reader();
    Ok(())
}

fn refused(losses: &Losses, what: &str) -> anyhow::Error {
    anyhow::anyhow!("this {what} would lose fields; --lossy allows it:\n{losses}")
}

/// Passes all subscribers on, in order.
fn each(store: &Store, mut to: impl FnMut(Subscriber) -> Result<()>) -> Result<()> {
    let mut after = String::new();
    loop {
        let more = store.list(&after, 1000)?;
        let Some(last) = more.last() else { return Ok(()) };
        after.clone_from(&last.supi);
        more.into_iter().try_for_each(&mut to)?;
    }
}

fn export(args: &ExportArgs) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let opened = args.database.open_existing()?;
    let (store, plmn) = (&opened.store, opened.config.network.plmn.as_str());
    let mut losses = Losses::default();
    if !args.format.is_complete() {
        each(store, |subscriber| {
            exchange::add_losses(args.format, &subscriber, plmn, &mut losses)
        })?;
    }
    if !losses.is_empty() {
        ensure!(args.lossy, refused(&losses, "export"));
        eprintln!("These fields are not exported:\n{losses}");
    }
    let out: Box<dyn Write> = match &args.output {
        None => Box::new(std::io::stdout().lock()),
        Some(file) => {
            let mut open = std::fs::OpenOptions::new();
            let opened = open.write(true).create_new(true).mode(0o600).open(file);
            Box::new(opened.with_context(|| file.display().to_string())?)
        }
    };
    let mut writer = exchange::Writer::new(args.format, BufWriter::new(out), plmn)?;
    let mut count = 0u64;
    each(store, |subscriber| {
        count += 1;
        writer.write(&subscriber)
    })?;
    writer.finish()?;
    if let Some(file) = &args.output {
        println!("{count} subscribers with their keys written to {}", file.display());
    }
    Ok(())
}

fn list(args: &ListArgs) -> Result<()> {
    if let Some(api) = args.database.api()? {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let total = runtime::block_on(over_api::list(&api, args.limit, |subscriber| {
            write_line(&mut out, &subscriber)
        }))?;
        if total > args.limit as u64 {
            writeln!(out, "… and {} more", total - args.limit as u64)?;
        }
        return Ok(out.flush()?);
    }
    let store = args.database.open_existing()?.store;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let (mut after, mut left) = (String::new(), args.limit);
    while left > 0 {
        let page = store.list(&after, left.min(1000))?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.supi);
        left -= page.len();
        for subscriber in page {
            write_line(&mut out, &subscriber)?;
        }
    }
    let (count, limit) = (store.count()?, args.limit as u64);
    if count > limit {
        writeln!(out, "… and {} more", count - limit)?;
    }
    Ok(out.flush()?)
}

fn write_line(out: &mut impl Write, subscriber: &Subscriber) -> Result<()> {
    let slices = subscriber.slices.iter().map(|slice| {
        let sd = slice.sd.map_or(String::new(), |sd| format!("-{sd:06x}"));
        let dnns: Vec<_> = slice.dnns.iter().map(|dnn| dnn.name.as_str()).collect();
        format!("{}{sd} ({})", slice.sst, dnns.join(", "))
    });
    Ok(writeln!(out, "{}  {}", subscriber.supi, slices.collect::<Vec<_>>().join("  "))?)
}

/// What is shown for a key.
const HIDDEN: &str = "(hidden; --keys shows it)";

fn show(args: &ShowArgs) -> Result<()> {
    let supi = supi(&args.supi);
    if let Some(api) = args.database.api()?.filter(|_| !args.keys) {
        let mut value = runtime::block_on(api.get(&format!("/subscribers/{supi}")))?;
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

fn remove(args: &RemoveArgs) -> Result<()> {
    let first = Subscriber::new(&supi(&args.supi), Secret([0; 16]), Secret([0; 16]), "internet");
    if let Some(api) = args.database.api()? {
        let all = (0..args.count).map(|n| first.nth(n).map(|subscriber| subscriber.supi));
        let all = all.collect::<Option<Vec<_>>>();
        let all = all.context("--count goes beyond the last IMSI of this length")?;
        let removed = runtime::block_on(over_api::remove(&api, &all))?;
        ensure!(removed > 0, "there is no subscriber {}", first.supi);
        println!("{removed} removed");
        return Ok(());
    }
    let opened = args.database.open_existing()?;
    let store = &opened.store;
    let mut removed = 0;
    for n in 0..args.count {
        let supi = first.nth(n).context("--count goes beyond the last IMSI of this length")?.supi;
        removed += u64::from(store.remove(&supi)?);
    }
    if removed == 0 {
        bail!("there is no subscriber {}", first.supi);
    }
    println!("{removed} removed");
    opened.report_reader();
    Ok(())
}
