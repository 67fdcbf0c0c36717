//! Values into compact octets.
use super::names::{self, NONE};
use super::*;
use serde::ser::{self, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Appends a value.
pub fn to_vec<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(&mut Encoder { out })
}

struct Encoder<'a> {
    out: &'a mut Vec<u8>,
}

const CACHE: usize = 2048;

/// Numbers by where a name's text lies: its address in the upper 47 bits, its length in the next 7, its number in the
/// lower 10. Names are `'static`, so what lies at an address never changes. Two places for each, beside each other.
static SEEN: [[AtomicU64; 2]; CACHE / 2] = [const { [const { AtomicU64::new(0) }; 2] }; CACHE / 2];

#[inline]
fn number_at(name: &'static str) -> u16 {
    let at = name.as_ptr() as usize as u64;
    if name.len() > 0x7f || at >> 47 != 0 {
        return names::number(name);
    }
    let key = at << 7 | name.len() as u64;
    let places = &SEEN[(at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as usize % (CACHE / 2)];
    for place in places {
        let seen = place.load(Relaxed);
        if seen >> 10 == key {
            return seen as u16 & 0x3ff;
        }
    }
    look_up(name, key, places)
}

#[cold]
fn look_up(name: &'static str, key: u64, places: &[AtomicU64; 2]) -> u16 {
    let number = names::number(name);
    let place = usize::from(places[0].load(Relaxed) != 0);
    places[place].store(key << 10 | u64::from(number), Relaxed);
    number
}

impl Encoder<'_> {
    #[inline(never)]
    fn varint(&mut self, first: u8, mut value: u64) {
        self.out.push(first);
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }

    fn text(&mut self, text: &str) {
        match text.len() {
            length @ 0..64 => self.out.push(0x40 | length as u8),
            length => self.varint(TEXT, length as u64),
        }
        self.out.extend_from_slice(text.as_bytes());
    }

    fn name(&mut self, name: &'static str) {
        match number_at(name) {
            NONE => self.text(name),
            number @ 0..64 => self.out.push(0x80 | number as u8),
            number => {
                let [low, high] = number.to_le_bytes();
                self.out.extend_from_slice(&[NAME, low, high]);
            }
        }
    }

    fn unsigned(&mut self, value: u64) {
        if value < 64 { self.out.push(value as u8) } else { self.varint(UNSIGNED, value) }
    }

    fn array(&mut self, length: usize) {
        if length < 16 { self.out.push(0xe0 | length as u8) } else { self.varint(ARRAY, length as u64) }
    }

    fn object(&mut self, length: usize) {
        if length < 16 { self.out.push(0xd0 | length as u8) } else { self.varint(OBJECT, length as u64) }
    }
}

/// An array or object that is being written.
struct Group<'a, 'b> {
    encoder: &'a mut Encoder<'b>,
    /// Values that are due; `None` where an end is written.
    due: Option<usize>,
}

impl Group<'_, '_> {
    fn one(&mut self) -> Result<(), Error> {
        if let Some(due) = &mut self.due {
            *due = due.checked_sub(1).ok_or_else(|| Error::new("more values than announced"))?;
        }
        Ok(())
    }

    fn close(self) -> Result<(), Error> {
        match self.due {
            None => self.encoder.out.push(END),
            Some(0) => {}
            Some(_) => return Err(Error::new("fewer values than announced")),
        }
        Ok(())
    }
}

