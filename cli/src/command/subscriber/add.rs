//! `martlet subscriber add`.
use super::database::DatabaseArgs;
use super::keys::Keys;
use super::over_api;
use super::static_addresses;
use super::values::{
    Method, TypeOfSession, key, management_field, method, session_types, slice, supi,
};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use martlet_store::{Secret, ServiceArea, StoreError, SubscribedDnn, SubscribedSlice, Subscriber};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// A subscriber to add.
#[derive(Args)]
pub struct AddArgs {
    /// IMSI of 14 or 15 digits, with or without imsi-, or nai-user@realm
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
    /// Type of PDU sessions in every data network; repeat for more, the first is the default
    #[arg(long = "session-type", value_enum, default_value = "ipv4")]
    session_types: Vec<TypeOfSession>,
    /// Session AMBR downlink, such as "100 Mbps"
    #[arg(long, default_value = martlet_store::DEFAULT_AMBR)]
    downlink: String,
    /// Session AMBR uplink
    #[arg(long, default_value = martlet_store::DEFAULT_AMBR)]
    uplink: String,
    /// Static IPv4 address in the first data network, if there is one slice
    #[arg(long, conflicts_with = "count")]
    static_ip: Option<Ipv4Addr>,
    /// An address of the static /64 prefix in the first data network, for a session type with
    /// IPv6, if there is one slice
    #[arg(long, conflicts_with = "count")]
    static_ip6: Option<Ipv6Addr>,
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

/// The keys of the options, or of the file that they name.
fn keys(args: &AddArgs) -> Result<Keys> {
    if let Some(file) = &args.key_file {
        return Keys::of_file(file);
    }
    let text = |option: &Option<String>| option.clone().map(Zeroizing::new);
    let (opc, op) = (text(&args.opc), text(&args.op));
    Ok(Keys { key: text(&args.key), opc, op, topc: text(&args.topc) })
}

fn subscriber(args: &AddArgs) -> Result<Subscriber> {
    ensure!(
        args.slices.len() == 1 || args.static_ip.is_none() && args.static_ip6.is_none(),
        "a static address belongs to one slice, and {} are given: add the subscriber without it, \
         and then write `martlet subscriber set {} --slice {} --dnn {} --static-ip ADDRESS`",
        args.slices.len(),
        args.supi,
        args.slices[0],
        args.dnns[0]
    );
    let keys = keys(args)?;
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
        session_types: session_types(&args.session_types),
        static_ipv4: args.static_ip.filter(|_| n == 0),
        static_ipv6: args.static_ip6.filter(|_| n == 0),
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

pub(super) fn add(args: &AddArgs) -> Result<()> {
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
        args.database.report_unserved(&first)?;
        return Ok(());
    }
    let opened = args.database.open()?;
    static_addresses::check(&opened, &args.database, None, &first)?;
    report(opened.store.import(all.map(Ok::<_, StoreError>), args.replace)?);
    opened.report_reader();
    args.database.report_unserved(&first)
}
