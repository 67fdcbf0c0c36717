//! `from_yaml` reads what `serde_saphyr::from_str` reads, and returns its errors with their
//! locations: types see that reader through trait objects.
use martlet_config::from_yaml;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::Spanned;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct File {
    name: String,
    #[serde(default)]
    numbers: Numbers,
    #[serde(default)]
    texts: Texts,
    #[serde(default)]
    cells: Vec<Cell>,
    #[serde(default)]
    modes: Vec<Mode>,
    by_name: Option<BTreeMap<String, Cell>>,
    by_number: Option<BTreeMap<u16, Option<bool>>>,
    any: Option<Value>,
    #[serde(default)]
    variants: Variants,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Numbers {
    on: bool,
    signed: (i8, i16, i32, i64),
    unsigned: (u8, u16, u32, u64, usize),
    wide: Option<(i128, u128)>,
    floats: [f64; 2],
    single: f32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Texts {
    letter: Option<char>,
    path: PathBuf,
    address: Option<IpAddr>,
    peers: Vec<SocketAddr>,
    boxed: Box<str>,
    even: Option<Even>,
    marker: Option<Marker>,
    bytes: Vec<u8>,
    nothing: (),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Cell {
    id: u8,
    #[serde(default)]
    label: Option<String>,
    inner: Option<Box<Cell>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)]
enum Mode {
    Off,
    Fixed(u16),
    Pair(u8, String),
    Area { x: f64, y: f64 },
}

/// Types for which serde buffers the value.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(dead_code)]
struct Variants {
    untagged: Option<Untagged>,
    tagged: Option<Tagged>,
    beside: Option<Beside>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[allow(dead_code)]
enum Untagged {
    Number(u16),
    Text(String),
    Cell(Cell),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(dead_code)]
enum Tagged {
    One { size: u8 },
    Two(Cell),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "lowercase")]
#[allow(dead_code)]
enum Beside {
    Number(u16),
    Cell(Cell),
}

#[derive(Debug, Deserialize)]
struct Marker;

/// A type with an error of its own, from an error of the reader.
#[derive(Debug)]
#[allow(dead_code)]
struct Even(u16);

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let read = u16::deserialize(from);
        let number = read.map_err(|e| serde::de::Error::custom(format!("not even: {e}")))?;
        match number % 2 {
            0 => Ok(Even(number)),
            _ => Err(serde::de::Error::custom("the number is odd")),
        }
    }
}

const TEXT: &str = r#"# A comment
name: "one: \"two\""
numbers:
  on: yes
  signed: [-128, -0x10, +7, -9223372036854775808]
  unsigned: [255, 0o17, 1_000, 18446744073709551615, 0]
  wide: [-1, 340282366920938463463374607431768211455]
  floats: [1, -.inf]
  single: 1.5e3
texts:
  letter: é
  path: /var/lib
  address: 2001:db8::1
  peers: ["[::1]:38412", 127.0.0.1:80]
  boxed: >-
    folded
    text
  even: 12
  marker: {}
  bytes: !!binary aGVsbG8=
  nothing: ~
cells: &cells
  - &one { id: 1, label: ~ }
  - id: 2
    label: 'quoted'
    inner: { <<: *one, id: 3 }
  - *one
modes: [off, fixed: 7, pair: [1, b], { area: { x: 1, y: 2.5 } }, !fixed 9]
by_name:
  a: *one
  b: { id: 0x1F }
by_number: { 1: on, 2: ~ }
any: { list: [1, -1, 1.5, off, "off", null, 2001-01-01], "7": [], cells: *cells }
variants:
  untagged: { id: 4 }
  tagged: { kind: one, size: 3 }
  beside: { kind: cell, value: { id: 5 } }
  other: [x]
"#;

/// Compares the values, or the errors with their locations, and returns whether it was an error.
fn compare<T: DeserializeOwned + Debug>(text: &str) -> bool {
    let direct = serde_saphyr::from_str::<T>(text);
    let erased = from_yaml::<T>(text);
    match (&direct, &erased) {
        (Ok(direct), Ok(erased)) => assert_eq!(format!("{direct:?}"), format!("{erased:?}")),
        (Err(direct), Err(erased)) => {
            let [direct, erased] = [direct, erased].map(|error| {
                let kind = std::mem::discriminant(error.without_snippet());
                (kind, error.location(), error.to_string())
            });
            assert_eq!(direct, erased, "{text}");
        }
        _ => panic!("{direct:?}\nis not\n{erased:?}\nof\n{text}"),
    }
    direct.is_err()
}

#[test]
fn values_are_those_of_the_reader() {
    assert!(!compare::<File>(TEXT), "{:?}", from_yaml::<File>(TEXT));
    compare::<Value>(TEXT);
    assert!(!compare::<Spanned<Vec<Spanned<Option<u16>>>>>("\n- &one 1\n- *one\n-\n  ~\n"));
    for text in ["", "~", "7", "x", "[1, 2]", "--- a\n--- b\n", "a: 1\n...\n", "\u{feff}a: 1"] {
        compare::<Value>(text);
        compare::<Option<u16>>(text);
        compare::<String>(text);
        compare::<Vec<u8>>(text);
        compare::<BTreeMap<String, u8>>(text);
        compare::<File>(text);
        compare::<Mode>(text);
        compare::<()>(text);
    }
}

/// Each line is left out, occurs twice, or has another value, and each character is replaced.
#[test]
fn errors_are_those_of_the_reader() {
    let mut errors = 0;
    let mut check = |text: &str| {
        errors += usize::from(compare::<File>(text));
        compare::<Value>(text);
    };
    let lines: Vec<&str> = TEXT.lines().collect();
    for (n, line) in lines.iter().enumerate() {
        let with = |new: &[&str]| [&lines[..n], new, &lines[n + 1..]].concat().join("\n");
        check(&with(&[]));
        check(&with(&[line, line]));
        check(&with(&[&format!("{line} x")]));
        if let Some((key, _)) = line.split_once(':') {
            for value in ["", "x", "-1", "70000", "1e400", "{}", "[]", "[x]", "{ x: 1 }", "*one"] {
                check(&with(&[&format!("{key}: {value}")]));
            }
            check(&with(&[&format!("{key}_: 1")]));
        }
    }
    for (at, c) in TEXT.char_indices() {
        for new in ["", "7", "\n", "}", "'", "*", "!"] {
            // Where serde buffers a value, tags differ.
            let is_different = new == "!" && at > TEXT.find("variants:").unwrap();
            if !is_different {
                check(&format!("{}{new}{}", &TEXT[..at], &TEXT[at + c.len_utf8()..]));
            }
        }
    }
    assert!(errors > 3000, "{errors} errors");
}

#[test]
fn deep_nesting_is_refused_as_by_the_reader() {
    for depth in [10, 60, 63, 64, 65, 1000] {
        compare::<Value>(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
        compare::<Value>(&"a: ".repeat(depth));
        let cells = "{ id: 1, inner: ".repeat(depth) + "~" + &" }".repeat(depth);
        compare::<Cell>(&cells);
    }
}
