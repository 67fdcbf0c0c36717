//! Compact octets into values. The octets come from another process: nothing in them is trusted.
use super::fields::Fields;
use super::names::NAMES;
use super::*;
use serde::de::{self, Deserialize, DeserializeSeed, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The value that the octets are, all of them.
pub fn from_slice<'de, T: Deserialize<'de>>(octets: &'de [u8]) -> Result<T, Error> {
    let mut decoder = Decoder { rest: octets, depth: DEEPEST };
    let value = T::deserialize(&mut decoder)?;
    if decoder.rest.is_empty() { Ok(value) } else { Err(Error::new("octets follow the value")) }
}

struct Decoder<'de> {
    rest: &'de [u8],
    /// Levels that may still follow.
    depth: u32,
}

/// What begins at an octet.
enum Item<'de> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    Float(f64),
    Text(&'de str),
    Octets(&'de [u8]),
    Array(Option<usize>),
    Object(Option<usize>),
}

#[cold]
fn cut_off() -> Error {
    Error::new("the octets end too early")
}

impl<'de> Decoder<'de> {
    #[inline]
    fn octet(&mut self) -> Result<u8, Error> {
        let (first, rest) = self.rest.split_first().ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(*first)
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let octet = self.octet()?;
            let part = u64::from(octet & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            value |= part << shift;
            if octet & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::new("a number is too large"))
    }

    fn length(&mut self) -> Result<usize, Error> {
        usize::try_from(self.varint()?).map_err(|_| cut_off())
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'de [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn text(&mut self, length: usize) -> Result<&'de str, Error> {
        std::str::from_utf8(self.take(length)?).map_err(|_| Error::new("text that is not UTF-8"))
    }

    #[inline]
    fn name(&mut self) -> Result<&'de str, Error> {
        let number = u16::from_le_bytes([self.octet()?, self.octet()?]);
        NAMES.get(usize::from(number)).copied().ok_or_else(|| Error::new("a name that the list does not have"))
    }

    /// The number of the name that comes next, if it is one with a number, and the octets that it takes.
    #[inline]
    fn peek_number(&self) -> Option<(u16, usize)> {
        match *self.rest {
            [first @ 0x80..=0xbf, ..] => Some((u16::from(first & 0x3f), 1)),
            [NAME, low, high, ..] => Some((u16::from_le_bytes([low, high]), 3)),
            _ => None,
        }
    }

    /// Text or a name, if that is what comes next; else nothing is read. The most frequent case, and the first looked
    /// for.
    #[inline]
    fn some_text(&mut self) -> Result<Option<&'de str>, Error> {
        let Some(first) = self.rest.first() else { return Err(cut_off()) };
        match *first {
            first @ 0x80..=0xbf => {
                self.octet()?;
                Ok(NAMES.get(usize::from(first & 0x3f)).copied())
            }
            first @ 0x40..=0x7f => {
                self.octet()?;
                self.text(usize::from(first & 0x3f)).map(Some)
            }
            NAME => {
                self.octet()?;
                self.name().map(Some)
            }
            TEXT => {
                self.octet()?;
                let length = self.length()?;
                self.text(length).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn item(&mut self) -> Result<Item<'de>, Error> {
        Ok(match self.octet()? {
            value @ 0..=0x3f => Item::Unsigned(value.into()),
            first @ 0x40..=0x7f => Item::Text(self.text(usize::from(first & 0x3f))?),
            first @ 0x80..=0xbf => Item::Text(NAMES.get(usize::from(first & 0x3f)).copied().unwrap_or_default()),
            first @ 0xd0..=0xdf => Item::Object(Some(usize::from(first & 0x0f))),
            first @ 0xe0..=0xef => Item::Array(Some(usize::from(first & 0x0f))),
            NULL => Item::Null,
            FALSE => Item::Bool(false),
            TRUE => Item::Bool(true),
            UNSIGNED => Item::Unsigned(self.varint()?),
            NEGATIVE => {
                let value = i64::try_from(self.varint()?).map_err(|_| Error::new("a number is too small"))?;
                Item::Negative(!value)
            }
            FLOAT => {
                let octets = self.take(8)?.try_into().map_err(|_| cut_off())?;
                Item::Float(f64::from_le_bytes(octets))
            }
            TEXT => {
                let length = self.length()?;
                Item::Text(self.text(length)?)
            }
            OCTETS => {
                let length = self.length()?;
                Item::Octets(self.take(length)?)
            }
            ARRAY => Item::Array(Some(self.length()?)),
            ARRAY_OPEN => Item::Array(None),
            OBJECT => Item::Object(Some(self.length()?)),
            OBJECT_OPEN => Item::Object(None),
            NAME => Item::Text(self.name()?),
            other => return Err(Error::new(format_args!("no value begins with {other:#04x}"))),
        })
    }

    /// Reads a group; whatever the reader leaves of it is an error.
    fn group<T>(
        &mut self,
        left: Option<usize>,
        read: impl FnOnce(&mut Group<'_, 'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.members(left, None, read)
    }

    /// Reads a group whose members are known, if they are.
    fn members<T>(
        &mut self,
        left: Option<usize>,
        fields: Option<Fields>,
        read: impl FnOnce(&mut Group<'_, 'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| Error::new("too many levels"))?;
        let mut group = Group { decoder: self, left, fields };
        let value = read(&mut group)?;
        if group.more()? {
            return Err(Error::new("more values than the type has"));
        }
        self.depth += 1;
        Ok(value)
    }

    fn visit<V: Visitor<'de>>(&mut self, item: Item<'de>, visitor: V) -> Result<V::Value, Error> {
        match item {
            Item::Null => visitor.visit_unit(),
            Item::Bool(value) => visitor.visit_bool(value),
            Item::Unsigned(value) => visitor.visit_u64(value),
            Item::Negative(value) => visitor.visit_i64(value),
            Item::Float(value) => visitor.visit_f64(value),
            Item::Text(value) => visitor.visit_borrowed_str(value),
            Item::Octets(value) => visitor.visit_borrowed_bytes(value),
            Item::Array(left) => self.group(left, |group| visitor.visit_seq(group)),
            Item::Object(left) => self.group(left, |group| visitor.visit_map(group)),
        }
    }
}

impl<'de> de::Deserializer<'de> for &mut Decoder<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if let Some(text) = self.some_text()? {
            return visitor.visit_borrowed_str(text);
        }
        let item = self.item()?;
        self.visit(item, visitor)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.some_text()? {
            Some(text) => visitor.visit_borrowed_str(text),
            None => self.deserialize_any(visitor),
        }
    }
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.rest.first() {
            Some(first @ 0xd0..=0xdf) => {
                self.octet()?;
                let left = Some(usize::from(first & 0x0f));
                self.members(left, Fields::of(name, fields), |group| visitor.visit_map(group))
            }
            Some(&OBJECT) => {
                self.octet()?;
                let left = Some(self.length()?);
                self.members(left, Fields::of(name, fields), |group| visitor.visit_map(group))
            }
            _ => self.deserialize_any(visitor),
        }
    }
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.rest.first() {
            Some(first @ 0xd0..=0xdf) => {
                self.octet()?;
                self.group(Some(usize::from(first & 0x0f)), |group| visitor.visit_map(group))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.rest.first() == Some(&NULL) {
            self.octet()?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.item()? {
            Item::Text(name) => visitor.visit_enum(IntoDeserializer::<Error>::into_deserializer(name)),
            Item::Object(left) => self.group(left, |group| {
                if !group.more()? {
                    return Err(Error::new("an enumeration without a variant"));
                }
                group.count();
                visitor.visit_enum(Variant(&mut *group.decoder))
            }),
            _ => Err(Error::new("neither the name of a variant nor an object with one")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct ignored_any
    }
}

/// An array or object that is being read.
struct Group<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    /// Values that follow; `None` where an end follows instead.
    left: Option<usize>,
    fields: Option<Fields>,
}

impl Group<'_, '_> {
    /// Whether another value follows. At the end it has been read, and is not looked for again.
    #[inline]
    fn more(&mut self) -> Result<bool, Error> {
        match self.left {
            Some(left) => Ok(left > 0),
            None if self.decoder.rest.first() == Some(&END) => {
                self.decoder.octet()?;
                self.left = Some(0);
                Ok(false)
            }
            None => Ok(true),
        }
    }

    fn count(&mut self) {
        self.left = self.left.map(|left| left.saturating_sub(1));
    }

    /// Each value takes an octet at least: what is announced beyond that is not believed.
    fn hint(&self) -> Option<usize> {
        self.left.map(|left| left.min(self.decoder.rest.len()))
    }
}

impl<'de> de::SeqAccess<'de> for &mut Group<'_, 'de> {
    type Error = Error;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if !self.more()? {
            return Ok(None);
        }
        self.count();
        seed.deserialize(&mut *self.decoder).map(Some)
    }
    fn size_hint(&self) -> Option<usize> {
        self.hint()
    }
}

impl<'de> de::MapAccess<'de> for &mut Group<'_, 'de> {
    type Error = Error;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if !self.more()? {
            return Ok(None);
        }
        self.count();
        if let Some(fields) = &mut self.fields
            && let Some((number, length)) = self.decoder.peek_number()
            && let Some(place) = fields.find(number)
        {
            self.decoder.take(length)?;
            return seed.deserialize(place.into_deserializer()).map(Some);
        }
        let Some(name) = self.decoder.some_text()? else {
            return Err(Error::new("the name of a member has to be text"));
        };
        seed.deserialize(Key(name)).map(Some)
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(&mut *self.decoder)
    }
    fn size_hint(&self) -> Option<usize> {
        self.hint()
    }
}

/// The name of a member, as text or as what JSON makes text of.
struct Key<'de>(&'de str);

macro_rules! from_text {
    ($($method:ident $visit:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Key<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }
    from_text!(deserialize_bool visit_bool, deserialize_i8 visit_i8, deserialize_i16 visit_i16);
    from_text!(deserialize_i32 visit_i32, deserialize_i64 visit_i64, deserialize_u8 visit_u8);
    from_text!(deserialize_u16 visit_u16, deserialize_u32 visit_u32, deserialize_u64 visit_u64);

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(IntoDeserializer::<Error>::into_deserializer(self.0))
    }
    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

/// A variant with content: its name comes next, then the content.
struct Variant<'a, 'de>(&'a mut Decoder<'de>);

impl<'de> de::EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;
    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Error> {
        let Some(name) = self.0.some_text()? else { return Err(Error::new("a variant without a name")) };
        Ok((seed.deserialize(Key(name))?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    fn unit_variant(self) -> Result<(), Error> {
        Deserialize::deserialize(self.0)
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.0)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        de::Deserializer::deserialize_any(self.0, visitor)
    }
    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        de::Deserializer::deserialize_any(self.0, visitor)
    }
}
