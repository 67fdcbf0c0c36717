//! The LMF's address.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::codes::address;
use crate::error::check;
use crate::{DecodeError, EncodeError};

/// The address where the LMF accepts connections. The element has no port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LmfAddress {
    /// IPv4.
    Ipv4(Ipv4Addr),
    /// IPv6.
    Ipv6(Ipv6Addr),
    /// Both.
    Both(Ipv4Addr, Ipv6Addr),
    /// A name: labels of 1 to 63 bytes of letters, digits, hyphens and underscores, with dots
    /// between them.
    Fqdn(String),
}

impl LmfAddress {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (&kind, rest) = bytes
            .split_first()
            .ok_or(DecodeError::Length { element: "the LMF address", length: 0 })?;
        let wrong = || DecodeError::Length { element: "the LMF address", length: bytes.len() };
        let v4 = |bytes: &[u8]| <[u8; 4]>::try_from(bytes).map(Ipv4Addr::from).map_err(|_| wrong());
        let v6 =
            |bytes: &[u8]| <[u8; 16]>::try_from(bytes).map(Ipv6Addr::from).map_err(|_| wrong());
        match kind {
            address::IPV4 => v4(rest).map(LmfAddress::Ipv4),
            address::IPV6 => v6(rest).map(LmfAddress::Ipv6),
            address::IPV4_AND_IPV6 => {
                let (four, six) = rest.split_at_checked(4).ok_or_else(wrong)?;
                Ok(LmfAddress::Both(v4(four)?, v6(six)?))
            }
            address::FQDN => read_labels(rest).map(LmfAddress::Fqdn),
            value => Err(DecodeError::Value { element: "the type of the LMF address", value }),
        }
    }

    pub(super) fn write(&self) -> Result<Vec<u8>, EncodeError> {
        Ok(match self {
            LmfAddress::Ipv4(four) => [&[address::IPV4][..], &four.octets()].concat(),
            LmfAddress::Ipv6(six) => [&[address::IPV6][..], &six.octets()].concat(),
            LmfAddress::Both(four, six) => {
                [&[address::IPV4_AND_IPV6][..], &four.octets(), &six.octets()].concat()
            }
            LmfAddress::Fqdn(name) => {
                let mut out = vec![address::FQDN];
                for label in name.split('.') {
                    check("a label of the LMF's name", label.len(), 1, 63)?;
                    if !label.bytes().all(allowed) {
                        return Err(EncodeError {
                            element: "a label of the LMF's name, letters, digits, hyphens and \
                                      underscores alone,",
                            length: label.bytes().filter(|&octet| allowed(octet)).count(),
                            min: label.len(),
                            max: label.len(),
                        });
                    }
                    out.push(label.len() as u8);
                    out.extend_from_slice(label.as_bytes());
                }
                check("the LMF address", out.len(), 3, 255)?;
                out
            }
        })
    }
}

fn allowed(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || octet == b'-' || octet == b'_'
}

fn read_labels(mut bytes: &[u8]) -> Result<String, DecodeError> {
    let mut name = String::new();
    while let Some((&length, rest)) = bytes.split_first() {
        let wrong =
            DecodeError::Length { element: "a label of the LMF's name", length: length.into() };
        if length == 0 || length > 63 {
            return Err(wrong);
        }
        let (label, behind) = rest.split_at_checked(length.into()).ok_or(wrong)?;
        if !name.is_empty() {
            name.push('.');
        }
        for &octet in label {
            if !allowed(octet) {
                return Err(DecodeError::Value { element: "the LMF's name", value: octet });
            }
            name.push(octet.into());
        }
        bytes = behind;
    }
    if name.is_empty() {
        Err(DecodeError::Length { element: "the LMF's name", length: 0 })
    } else {
        Ok(name)
    }
}
