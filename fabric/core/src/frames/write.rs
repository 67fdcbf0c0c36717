//! Messages into frames.
use super::words::{HEADERS, MEDIA_TYPES, METHODS, number};
use http::HeaderMap;
use martlet_sbi::{Appended, Body, Form, Problem, Request, Response};
use std::time::Instant;

/// Where the body of a message has gone.
#[derive(Debug)]
pub struct Written {
    /// Its first octet; the last one is the last of the frame.
    pub at: usize,
    /// What it is; none where there is no body.
    pub body: Option<Appended>,
}

/// Appends a request to `out`, with its body in a form that the peer understands.
pub fn write_request(
    authority: &str,
    request: &Request,
    form: Form,
    now: Instant,
    out: &mut Vec<u8>,
) -> Result<Written, Problem> {
    let start = out.len();
    out.push(0);
    match number(&METHODS, &request.method) {
        0 => {
            out.push(0);
            short(request.method.as_str().as_bytes(), out)?;
        }
        known => out.push(known),
    }
    let wait = request.deadline.map_or(u32::MAX, |deadline| {
        // Rounded up: the consumer's own clock decides in the end.
        let left = deadline.saturating_duration_since(now).as_micros().div_ceil(1000);
        u32::try_from(left).unwrap_or(u32::MAX - 1).min(u32::MAX - 1)
    });
    out.extend_from_slice(&wait.to_le_bytes());
    short(authority.as_bytes(), out)?;
    long(request.target.as_bytes(), out)?;
    headers(&request.headers, out)?;
    body(&request.body, form, start, out)
}

/// Appends an answer to `out`, with its body in a form that the peer understands. What is wrong is
/// told as on a wire: who asked may not know the type that it comes in.
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
    Problem::new(431, "").detail(format!("{what} is too long for a frame"))
}

/// Up to 255 octets behind their number.
fn short(octets: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
    out.push(u8::try_from(octets.len()).map_err(|_| too_long("a name"))?);
    out.extend_from_slice(octets);
    Ok(())
}

/// Up to 65535 octets behind their number.
fn long(octets: &[u8], out: &mut Vec<u8>) -> Result<(), Problem> {
    let length = u16::try_from(octets.len()).map_err(|_| too_long("a target or header"))?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(octets);
    Ok(())
}

fn headers(headers: &HeaderMap, out: &mut Vec<u8>) -> Result<(), Problem> {
    if headers.len() > super::MOST_HEADERS {
        return Err(
            Problem::new(431, "").detail(format!("more than {} headers", super::MOST_HEADERS))
        );
    }
    out.push(headers.len() as u8);
    for (name, value) in headers {
        match number(&*HEADERS, name) {
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

/// The body's media type and octets; its form goes to the place kept at `start`.
fn body(body: &Body, form: Form, start: usize, out: &mut Vec<u8>) -> Result<Written, Problem> {
    if body.is_absent() {
        return Ok(Written { at: out.len(), body: None });
    }
    // The media type stands before the octets, and is known after them: nearly always it is one
    // with a number.
    let at = out.len();
    out.push(0);
    let Some(appended) = body.append(form, out)? else {
        out.truncate(at);
        return Ok(Written { at, body: None });
    };
    out[start] = if appended.form == Form::Compact { 2 } else { 1 };
    let mut written = Written { at: at + 1, body: Some(appended) };
    let media = written.body.as_ref().map_or("", |appended| &*appended.content_type);
    match number(&MEDIA_TYPES, &media) {
        0 => {
            let octets = out.split_off(at + 1);
            short(media.as_bytes(), out)?;
            written.at = out.len();
            out.extend_from_slice(&octets);
        }
        known => out[at] = known,
    }
    Ok(written)
}
