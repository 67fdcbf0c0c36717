//! Successful results of operations.
use crate::{Body, Payload, Problem, Response};

/// A successful result: status, location and body.
pub trait Reply: Sized + Send {
    /// Converts the result into a response.
    fn into_response(self) -> Response;
    /// Converts a 2xx response into the result.
    fn from_response(response: Response) -> Result<Self, Problem>;
}

/// 200 with a body; 204 if the body is `()` or `None`.
impl<T: Payload> Reply for T {
    fn into_response(self) -> Response {
        if self.is_absent() {
            Response::new(204, Body::empty())
        } else {
            Response::new(200, Body::of(self))
        }
    }
    fn from_response(response: Response) -> Result<Self, Problem> {
        Ok(response.body.take()?)
    }
}

/// 201 with the location of the new resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Created<T> {
    /// URI of the new resource.
    pub location: String,
    /// Its representation.
    pub body: T,
}

impl<T: Payload> Reply for Created<T> {
    fn into_response(self) -> Response {
        Response::new(201, Body::of(self.body)).located(&self.location)
    }
    fn from_response(response: Response) -> Result<Self, Problem> {
        let location = response.location().unwrap_or_default().to_string();
        Ok(Created { location, body: response.body.take()? })
    }
}

/// A result for operations with several success statuses, such as a PUT that creates (201) or
/// replaces (200, 204).
#[derive(Debug, Clone, PartialEq)]
pub struct StatusReply<T> {
    /// 200, 201 or 204.
    pub status: u16,
    /// `Location`, with 201.
    pub location: Option<String>,
    /// Absent with 204.
    pub body: Option<T>,
}

impl<T> StatusReply<T> {
    /// 201.
    pub fn created(location: impl Into<String>, body: T) -> Self {
        StatusReply { status: 201, location: Some(location.into()), body: Some(body) }
    }
    /// 200.
    pub fn ok(body: T) -> Self {
        StatusReply { status: 200, location: None, body: Some(body) }
    }
    /// 204.
    pub fn no_content() -> Self {
        StatusReply { status: 204, location: None, body: None }
    }
}

impl<T: Payload> Reply for StatusReply<T> {
    fn into_response(self) -> Response {
        let response = Response::new(self.status, self.body.map_or(Body::empty(), Body::of));
        match &self.location {
            Some(location) => response.located(location),
            None => response,
        }
    }
    fn from_response(response: Response) -> Result<Self, Problem> {
        let (status, location) = (response.status, response.location().map(str::to_string));
        let body = if status == 204 { None } else { response.body.take()? };
        Ok(StatusReply { status, location, body })
    }
}
