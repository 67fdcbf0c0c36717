//! Encodes requests and responses.
use super::tokens::{HEADERS, MEDIA_TYPES, METHODS, code};
use http::HeaderMap;
use martlet_sbi::{Appended, Body, Form, Problem, Request, Response};
use std::time::Instant;

/// Where the body of a message was written.
#[derive(Debug)]
pub struct Written {
    /// Offset of its first byte. The body ends with the frame.
    pub at: usize,
    /// Its media type and form; `None` without a body.
    pub body: Option<Appended>,
}

/// Appends a request to `out`.
///
/// # Errors
/// A field is too long, or the body cannot be encoded.
pub fn write_request(
    authority: &str,
    request: &Request,
    form: Form,
    now: Instant,
    out: &mut Vec<u8>,
) -> Result<Written, Problem> {
    let start = out.len();
    out.push(0);
    match code(&METHODS, &request.method) {
        0 => {
            out.push(0);
            short(request.method.as_str().as_bytes(), out)?;
        }
        known => out.push(known),
    }
    let wait = request.deadline.map_or(u32::MAX, |deadline| {
        // Round up: the client enforces the deadline itself.
        let left = deadline.saturating_duration_since(now).as_micros().div_ceil(1000);
        u32::try_from(left).unwrap_or(u32::MAX - 1).min(u32::MAX - 1)
    });
    out.extend_from_slice(&wait.to_le_bytes());
    short(authority.as_bytes(), out)?;
    long(request.target.as_bytes(), out)?;
    headers(&request.headers, out)?;
    body(&request.body, form, start, out)
}

/// Appends a response to `out`. Error responses always have the form of the wire, because the
/// client may not know the type of their body.
///
/// # Errors
/// A field is too long, or the body cannot be encoded.
pub fn write_response(
    response: &Response,
    form: Form,
    out: &mut Vec<u8>,
) -> Result<Written, Problem> {
    let start = out.len();
    out.push(0);
    out.extend_from_slice(&response.status.to_le_bytes());
    headers(&response.headers, out)?;
    let form = if response.status < 300 { form } else { Form::Wire };
    body(&response.body, form, start, out)
}

fn too_long(what: &str) -> Problem {
    Problem::new(431, "").detail(format!("{what} is too long"))
}

/// Appends a length (1 byte) and up to 255 bytes.
fn short(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
    out.push(u8::try_from(bytes.len()).map_err(|_| too_long("a name"))?);
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends a length (2 bytes) and up to 65535 bytes.
fn long(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
    let length = u16::try_from(bytes.len()).map_err(|_| too_long("a target or header"))?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

fn headers(headers: &HeaderMap, out: &mut Vec<u8>) -> Result<(), Problem> {
    if headers.len() > super::MAX_HEADERS {
        return Err(
            Problem::new(431, "").detail(format!("more than {} headers", super::MAX_HEADERS))
        );
    }
    out.push(headers.len() as u8);
    for (name, value) in headers {
        match code(&*HEADERS, name) {
            0 => {
                out.push(0);
                short(name.as_str().as_bytes(), out)?;
            }
            known => out.push(known),
        }
        long(value.as_bytes(), out)?;
    }
    Ok(())
}

/// Appends the media type and the bytes of a body, and sets the form at `start`.
fn body(body: &Body, form: Form, start: usize, out: &mut Vec<u8>) -> Result<Written, Problem> {
    if body.is_absent() {
        return Ok(Written { at: out.len(), body: None });
    }
    // The media type precedes the bytes but is known only afterwards. Reserve one byte for it:
    // nearly always it has a one-byte code.
    let at = out.len();
    out.push(0);
    let Some(appended) = body.append(form, out)? else {
        out.truncate(at);
        return Ok(Written { at, body: None });
    };
    out[start] = if appended.form == Form::Compact { 2 } else { 1 };
    let mut written = Written { at: at + 1, body: Some(appended) };
    let media = written.body.as_ref().map_or("", |appended| &*appended.content_type);
    match code(&MEDIA_TYPES, &media) {
        0 => {
            let bytes = out.split_off(at + 1);
            short(media.as_bytes(), out)?;
            written.at = out.len();
            out.extend_from_slice(&bytes);
        }
        known => out[at] = known,
    }
    Ok(written)
}
