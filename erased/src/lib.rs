//! Deserializers that a program has once, not once for each type that they read.
//!
//! serde compiles a generic deserializer again for each type. Those of JSON and YAML are large, and
//! a core reads hundreds of types. Here the deserializer and the type see each other as trait
//! objects: only the small part between a type and these objects is compiled for each type.
//!
//! ```
//! #[derive(serde::Deserialize)]
//! struct Cell {
//!     id: u8,
//! }
//! let cell: Cell = martlet_erased::from_json(br#"{"id": 7}"#).unwrap();
//! assert_eq!(cell.id, 7);
//! ```
//!
//! An error of the deserializer keeps its kind and its location: it stays in the object that
//! returned it, while a failure with its text passes through the type.
//!
//! Two things differ from a deserializer that is used directly. A type cannot borrow from the
//! input. A YAML tag such as `!name` selects no variant in an enum that serde buffers, which is one
//! that is untagged or in a flattened section.
#![forbid(unsafe_code)]
mod failure;
mod reader;
mod typed;

pub use reader::Seed;

use failure::Failure;
use serde::de::{Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error};
use std::marker::PhantomData;
use typed::{Entries, Items, SeedSlot, Source, Variants};

/// Reads a `T` by a function that is compiled once: it gets the seed of any type, and passes it to
/// its deserializer.
///
/// # Errors
/// That of the function, or `T` does not accept what the deserializer gives.
pub fn read<'de, T: Deserialize<'de>, E: Error>(
    with: impl FnOnce(Seed<'_, 'de>) -> Result<(), E>,
) -> Result<T, E> {
    let mut root = SeedSlot::new(PhantomData::<T>);
    with(Seed(&mut root))?;
    root.value.ok_or_else(|| Failure::no_value().into_error())
}

/// Reads a `T` from a deserializer, which is compiled for all types once.
///
/// # Errors
/// That of the deserializer, or `T` does not accept what it gives.
pub fn from_deserializer<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<T, D::Error> {
    read(|seed| seed.deserialize(from))
}

/// Reads a JSON document, as `serde_json::from_slice` does.
///
/// # Errors
/// The text is not JSON, or does not fit `T`.
pub fn from_json<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    read(|seed| read_json(text, seed))
}

fn read_json<'de>(text: &'de [u8], seed: Seed<'_, 'de>) -> serde_json::Result<()> {
    let mut from = serde_json::Deserializer::from_slice(text);
    seed.deserialize(&mut from)?;
    from.end()
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
