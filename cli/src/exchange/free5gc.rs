//! Documents of free5GC's collections, with the types of TS 29.505 and TS 29.503, or a subscriber
//! of its web console, which has all of them in one document.
use super::loss::Losses;
use super::{
    Sink, differentiator, hexadecimal, management_field, management_text, number, opc, secret,
    take, take_list, take_text, type_name,
};
use anyhow::{Context, Result};
use martlet_store::{
    AuthenticationMethod, Secret, ServiceArea, SessionType, SubscribedDnn, SubscribedSlice,
    Subscriber, Tuak, UpProtection, UpSecurityPolicy,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Members of the web console's document, and what each is.
const CONSOLE: [(&str, Part); 6] = [
    ("AuthenticationSubscription", Part::Authentication),
    ("AccessAndMobilitySubscriptionData", Part::Access),
    ("SessionManagementSubscriptionData", Part::Sessions),
    ("SmfSelectionSubscriptionData", Part::SmfSelection),
    ("AmPolicyData", Part::Ignored),
    ("SmPolicyData", Part::Ignored),
];

/// Names of session types as TS 29.571 has them.
const DOWNLINK_UPLINK: [&str; 2] = ["downlink", "uplink"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Authentication,
    Access,
    Sessions,
    SmfSelection,
    /// Data that free5GC needs in addition to the subscription.
    Ignored,
}

/// The documents of a subscriber.
#[derive(Default)]
struct Parts {
    authentication: Value,
    access: Value,
    smf_selection: Value,
    sessions: Vec<Value>,
    /// What no part took, by the name of its member.
    others: Map<String, Value>,
}

impl Parts {
    fn add(&mut self, part: Part, value: Value) {
        match part {
            Part::Authentication => self.authentication = value,
            Part::Access => self.access = value,
            Part::SmfSelection => self.smf_selection = value,
            Part::Sessions => match value {
                Value::Array(all) => self.sessions.extend(all),
                one => self.sessions.push(one),
            },
            Part::Ignored => {}
        }
    }
}

/// Documents of all collections, by subscriber.
#[derive(Default)]
pub struct Collections(BTreeMap<String, Parts>);

impl Collections {
    /// Adds a document. One without a subscriber belongs to another collection of free5GC.
    pub fn add(&mut self, mut document: Value) -> Result<()> {
        let Some(supi) = take_text(&mut document, "/ueId") else { return Ok(()) };
        let parts = self.0.entry(supi).or_default();
        if CONSOLE.iter().any(|(member, _)| document.get(member).is_some()) {
            for (member, part) in CONSOLE {
                parts.add(part, document.get_mut(member).map(Value::take).unwrap_or_default());
            }
            for member in ["plmnID", "userNumber"] {
                document.as_object_mut().map(|members| members.remove(member));
            }
            if let Value::Object(members) = document {
                parts.others.extend(members);
            }
            return Ok(());
        }
        let has = |member: &str| document.get(member).is_some();
        let part = match () {
            () if has("authenticationMethod") => Part::Authentication,
            () if has("dnnConfigurations") => Part::Sessions,
            () if has("subscribedSnssaiInfos") => Part::SmfSelection,
            () if has("nssai") || has("subscribedUeAmbr") => Part::Access,
            () if has("smPolicySnssaiData") || has("subscCats") => Part::Ignored,
            // Flow rules, QoS flows, charging, or what a later release adds.
            () => {
                let name =
                    ["filter", "qosRef", "chargingMethod"].into_iter().find(|name| has(name));
                let name = match name {
                    Some("filter") => "flowRules",
                    Some("qosRef") => "qosFlows",
                    Some(_) => "chargingDatas",
                    None => "",
                };
                match (name, document) {
                    ("", Value::Object(members)) => parts.others.extend(members),
                    (name, document) => {
                        parts.others.insert(name.into(), document);
                    }
                }
                return Ok(());
            }
        };
        parts.add(part, document);
        Ok(())
    }

    /// Passes the subscribers on.
    pub fn finish(self, each: &mut Sink<'_>, losses: &mut Losses) -> Result<()> {
        for (supi, parts) in self.0 {
            if parts.authentication.is_null() {
                continue;
            }
            let barred = "odbPacketServices";
            if parts.access.get(barred).is_some_and(|value| !value.is_null()) {
                losses.add_barred(&supi, barred);
                continue;
            }
            each(one(&supi, parts, losses).with_context(|| supi.clone())?)?;
        }
        Ok(())
    }
}

/// Members of free5GC's documents that are not part of the subscription.
fn take_ignored(document: &mut Value) {
    for member in ["/_id", "/ueId", "/servingPlmnId"] {
        take(document, member);
    }
}

fn one(supi: &str, mut parts: Parts, losses: &mut Losses) -> Result<Subscriber> {
    let mut subscriber = authentication(supi, &mut parts.authentication)?;
    let access = &mut parts.access;
    let mut numbers = take_list(access, "/gpsis").into_iter().filter_map(|gpsi| {
        Some(gpsi.as_str()?.strip_prefix("msisdn-")?.to_string()).filter(|n| !n.is_empty())
    });
    subscriber.msisdn = numbers.next();
    if numbers.next().is_some() {
        losses.add(supi, "gpsis[1]");
    }
    rates(
        access,
        "/subscribedUeAmbr",
        [&mut subscriber.ambr_downlink, &mut subscriber.ambr_uplink],
    );
    subscriber.service_area = service_area(access)?;
    let defaults = default_dnns(&mut parts.smf_selection)?;
    // Each serving PLMN may have session data of its own. Those of the home PLMN precede.
    parts.sessions.sort_by_key(|data| !is_of_home(supi, data));
    let mut slices: Vec<SubscribedSlice> = Vec::new();
    for (list, default) in [("/nssai/defaultSingleNssais", true), ("/nssai/singleNssais", false)] {
        for mut value in take_list(access, list) {
            let (sst, sd) = slice(&mut value)?;
            if slices.iter().any(|known| (known.sst, known.sd) == (sst, sd)) {
                continue;
            }
            let mut dnns = Vec::new();
            for data in &mut parts.sessions {
                let mut of = data["singleNssai"].clone();
                if slice(&mut of).is_ok_and(|of| of == (sst, sd)) {
                    take(data, "/singleNssai");
                    let of = DataNetworks { defaults: defaults.get(&(sst, sd)), supi };
                    of.add(data, &mut dnns, losses)?;
                }
            }
            match dnns.is_empty() {
                true => losses.add(supi, "nssai (a slice without data networks)"),
                false => slices.push(SubscribedSlice { sst, sd, default, dnns }),
            }
        }
    }
    if slices.is_empty() {
        losses.add(supi, "nssai (no slice: SST 1 with the data network internet is used)");
    } else {
        subscriber.slices = slices;
    }
    for document in [&mut parts.authentication, &mut parts.access, &mut parts.smf_selection]
        .into_iter()
        .chain(&mut parts.sessions)
    {
        take_ignored(document);
        losses.add_rest(supi, document);
    }
    parts.others.remove("_id");
    losses.add_rest(supi, &Value::Object(parts.others));
    Ok(subscriber)
}

fn authentication(supi: &str, document: &mut Value) -> Result<Subscriber> {
    let mut first = |pointers: [&str; 2]| {
        let texts = pointers.map(|pointer| take_text(document, pointer));
        texts.into_iter().flatten().next()
    };
    let key = first(["/permanentKey/permanentKeyValue", "/encPermanentKey"]).unwrap_or_default();
    let opc_text = first(["/opc/opcValue", "/encOpcKey"]);
    let op = take_text(document, "/milenage/op/opValue");
    let topc = take_text(document, "/encTopcKey").or(take_text(document, "/topc/topcValue"));
    let mut subscriber = match topc {
        Some(topc) => {
            let mut tuak = Tuak::new(secret(&topc, "TOPc")?);
            // TUAK's K has 128 or 256 bits.
            let key = match key.len() {
                64 => {
                    tuak.key = Some(secret(&key, "the permanent key")?);
                    Secret([0; 16])
                }
                _ => secret(&key, "the permanent key")?,
            };
            let mut subscriber = Subscriber::new(supi, key, Secret([0; 16]), "internet");
            subscriber.tuak = Some(tuak);
            subscriber
        }
        None => {
            let key = secret(&key, "the permanent key")?;
            let opc = opc(&key, opc_text.as_deref(), op.as_deref())?;
            Subscriber::new(supi, key, opc, "internet")
        }
    };
    if take_text(document, "/authenticationMethod").as_deref() == Some("EAP_AKA_PRIME") {
        subscriber.authentication_method = AuthenticationMethod::EapAkaPrime;
    }
    if let Some(amf) = take_text(document, "/authenticationManagementField") {
        subscriber.amf = management_field(&amf)?;
    }
    let sqn = take_text(document, "/sequenceNumber/sqn").or(take_text(document, "/sequenceNumber"));
    if let Some(sqn) = sqn {
        subscriber.sqn = hexadecimal(&sqn, "the sequence number")?;
    }
    // How the rest of the number is counted, and how the keys are stored: both are Martlet's own.
    for member in ["/sequenceNumber", "/algorithmId", "/protectionParameterId"] {
        take(document, member);
    }
    Ok(subscriber)
}

fn rates(document: &mut Value, pointer: &str, into: [&mut String; 2]) {
    for (direction, rate) in DOWNLINK_UPLINK.into_iter().zip(into) {
        if let Some(text) = take_text(document, &format!("{pointer}/{direction}")) {
            *rate = text;
        }
    }
}

fn service_area(access: &mut Value) -> Result<Option<ServiceArea>> {
    let Some(kind) = take_text(access, "/serviceAreaRestriction/restrictionType") else {
        return Ok(None);
    };
    let mut tacs = Vec::new();
    for mut area in take_list(access, "/serviceAreaRestriction/areas") {
        for tac in take_list(&mut area, "/tacs") {
            let text = tac.as_str().context("a tracking area code is not a text")?;
            tacs.push(hexadecimal(text, "a tracking area code")? as u32);
        }
    }
    Ok(Some(match kind.as_str() {
        "NOT_ALLOWED_AREAS" => ServiceArea::NotAllowed(tacs),
        _ => ServiceArea::Allowed(tacs),
    }))
}

type SliceId = (u8, Option<u32>);

/// The default data networks by slice.
fn default_dnns(selection: &mut Value) -> Result<BTreeMap<SliceId, Vec<String>>> {
    let mut defaults = BTreeMap::new();
    let Value::Object(slices) = take(selection, "/subscribedSnssaiInfos") else {
        return Ok(defaults);
    };
    for (name, mut value) in slices {
        let (sst, sd) = name.split_at_checked(2).context("a slice's name is too short")?;
        let sst = hexadecimal(sst, "a slice's sst")? as u8;
        let sd = Some(sd).filter(|sd| !sd.is_empty()).map(differentiator).transpose()?;
        let mut names = Vec::new();
        for mut info in take_list(&mut value, "/dnnInfos") {
            let is_default = take(&mut info, "/defaultDnnIndicator").as_bool();
            let name = take_text(&mut info, "/dnn").unwrap_or_default();
            if is_default == Some(true) {
                names.push(name);
            }
        }
        defaults.insert((sst, sd), names);
    }
    Ok(defaults)
}

fn slice(value: &mut Value) -> Result<SliceId> {
    let sst = number(&take(value, "/sst")).and_then(|sst| sst.try_into().ok());
    let sd = take_text(value, "/sd").map(|text| differentiator(&text)).transpose()?;
    Ok((sst.context("a slice has no sst")?, sd))
}

/// Whether session data are those of the subscriber's home PLMN.
fn is_of_home(supi: &str, data: &Value) -> bool {
    let plmn = data["servingPlmnId"].as_str().filter(|plmn| !plmn.is_empty());
    plmn.is_some_and(|plmn| supi.trim_start_matches("imsi-").starts_with(plmn))
}

/// The data networks of a slice.
struct DataNetworks<'a> {
    /// The marked default data networks, if there are marks.
    defaults: Option<&'a Vec<String>>,
    supi: &'a str,
}

