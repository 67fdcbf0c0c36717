//! The shape of a configuration type: every key with its type, as serde reads it.
//!
//! A deserializer that has no input asks the type for its fields, and gives each of them a value
//! that it accepts. So the list cannot differ from the code, and needs no second description.
use martlet_erased::from_deserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _,
    IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number, with its minimum and maximum.
    Integer(i64, u64),
    /// A number.
    Number,
    /// A text: also an address, a path and the like.
    Text,
    /// One of several words.
    Choice(Vec<&'static str>),
    /// A list; its items have the path of the list and `[]`.
    List,
    /// A section with keys.
    Section,
    /// Values of several types, such as a number or `auto`.
    Any,
}

/// Texts that the types of a configuration read: addresses, networks, rates and names.
const TEXTS: [&str; 14] = [
    "127.0.0.1:1",
    "127.0.0.1",
    "[::1]:1",
    "::1",
    "10.45.0.0/16",
    "fd45::/48",
    "00101",
    "010203",
    "1 Mbps",
    "auto",
    "NIA2",
    "NEA2",
    "000000010",
    "A",
];
/// Numbers that they read.
const NUMBERS: [u8; 4] = [1, 0, 5, 64];
/// Forms in which a value of several types can be written.
const ANY: usize = 5;
/// Attempts to read a type. Each one that fails changes one value.
const ATTEMPTS: usize = 10_000;

/// The type of a value is not recognised: it accepts no text and no number that this module tries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the type of {path} is not recognised: add a text that it accepts to config/src/shape.rs")]
pub struct UnknownType {
    /// The path of the value.
    pub path: String,
}

/// All keys of a type by path, such as `amf.tais[].tac`.
///
/// # Errors
/// The path of a value for which no text was accepted.
pub fn keys<T: DeserializeOwned>() -> Result<BTreeMap<String, Kind>, UnknownType> {
    let state = State::default();
    for _ in 0..ATTEMPTS {
        let tracer = Tracer { state: &state, path: String::new() };
        let error = match from_deserializer::<T, _>(tracer) {
            Ok(_) => return Ok(state.keys.into_inner()),
            Err(error) => error.to_string(),
        };
        // A section that is flattened into another one does not list its fields.
        if let Some(field) = error.strip_prefix("missing field `") {
            let section = state.ended.borrow().clone();
            let mut missing = state.missing.borrow_mut();
            let known = missing.entry(section.clone()).or_default();
            let field = field.trim_end_matches('`').to_string();
            if known.contains(&field) {
                return Err(UnknownType { path: section });
            }
            known.push(field);
            continue;
        }
        let last = state.last.borrow().clone();
        let mut tries = state.tries.borrow_mut();
        let tries = tries.entry(last.clone()).or_default();
        *tries += 1;
        if *tries > TEXTS.len() + 20 {
            return Err(UnknownType { path: last });
        }
    }
    Err(UnknownType { path: state.last.into_inner() })
}

#[derive(Default)]
struct State {
    keys: RefCell<BTreeMap<String, Kind>>,
    /// Values of a path that were not accepted.
    tries: RefCell<HashMap<String, usize>>,
    /// The path of the last value.
    last: RefCell<String>,
    /// The section that was read last.
    ended: RefCell<String>,
    /// Fields of sections that do not list them.
    missing: RefCell<HashMap<String, Vec<String>>>,
}

struct Tracer<'a> {
    state: &'a State,
    path: String,
}

type Failed = de::value::Error;

impl<'a> Tracer<'a> {
    /// Records a value, and returns how often one was not accepted here.
    fn note(&self, kind: Kind) -> usize {
        if !self.path.is_empty() {
            self.state.keys.borrow_mut().insert(self.path.clone(), kind);
        }
        self.state.last.borrow_mut().clone_from(&self.path);
        self.state.tries.borrow().get(&self.path).copied().unwrap_or(0)
    }

