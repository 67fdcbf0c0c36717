//! The side of a type: the deserializer that it uses, and its seeds and visitors as trait objects.
//! This part is compiled for each type.
use super::{
    AnyDeserializer, AnyEnum, AnyMap, AnySeed, AnySeq, AnyVisitor, Content, Failure, Given, Wanted,
};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, Expected, MapAccess, SeqAccess};
use serde::de::{Unexpected, VariantAccess, Visitor};
use std::marker::PhantomData;

/// A seed, and the value that it made.
pub struct SeedSlot<S, T> {
    seed: Option<S>,
    pub value: Option<T>,
}

impl<S, T> SeedSlot<S, T> {
    pub fn new(seed: S) -> Self {
        SeedSlot { seed: Some(seed), value: None }
    }
}

impl<'de, S: DeserializeSeed<'de>> AnySeed<'de> for SeedSlot<S, S::Value> {
    fn read(&mut self, from: Source<'_, 'de>) -> Result<(), Failure> {
        let seed = self.seed.take().ok_or_else(Failure::no_value)?;
        put(&mut self.value, seed.deserialize(from)?);
        Ok(())
    }
}

/// Puts a value into an empty slot. The compiler cannot know that the slot is empty: without
/// `forget`, it adds the code that drops a `T`.
fn put<T>(slot: &mut Option<T>, value: T) {
    std::mem::forget(slot.replace(value));
}

/// A visitor, and the value that it made. `K` says which values it is given.
struct VisitorSlot<V, T, K> {
    visitor: Option<V>,
    value: Option<T>,
    kind: PhantomData<K>,
}

impl<V, T, K> VisitorSlot<V, T, K> {
    fn new(visitor: V) -> Self {
        VisitorSlot { visitor: Some(visitor), value: None, kind: PhantomData }
    }
}

impl<'de, V: Visitor<'de>, K: Kind> AnyVisitor<'de> for VisitorSlot<V, V::Value, K> {
    fn visit(&mut self, given: Given<'_, 'de>) -> Result<(), Failure> {
        let visitor = self.visitor.take().ok_or_else(Failure::no_value)?;
        put(&mut self.value, K::visit(visitor, given)?);
        Ok(())
    }
}

/// The values that the reader may give after a question. A visitor is compiled for these alone,
/// not for all methods that it has.
trait Kind {
    fn visit<'de, V: Visitor<'de>>(visitor: V, given: Given<'_, 'de>) -> Result<V::Value, Failure>;
}

macro_rules! kinds {
    ($($kind:ident: $($given:ident $method:ident),*; $($empty:ident $default:ident),*;)*) => {$(
        struct $kind;

        impl Kind for $kind {
            fn visit<'de, V: Visitor<'de>>(
                visitor: V,
                given: Given<'_, 'de>,
            ) -> Result<V::Value, Failure> {
                match given {
                    $(Given::$given(value) => visitor.$method(value),)*
                    $(Given::$empty => visitor.$default(),)*
                    #[allow(unreachable_patterns)]
                    other => Err(refused(&other, &visitor)),
                }
            }
        }
    )*};
}

kinds! {
    AnyKind:
        Bool visit_bool, I8 visit_i8, I16 visit_i16, I32 visit_i32, I64 visit_i64,
        I128 visit_i128, U8 visit_u8, U16 visit_u16, U32 visit_u32, U64 visit_u64,
        U128 visit_u128, F32 visit_f32, F64 visit_f64, Char visit_char, Str visit_str,
        Bytes visit_bytes, Some visit_some, Newtype visit_newtype_struct, Seq visit_seq,
        Map visit_map, Enum visit_enum;
        Unit visit_unit, None visit_none;
    Scalar:
        Bool visit_bool, I8 visit_i8, I16 visit_i16, I32 visit_i32, I64 visit_i64,
        I128 visit_i128, U8 visit_u8, U16 visit_u16, U32 visit_u32, U64 visit_u64,
        U128 visit_u128, F32 visit_f32, F64 visit_f64, Char visit_char;;
    Text: Str visit_str;;
    Binary: Bytes visit_bytes;;
    Optional: Some visit_some; None visit_none;
    Empty: ; Unit visit_unit;
    Newtype: Newtype visit_newtype_struct;;
    List: Seq visit_seq;;
    Section: Map visit_map;;
    Choice: Enum visit_enum;;
}

