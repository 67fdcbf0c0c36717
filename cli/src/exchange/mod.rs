//! Import and export of subscribers: exports of Open5GS's and free5GC's databases, CSV, and
//! Martlet's own JSON.
mod csv;
mod free5gc;
mod open5gs;

use anyhow::{Context, Result, bail};
use martlet_store::{Secret, Subscriber};
use serde_json::Value;

/// A file format of subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Detect from the contents
    Auto,
    /// Collection `subscribers` of Open5GS, by mongoexport
    Open5gs,
    /// Collections of free5GC, by mongoexport, or a subscriber of its web console
    Free5gc,
    /// CSV with a header, one subscriber per line
    Csv,
    /// Martlet's own format: a JSON array
    Martlet,
}

/// Reads subscribers. Several texts may contain parts of the same subscribers, as free5GC's
/// collections do.
///
/// # Errors
/// A text is not of the format, or a subscriber is wrong. The error names it, but never its keys.
pub fn read(form: Format, texts: &[String]) -> Result<Vec<Subscriber>> {
    let first = texts.first().map_or("", |text| text.trim_start());
    let form = match form {
        Format::Auto if first.starts_with(['{', '[']) => detect(&documents(first)?)?,
        Format::Auto => Format::Csv,
        form => form,
    };
    let mut documents_of_all = Vec::new();
    if form != Format::Csv {
        for text in texts {
            documents_of_all.extend(documents(text)?);
        }
    }
    let subscribers = match form {
        Format::Open5gs => {
            documents_of_all.iter().map(open5gs::read).collect::<Result<Vec<_>>>()?
        }
        Format::Free5gc => free5gc::read(&documents_of_all)?,
        Format::Csv => {
            let all = texts.iter().map(|text| csv::read(text)).collect::<Result<Vec<_>>>()?;
            all.into_iter().flatten().collect()
        }
        _ => {
            let one = |value: &Value| Ok(serde_json::from_value(value.clone())?);
            documents_of_all.iter().map(one).collect::<Result<Vec<_>>>()?
        }
    };
    for subscriber in &subscribers {
        subscriber.check().with_context(|| subscriber.supi.clone())?;
    }
    Ok(subscribers)
}

/// Writes subscribers, with their keys.
///
/// # Errors
/// The form is one that is read alone.
pub fn write(form: Format, subscribers: &[Subscriber]) -> Result<String> {
    Ok(match form {
        Format::Open5gs => {
            subscribers.iter().map(|s| open5gs::write(s).to_string() + "\n").collect()
        }
        Format::Csv => csv::write(subscribers)?,
        Format::Auto | Format::Martlet => serde_json::to_string_pretty(subscribers)? + "\n",
        Format::Free5gc => bail!("subscribers are written as martlet, csv or open5gs"),
    })
}

/// The documents of an array, of an object with arrays (a collection each), or of lines, as
/// mongoexport writes them.
fn documents(text: &str) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value.context("the text is not JSON")? {
            Value::Array(items) => all.extend(items),
            Value::Object(members)
                if !members.is_empty() && members.values().all(Value::is_array) =>
            {
                all.extend(
                    members
                        .into_iter()
                        .flat_map(|(_, items)| items.as_array().cloned().unwrap_or_default()),
                );
            }
            other => all.push(other),
        }
    }
    Ok(all)
}

fn detect(documents: &[Value]) -> Result<Format> {
    let any = |name: &str| documents.iter().any(|document| !document[name].is_null());
    Ok(match () {
        () if any("security") && any("imsi") => Format::Open5gs,
        () if any("ueId") => Format::Free5gc,
        () if any("supi") => Format::Martlet,
        () => bail!("the format is not recognised: use --format open5gs, free5gc, csv or martlet"),
    })
}

/// A key of 32 hexadecimal digits, with or without spaces.
fn secret(text: &str, what: &str) -> Result<Secret> {
    let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    // The error does not contain the text, since it may be a key with a typing error.
    Secret::from_hex(&digits).with_context(|| format!("{what} is not 32 hexadecimal digits"))
}