impl DataNetworks<'_> {
    /// Adds those of a document. The documents of other serving PLMNs have them again: what differs
    /// there is reported as lost.
    fn add(
        &self,
        data: &mut Value,
        dnns: &mut Vec<SubscribedDnn>,
        losses: &mut Losses,
    ) -> Result<()> {
        let Value::Object(configurations) = take(data, "/dnnConfigurations") else {
            return Ok(());
        };
        for (name, mut value) in configurations {
            // Without a mark the first one is the default.
            let default = match self.defaults {
                Some(names) => names.contains(&name),
                None => dnns.is_empty(),
            };
            let mut new = dnn(&name, &mut value, default).with_context(|| name.clone())?;
            let rest = json!({"dnnConfigurations": {"*": value}});
            losses.add_rest(self.supi, &rest);
            match dnns.iter().find(|known| known.name.eq_ignore_ascii_case(&name)) {
                None => dnns.push(new),
                Some(known) => {
                    new.default = known.default;
                    if new != *known {
                        losses.add(self.supi, "dnnConfigurations (of another serving PLMN)");
                    }
                }
            }
        }
        Ok(())
    }
}

fn dnn(name: &str, value: &mut Value, default: bool) -> Result<SubscribedDnn> {
    let mut dnn = SubscribedDnn { default, ..SubscribedDnn::new(name) };
    let kind = |value: Value| serde_json::from_value::<SessionType>(value).ok();
    let mut kinds: Vec<SessionType> =
        kind(take(value, "/pduSessionTypes/defaultSessionType")).into_iter().collect();
    for other in
        take_list(value, "/pduSessionTypes/allowedSessionTypes").into_iter().filter_map(kind)
    {
        if !kinds.contains(&other) {
            kinds.push(other);
        }
    }
    if !kinds.is_empty() {
        dnn.session_types = kinds;
    }
    let mode = |value: &Value| value.as_str()?.strip_prefix("SSC_MODE_")?.parse::<u8>().ok();
    let mut modes: Vec<u8> = mode(&take(value, "/sscModes/defaultSscMode")).into_iter().collect();
    for other in take_list(value, "/sscModes/allowedSscModes").iter().filter_map(mode) {
        if !modes.contains(&other) {
            modes.push(other);
        }
    }
    if !modes.is_empty() {
        dnn.ssc_modes = modes;
    }
    rates(value, "/sessionAmbr", [&mut dnn.ambr_downlink, &mut dnn.ambr_uplink]);
    let small = |value: Value| number(&value).and_then(|number| u8::try_from(number).ok());
    dnn.five_qi = small(take(value, "/5gQosProfile/5qi")).unwrap_or(dnn.five_qi);
    dnn.arp_priority =
        small(take(value, "/5gQosProfile/arp/priorityLevel")).unwrap_or(dnn.arp_priority);
    // Pre-emption as Martlet has it: neither.
    for (member, none) in [("preemptCap", "NOT_PREEMPT"), ("preemptVuln", "NOT_PREEMPTABLE")] {
        let member = format!("/5gQosProfile/arp/{member}");
        if value.pointer(&member).and_then(Value::as_str) == Some(none) {
            take(value, &member);
        }
    }
    // TS 29.503 has the priority of the 5QI here; free5GC's console writes 8 or 0.
    if value.pointer("/5gQosProfile/priorityLevel").and_then(number) == Some(8) {
        take(value, "/5gQosProfile/priorityLevel");
    }
    let protection = |value: Value| {
        let text = value.as_str()?.to_ascii_lowercase();
        serde_json::from_value::<UpProtection>(text.into()).ok()
    };
    let (integrity, ciphering) = (
        protection(take(value, "/upSecurity/upIntegr")),
        protection(take(value, "/upSecurity/upConfid")),
    );
    if let (Some(integrity), Some(ciphering)) = (integrity, ciphering) {
        dnn.up_security = Some(UpSecurityPolicy { integrity, ciphering });
    }
    let addresses = value.get_mut("staticIpAddress").and_then(Value::as_array_mut);
    for address in addresses.into_iter().flatten() {
        if dnn.static_ipv4.is_none()
            && let Some(text) = take_text(address, "/ipv4Addr")
        {
            let parsed = text.parse().context("a static address is not an IPv4 address")?;
            dnn.static_ipv4 = Some(parsed);
        }
        let ipv6 = take_text(address, "/ipv6Addr").or(take_text(address, "/ipv6Prefix"));
        if let Some(text) = ipv6 {
            let text = text.split('/').next().unwrap_or_default();
            let parsed = text.parse().context("a static address is not an IPv6 address")?;
            dnn.static_ipv6 = Some(parsed);
        }
    }
    for (list, member) in
        [("/ipv4FrameRouteList", "/ipv4Mask"), ("/ipv6FrameRouteList", "/ipv6Prefix")]
    {
        for mut route in take_list(value, list) {
            dnn.framed_routes.extend(take_text(&mut route, member));
        }
    }
    Ok(dnn)
}