/// The error of a visitor for which a value of another kind was given.
#[cold]
fn refused(given: &Given<'_, '_>, expected: &dyn Expected) -> Failure {
    let unexpected = match *given {
        Given::Bool(value) => Unexpected::Bool(value),
        Given::I8(value) => Unexpected::Signed(value.into()),
        Given::I16(value) => Unexpected::Signed(value.into()),
        Given::I32(value) => Unexpected::Signed(value.into()),
        Given::I64(value) => Unexpected::Signed(value),
        Given::U8(value) => Unexpected::Unsigned(value.into()),
        Given::U16(value) => Unexpected::Unsigned(value.into()),
        Given::U32(value) => Unexpected::Unsigned(value.into()),
        Given::U64(value) => Unexpected::Unsigned(value),
        Given::I128(_) | Given::U128(_) => Unexpected::Other("integer"),
        Given::F32(value) => Unexpected::Float(value.into()),
        Given::F64(value) => Unexpected::Float(value),
        Given::Char(value) => Unexpected::Char(value),
        Given::Str(value) => Unexpected::Str(value),
        Given::Bytes(value) => Unexpected::Bytes(value),
        Given::Unit => Unexpected::Unit,
        Given::None | Given::Some(_) => Unexpected::Option,
        Given::Newtype(_) => Unexpected::NewtypeStruct,
        Given::Seq(_) => Unexpected::Seq,
        Given::Map(_) => Unexpected::Map,
        Given::Enum(_) => Unexpected::Enum,
    };
    Failure::invalid_type(unexpected, expected)
}

/// The deserializer that a type uses.
pub struct Source<'a, 'de>(pub &'a mut dyn AnyDeserializer<'de>);

impl<'de> Source<'_, 'de> {
    fn ask<K: Kind, V: Visitor<'de>>(
        self,
        wanted: Wanted,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let mut slot = VisitorSlot::<V, V::Value, K>::new(visitor);
        self.0.read(wanted, &mut slot)?;
        slot.value.ok_or_else(Failure::no_value)
    }
}

macro_rules! ask {
    ($($method:ident: $wanted:ident $kind:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            self.ask::<$kind, V>(Wanted::$wanted, visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Source<'_, 'de> {
    type Error = Failure;

    ask!(
        deserialize_any: Any AnyKind, deserialize_bool: Bool Scalar, deserialize_i8: I8 Scalar,
        deserialize_i16: I16 Scalar, deserialize_i32: I32 Scalar, deserialize_i64: I64 Scalar,
        deserialize_i128: I128 Scalar, deserialize_u8: U8 Scalar, deserialize_u16: U16 Scalar,
        deserialize_u32: U32 Scalar, deserialize_u64: U64 Scalar, deserialize_u128: U128 Scalar,
        deserialize_f32: F32 Scalar, deserialize_f64: F64 Scalar, deserialize_char: Char Scalar,
        deserialize_str: Str Text, deserialize_string: String Text,
        deserialize_bytes: Bytes Binary, deserialize_byte_buf: ByteBuf Binary,
        deserialize_option: Option Optional, deserialize_unit: Unit Empty,
        deserialize_seq: Seq List, deserialize_map: Map Section,
        deserialize_identifier: Identifier Text, deserialize_ignored_any: Ignored AnyKind
    );

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.ask::<Empty, V>(Wanted::UnitStruct(name), visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.ask::<Newtype, V>(Wanted::Newtype(name), visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.ask::<List, V>(Wanted::Tuple(length), visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.ask::<List, V>(Wanted::TupleStruct(name, length), visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.ask::<Section, V>(Wanted::Struct(name, fields), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.ask::<Choice, V>(Wanted::Enum(name, variants), visitor)
    }
}

/// The items of a list.
pub struct Items<'a, 'de>(pub &'a mut dyn AnySeq<'de>);

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let mut slot = SeedSlot::new(seed);
        self.0.next(&mut slot)?;
        Ok(slot.value)
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

/// The entries of a map.
pub struct Entries<'a, 'de>(pub &'a mut dyn AnyMap<'de>);

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let mut slot = SeedSlot::new(seed);
        self.0.key(&mut slot)?;
        Ok(slot.value)
    }

    // Once for each type, not for each field.
    #[inline(never)]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        let mut slot = SeedSlot::new(seed);
        self.0.value(&mut slot)?;
        slot.value.ok_or_else(Failure::no_value)
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

/// An enum, and then the content of its variant.
pub struct Variants<'a, 'de>(pub &'a mut dyn AnyEnum<'de>);

impl<'de> EnumAccess<'de> for Variants<'_, 'de> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Failure> {
        let mut slot = SeedSlot::new(seed);
        self.0.variant(&mut slot)?;
        Ok((slot.value.ok_or_else(Failure::no_value)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variants<'_, 'de> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        self.0.content(Content::Unit)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure> {
        let mut slot = SeedSlot::new(seed);
        self.0.content(Content::Newtype(&mut slot))?;
        slot.value.ok_or_else(Failure::no_value)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let mut slot = VisitorSlot::<V, V::Value, List>::new(visitor);
        self.0.content(Content::Tuple(length, &mut slot))?;
        slot.value.ok_or_else(Failure::no_value)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let mut slot = VisitorSlot::<V, V::Value, Section>::new(visitor);
        self.0.content(Content::Struct(fields, &mut slot))?;
        slot.value.ok_or_else(Failure::no_value)
    }
}
