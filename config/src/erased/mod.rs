//! Deserializers that the program has once: that of YAML, and the tracer of `shape.rs`.
//!
//! serde compiles a generic deserializer again for each type, and that of YAML is large. Here the
//! reader and the type see each other as trait objects: only the small part between a type and
//! these objects is compiled for each type.
//!
//! An error of the reader keeps its kind and its location: it stays in the object that returned it,
//! while a [`Failure`] with its text passes through the type.
//!
//! One thing differs from `serde_saphyr::from_str`: a tag such as `!name` selects no variant in an
//! enum that serde buffers, which is one that is untagged or in a flattened section.
mod failure;
mod reader;
mod typed;

use failure::Failure;
use serde::de::{DeserializeOwned, Deserializer};
use std::marker::PhantomData;
use typed::{Entries, Items, SeedSlot, Source, Variants};

/// Reads a YAML document into `T`.
///
/// # Errors
/// The text is not YAML, or does not fit `T`.
pub fn from_yaml<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    let mut root = SeedSlot::new(PhantomData::<T>);
    reader::read(text, &mut root)?;
    root.value.ok_or_else(|| Failure::no_value().into_error())
}

/// Reads a `T` from a deserializer, which is compiled for all types once.
///
/// # Errors
/// That of the deserializer, or `T` does not accept what it gives.
pub fn from_deserializer<T: DeserializeOwned, D: Deserializer<'static>>(
    from: D,
) -> Result<T, D::Error> {
    let mut root = SeedSlot::new(PhantomData::<T>);
    reader::read_from(from, &mut root)?;
    root.value.ok_or_else(|| Failure::no_value().into_error())
}

/// What a type asks of the reader: a method of `Deserializer`.
#[derive(Clone, Copy)]
enum Wanted {
    Any,
    Bool,
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    F32,
    F64,
    Char,
    Str,
    String,
    Bytes,
    ByteBuf,
    Option,
    Unit,
    UnitStruct(&'static str),
    Newtype(&'static str),
    Seq,
    Tuple(usize),
    TupleStruct(&'static str, usize),
    Map,
    Struct(&'static str, &'static [&'static str]),
    Enum(&'static str, &'static [&'static str]),
    Identifier,
    Ignored,
}

/// What the reader gives a type: a method of `Visitor`.
enum Given<'a, 'de> {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    I128(i128),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    U128(u128),
    F32(f32),
    F64(f64),
    Char(char),
    Str(&'a str),
    Bytes(&'a [u8]),
    Unit,
    None,
    Some(Source<'a, 'de>),
    Newtype(Source<'a, 'de>),
    Seq(Items<'a, 'de>),
    Map(Entries<'a, 'de>),
    Enum(Variants<'a, 'de>),
}

/// What a variant of an enum has: a method of `VariantAccess`.
enum Content<'a, 'de> {
    Unit,
    Newtype(&'a mut dyn AnySeed<'de>),
    Tuple(usize, &'a mut dyn AnyVisitor<'de>),
    Struct(&'static [&'static str], &'a mut dyn AnyVisitor<'de>),
}

/// A `Deserializer` of the reader, used once.
trait AnyDeserializer<'de> {
    fn read(&mut self, wanted: Wanted, into: &mut dyn AnyVisitor<'de>) -> Result<(), Failure>;
}

/// A `SeqAccess` of the reader. After the last item, `into` stays without a value.
trait AnySeq<'de> {
    fn next(&mut self, into: &mut dyn AnySeed<'de>) -> Result<(), Failure>;
    fn size_hint(&self) -> Option<usize>;
}

/// A `MapAccess` of the reader. After the last key, `into` stays without a value.
trait AnyMap<'de> {
    fn key(&mut self, into: &mut dyn AnySeed<'de>) -> Result<(), Failure>;
    fn value(&mut self, into: &mut dyn AnySeed<'de>) -> Result<(), Failure>;
    fn size_hint(&self) -> Option<usize>;
}

/// An `EnumAccess` of the reader, and after `variant` its `VariantAccess`, each used once.
trait AnyEnum<'de> {
    fn variant(&mut self, into: &mut dyn AnySeed<'de>) -> Result<(), Failure>;
    fn content(&mut self, of: Content<'_, 'de>) -> Result<(), Failure>;
}

/// A `DeserializeSeed` of a type, used once.
trait AnySeed<'de> {
    fn read(&mut self, from: Source<'_, 'de>) -> Result<(), Failure>;
}

/// A `Visitor` of a type, used once.
trait AnyVisitor<'de> {
    fn visit(&mut self, given: Given<'_, 'de>) -> Result<(), Failure>;
}
