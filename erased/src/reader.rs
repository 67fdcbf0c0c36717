//! The side of the reader: its parts as trait objects for a type, and the seed and the visitor that
//! stand for those of a type.
use super::typed::{Entries, Items, Source, Variants};
use super::{
    AnyDeserializer, AnyEnum, AnyMap, AnySeed, AnySeq, AnyVisitor, Content, Failure, Given, Wanted,
};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess};
use serde::de::{VariantAccess, Visitor};
use std::fmt;

/// A part of the reader that a type uses, and the error that it returned.
struct Lent<P, E> {
    part: Option<P>,
    error: Option<E>,
}

impl<P, E: Error> Lent<P, E> {
    fn new(part: P) -> Self {
        Lent { part: Some(part), error: None }
    }

    /// Keeps an error of the reader.
    fn store_error<R>(&mut self, result: Result<R, E>) -> Result<R, Failure> {
        result.map_err(|error| {
            let failure = Failure::of_reader(&error);
            self.error = Some(error);
            failure
        })
    }

    /// What the type returned, with the stored error if it is that one.
    fn returned(self, result: Result<(), Failure>) -> Result<(), E> {
        result.map_err(|failure| match self.error {
            Some(error) if failure.is_of_reader() => error,
            _ => failure.into_error(),
        })
    }
}

impl<'de, D: Deserializer<'de>> AnyDeserializer<'de> for Lent<D, D::Error> {
    fn read(&mut self, wanted: Wanted, into: &mut dyn AnyVisitor<'de>) -> Result<(), Failure> {
        let from = self.part.take().ok_or_else(Failure::no_value)?;
        let into = AsVisitor(into);
        let result = match wanted {
            Wanted::Any => from.deserialize_any(into),
            Wanted::Bool => from.deserialize_bool(into),
            Wanted::I8 => from.deserialize_i8(into),
            Wanted::I16 => from.deserialize_i16(into),
            Wanted::I32 => from.deserialize_i32(into),
            Wanted::I64 => from.deserialize_i64(into),
            Wanted::I128 => from.deserialize_i128(into),
            Wanted::U8 => from.deserialize_u8(into),
            Wanted::U16 => from.deserialize_u16(into),
            Wanted::U32 => from.deserialize_u32(into),
            Wanted::U64 => from.deserialize_u64(into),
            Wanted::U128 => from.deserialize_u128(into),
            Wanted::F32 => from.deserialize_f32(into),
            Wanted::F64 => from.deserialize_f64(into),
            Wanted::Char => from.deserialize_char(into),
            Wanted::Str => from.deserialize_str(into),
            Wanted::String => from.deserialize_string(into),
            Wanted::Bytes => from.deserialize_bytes(into),
            Wanted::ByteBuf => from.deserialize_byte_buf(into),
            Wanted::Option => from.deserialize_option(into),
            Wanted::Unit => from.deserialize_unit(into),
            Wanted::UnitStruct(name) => from.deserialize_unit_struct(name, into),
            Wanted::Newtype(name) => from.deserialize_newtype_struct(name, into),
            Wanted::Seq => from.deserialize_seq(into),
            Wanted::Tuple(length) => from.deserialize_tuple(length, into),
            Wanted::TupleStruct(name, length) => from.deserialize_tuple_struct(name, length, into),
            Wanted::Map => from.deserialize_map(into),
            Wanted::Struct(name, fields) => from.deserialize_struct(name, fields, into),
            Wanted::Enum(name, variants) => from.deserialize_enum(name, variants, into),
            Wanted::Identifier => from.deserialize_identifier(into),
            Wanted::Ignored => from.deserialize_ignored_any(into),
        };
        self.store_error(result)
    }
}