fn upper(value: UpProtection) -> String {
    match value {
        UpProtection::Required => "REQUIRED",
        UpProtection::Preferred => "PREFERRED",
        UpProtection::NotNeeded => "NOT_NEEDED",
    }
    .into()
}

/// A document of the web console, which its API takes as `POST /api/subscriber/{ueId}/{plmnID}`.
pub fn write(subscriber: &Subscriber, plmn: &str) -> Value {
    let supi = &subscriber.supi;
    let single = |slice: &SubscribedSlice| match slice.sd {
        Some(sd) => json!({"sst": slice.sst, "sd": format!("{sd:06x}")}),
        None => json!({"sst": slice.sst}),
    };
    let name = |slice: &SubscribedSlice| {
        format!("{:02x}{}", slice.sst, slice.sd.map_or(String::new(), |sd| format!("{sd:06x}")))
    };
    let listed = |default: bool| {
        let slices = subscriber.slices.iter().filter(|slice| slice.default == default);
        slices.map(single).collect::<Vec<_>>()
    };
    let ambr = |downlink: &str, uplink: &str| json!({"downlink": downlink, "uplink": uplink});
    let mut access = json!({
        "gpsis": subscriber.msisdn.iter().map(|n| format!("msisdn-{n}")).collect::<Vec<_>>(),
        "subscribedUeAmbr": ambr(&subscriber.ambr_downlink, &subscriber.ambr_uplink),
        "nssai": {"defaultSingleNssais": listed(true), "singleNssais": listed(false)},
    });
    if let Some(area) = &subscriber.service_area {
        let (kind, tacs) = match area {
            ServiceArea::Allowed(tacs) => ("ALLOWED_AREAS", tacs),
            ServiceArea::NotAllowed(tacs) => ("NOT_ALLOWED_AREAS", tacs),
        };
        let tacs: Vec<String> = tacs.iter().map(|tac| format!("{tac:06x}")).collect();
        access["serviceAreaRestriction"] =
            json!({"restrictionType": kind, "areas": [{"tacs": tacs}]});
    }
    let sessions: Vec<Value> = subscriber
        .slices
        .iter()
        .map(|slice| {
            let dnns: Map<String, Value> = slice.dnns.iter().map(configuration).collect();
            json!({"singleNssai": single(slice), "dnnConfigurations": dnns})
        })
        .collect();
    let selection: Map<String, Value> = subscriber
        .slices
        .iter()
        .map(|slice| {
            let info =
                |dnn: &SubscribedDnn| json!({"dnn": dnn.name, "defaultDnnIndicator": dnn.default});
            let infos: Vec<Value> = slice.dnns.iter().map(info).collect();
            (name(slice), json!({"dnnInfos": infos}))
        })
        .collect();
    let policies: Map<String, Value> = subscriber
        .slices
        .iter()
        .map(|slice| {
            let dnns: Map<String, Value> =
                slice.dnns.iter().map(|dnn| (dnn.name.clone(), json!({"dnn": dnn.name}))).collect();
            (name(slice), json!({"snssai": single(slice), "smPolicyDnnData": dnns}))
        })
        .collect();
    json!({
        "plmnID": plmn, "ueId": supi,
        "AuthenticationSubscription": authentication_document(subscriber),
        "AccessAndMobilitySubscriptionData": access,
        "SessionManagementSubscriptionData": sessions,
        "SmfSelectionSubscriptionData": {"subscribedSnssaiInfos": selection},
        "AmPolicyData": {"subscCats": ["free5gc"]},
        "SmPolicyData": {"smPolicySnssaiData": policies},
        "FlowRules": [], "QosFlows": [], "ChargingDatas": [],
    })
}

