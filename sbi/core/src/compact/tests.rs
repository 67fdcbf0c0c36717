//! What goes in comes out; what is cut or changed is refused without a panic.
use super::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn octets<T: Serialize>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    to_vec(value, &mut out).unwrap();
    out
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Everything {
    plmn_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    absent: Option<u8>,
    small: u8,
    large: u64,
    negative: i64,
    lowest: i64,
    float: f64,
    yes: bool,
    letter: char,
    tuple: (u8, String),
    list: Vec<Choice>,
    by_number: BTreeMap<u32, Plain>,
    address: std::net::IpAddr,
    untagged: Vec<Either>,
    tagged: Tagged,
    #[serde(flatten)]
    flat: Flat,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Plain {
    #[serde(rename = "supi")]
    Known,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Choice {
    Nothing,
    One(u32),
    Two(u32, String),
    Named { nid: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Number { sst: u8 },
    Text { sst: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "avType")]
enum Tagged {
    A { address: std::net::Ipv4Addr },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Flat {
    mcc: String,
    inner: BTreeMap<String, i32>,
    address6: std::net::Ipv6Addr,
}

fn everything() -> Everything {
    Everything {
        plmn_id: None,
        absent: None,
        small: 63,
        large: u64::MAX,
        negative: -1,
        lowest: i64::MIN,
        float: -0.375,
        yes: true,
        letter: 'ß',
        tuple: (64, "x".repeat(100)),
        list: vec![Choice::Nothing, Choice::One(300), Choice::Two(1, String::new()), Choice::Named { nid: "n".into() }],
        by_number: BTreeMap::from([(7, Plain::Known), (70000, Plain::Unknown)]),
        address: "10.0.0.1".parse().unwrap(),
        untagged: vec![Either::Number { sst: 1 }, Either::Text { sst: "1".into() }],
        tagged: Tagged::A { address: "1.2.3.4".parse().unwrap() },
        flat: Flat {
            mcc: "001".into(),
            inner: (0..20).map(|n| (format!("k{n}"), n - 10)).collect(),
            address6: "::1".parse().unwrap(),
        },
    }
}

#[test]
fn what_serde_can_say_comes_back() {
    let value = everything();
    assert_eq!(from_slice::<Everything>(&octets(&value)).unwrap(), value);
}

#[test]
fn the_same_is_said_as_in_json() {
    let value = everything();
    let json: Value = serde_json::to_value(&value).unwrap();
    assert_eq!(from_slice::<Value>(&octets(&value)).unwrap(), json);
    assert_eq!(from_slice::<Everything>(&octets(&json)).unwrap(), value);
    let text = to_json(&octets(&value)).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), json);
}

#[test]
fn known_names_take_one_octet_or_three() {
    #[derive(Serialize)]
    struct Known {
        mcc: u8,
    }
    assert_eq!(octets(&Known { mcc: 1 }), [0xd1, 0x80, 1]);
    assert_eq!(octets(&Plain::Known).len(), 1);
    assert!(names::NAMES.len() < usize::from(u16::MAX));
    let mut names = names::NAMES.to_vec();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn cut_and_changed_octets_are_refused_without_a_panic() {
    let whole = octets(&everything());
    for cut in 0..whole.len() {
        assert!(from_slice::<Everything>(&whole[..cut]).is_err());
    }
    for at in 0..whole.len() {
        for octet in [0, 0x40, 0x7f, 0x80, 0xc3, 0xc6, 0xc8, 0xca, 0xcc, 0xcf, 0xdf, 0xef, 0xff] {
            let mut wrong = whole.clone();
            wrong[at] = octet;
            let _ = from_slice::<Everything>(&wrong);
            let _ = from_slice::<Value>(&wrong);
        }
    }
    let mut longer = whole.clone();
    longer.push(NULL);
    assert!(from_slice::<Everything>(&longer).is_err());
}

#[test]
fn lengths_beyond_the_octets_and_levels_beyond_the_limit_are_refused() {
    assert!(from_slice::<Vec<u8>>(&[ARRAY, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).is_err());
    assert!(from_slice::<String>(&[TEXT, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).is_err());
    assert!(from_slice::<u64>(&[UNSIGNED, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).is_err());
    assert!(from_slice::<Value>(&vec![0xe1; 100_000]).is_err());
    assert!(from_slice::<Value>(&vec![ARRAY_OPEN; 100_000]).is_err());
    let mut deep = vec![0xe1; 127];
    deep.push(0xe0);
    assert!(from_slice::<Value>(&deep).is_ok());
    assert_eq!(
        from_slice::<Value>(&[ARRAY_OPEN, 1, OBJECT_OPEN, 0x41, b'a', 2, END, END]).unwrap(),
        json!([1, {"a": 2}])
    );
}
