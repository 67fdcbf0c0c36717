//! Frames into messages. They come from another process: nothing in them is trusted.
use super::words::{HEADERS, MEDIA_TYPES, METHODS};
use super::{Incoming, MOST_HEADERS, WrongFrame};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use martlet_sbi::{Body, Request, Response};
use std::borrow::Cow;
use std::time::{Duration, Instant};

struct Reader {
    octets: Bytes,
}

/// The request that a frame is.
pub fn read_request(octets: Bytes, now: Instant) -> Result<Incoming, WrongFrame> {
    let mut reader = Reader { octets };
    let form = reader.octet()?;
    let method = match reader.octet()? {
        0 => {
            let name = reader.short()?;
            Method::from_bytes(&name).map_err(|_| WrongFrame("method"))?
        }
        known => METHODS.get(usize::from(known) - 1).cloned().ok_or(WrongFrame("method"))?,
    };
    let wait = u32::from_le_bytes(reader.array()?);
    let deadline = match wait {
        u32::MAX => None,
        wait => now.checked_add(Duration::from_millis(wait.into())),
    };
    let authority = text(reader.short()?)?;
    let target = text(reader.long()?)?;
    if !target.starts_with('/') {
        return Err(WrongFrame("target"));
    }
    let headers = reader.headers()?;
    let body = reader.body(form)?;
    Ok(Incoming {
        authority,
        request: Request { operation: None, method, target, headers, body, deadline },
    })
}

/// The answer that a frame is.
pub fn read_response(octets: Bytes) -> Result<Response, WrongFrame> {
    let mut reader = Reader { octets };
    let form = reader.octet()?;
    let status = u16::from_le_bytes(reader.array()?);
    if !(100..1000).contains(&status) {
        return Err(WrongFrame("status"));
    }
    let headers = reader.headers()?;
    let body = reader.body(form)?;
    Ok(Response { status, headers, body })
}

fn text(octets: Bytes) -> Result<String, WrongFrame> {
    std::str::from_utf8(&octets).map(str::to_string).map_err(|_| WrongFrame("text"))
}

impl Reader {
    fn take(&mut self, length: usize) -> Result<Bytes, WrongFrame> {
        if length > self.octets.len() {
            return Err(WrongFrame("end"));
        }
        Ok(self.octets.split_to(length))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WrongFrame> {
        let array = self.octets.first_chunk().copied().ok_or(WrongFrame("end"))?;
        bytes::Buf::advance(&mut self.octets, N);
        Ok(array)
    }

    fn octet(&mut self) -> Result<u8, WrongFrame> {
        let [octet] = self.array()?;
        Ok(octet)
    }

    fn short(&mut self) -> Result<Bytes, WrongFrame> {
        let length = self.octet()?;
        self.take(length.into())
    }

    fn long(&mut self) -> Result<Bytes, WrongFrame> {
        let length = u16::from_le_bytes(self.array()?);
        self.take(length.into())
    }

    fn headers(&mut self) -> Result<HeaderMap, WrongFrame> {
        let count = usize::from(self.octet()?);
        if count > MOST_HEADERS {
            return Err(WrongFrame("headers"));
        }
        let mut headers = HeaderMap::with_capacity(count);
        for _ in 0..count {
            let name = match self.octet()? {
                0 => {
                    HeaderName::from_bytes(&self.short()?).map_err(|_| WrongFrame("header name"))?
                }
                known => {
                    HEADERS.get(usize::from(known) - 1).cloned().ok_or(WrongFrame("header name"))?
                }
            };
            let value = HeaderValue::from_maybe_shared(self.long()?)
                .map_err(|_| WrongFrame("header value"))?;
            headers.append(name, value);
        }
        Ok(headers)
    }

    fn body(mut self, form: u8) -> Result<Body, WrongFrame> {
        if form == 0 {
            return if self.octets.is_empty() {
                Ok(Body::empty())
            } else {
                Err(WrongFrame("body"))
            };
        }
        let media = match self.octet()? {
            0 => Cow::Owned(text(self.short()?)?),
            known => Cow::Borrowed(
                *MEDIA_TYPES.get(usize::from(known) - 1).ok_or(WrongFrame("media type"))?,
            ),
        };
        match form {
            1 => Ok(Body::encoded(media, self.octets)),
            2 => Ok(Body::compact(media, self.octets)),
            _ => Err(WrongFrame("body form")),
        }
    }
}
