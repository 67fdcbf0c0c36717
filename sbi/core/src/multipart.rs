//! `multipart/related` bodies (RFC 2387; TS 29.500, 4.3.3): JSON with N1 and N2 messages as binary
//! parts.
use crate::body::{append_json, decode_compact_json, decode_json, encode_json};
use crate::compact::{self, Compact};
use crate::{Appended, BodyError, Encoded, Form, Payload};
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Media types of binary parts.
pub mod content_type {
    /// A NAS message or container (TS 29.500, 4.3.3).
    pub const NAS: &str = "application/vnd.3gpp.5gnas";
    /// NGAP information (TS 29.500, 4.3.3).
    pub const NGAP: &str = "application/vnd.3gpp.ngap";
}

/// Maximum number of binary parts of a message.
const MAX_PARTS: usize = 16;
const JSON: &str = "application/json";
const RELATED: &str = "multipart/related";
const BOUNDARY: &str = "----martlet-part";

/// A binary part. The JSON part refers to it by its content ID.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryPart {
    /// `Content-Id`, equal to `RefToBinaryData.contentId`.
    pub id: String,
    /// `Content-Type`, see [`content_type`].
    pub content_type: Cow<'static, str>,
    /// The bytes.
    pub bytes: Bytes,
}

/// A JSON value with binary parts; plain `application/json` without parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Multipart<T> {
    /// The root part.
    pub json: T,
    /// The other parts.
    pub parts: Vec<BinaryPart>,
}

impl<T> Multipart<T> {
    /// A value without binary parts.
    pub fn new(json: T) -> Self {
        Multipart { json, parts: Vec::new() }
    }

    /// Adds a binary part.
    pub fn part(mut self, id: &str, content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        self.parts.push(BinaryPart {
            id: id.into(),
            content_type: Cow::Borrowed(content_type),
            bytes: bytes.into(),
        });
        self
    }

    /// The bytes of the part with this content id.
    pub fn find(&self, id: &str) -> Option<&Bytes> {
        self.parts.iter().find(|p| p.id == id).map(|p| &p.bytes)
    }
}

impl<T> From<T> for Multipart<T> {
    fn from(json: T) -> Self {
        Multipart::new(json)
    }
}

impl<T: Serialize + for<'a> Deserialize<'a> + Compact + Send + 'static> Payload for Multipart<T> {
    fn append(&self, form: Form, out: &mut Vec<u8>) -> Result<Option<Appended>, BodyError> {
        if self.parts.is_empty() {
            return append_json(&self.json, JSON, form, out);
        }
        if form == Form::Compact {
            append_compact(&self.json, &self.parts, out)?;
            return Ok(Some(Appended { content_type: Cow::Borrowed(RELATED), form }));
        }
        Ok(self.encode()?.map(|encoded| {
            out.extend_from_slice(&encoded.bytes);
            Appended { content_type: encoded.content_type, form }
        }))
    }

    fn decode_compact(compact: Encoded) -> Result<Self, BodyError> {
        if !is_multipart(&compact.content_type) {
            return decode_compact_json(&compact).map(Multipart::new);
        }
        let (json, parts) = split_compact(&compact.bytes)?;
        let json = compact::from_slice(&json).map_err(|e| BodyError::Malformed(e.to_string()))?;
        Ok(Multipart { json, parts })
    }

    fn encode(&self) -> Result<Option<Encoded>, BodyError> {
        let root = encode_json(&self.json, JSON)?;
        let Some(root) = root.filter(|_| !self.parts.is_empty()) else {
            return encode_json(&self.json, JSON);
        };
        Ok(Some(join(&root.bytes, &self.parts)))
    }

    fn decode(encoded: Option<Encoded>) -> Result<Self, BodyError> {
        let encoded = match encoded {
            Some(encoded) if is_multipart(&encoded.content_type) => encoded,
            plain => return decode_json(plain).map(Multipart::new),
        };
        let mut parts = split_parts(&encoded)?.into_iter();
        let root = parts
            .next()
            .ok_or_else(|| BodyError::Malformed("the multipart body has no parts".into()))?;
        let json =
            decode_json(Some(Encoded { content_type: root.content_type, bytes: root.bytes }))?;
        Ok(Multipart { json, parts: parts.collect() })
    }
}