fn authentication_document(subscriber: &Subscriber) -> Value {
    let method = match subscriber.authentication_method {
        AuthenticationMethod::FiveGAka => "5G_AKA",
        AuthenticationMethod::EapAkaPrime => "EAP_AKA_PRIME",
    };
    let mut document = json!({
        "authenticationMethod": method,
        "sequenceNumber": format!("{:012x}", subscriber.sqn),
        "authenticationManagementField": management_text(subscriber.amf),
    });
    let key = match &subscriber.tuak {
        Some(tuak) => {
            document["algorithmId"] = "tuak".into();
            document["encTopcKey"] = tuak.topc.to_hex().into();
            tuak.key.as_ref().map_or(subscriber.key.to_hex(), |key| key.to_hex())
        }
        None => {
            document["opc"] = json!({"opcValue": subscriber.opc.to_hex(), "encryptionKey": 0,
                "encryptionAlgorithm": 0});
            document["milenage"] = json!({"op": {"opValue": "", "encryptionKey": 0,
                "encryptionAlgorithm": 0}});
            subscriber.key.to_hex()
        }
    };
    document["permanentKey"] =
        json!({"permanentKeyValue": key, "encryptionKey": 0, "encryptionAlgorithm": 0});
    document
}

fn configuration(dnn: &SubscribedDnn) -> (String, Value) {
    let kinds: Vec<&str> = dnn.session_types.iter().map(|kind| type_name(*kind)).collect();
    let modes: Vec<String> = dnn.ssc_modes.iter().map(|mode| format!("SSC_MODE_{mode}")).collect();
    let mut value = json!({
        "pduSessionTypes": {"defaultSessionType": kinds.first(), "allowedSessionTypes": kinds},
        "sscModes": {"defaultSscMode": modes.first(), "allowedSscModes": modes},
        "5gQosProfile": {"5qi": dnn.five_qi, "arp": {"priorityLevel": dnn.arp_priority,
            "preemptCap": "NOT_PREEMPT", "preemptVuln": "NOT_PREEMPTABLE"}},
        "sessionAmbr": {"downlink": dnn.ambr_downlink, "uplink": dnn.ambr_uplink},
    });
    if let Some(policy) = dnn.up_security {
        value["upSecurity"] =
            json!({"upIntegr": upper(policy.integrity), "upConfid": upper(policy.ciphering)});
    }
    let mut addresses = Vec::new();
    addresses.extend(dnn.static_ipv4.map(|address| json!({"ipv4Addr": address})));
    addresses.extend(dnn.static_ipv6.map(|address| json!({"ipv6Addr": address})));
    if !addresses.is_empty() {
        value["staticIpAddress"] = addresses.into();
    }
    for (list, member, is_ipv6) in
        [("ipv4FrameRouteList", "ipv4Mask", false), ("ipv6FrameRouteList", "ipv6Prefix", true)]
    {
        let routes = dnn.framed_routes.iter().filter(|route| route.contains(':') == is_ipv6);
        let routes: Vec<Value> = routes.map(|route| json!({member: route})).collect();
        if !routes.is_empty() {
            value[list] = routes.into();
        }
    }
    (dnn.name.clone(), value)
}