    fn below(&self, name: &str) -> Tracer<'a> {
        let path = match self.path.is_empty() {
            true => name.to_string(),
            false => format!("{}.{name}", self.path),
        };
        Tracer { state: self.state, path }
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
            #[allow(clippy::cast_lossless)]
            let kind = Kind::Integer(<$type>::MIN as i64, <$type>::MAX as u64);
            let tries = self.note(kind);
            visitor.$visit(NUMBERS[tries % NUMBERS.len()] as $type)
        }
    )*};
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = Failed;

    integers! {
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        self.note(Kind::Bool);
        visitor.visit_bool(false)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        self.note(Kind::Number);
        visitor.visit_f64(1.0)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        let tries = self.note(Kind::Text);
        visitor.visit_str(TEXTS[tries % TEXTS.len()])
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        self.note(Kind::Text);
        visitor.visit_char('a')
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        let tries = self.note(Kind::Any);
        match tries % ANY {
            0 => visitor.visit_u64(1),
            1 => visitor.visit_str("auto"),
            2 => visitor.visit_bool(true),
            3 => visitor.visit_str("127.0.0.1:1"),
            _ => visitor.visit_str("00101"),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failed> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        self.note(Kind::List);
        visitor.visit_seq(Items { list: self, left: 1 })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failed> {
        self.note(Kind::List);
        visitor.visit_seq(Items { list: self, left: length })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failed> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        self.note(Kind::Section);
        let fields = self.state.missing.borrow().get(&self.path).cloned().unwrap_or_default();
        visitor.visit_map(Fields { section: self, fields: fields.into_iter(), current: None })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failed> {
        self.note(Kind::Section);
        visitor.visit_map(Fields::new(self, fields))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failed> {
        let tries = self.note(Kind::Choice(variants.to_vec()));
        let variant = variants.get(tries % variants.len().max(1)).copied().unwrap_or_default();
        visitor.visit_enum(Chosen { choice: self, variant })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i128 u128 bytes byte_buf unit unit_struct identifier
    }
}

/// The fields of a section, one after the other.
struct Fields<'a> {
    section: Tracer<'a>,
    fields: std::vec::IntoIter<String>,
    current: Option<String>,
}

impl<'a> Fields<'a> {
    fn new(section: Tracer<'a>, fields: &[&str]) -> Fields<'a> {
        let fields: Vec<String> = fields.iter().map(|name| name.to_string()).collect();
        Fields { section, fields: fields.into_iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Failed;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Failed> {
        self.current = self.fields.next();
        match &self.current {
            Some(name) => seed.deserialize(name.as_str().into_deserializer()).map(Some),
            None => {
                self.section.state.ended.borrow_mut().clone_from(&self.section.path);
                Ok(None)
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failed> {
        let name = self.current.take().ok_or_else(|| Failed::custom("a value without a key"))?;
        seed.deserialize(self.section.below(&name))
    }
}

/// Items of a list: one, or as many as a tuple has.
struct Items<'a> {
    list: Tracer<'a>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Failed;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Failed> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let path = format!("{}[]", self.list.path);
        seed.deserialize(Tracer { state: self.list.state, path }).map(Some)
    }
}

/// A word of a choice.
struct Chosen<'a> {
    choice: Tracer<'a>,
    variant: &'static str,
}

impl<'a, 'de> EnumAccess<'de> for Chosen<'a> {
    type Error = Failed;
    type Variant = Tracer<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Tracer<'a>), Failed> {
        let value = seed.deserialize(self.variant.into_deserializer())?;
        Ok((value, self.choice))
    }
}

impl<'de> VariantAccess<'de> for Tracer<'_> {
    type Error = Failed;

    fn unit_variant(self) -> Result<(), Failed> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Failed> {
        seed.deserialize(self.below("value"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Failed> {
        self.below("value").deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failed> {
        visitor.visit_map(Fields::new(self, fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, SocketAddr};

    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct File {
        at: SocketAddr,
        ips: Vec<IpAddr>,
        mode: Mode,
        part: Option<Part>,
        spots: Vec<Spot>,
    }

    #[derive(serde::Deserialize)]
    #[allow(dead_code)]
    struct Spot {
        id: String,
        #[serde(flatten)]
        point: Point,
    }

    #[derive(serde::Deserialize)]
    #[allow(dead_code)]
    struct Point {
        lat: f64,
    }

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum Mode {
        Fast,
        Slow,
    }

    #[derive(serde::Deserialize)]
    #[allow(dead_code)]
    struct Part {
        count: u16,
        name: String,
    }

    #[test]
    fn every_key_has_its_path_and_type() {
        let keys = keys::<File>().unwrap();
        let expected = [
            ("at", Kind::Text),
            ("ips", Kind::List),
            ("ips[]", Kind::Text),
            ("mode", Kind::Choice(vec!["fast", "slow"])),
            ("part", Kind::Section),
            ("part.count", Kind::Integer(0, 65_535)),
            ("part.name", Kind::Text),
            ("spots", Kind::List),
            ("spots[]", Kind::Section),
            ("spots[].id", Kind::Text),
            ("spots[].lat", Kind::Any),
        ];
        let expected: BTreeMap<String, Kind> =
            expected.into_iter().map(|(path, kind)| (path.to_string(), kind)).collect();
        assert_eq!(keys, expected);
    }
}
