//! `martlet subscriber set`.
use super::database::DatabaseArgs;
use super::over_api;
use super::values::{Method, key, management_field, method, slice, supi};
use crate::runtime;
use anyhow::{Context, Result, ensure};
use clap::Args;
use martlet_store::{ServiceArea, SubscribedDnn, SubscribedSlice, Subscriber};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Fields of a subscriber to change.
#[derive(Args)]
pub struct SetArgs {
    /// IMSI, or nai-user@realm
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

pub(super) fn set(args: &SetArgs) -> Result<()> {
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