impl<'de, A: SeqAccess<'de>> AnySeq<'de> for Lent<A, A::Error> {
    fn next(&mut self, into: &mut dyn AnySeed<'de>) -> Result<(), Failure> {
        let items = self.part.as_mut().ok_or_else(Failure::no_value)?;
        let result = items.next_element_seed(Seed(into));
        self.store_error(result).map(|_| ())
    }

    fn size_hint(&self) -> Option<usize> {
        self.part.as_ref()?.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> AnyMap<'de> for Lent<A, A::Error> {
    fn key(&mut self, into: &mut dyn AnySeed<'de>) -> Result<(), Failure> {
        let entries = self.part.as_mut().ok_or_else(Failure::no_value)?;
        let result = entries.next_key_seed(Seed(into));
        self.store_error(result).map(|_| ())
    }

    fn value(&mut self, into: &mut dyn AnySeed<'de>) -> Result<(), Failure> {
        let entries = self.part.as_mut().ok_or_else(Failure::no_value)?;
        let result = entries.next_value_seed(Seed(into));
        self.store_error(result)
    }

    fn size_hint(&self) -> Option<usize> {
        self.part.as_ref()?.size_hint()
    }
}

/// An enum, before and after its variant is known.
enum Choice<A, V> {
    Enum(A),
    Variant(V),
}

impl<'de, A: EnumAccess<'de>> AnyEnum<'de> for Lent<Choice<A, A::Variant>, A::Error> {
    fn variant(&mut self, into: &mut dyn AnySeed<'de>) -> Result<(), Failure> {
        let Some(Choice::Enum(access)) = self.part.take() else { return Err(Failure::no_value()) };
        let result = access.variant_seed(Seed(into));
        let ((), variant) = self.store_error(result)?;
        self.part = Some(Choice::Variant(variant));
        Ok(())
    }

    fn content(&mut self, of: Content<'_, 'de>) -> Result<(), Failure> {
        let Some(Choice::Variant(variant)) = self.part.take() else {
            return Err(Failure::no_value());
        };
        let result = match of {
            Content::Unit => variant.unit_variant(),
            Content::Newtype(into) => variant.newtype_variant_seed(Seed(into)),
            Content::Tuple(length, into) => variant.tuple_variant(length, AsVisitor(into)),
            Content::Struct(fields, into) => variant.struct_variant(fields, AsVisitor(into)),
        };
        self.store_error(result)
    }
}

/// The seed of any type. It keeps the value that it makes.
pub struct Seed<'a, 'de>(pub(super) &'a mut dyn AnySeed<'de>);

impl<'de> DeserializeSeed<'de> for Seed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let mut from = Lent::new(from);
        let result = self.0.read(Source(&mut from));
        from.returned(result)
    }
}

/// The visitor of any type.
struct AsVisitor<'a, 'de>(&'a mut dyn AnyVisitor<'de>);

macro_rules! give {
    ($($method:ident: $type:ty => $given:ident),*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<(), E> {
            self.0.visit(Given::$given(value)).map_err(Failure::into_error)
        }
    )*};
}

impl<'de> Visitor<'de> for AsVisitor<'_, 'de> {
    type Value = ();

    /// No error shows this: that of a wrong value is returned by the visitor of the type.
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    give!(
        visit_bool: bool => Bool, visit_i8: i8 => I8, visit_i16: i16 => I16, visit_i32: i32 => I32,
        visit_i64: i64 => I64, visit_i128: i128 => I128, visit_u8: u8 => U8, visit_u16: u16 => U16,
        visit_u32: u32 => U32, visit_u64: u64 => U64, visit_u128: u128 => U128,
        visit_f32: f32 => F32, visit_f64: f64 => F64, visit_char: char => Char,
        visit_str: &str => Str, visit_bytes: &[u8] => Bytes
    );

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.visit(Given::Unit).map_err(Failure::into_error)
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.0.visit(Given::None).map_err(Failure::into_error)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let mut from = Lent::new(from);
        let result = self.0.visit(Given::Some(Source(&mut from)));
        from.returned(result)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let mut from = Lent::new(from);
        let result = self.0.visit(Given::Newtype(Source(&mut from)));
        from.returned(result)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        let mut items = Lent::new(items);
        let result = self.0.visit(Given::Seq(Items(&mut items)));
        items.returned(result)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<(), A::Error> {
        let mut entries = Lent::new(entries);
        let result = self.0.visit(Given::Map(Entries(&mut entries)));
        entries.returned(result)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        let mut access = Lent::new(Choice::Enum(access));
        let result = self.0.visit(Given::Enum(Variants(&mut access)));
        access.returned(result)
    }
}