/// Whether a media type is `multipart/…`.
fn is_multipart(content_type: &str) -> bool {
    content_type.get(..10).is_some_and(|start| start.eq_ignore_ascii_case("multipart/"))
}

// In compact form: the number of parts, the root's length and bytes, then for each part the
// lengths and bytes of its id, media type and content. Lengths have 4 bytes, little-endian.

fn append_compact(
    json: &(impl Serialize + Compact),
    parts: &[BinaryPart],
    out: &mut Vec<u8>,
) -> Result<(), BodyError> {
    let limit = |what: &str| BodyError::NotEncodable(format!("compact multipart body: {what}"));
    let too_long = |_| limit("a part exceeds 4 GiB");
    out.push(u8::try_from(parts.len()).map_err(|_| limit("more than 255 parts"))?);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    append_json(json, JSON, Form::Compact, out)?;
    let length = u32::try_from(out.len() - at - 4).map_err(too_long)?;
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
    for field in parts
        .iter()
        .flat_map(|part| [part.id.as_bytes(), part.content_type.as_bytes(), &part.bytes])
    {
        out.extend_from_slice(&u32::try_from(field.len()).map_err(too_long)?.to_le_bytes());
        out.extend_from_slice(field);
    }
    Ok(())
}

fn split_compact(body: &Bytes) -> Result<(Bytes, Vec<BinaryPart>), BodyError> {
    let wrong = |what: &str| BodyError::Malformed(format!("compact multipart body: {what}"));
    let count = usize::from(*body.first().ok_or_else(|| wrong("empty"))?);
    if count > MAX_PARTS {
        return Err(wrong("too many parts"));
    }
    let mut at = 1;
    let mut field = || {
        let length =
            body.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        let start = at + 4;
        let end = length
            .and_then(|length| start.checked_add(length as usize))
            .filter(|end| *end <= body.len());
        at = end.ok_or_else(|| wrong("a part is truncated"))?;
        Ok::<_, BodyError>(body.slice(start..at))
    };
    let text =
        |bytes: Bytes| String::from_utf8(bytes.into()).map_err(|_| wrong("text is not UTF-8"));
    let json = field()?;
    let mut parts = Vec::with_capacity(count);
    for _ in 0..count {
        let (id, media) = (text(field()?)?, text(field()?)?);
        parts.push(BinaryPart { id, content_type: known(media), bytes: field()? });
    }
    if at != body.len() {
        return Err(wrong("bytes follow the last part"));
    }
    Ok((json, parts))
}

fn known(media: String) -> Cow<'static, str> {
    let known = [content_type::NAS, content_type::NGAP].into_iter().find(|known| *known == media);
    known.map_or(Cow::Owned(media), Cow::Borrowed)
}

/// Encodes a JSON root and its parts (RFC 2387).
fn join(root: &[u8], parts: &[BinaryPart]) -> Encoded {
    let boundary = free_boundary(parts, root);
    let size = parts.iter().map(|p| p.bytes.len() + 160).sum::<usize>() + root.len() + 160;
    let mut out = BytesMut::with_capacity(size);
    let line = |out: &mut BytesMut, text: &str| {
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(b"\r\n");
    };
    line(&mut out, &format!("--{boundary}\r\nContent-Type: application/json\r\n"));
    out.extend_from_slice(root);
    for part in parts {
        let (media, id) = (&part.content_type, &part.id);
        line(
            &mut out,
            &format!("\r\n--{boundary}\r\nContent-Type: {media}\r\nContent-Id: {id}\r\n"),
        );
        out.extend_from_slice(&part.bytes);
    }
    line(&mut out, &format!("\r\n--{boundary}--"));
    let content_type = Cow::Owned(format!("multipart/related; boundary=\"{boundary}\""));
    Encoded { content_type, bytes: out.freeze() }
}

