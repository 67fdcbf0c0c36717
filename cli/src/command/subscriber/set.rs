//! `martlet subscriber set`.
use super::database::DatabaseArgs;
use super::keys::Keys;
use super::over_api;
use super::static_addresses;
use super::values::{
    Method, TypeOfSession, key, management_field, method, session_types, slice, supi,
};
use crate::runtime;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use martlet_store::{Secret, ServiceArea, SubscribedDnn, SubscribedSlice, Subscriber};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;
use zeroize::Zeroizing;

/// Fields of a subscriber to change.
#[derive(Args)]
pub struct SetArgs {
    /// IMSI, or nai-user@realm
    supi: String,
    /// File with the keys, `-` for standard input: lines such as `key: …`, `opc: …` and `op: …`.
    /// Other users see options in the list of processes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "opc"])]
    key_file: Option<PathBuf>,
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
    /// Type of PDU sessions of the data networks; repeat for more, the first is the default
    #[arg(long = "session-type", value_enum)]
    session_types: Vec<TypeOfSession>,
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
    /// Static IPv4 address, or `none`; needs one data network
    #[arg(long)]
    static_ip: Option<String>,
    /// An address of the static /64 prefix, or `none`; needs one data network, and a session type
    /// with IPv6
    #[arg(long)]
    static_ip6: Option<String>,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// The new K and OPc, of the options or of the file that they name.
fn keys(args: &SetArgs) -> Result<(Option<Secret>, Option<Secret>)> {
    let text = |option: &Option<String>| option.clone().map(Zeroizing::new);
    let keys = match &args.key_file {
        Some(file) => Keys::of_file(file)?,
        None => Keys { key: text(&args.key), opc: text(&args.opc), ..Keys::default() },
    };
    ensure!(keys.topc.is_none(), "TOPc is written by `martlet subscriber add --replace` alone");
    let k = keys.key.as_ref().map(|text| key("key", text)).transpose()?;
    let opc = match (&keys.opc, &keys.op, &k) {
        (Some(_), Some(_), _) => bail!("OPc is derived from OP: write one of opc and op"),
        (Some(opc), None, _) => Some(key("opc", opc)?),
        (None, Some(op), Some(k)) => {
            Some(Secret(martlet_security::aka::opc(&k.0, &key("op", op)?.0)))
        }
        (None, Some(_), None) => bail!("OPc is derived from K and OP: write the key, too"),
        (None, None, _) => None,
    };
    Ok((k, opc))
}

/// A static address of the option with a name; `None` removes it.
fn address<T: FromStr>(name: &str, text: &str) -> Result<Option<T>> {
    match text {
        "none" => Ok(None),
        text => {
            let address = text.parse::<T>().ok().map(Some);
            address.with_context(|| format!("--{name} {text:?}: write an address, or none"))
        }
    }
}

pub(super) fn set(args: &SetArgs) -> Result<()> {
    let supi = supi(&args.supi);
    let (k, opc) = keys(args)?;
    let static_ip = args.static_ip.as_deref();
    let static_ip = static_ip.map(|text| address::<Ipv4Addr>("static-ip", text)).transpose()?;
    let static_ip6 = args.static_ip6.as_deref();
    let static_ip6 = static_ip6.map(|text| address::<Ipv6Addr>("static-ip6", text)).transpose()?;
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
        let has_address = static_ip.is_some() || static_ip6.is_some();
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
            if !args.session_types.is_empty() {
                dnn.session_types = session_types(&args.session_types);
            }
            dnn.static_ipv4 = static_ip.unwrap_or(dnn.static_ipv4);
            dnn.static_ipv6 = static_ip6.unwrap_or(dnn.static_ipv6);
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
    let mut before = None;
    let changed = opened.store.change(&supi, |subscriber| {
        let former = &*before.insert(subscriber.clone());
        change(subscriber)?;
        static_addresses::check(&opened, &args.database, Some(former), subscriber)
    })?;
    let changed = changed.with_context(|| format!("there is no subscriber {supi}"))?;
    report(before.as_ref() != Some(&changed));
    opened.report_reader();
    Ok(())
}
