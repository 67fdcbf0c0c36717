//! Imports of other cores' files, exports, and round trips of random subscribers.
use super::loss::{bits, canonical};
use super::*;
use martlet_store::{
    AuthenticationMethod, ServiceArea, SubscribedDnn, SubscribedSlice, Tuak, UpProtection,
    UpSecurityPolicy,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use std::io::Cursor;

const OPEN5GS: &str = r#"{"_id":{"$oid":"64b2"},"schema_version":1,"imsi":"999700000000001",
    "msisdn":["491701"],
    "security":{"k":"465B5CE8 B199B49F AA5F0A2E E238A6BC","amf":"8000","op":null,
    "opc":"E8ED289D EBA952E4 283B54E8 8E6183CA","sqn":{"$numberLong":"513"}},
    "ambr":{"downlink":{"value":1,"unit":3},"uplink":{"value":500,"unit":2}},
    "slice":[{"sst":1,"sd":"0000a7","default_indicator":true,"session":[{"name":"internet","type":3,
      "qos":{"index":7,"arp":{"priority_level":5,"pre_emption_capability":1,
      "pre_emption_vulnerability":1}},
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
     "nssai":{"defaultSingleNssais":[{"sst":1,"sd":"010203"}],
              "singleNssais":[{"sst":1,"sd":"112233"}]}}],
  "subscriptionData.provisionedData.smData": [
    {"ueId":"imsi-208930000000003","servingPlmnId":"20893","singleNssai":{"sst":1,"sd":"010203"},
     "dnnConfigurations":{"internet":{
       "pduSessionTypes":{"defaultSessionType":"IPV4","allowedSessionTypes":["IPV4","IPV6"]},
       "5gQosProfile":{"5qi":9,"arp":{"priorityLevel":8}},
       "sessionAmbr":{"uplink":"200 Mbps","downlink":"100 Mbps"}}}},
    {"ueId":"imsi-208930000000003","servingPlmnId":"20893","singleNssai":{"sst":1,"sd":"112233"},
     "dnnConfigurations":{"internet":{"pduSessionTypes":{"defaultSessionType":"IPV4"}}}}]}"#;

const UERANSIM: &str = "# a UE\nsupi: 'imsi-999700000000001'\nmcc: '999'\nmnc: '70'\n\
    key: '465B5CE8B199B49FAA5F0A2EE238A6BC'\nop: 'E8ED289DEBA952E4283B54E88E6183CA'\n\
    opType: 'OPC'\namf: '8000'\nimei: '356938035643803'\ngnbSearchList:\n  - 127.0.0.1\n\
    sessions:\n  - type: 'IPv4'\n    apn: 'ims'\n    slice:\n      sst: 1\n      sd: 0x0000a7\n\
    configured-nssai:\n  - sst: 1\n    sd: 0x0000a7\n  - sst: 2\ndefault-nssai:\n  - sst: 1\n    \
    sd: 0x0000a7\n";

fn input(text: &str) -> Vec<Input> {
    vec![Input { name: None, text: Box::new(Cursor::new(text.to_string().into_bytes())) }]
}

fn read_text(format: Format, text: &str) -> Result<(Vec<Subscriber>, Losses)> {
    let mut all = Vec::new();
    let losses = read(format, input(text), &mut |subscriber| {
        all.push(subscriber);
        Ok(())
    })?;
    Ok((all, losses))
}

fn written(format: Format, all: &[Subscriber]) -> String {
    let mut writer = Writer::new(format, Vec::new(), "00101").unwrap();
    all.iter().for_each(|subscriber| writer.write(subscriber).unwrap());
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

fn lost(format: Format, subscriber: &Subscriber) -> Vec<String> {
    let mut losses = Losses::default();
    add_losses(format, subscriber, "00101", &mut losses).unwrap();
    losses.fields().map(str::to_string).collect()
}

#[test]
fn an_open5gs_subscriber_is_imported_and_exported_completely() {
    let (all, losses) = read_text(Format::Auto, OPEN5GS).unwrap();
    let one = &all[0];
    assert!(losses.is_empty(), "{losses}");
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
    let again = read_text(Format::Open5gs, &written(Format::Open5gs, &all)).unwrap();
    assert_eq!(again, (all, Losses::default()));
}

#[test]
fn an_import_names_what_it_does_not_carry_and_leaves_barred_subscribers_out() {
    let with = |from: &str, to: &str| read_text(Format::Auto, &OPEN5GS.replace(from, to)).unwrap();
    let (all, losses) = with(
        "\"pcc_rule\":[]",
        "\"pcc_rule\":[{\"qos\":{\"index\":1}}],\"lbo_roaming_allowed\":true",
    );
    assert_eq!(all.len(), 1);
    assert_eq!(
        losses.fields().collect::<Vec<_>>(),
        ["slice[].session[].lbo_roaming_allowed", "slice[].session[].pcc_rule"]
    );
    let (_, losses) = with("\"pre_emption_capability\":1", "\"pre_emption_capability\":2");
    assert!(losses.to_string().contains("arp.pre_emption_capability: imsi-999700000000001"));
    let (all, losses) = with("\"__v\":0", "\"subscriber_status\":1");
    assert!(all.is_empty() && losses.to_string().contains("1 barred"), "{losses}");
    let barred =
        FREE5GC.replace("\"gpsis\"", "\"odbPacketServices\":\"ALL_PACKET_SERVICES\",\"gpsis\"");
    let (all, losses) = read_text(Format::Auto, &barred).unwrap();
    assert!(all.is_empty() && losses.to_string().contains("1 barred"), "{losses}");
}

#[test]
fn a_free5gc_subscriber_is_assembled_from_its_collections() {
    let (all, losses) = read_text(Format::Auto, FREE5GC).unwrap();
    assert!(losses.is_empty(), "{losses}");
    let one = &all[0];
    assert_eq!((all.len(), one.supi.as_str(), one.sqn), (1, "imsi-208930000000003", 0x23));
    assert_eq!(one.msisdn.as_deref(), Some("0900000000"));
    // OPc is derived from OP.
    let op: Secret = secret("8e27b6af0e692e750f32667a3b14605d", "OP").unwrap();
    assert_eq!(one.opc.0, martlet_security::aka::opc(&one.key.0, &op.0));
    let slices: Vec<_> =
        one.slices.iter().map(|slice| (slice.sd, slice.default, slice.dnns.len())).collect();
    assert_eq!(slices, [(Some(0x010203), true, 1), (Some(0x112233), false, 1)]);
    assert_eq!(one.slices[0].dnns[0].session_types, [SessionType::Ipv4, SessionType::Ipv6]);
    assert_eq!(one.slices[0].dnns[0].ambr_uplink, "200 Mbps");
    let rules = FREE5GC.trim_end().trim_end_matches('}').to_string()
        + ", \"policyData.ues.flowRule\": [{\"ueId\":\"imsi-208930000000003\",\
           \"filter\":\"permit out ip\"}]}";
    let (_, losses) = read_text(Format::Auto, &rules).unwrap();
    assert_eq!(losses.fields().next(), Some("flowRules.filter"));
}

#[test]
fn session_data_of_two_serving_plmns_are_merged() {
    let of_home = r#""servingPlmnId":"20893","singleNssai":{"sst":1,"sd":"010203"},"#;
    let start = FREE5GC.find(of_home).unwrap() + of_home.len();
    let end = start + FREE5GC[start..].find("Mbps\"}}}},").unwrap() + "Mbps\"}}}},".len();
    let visited = |configurations: &str| {
        let visited = of_home.replace("20893", "00101");
        let document = format!("{{\"ueId\":\"imsi-208930000000003\",{visited}{configurations}");
        let member = "\"subscriptionData.provisionedData.smData\": [";
        FREE5GC.replace(member, &format!("{member}{document}"))
    };
    let (expected, _) = read_text(Format::Auto, FREE5GC).unwrap();
    let same = &FREE5GC[start..end];
    let (all, losses) = read_text(Format::Auto, &visited(same)).unwrap();
    assert!(losses.is_empty(), "{losses}");
    assert_eq!(all, expected);
    // What differs is lost, and the home PLMN's values are imported.
    let (all, losses) = read_text(Format::Auto, &visited(&same.replace("200", "20"))).unwrap();
    let lost: Vec<_> = losses.fields().collect();
    assert_eq!(lost, ["dnnConfigurations (of another serving PLMN)"]);
    assert_eq!(all, expected);
}

#[test]
fn the_tuak_key_of_free5gc_stays_one() {
    let topc = "bd04d9530e87513c5d837ac2ad954623a8e2330c115305a73eb45d1f40cccbff";
    let text = FREE5GC.replace(
        "\"milenage\":{\"op\":{\"opValue\":\"8e27b6af0e692e750f32667a3b14605d\"}},\
         \"opc\":{\"opcValue\":\"\"}",
        &format!("\"algorithmId\":\"tuak\",\"encTopcKey\":\"{topc}\""),
    );
    let (all, losses) = read_text(Format::Auto, &text).unwrap();
    assert!(losses.is_empty(), "{losses}");
    assert_eq!(all[0].tuak.as_ref().unwrap().topc.to_hex(), topc);
    // Open5GS has no TUAK: an export is reported, and no all-zero OPc is taken for one.
    assert!(lost(Format::Open5gs, &all[0]).contains(&"tuak".to_string()));
}

#[test]
fn a_ue_file_of_ueransim_is_imported() {
    let text = format!("{UERANSIM}---\n{}", UERANSIM.replace("0000001'", "0000002'"));
    let (all, losses) = read_text(Format::Auto, &text).unwrap();
    assert!(losses.is_empty(), "{losses}");
    let one = &all[0];
    assert_eq!((all.len(), one.supi.as_str()), (2, "imsi-999700000000001"));
    let slices: Vec<_> = one
        .slices
        .iter()
        .map(|slice| (slice.sst, slice.sd, slice.default, slice.dnns[0].name.as_str()))
        .collect();
    assert_eq!(slices, [(1, Some(0xa7), true, "ims"), (2, None, false, "internet")]);
    let (_, losses) = read_text(Format::Auto, &format!("{UERANSIM}colour: red\n")).unwrap();
    assert_eq!(losses.fields().collect::<Vec<_>>(), ["colour"]);
}

#[test]
fn csv_has_semicolons_or_tabs_in_place_of_commas() {
    let keys = "465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a9f4e48a5994e37a02baf";
    let text = format!("imsi,key,opc,dnn,downlink\n001010000000001,{keys},internet,100 Mbps\n");
    let (expected, _) = read_text(Format::Auto, &text).unwrap();
    for separator in [";", "\t"] {
        let other = format!("\u{feff}{}", text.replace(',', separator).replace('\n', "\r\n"));
        assert_eq!(read_text(Format::Auto, &other).unwrap().0, expected, "{separator:?}");
        // A list is in quotes then.
        let list = other.replace("internet", "\"internet;ims\"");
        let (all, _) = read_text(Format::Csv, &list).unwrap();
        assert_eq!(all[0].slices[0].dnns[1].name, "ims", "{separator:?}");
    }
    let utf_16: Vec<u8> =
        "\u{feff}imsi".encode_utf16().flat_map(|unit| unit.to_le_bytes()).collect();
    let text = Box::new(Cursor::new(utf_16));
    let error = read(Format::Auto, vec![Input { name: None, text }], &mut |_| Ok(())).err();
    assert!(error.unwrap().to_string().contains("UTF-8"));
}

#[test]
fn csv_lines_of_one_imsi_are_one_subscriber() {
    let keys = "465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a9f4e48a5994e37a02baf";
    let text = format!(
        "imsi,key,opc,msisdn,slice,dnn,downlink,sqn\n001010000000001,{keys},491701,1-00000a,\
         internet;ims,100 Mbps,20\n001010000000001,{keys},,2,lan,,\n001010000000002,{keys},,,,,\n"
    );
    let (all, _) = read_text(Format::Auto, &text).unwrap();
    assert_eq!((all.len(), all[0].sqn, all[0].slices[0].sd), (2, 0x20, Some(10)));
    let names: Vec<_> =
        all[0].slices[0].dnns.iter().map(|dnn| (dnn.name.as_str(), dnn.default)).collect();
    assert_eq!(names, [("internet", true), ("ims", false)]);
    assert_eq!((all[0].slices[1].sst, all[0].slices[1].default), (2, false));
    assert_eq!(all[1].slices[0].dnns[0].name, "internet");
    let scattered = format!("{text}001010000000001,{keys},,,,,\n");
    let error = format!("{:#}", read_text(Format::Auto, &scattered).unwrap_err());
    assert!(error.contains("line 5") && error.contains("sort the file"), "{error}");
    let twice = text.replace(",,2,lan,,", ",,1-00000a,IMS,,");
    let error = format!("{:#}", read_text(Format::Auto, &twice).unwrap_err());
    assert!(
        error.contains("imsi-001010000000001") && error.contains("IMS occurs twice"),
        "{error}"
    );
    let other = text.replacen(keys, &keys.replace("46", "47"), 1);
    let error = format!("{:#}", read_text(Format::Auto, &other).unwrap_err());
    assert!(error.contains("line 3: the key differs"), "{error}");
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_text() {
    let (all, _) = read_text(Format::Auto, OPEN5GS).unwrap();
    let of = |format| (format, written(format, &all));
    for (format, text) in [
        of(Format::Martlet),
        of(Format::Csv),
        of(Format::Open5gs),
        (Format::Free5gc, FREE5GC.to_string()),
        (Format::Ueransim, UERANSIM.to_string()),
    ] {
        let expected = read_text(format, &text).unwrap();
        for format in [Format::Auto, format] {
            let read = read_text(format, &format!("\u{feff}{text}"));
            assert_eq!(read.unwrap(), expected, "{format:?}");
        }
    }
}

#[test]
fn errors_do_not_contain_keys() {
    for (text, word) in [
        ("{\"imsi\":\"1\",\"security\":{\"k\":\"12\"}}", "K"),
        ("imsi,key,opc\n001010000000001,465b5ce8b199b49faa5f0a2ee238a6,cd\n", "key"),
        ("[{\"colour\":1}]", "format"),
        ("{", "JSON"),
        ("[{\"supi\": \"imsi-001010000000001\", \"key\": 465b5ce8}]", "JSON"),
        ("imsi,colour\n", "colour"),
        ("supi: 'imsi-001010000000001'\nkey: '465b5ce8\n", "YAML"),
    ] {
        let error = format!("{:#}", read_text(Format::Auto, text).unwrap_err());
        assert!(error.contains(word) && !error.contains("465b5ce8"), "{text}: {error}");
    }
}

fn name() -> impl Strategy<Value = String> {
    "[a-z]{1,8}(\\.[a-z]{2,3})?"
}

fn rate() -> impl Strategy<Value = String> {
    (1u32..2000, prop::sample::select(vec!["Kbps", "Mbps", "Gbps"]), any::<bool>())
        .prop_map(|(n, unit, half)| format!("{n}{} {unit}", if half { ".5" } else { "" }))
}

fn protection() -> impl Strategy<Value = UpProtection> {
    prop::sample::select(vec![
        UpProtection::Required,
        UpProtection::Preferred,
        UpProtection::NotNeeded,
    ])
}

fn types() -> impl Strategy<Value = Vec<SessionType>> {
    prop::sample::subsequence(
        vec![
            SessionType::Ipv4v6,
            SessionType::Ipv4,
            SessionType::Ipv6,
            SessionType::Ethernet,
            SessionType::Unstructured,
        ],
        1..=5,
    )
    .prop_shuffle()
}

fn dnn() -> impl Strategy<Value = SubscribedDnn> {
    let policy = (protection(), protection());
    let route = (0u8..250, 8u8..30).prop_map(|(n, length)| format!("10.{n}.0.0/{length}"));
    let route6 = (0u16..9999).prop_map(|n| format!("fd60:{n}::/48"));
    let qos = (1u8..=255, 1u8..=15, rate(), rate());
    let modes = prop::sample::subsequence(vec![1u8, 2, 3], 1..=3).prop_shuffle();
    let routes = (vec(route, 0..3), vec(route6, 0..2));
    let addresses = (option::of(any::<[u8; 4]>()), option::of(any::<[u8; 16]>()));
    (types(), qos, modes, routes, addresses, option::of(policy)).prop_map(
        |(
            session_types,
            (five_qi, arp_priority, down, up),
            ssc_modes,
            routes,
            (v4, v6),
            policy,
        )| {
            SubscribedDnn {
                session_types,
                five_qi,
                arp_priority,
                ambr_downlink: down,
                ambr_uplink: up,
                ssc_modes,
                framed_routes: routes.0.into_iter().chain(routes.1).collect(),
                static_ipv4: v4.map(Into::into),
                static_ipv6: v6.map(Into::into),
                up_security: policy
                    .map(|(integrity, ciphering)| UpSecurityPolicy { integrity, ciphering }),
                ..SubscribedDnn::new("")
            }
        },
    )
}

fn slices() -> impl Strategy<Value = Vec<SubscribedSlice>> {
    let dnns = (btree_map(name(), dnn(), 1..4), any::<prop::sample::Index>());
    let slice = (dnns, any::<bool>());
    let sd = option::of(0u32..0xff_ffff);
    let all = btree_map((1u8..5, sd), slice, 1..4);
    (all, any::<prop::sample::Index>()).prop_map(|(all, chosen)| {
        let chosen = chosen.index(all.len());
        let slices = all.into_iter().enumerate();
        slices
            .map(|(n, ((sst, sd), ((dnns, first), default)))| {
                let first = first.index(dnns.len());
                let dnns = dnns.into_iter().enumerate();
                let dnns =
                    dnns.map(|(n, (name, dnn))| SubscribedDnn { name, default: n == first, ..dnn });
                let dnns = dnns.collect();
                SubscribedSlice { sst, sd, default: default || n == chosen, dnns }
            })
            .collect()
    })
}

fn tuak() -> impl Strategy<Value = Tuak> {
    let bits = prop::sample::select(vec![32u16, 64, 128]);
    (any::<[u8; 32]>(), option::of(any::<[u8; 32]>()), 1u8..9, bits).prop_map(
        |(topc, key, iterations, res_bits)| Tuak {
            topc: Secret(topc),
            key: key.map(Secret),
            iterations,
            res_bits,
        },
    )
}

fn subscriber() -> impl Strategy<Value = Subscriber> {
    let keys = (any::<[u8; 16]>(), any::<[u8; 16]>(), option::weighted(0.2, tuak()));
    let area = (any::<bool>(), vec(1u32..0xff_fffd, 1..5)).prop_map(|(allowed, tacs)| {
        if allowed { ServiceArea::Allowed(tacs) } else { ServiceArea::NotAllowed(tacs) }
    });
    let identity = (0u64..10_000_000_000, option::of("[1-9][0-9]{4,14}"));
    let groups = vec("[a-z]{1,8}-[0-9]{1,3}", 0..3);
    let state = (any::<[u8; 2]>(), 0u64..1 << 48, any::<bool>(), groups);
    (identity, keys, state, (rate(), rate()), slices(), option::of(area)).prop_map(
        |((n, msisdn), (key, opc, tuak), state, (down, up), slices, service_area)| {
            let (amf, sqn, eap, groups) = state;
            let supi = format!("imsi-00101{n:010}");
            Subscriber {
                msisdn,
                amf,
                sqn,
                authentication_method: match eap {
                    true => AuthenticationMethod::EapAkaPrime,
                    false => AuthenticationMethod::FiveGAka,
                },
                tuak,
                ambr_downlink: down,
                ambr_uplink: up,
                slices,
                service_area,
                groups,
                ..Subscriber::new(&supi, Secret(key), Secret(opc), "internet")
            }
        },
    )
}

/// A subscriber without what a format has no member for.
fn as_open5gs(mut subscriber: Subscriber) -> Subscriber {
    subscriber.tuak = None;
    subscriber.authentication_method = AuthenticationMethod::FiveGAka;
    subscriber.service_area = None;
    subscriber.groups.clear();
    for dnn in subscriber.slices.iter_mut().flat_map(|slice| &mut slice.dnns) {
        dnn.ssc_modes = vec![1];
        dnn.up_security = None;
        dnn.session_types = match dnn.session_types[0] {
            SessionType::Ipv4v6 => vec![SessionType::Ipv4v6, SessionType::Ipv4, SessionType::Ipv6],
            one => vec![one],
        };
    }
    subscriber
}

/// A subscriber whose SUPI is an IMSI or a network-specific identifier.
fn of_any_supi() -> impl Strategy<Value = Subscriber> {
    let nai = option::weighted(0.3, "nai-[a-z]{1,8}-[a-z0-9]{1,8}@[a-z]{1,8}\\.example");
    (subscriber(), nai).prop_map(|(subscriber, nai)| {
        let supi = nai.unwrap_or_else(|| subscriber.supi.clone());
        Subscriber { supi, ..subscriber }
    })
}

fn as_free5gc(mut subscriber: Subscriber) -> Subscriber {
    subscriber.groups.clear();
    if let Some(tuak) = &mut subscriber.tuak {
        *tuak = Tuak { key: tuak.key.clone(), ..Tuak::new(tuak.topc.clone()) };
    }
    subscriber
}

fn as_ueransim(subscriber: Subscriber) -> Subscriber {
    let open5gs = as_open5gs(subscriber);
    let mut plain = Subscriber::new(&open5gs.supi, open5gs.key, open5gs.opc, "internet");
    plain.amf = open5gs.amf;
    plain.slices = open5gs.slices;
    for dnn in plain.slices.iter_mut().flat_map(|slice| &mut slice.dnns) {
        *dnn = SubscribedDnn {
            default: dnn.default,
            session_types: vec![dnn.session_types[0]],
            ..SubscribedDnn::new(&dnn.name)
        };
    }
    plain
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn csv_and_json_carry_each_field(all in vec(of_any_supi(), 1..5)) {
        // A SUPI occurs once.
        let mut all = all;
        all.sort_by(|a, b| a.supi.cmp(&b.supi));
        all.dedup_by(|a, b| a.supi == b.supi);
        for format in [Format::Csv, Format::Martlet] {
            let (again, losses) = read_text(Format::Auto, &written(format, &all)).unwrap();
            prop_assert!(losses.is_empty());
            prop_assert_eq!(again.len(), all.len());
            for (one, other) in all.iter().zip(&again) {
                prop_assert_eq!(canonical(one).unwrap(), canonical(other).unwrap());
            }
        }
    }

    #[test]
    fn other_formats_carry_or_name_each_field(subscriber in subscriber()) {
        for format in [Format::Open5gs, Format::Free5gc, Format::Ueransim] {
            let (again, import) =
                read_text(format, &written(format, std::slice::from_ref(&subscriber))).unwrap();
            // Nothing that an export writes is foreign to the import.
            prop_assert!(import.is_empty(), "{:?}: {}", format, import);
            let same = canonical(&subscriber).unwrap() == canonical(&again[0]).unwrap();
            prop_assert_eq!(lost(format, &subscriber).is_empty(), same, "{:?}", format);
        }
    }

    #[test]
    fn other_formats_carry_what_they_have_members_for(subscriber in subscriber()) {
        for (format, subscriber) in [
            (Format::Open5gs, as_open5gs(subscriber.clone())),
            (Format::Free5gc, as_free5gc(subscriber.clone())),
            (Format::Ueransim, as_ueransim(subscriber)),
        ] {
            prop_assert_eq!(lost(format, &subscriber), Vec::<String>::new(), "{:?}", format);
        }
    }
}

#[test]
fn other_formats_lose_a_subscriber_whose_supi_is_no_imsi() {
    let nai = "nai-user@example.org";
    let subscriber = Subscriber::new(nai, Secret([1; 16]), Secret([2; 16]), "internet");
    for format in [Format::Open5gs, Format::Free5gc, Format::Ueransim] {
        let all = [subscriber.clone()];
        assert!(!written(format, &all).contains("user"), "{format:?}");
        assert_eq!(lost(format, &subscriber).len(), 1, "{format:?}");
    }
}

#[test]
fn bit_rates_are_compared_as_numbers() {
    assert_eq!(bits("1.5 Gbps"), bits("1500 Mbps"));
    assert_ne!(bits("1 Gbps"), bits("1 Mbps"));
}
