//! Information elements: type, length, value, and groups of them.
use crate::DecodeError;

/// Limit of elements in one message or group.
const MAX_ELEMENTS: usize = 512;
/// Groups within groups.
const DEEPEST: usize = 6;

/// An element that is not decoded yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ie<'a> {
    /// Its type; from 32768 on defined by an enterprise.
    pub kind: u16,
    /// Its value, without the enterprise identifier.
    pub value: &'a [u8],
}

/// The value of an element.
pub trait IeValue: Sized {
    /// Its type (TS 29.244, table 8.1.2-1).
    const TYPE: u16;
    /// Reads it; bytes that a later release may append are skipped.
    fn decode(value: &[u8], depth: usize) -> Result<Self, DecodeError>;
    /// Appends its value.
    fn encode(&self, out: &mut Vec<u8>);

    /// Appends the whole element.
    fn encode_ie(&self, out: &mut Vec<u8>) {
        out.extend(Self::TYPE.to_be_bytes());
        let at = out.len();
        out.extend([0, 0]);
        self.encode(out);
        let length = u16::try_from(out.len() - at - 2).unwrap_or(u16::MAX);
        out[at..at + 2].copy_from_slice(&length.to_be_bytes());
    }
}

/// Splits bytes into elements.
pub fn elements(mut bytes: &[u8], depth: usize, within: u16) -> Result<Vec<Ie<'_>>, DecodeError> {
    if depth > DEEPEST {
        return Err(DecodeError::Depth);
    }
    let mut elements = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_first_chunk::<4>().ok_or(DecodeError::Length(within))?;
        let kind = u16::from_be_bytes([head[0], head[1]]);
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let (value, rest) = rest.split_at_checked(length).ok_or(DecodeError::Length(kind))?;
        // Types of an enterprise carry its identifier first (8.1.1).
        let value =
            if kind >= 0x8000 { value.get(2..).ok_or(DecodeError::Length(kind))? } else { value };
        if elements.len() == MAX_ELEMENTS {
            return Err(DecodeError::Length(within));
        }
        elements.push(Ie { kind, value });
        bytes = rest;
    }
    Ok(elements)
}

/// Declares a group of elements: `req` is mandatory, `opt` optional, `list` repeated. Of a repeated
/// single element the first counts (TS 29.244, 7.6.8).
macro_rules! group {
    ($(#[$meta:meta])* $name:ident $(= $type:literal)? {
        $($(#[$fmeta:meta])* $need:ident $field:ident: $value:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[$fmeta])* pub $field: group!(@type $need $value),)* }

        impl $name {
            #[allow(unused_variables, unused_mut)]
            pub(crate) fn decode_members(bytes: &[u8], depth: usize, within: u16) -> Result<Self,
                crate::DecodeError> {
                $(let mut $field = group!(@empty $need $value);)*
                for ie in crate::grouped::elements(bytes, depth, within)? {
                    match ie.kind {
                        $(<$value as crate::IeValue>::TYPE =>
                            group!(@take $need $field $value, ie, depth),)*
                        _ => {}
                    }
                }
                Ok($name { $($field: group!(@finish $need $field $value),)* })
            }
            #[allow(unused_variables, clippy::ptr_arg)]
            pub(crate) fn encode_members(&self, out: &mut Vec<u8>) {
                $(group!(@write $need self.$field, out);)*
            }
        }
        $(
            impl crate::IeValue for $name {
                const TYPE: u16 = $type;
                fn decode(value: &[u8], depth: usize) -> Result<Self, crate::DecodeError> {
                    $name::decode_members(value, depth + 1, $type)
                }
                fn encode(&self, out: &mut Vec<u8>) { self.encode_members(out) }
            }
        )?
    };
    (@type req $value:ty) => { $value };
    (@type opt $value:ty) => { Option<$value> };
    (@type list $value:ty) => { Vec<$value> };
    (@empty req $value:ty) => { None::<$value> };
    (@empty opt $value:ty) => { None::<$value> };
    (@empty list $value:ty) => { Vec::<$value>::new() };
    (@take req $field:ident $value:ty, $ie:ident, $depth:ident) =>
        { if $field.is_none() { $field =
        Some(<$value as crate::IeValue>::decode($ie.value, $depth)?) } };
    (@take opt $field:ident $value:ty, $ie:ident, $depth:ident) =>
        { if $field.is_none() { $field =
        Some(<$value as crate::IeValue>::decode($ie.value, $depth)?) } };
    (@take list $field:ident $value:ty, $ie:ident, $depth:ident) =>
        { $field.push(<$value as crate::IeValue>::decode($ie.value, $depth)?) };
    (@finish req $field:ident $value:ty) =>
        { $field.ok_or(crate::DecodeError::Missing(<$value as crate::IeValue>::TYPE))? };
    (@finish opt $field:ident $value:ty) => { $field };
    (@finish list $field:ident $value:ty) => { $field };
    (@write req $field:expr, $out:ident) => { crate::IeValue::encode_ie(&$field, $out) };
    (@write opt $field:expr, $out:ident) =>
        { if let Some(value) = &$field { crate::IeValue::encode_ie(value, $out) } };
    (@write list $field:expr, $out:ident) =>
        { for value in &$field { crate::IeValue::encode_ie(value, $out) } };
}
pub(crate) use group;