/// A boundary that occurs in no part.
fn free_boundary(parts: &[BinaryPart], root: &[u8]) -> String {
    let occurs = |boundary: &str| {
        let needle = boundary.as_bytes();
        std::iter::once(root)
            .chain(parts.iter().map(|p| &p.bytes[..]))
            .any(|hay| find(hay, needle).is_some())
    };
    (0u64..)
        .map(|n| if n == 0 { BOUNDARY.to_string() } else { format!("{BOUNDARY}-{n}") })
        .find(|b| !occurs(b))
        .unwrap_or_default()
}

fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|w| w == needle)
}

fn boundary_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    })
}

fn split_parts(encoded: &Encoded) -> Result<Vec<BinaryPart>, BodyError> {
    let wrong = |what: &str| BodyError::Malformed(format!("multipart body: {what}"));
    let boundary = boundary_of(&encoded.content_type)
        .filter(|b| !b.is_empty())
        .ok_or_else(|| wrong("no boundary"))?;
    let delimiter = format!("--{boundary}");
    let body = &encoded.bytes;
    let mut at = find(body, delimiter.as_bytes())
        .ok_or_else(|| wrong("the boundary is missing"))?
        + delimiter.len();
    let closing = format!("\r\n{delimiter}");
    let mut parts = Vec::new();
    while !body[at..].starts_with(b"--") {
        if parts.len() == MAX_PARTS {
            return Err(wrong("too many parts"));
        }
        if !body[at..].starts_with(b"\r\n") {
            return Err(wrong("no line end after a boundary"));
        }
        let start = at + 2;
        let length = find(&body[start..], closing.as_bytes())
            .ok_or_else(|| wrong("a part without an end"))?;
        parts.push(
            parse_part(&body.slice(start..start + length))
                .ok_or_else(|| wrong("a part without headers"))?,
        );
        at = start + length + closing.len();
    }
    Ok(parts)
}

fn parse_part(part: &Bytes) -> Option<BinaryPart> {
    // A part without headers starts with the empty line itself.
    let (headers, body_at) = if part.starts_with(b"\r\n") {
        (&part[..0], 2)
    } else {
        let end = find(part, b"\r\n\r\n")?;
        (&part[..end], end + 4)
    };
    let mut found = BinaryPart {
        id: String::new(),
        content_type: Cow::Borrowed("application/json"),
        bytes: part.slice(body_at..),
    };
    for line in std::str::from_utf8(headers).ok()?.split("\r\n") {
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.trim().to_ascii_lowercase().as_str() {
            "content-type" => found.content_type = Cow::Owned(value.trim().to_string()),
            "content-id" => {
                found.id = value.trim().trim_start_matches('<').trim_end_matches('>').to_string()
            }
            _ => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_survive_a_round_trip() {
        let body = Multipart::new(serde_json::json!({"n1SmMsg": {"contentId": "n1"}}))
            .part("n1", content_type::NAS, vec![0x2e, 1, 1, 0xc1, b'\r', b'\n'])
            .part("n2", content_type::NGAP, b"------martlet-part".to_vec());
        let encoded = body.encode().unwrap();
        assert!(encoded.as_ref().unwrap().content_type.starts_with("multipart/related"));
        assert_eq!(Multipart::<serde_json::Value>::decode(encoded).unwrap(), body);
    }

    #[test]
    fn a_body_without_parts_is_plain_json() {
        let encoded = Multipart::new(serde_json::json!({"a": 1})).encode().unwrap().unwrap();
        assert_eq!(encoded.content_type, "application/json");
        assert_eq!(Multipart::<serde_json::Value>::decode(Some(encoded)).unwrap().json["a"], 1);
    }

    #[test]
    fn truncated_bodies_are_rejected() {
        let encoded = Multipart::new(serde_json::json!({"a": 1}))
            .part("n1", content_type::NAS, vec![1, 2, 3])
            .encode()
            .unwrap()
            .unwrap();
        let whole = encoded.bytes.len() - 2;
        for cut in 0..whole {
            let cut = Encoded {
                content_type: encoded.content_type.clone(),
                bytes: encoded.bytes.slice(..cut),
            };
            assert!(Multipart::<serde_json::Value>::decode(Some(cut)).is_err());
        }
    }
}