/// OPc, given or derived from OP.
fn opc(key: &Secret, opc: Option<&str>, op: Option<&str>) -> Result<Secret> {
    match (opc.filter(|text| !text.is_empty()), op.filter(|text| !text.is_empty())) {
        (Some(opc), _) => secret(opc, "OPc"),
        (None, Some(op)) => Ok(Secret(martlet_security::aka::opc(&key.0, &secret(op, "OP")?.0))),
        (None, None) => bail!("neither OPc nor OP is given"),
    }
}

fn hexadecimal(text: &str, what: &str) -> Result<u64> {
    u64::from_str_radix(text, 16)
        .with_context(|| format!("{what} {text:?} is not a hexadecimal number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_store::SessionType;

    const OPEN5GS: &str = r#"{"_id":{"$oid":"64b2"},"schema_version":1,"imsi":"999700000000001","msisdn":["491701"],
        "security":{"k":"465B5CE8 B199B49F AA5F0A2E E238A6BC","amf":"8000","op":null,
        "opc":"E8ED289D EBA952E4 283B54E8 8E6183CA","sqn":{"$numberLong":"513"}},
        "ambr":{"downlink":{"value":1,"unit":3},"uplink":{"value":500,"unit":2}},
        "slice":[{"sst":1,"sd":"0000a7","default_indicator":true,"session":[{"name":"internet","type":3,
          "qos":{"index":7,"arp":{"priority_level":5,"pre_emption_capability":1,"pre_emption_vulnerability":1}},
          "ambr":{"downlink":{"value":100,"unit":2},"uplink":{"value":50,"unit":2}},
          "ue":{"addr":"10.45.1.2"},"pcc_rule":[]}]}],"access_restriction_data":32,"__v":0}"#;

    const FREE5GC: &str = r#"{
      "subscriptionData.authenticationData.authenticationSubscription": [
        {"ueId":"imsi-208930000000003","authenticationMethod":"5G_AKA",
         "permanentKey":{"permanentKeyValue":"8baf473f2f8fd09487cccbd7097c6862","encryptionKey":0},
         "sequenceNumber":"000000000023","authenticationManagementField":"8000",
         "milenage":{"op":{"opValue":"8e27b6af0e692e750f32667a3b14605d"}},"opc":{"opcValue":""}}],
      "subscriptionData.provisionedData.amData": [
        {"ueId":"imsi-208930000000003","servingPlmnId":"20893","gpsis":["msisdn-0900000000"],
         "subscribedUeAmbr":{"uplink":"1 Gbps","downlink":"2 Gbps"},
         "nssai":{"defaultSingleNssais":[{"sst":1,"sd":"010203"}],"singleNssais":[{"sst":1,"sd":"112233"}]}}],
      "subscriptionData.provisionedData.smData": [
        {"ueId":"imsi-208930000000003","servingPlmnId":"20893","singleNssai":{"sst":1,"sd":"010203"},
         "dnnConfigurations":{"internet":{"pduSessionTypes":{"defaultSessionType":"IPV4","allowedSessionTypes":["IPV4","IPV6"]},
           "5gQosProfile":{"5qi":9,"arp":{"priorityLevel":8}},"sessionAmbr":{"uplink":"200 Mbps","downlink":"100 Mbps"}}}},
        {"ueId":"imsi-208930000000003","servingPlmnId":"20893","singleNssai":{"sst":1,"sd":"112233"},
         "dnnConfigurations":{"internet":{"pduSessionTypes":{"defaultSessionType":"IPV4"}}}}]}"#;

    #[test]
    fn an_open5gs_subscriber_is_imported_and_exported_completely() {
        let all = read(Format::Auto, &[OPEN5GS.into()]).unwrap();
        let one = &all[0];
        assert_eq!(
            (one.supi.as_str(), one.msisdn.as_deref(), one.sqn),
            ("imsi-999700000000001", Some("491701"), 513)
        );
        assert_eq!(one.opc.to_hex(), "e8ed289deba952e4283b54e88e6183ca");
        assert_eq!((one.ambr_downlink.as_str(), one.ambr_uplink.as_str()), ("1 Gbps", "500 Mbps"));
        let (slice, dnn) = (&one.slices[0], &one.slices[0].dnns[0]);
        assert_eq!((slice.sst, slice.sd, dnn.five_qi, dnn.arp_priority), (1, Some(0xa7), 7, 5));
        assert_eq!(dnn.session_types[0], SessionType::Ipv4v6);
        assert_eq!(dnn.static_ipv4.unwrap().to_string(), "10.45.1.2");
        // Exported and imported again.
        let again = read(Format::Open5gs, &[write(Format::Open5gs, &all).unwrap()]).unwrap();
        assert_eq!(again, all);
    }

    #[test]
    fn a_free5gc_subscriber_is_assembled_from_its_collections() {
        let all = read(Format::Auto, &[FREE5GC.into()]).unwrap();
        let one = &all[0];
        assert_eq!((all.len(), one.supi.as_str(), one.sqn), (1, "imsi-208930000000003", 0x23));
        assert_eq!(one.msisdn.as_deref(), Some("0900000000"));
        // OPc is derived from OP.
        let op = secret("8e27b6af0e692e750f32667a3b14605d", "OP").unwrap();
        assert_eq!(one.opc.0, martlet_security::aka::opc(&one.key.0, &op.0));
        let slices: Vec<_> =
            one.slices.iter().map(|slice| (slice.sd, slice.default, slice.dnns.len())).collect();
        assert_eq!(slices, [(Some(0x010203), true, 1), (Some(0x112233), false, 1)]);
        assert_eq!(one.slices[0].dnns[0].session_types, [SessionType::Ipv4, SessionType::Ipv6]);
        assert_eq!(one.slices[0].dnns[0].ambr_uplink, "200 Mbps");
        assert!(write(Format::Free5gc, &all).is_err());
    }

    #[test]
    fn csv_and_json_are_exported_and_imported_again() {
        let text = "imsi,key,opc,msisdn,slice,dnn,downlink,uplink,sqn\n001010000000001,\
                    465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a9f4e48a5994e37a02baf,491701,\
                    1-00000a,internet;ims,100 Mbps,50 \
                    Mbps,20\n001010000000002,465b5ce8b199b49faa5f0a2ee238a6bc,\
                    cd63cb71954a9f4e48a5994e37a02baf,,,,,,\n";
        let all = read(Format::Auto, &[text.into()]).unwrap();
        assert_eq!((all.len(), all[0].sqn, all[0].slices[0].sd), (2, 0x20, Some(10)));
        let names: Vec<_> =
            all[0].slices[0].dnns.iter().map(|dnn| (dnn.name.as_str(), dnn.default)).collect();
        assert_eq!(names, [("internet", true), ("ims", false)]);
        assert_eq!(
            (all[1].msisdn.as_ref(), all[1].slices[0].dnns[0].name.as_str()),
            (None, "internet")
        );
        for form in [Format::Csv, Format::Martlet] {
            assert_eq!(read(Format::Auto, &[write(form, &all).unwrap()]).unwrap(), all, "{form:?}");
        }
    }

    #[test]
    fn errors_do_not_contain_keys() {
        for (text, word) in [
            ("{\"imsi\":\"1\",\"security\":{\"k\":\"12\"}}", "K"),
            ("imsi,key,opc\n001010000000001,465b5ce8b199b49faa5f0a2ee238a6,cd\n", "key"),
            ("[{\"colour\":1}]", "format"),
            ("{", "JSON"),
            ("imsi,colour\n", "colour"),
        ] {
            let error = format!("{:#}", read(Format::Auto, &[text.into()]).unwrap_err());
            assert!(error.contains(word) && !error.contains("465b5ce8"), "{text}: {error}");
        }
    }
}
