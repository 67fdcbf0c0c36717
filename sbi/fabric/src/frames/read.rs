//! Decodes frames. They come from another process, so nothing in them is trusted.
use super::tokens::{HEADERS, MEDIA_TYPES, METHODS};
use super::{Incoming, InvalidFrame, MAX_HEADERS};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use martlet_sbi::{Body, Request, Response};
use std::borrow::Cow;
use std::time::{Duration, Instant};

struct Reader {
    bytes: Bytes,
}

/// Decodes a request. `now` is the base of its deadline.
pub fn read_request(bytes: Bytes, now: Instant) -> Result<Incoming, InvalidFrame> {
    let mut reader = Reader { bytes };
    let form = reader.byte()?;
    let method = match reader.byte()? {
        0 => {
            let name = reader.short()?;
            Method::from_bytes(&name).map_err(|_| InvalidFrame("method"))?
        }
        known => METHODS.get(usize::from(known) - 1).cloned().ok_or(InvalidFrame("method"))?,
    };
    let wait = u32::from_le_bytes(reader.array()?);
    let deadline = match wait {
        u32::MAX => None,
        wait => now.checked_add(Duration::from_millis(wait.into())),
    };
    let authority = text(reader.short()?)?;
    let target = text(reader.long()?)?;
    if !target.starts_with('/') {
        return Err(InvalidFrame("target"));
    }
    let headers = reader.headers()?;
    let body = reader.body(form)?;
    Ok(Incoming {
        authority,
        request: Request { operation: None, method, target, headers, body, deadline },
    })
}

/// Decodes a response.
pub fn read_response(bytes: Bytes) -> Result<Response, InvalidFrame> {
    let mut reader = Reader { bytes };
    let form = reader.byte()?;
    let status = u16::from_le_bytes(reader.array()?);
    if !(100..1000).contains(&status) {
        return Err(InvalidFrame("status"));
    }
    let headers = reader.headers()?;
    let body = reader.body(form)?;
    Ok(Response { status, headers, body })
}

fn text(bytes: Bytes) -> Result<String, InvalidFrame> {
    std::str::from_utf8(&bytes).map(str::to_string).map_err(|_| InvalidFrame("text"))
}

impl Reader {
    fn take(&mut self, length: usize) -> Result<Bytes, InvalidFrame> {
        if length > self.bytes.len() {
            return Err(InvalidFrame("end"));
        }
        Ok(self.bytes.split_to(length))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], InvalidFrame> {
        let array = self.bytes.first_chunk().copied().ok_or(InvalidFrame("end"))?;
        bytes::Buf::advance(&mut self.bytes, N);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, InvalidFrame> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    fn short(&mut self) -> Result<Bytes, InvalidFrame> {
        let length = self.byte()?;
        self.take(length.into())
    }

    fn long(&mut self) -> Result<Bytes, InvalidFrame> {
        let length = u16::from_le_bytes(self.array()?);
        self.take(length.into())
    }

    fn headers(&mut self) -> Result<HeaderMap, InvalidFrame> {
        let count = usize::from(self.byte()?);
        if count > MAX_HEADERS {
            return Err(InvalidFrame("headers"));
        }
        let mut headers = HeaderMap::with_capacity(count);
        for _ in 0..count {
            let name = match self.byte()? {
                0 => HeaderName::from_bytes(&self.short()?)
                    .map_err(|_| InvalidFrame("header name"))?,
                known => HEADERS
                    .get(usize::from(known) - 1)
                    .cloned()
                    .ok_or(InvalidFrame("header name"))?,
            };
            let value = HeaderValue::from_maybe_shared(self.long()?)
                .map_err(|_| InvalidFrame("header value"))?;
            headers.append(name, value);
        }
        Ok(headers)
    }

    fn body(mut self, form: u8) -> Result<Body, InvalidFrame> {
        if form == 0 {
            return if self.bytes.is_empty() {
                Ok(Body::empty())
            } else {
                Err(InvalidFrame("body"))
            };
        }
        let media = match self.byte()? {
            0 => Cow::Owned(text(self.short()?)?),
            known => Cow::Borrowed(
                *MEDIA_TYPES.get(usize::from(known) - 1).ok_or(InvalidFrame("media type"))?,
            ),
        };
        match form {
            1 => Ok(Body::encoded(media, self.bytes)),
            2 => Ok(Body::compact(media, self.bytes)),
            _ => Err(InvalidFrame("body form")),
        }
    }
}
