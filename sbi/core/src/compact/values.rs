//! Compact encodings of types of the standard library and of other crates.
use super::{Compact, Error, Reader};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

#[inline]
fn write_unsigned(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends length-prefixed bytes.
#[inline]
pub fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_unsigned(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends text.
#[inline]
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    write_bytes(text.as_bytes(), out);
}

impl Compact for u8 {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
    #[inline]
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.byte()
    }
}

impl Compact for bool {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }
    #[inline]
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::new("invalid bool")),
        }
    }
}

macro_rules! unsigned {
    ($($type:ty),*) => {$(
        impl Compact for $type {
            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                write_unsigned(*self as u64, out);
            }
            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                from.unsigned()?.try_into().map_err(|_| Error::new("number too large"))
            }
        }
    )*};
}
unsigned!(u16, u32, u64, usize);

macro_rules! signed {
    ($($type:ty),*) => {$(
        impl Compact for $type {
            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                let value = *self as i64;
                write_unsigned((value << 1 ^ value >> 63) as u64, out);
            }
            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                let value = from.unsigned()?;
                let value = (value >> 1) as i64 ^ -((value & 1) as i64);
                value.try_into().map_err(|_| Error::new("number too large"))
            }
        }
    )*};
}
signed!(i8, i16, i32, i64);

impl Compact for f64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.array().map(f64::from_le_bytes)
    }
}

impl Compact for f32 {
    fn write(&self, out: &mut Vec<u8>) {
        f64::from(*self).write(out);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        f64::read(from).map(|value| value as f32)
    }
}

impl<const N: usize> Compact for [u8; N] {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.array()
    }
}

impl Compact for String {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        write_text(self, out);
    }
    #[inline]
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.text().map(String::from)
    }
}

impl Compact for Bytes {
    fn write(&self, out: &mut Vec<u8>) {
        write_bytes(self, out);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.bytes().map(Bytes::copy_from_slice)
    }
}

impl Compact for Ipv4Addr {
    fn write(&self, out: &mut Vec<u8>) {
        self.octets().write(out);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.array::<4>().map(Ipv4Addr::from)
    }
}

impl Compact for Ipv6Addr {
    fn write(&self, out: &mut Vec<u8>) {
        self.octets().write(out);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.array::<16>().map(Ipv6Addr::from)
    }
}

impl Compact for IpAddr {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            IpAddr::V4(address) => write_bytes(&address.octets(), out),
            IpAddr::V6(address) => write_bytes(&address.octets(), out),
        }
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        let bytes = from.bytes()?;
        let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
        v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
            .map_err(|_| Error::new("invalid IP address"))
    }
}

impl<T: Compact> Compact for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Compact> Compact for Box<T> {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.deeper(T::read).map(Box::new)
    }
}

impl<T: Compact> Compact for Arc<T> {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.deeper(T::read).map(Arc::new)
    }
}

impl<T: Compact> Compact for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        write_unsigned(self.len() as u64, out);
        self.iter().for_each(|value| value.write(out));
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.elements()
    }
}

impl<T: Compact + Ord> Compact for BTreeSet<T> {
    fn write(&self, out: &mut Vec<u8>) {
        write_unsigned(self.len() as u64, out);
        self.iter().for_each(|value| value.write(out));
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.elements()
    }
}

impl<A: Compact, B: Compact> Compact for (A, B) {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

macro_rules! map {
    ($map:ident, $($bound:ident),*) => {
        impl<K: Compact $(+ $bound)*, V: Compact> Compact for $map<K, V> {
            fn write(&self, out: &mut Vec<u8>) {
                write_unsigned(self.len() as u64, out);
                for (key, value) in self {
                    key.write(out);
                    value.write(out);
                }
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                from.elements::<(K, V), _>()
            }
        }
    };
}
map!(HashMap, Eq, Hash);
map!(BTreeMap, Ord);

impl Compact for Value {
    fn write(&self, out: &mut Vec<u8>) {
        write_text(&self.to_string(), out);
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        serde_json::from_slice(from.bytes()?).map_err(Error::invalid)
    }
}

impl Compact for Map<String, Value> {
    fn write(&self, out: &mut Vec<u8>) {
        write_unsigned(self.len() as u64, out);
        for (name, value) in self {
            name.write(out);
            value.write(out);
        }
    }
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.elements::<(String, Value), _>()
    }
}