impl<'a, 'b> ser::Serializer for &'a mut Encoder<'b> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Group<'a, 'b>;
    type SerializeTuple = Group<'a, 'b>;
    type SerializeTupleStruct = Group<'a, 'b>;
    type SerializeTupleVariant = Group<'a, 'b>;
    type SerializeMap = Group<'a, 'b>;
    type SerializeStruct = Group<'a, 'b>;
    type SerializeStructVariant = Group<'a, 'b>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.out.push(if value { TRUE } else { FALSE });
        Ok(())
    }
    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }
    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }
    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }
    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        match u64::try_from(value) {
            Ok(value) => self.unsigned(value),
            // −1−n without overflow: all bits turned.
            Err(_) => self.varint(NEGATIVE, !value as u64),
        }
        Ok(())
    }
    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }
    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }
    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }
    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.unsigned(value);
        Ok(())
    }
    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.serialize_f64(value.into())
    }
    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            // As in JSON.
            return self.serialize_unit();
        }
        self.out.push(FLOAT);
        self.out.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }
    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.text(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.text(value);
        Ok(())
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.varint(OCTETS, value.len() as u64);
        self.out.extend_from_slice(value);
        Ok(())
    }
    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Error> {
        self.out.push(NULL);
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.name(variant);
        Ok(())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.object(1);
        self.name(variant);
        value.serialize(self)
    }
    fn serialize_seq(self, length: Option<usize>) -> Result<Group<'a, 'b>, Error> {
        match length {
            Some(length) => self.array(length),
            None => self.out.push(ARRAY_OPEN),
        }
        Ok(Group { encoder: self, due: length })
    }
    fn serialize_tuple(self, length: usize) -> Result<Group<'a, 'b>, Error> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Group<'a, 'b>, Error> {
        self.serialize_seq(Some(length))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Group<'a, 'b>, Error> {
        self.object(1);
        self.name(variant);
        self.serialize_seq(Some(length))
    }
    fn serialize_map(self, length: Option<usize>) -> Result<Group<'a, 'b>, Error> {
        match length {
            Some(length) => self.object(length),
            None => self.out.push(OBJECT_OPEN),
        }
        Ok(Group { encoder: self, due: length })
    }
    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Group<'a, 'b>, Error> {
        self.serialize_map(Some(length))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Group<'a, 'b>, Error> {
        self.object(1);
        self.name(variant);
        self.serialize_map(Some(length))
    }
}

macro_rules! array {
    ($($kind:ident $method:ident),*) => {$(
        impl ser::$kind for Group<'_, '_> {
            type Ok = ();
            type Error = Error;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.one()?;
                value.serialize(&mut *self.encoder)
            }
            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )*};
}
array!(SerializeSeq serialize_element, SerializeTuple serialize_element);
array!(SerializeTupleStruct serialize_field, SerializeTupleVariant serialize_field);

macro_rules! object {
    ($($kind:ident),*) => {$(
        impl ser::$kind for Group<'_, '_> {
            type Ok = ();
            type Error = Error;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                self.one()?;
                self.encoder.name(name);
                value.serialize(&mut *self.encoder)
            }
            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )*};
}
object!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Group<'_, '_> {
    type Ok = ();
    type Error = Error;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.one()?;
        key.serialize(Key(self.encoder))
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.encoder)
    }
    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

/// The name of an object's member: text, or what JSON makes text of.
struct Key<'a, 'b>(&'a mut Encoder<'b>);

macro_rules! as_text {
    ($($method:ident $type:ty),*) => {$(
        fn $method(self, value: $type) -> Result<(), Error> {
            self.0.text(&value.to_string());
            Ok(())
        }
    )*};
}

macro_rules! no_name {
    ($($method:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {$(
        fn $method(self, $($arg: $type),*) -> Result<$result, Error> {
            $(let _ = $arg;)*
            Err(Error::new("the name of a member has to be text"))
        }
    )*};
}

impl ser::Serializer for Key<'_, '_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = ser::Impossible<(), Error>;
    type SerializeTuple = ser::Impossible<(), Error>;
    type SerializeTupleStruct = ser::Impossible<(), Error>;
    type SerializeTupleVariant = ser::Impossible<(), Error>;
    type SerializeMap = ser::Impossible<(), Error>;
    type SerializeStruct = ser::Impossible<(), Error>;
    type SerializeStructVariant = ser::Impossible<(), Error>;

    as_text!(serialize_bool bool, serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64);
    as_text!(serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64, serialize_char char);

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.0.text(value);
        Ok(())
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.0.name(variant);
        Ok(())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        Err(Error::new("the name of a member has to be text"))
    }
    no_name! {
        serialize_f32(v: f32) -> ();
        serialize_f64(v: f64) -> ();
        serialize_bytes(v: &[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(n: &'static str) -> ();
        serialize_seq(l: Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(l: usize) -> Self::SerializeTuple;
        serialize_tuple_struct(n: &'static str, l: usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(n: &'static str, i: u32, v: &'static str, l: usize) -> Self::SerializeTupleVariant;
        serialize_map(l: Option<usize>) -> Self::SerializeMap;
        serialize_struct(n: &'static str, l: usize) -> Self::SerializeStruct;
        serialize_struct_variant(n: &'static str, i: u32, v: &'static str, l: usize) -> Self::SerializeStructVariant;
    }
}
