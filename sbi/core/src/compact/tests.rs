use super::*;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Default, Compact)]
struct Everything {
    flag: bool,
    small: u8,
    large: Option<u64>,
    negative: i32,
    fraction: f64,
    text: Option<String>,
    list: Vec<Option<u16>>,
    map: BTreeMap<String, Vec<bool>>,
    json: Option<serde_json::Value>,
    kind: Option<Kind>,
    a: Option<u8>,
    b: Option<u8>,
    c: Option<u8>,
    d: Option<u8>,
    e: Option<bool>,
    address: Option<std::net::IpAddr>,
    inner: Option<Box<Everything>>,
    nothing: Nothing,
}

#[derive(Debug, Clone, PartialEq, Compact)]
enum Kind {
    Plain,
    Text(String),
    Both { one: Option<u8>, two: u16 },
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Compact)]
struct Nothing {}

fn bytes<T: Compact>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    to_vec(value, &mut out);
    out
}

fn samples() -> Vec<Everything> {
    let full = Everything {
        flag: true,
        small: 255,
        large: Some(u64::MAX),
        negative: i32::MIN,
        fraction: -0.5,
        text: Some("Grüße".into()),
        list: vec![None, Some(0), Some(u16::MAX)],
        map: BTreeMap::from([("a".into(), vec![]), ("b".into(), vec![true, false])]),
        json: Some(serde_json::json!({"a": [1, null, "x"]})),
        kind: Some(Kind::Both { one: None, two: 300 }),
        e: Some(true),
        address: Some("2001:db8::1".parse().unwrap()),
        inner: Some(Box::new(Everything {
            kind: Some(Kind::Text("t".into())),
            ..Everything::default()
        })),
        ..Everything::default()
    };
    vec![
        Everything::default(),
        Everything { kind: Some(Kind::Plain), d: Some(1), ..Everything::default() },
        full,
    ]
}

#[test]
fn values_survive_a_round_trip() {
    for value in samples() {
        assert_eq!(from_slice::<Everything>(&bytes(&value)).unwrap(), value);
    }
}

#[test]
fn absent_members_take_one_bit() {
    #[derive(Compact)]
    struct Sparse {
        a: Option<String>,
        b: u8,
        c: Option<u8>,
    }
    assert_eq!(bytes(&Sparse { a: None, b: 7, c: Some(9) }), [0b10, 7, 9]);
    assert_eq!(bytes(&Sparse { a: Some("x".into()), b: 7, c: None }), [0b01, 1, b'x', 7]);
}

#[test]
fn truncated_and_corrupted_values_do_not_panic() {
    for value in samples() {
        let whole = bytes(&value);
        for cut in 0..whole.len() {
            assert!(from_slice::<Everything>(&whole[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = from_slice::<Everything>(&changed);
            }
        }
        let more = [&whole[..], &[0]].concat();
        assert_eq!(from_slice::<Everything>(&more), Err(Error::new("trailing bytes")));
    }
}

#[test]
fn announced_lengths_are_checked_and_nesting_is_limited() {
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    assert!(from_slice::<Vec<Nothing>>(&huge).is_err() && from_slice::<String>(&huge).is_err());
    assert!(from_slice::<u64>(&[0xff; 10]).is_err(), "beyond 64 bits");
    #[derive(Debug, Compact)]
    struct List(Vec<List>);
    assert!(from_slice::<List>(&[[1; 100].as_slice(), &[0]].concat()).is_ok());
    assert!(from_slice::<List>(&[[1; 1000].as_slice(), &[0]].concat()).is_err());
}
