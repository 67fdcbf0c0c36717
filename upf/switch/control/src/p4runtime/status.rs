//! Errors as gRPC statuses.
use super::messages as m;
use crate::error::{Code as WriteCode, WriteError};
use prost::Message;
use tonic::{Code, Status};

/// The status of a single error.
pub(super) fn status(error: WriteError) -> Status {
    Status::new(Code::from_i32(error.code as i32), error.message)
}

/// The errors of a batch in the specification's form: one per update, in the status details.
pub(super) fn batch_status(updates: usize, errors: &[(usize, WriteError)], atomic: bool) -> Status {
    let first = &errors[0];
    let details = (0..updates).map(|n| {
        let found = errors.iter().find(|(m, _)| *m == n);
        let (code, message) = match found {
            Some((_, error)) => (error.code as i32, error.message.clone()),
            None if atomic => {
                (WriteCode::Aborted as i32, "another update of the batch failed".into())
            }
            None => (0, String::new()),
        };
        let error = m::Error { canonical_code: code, message, space: String::new(), code: 0 };
        m::Any { type_url: "type.googleapis.com/p4.v1.Error".into(), value: error.encode_to_vec() }
    });
    let message = format!("update {}: {}", first.0 + 1, first.1.message);
    let status = m::Status {
        code: Code::Unknown as i32,
        message: message.clone(),
        details: details.collect(),
    };
    // Beyond the size of a header: the message only.
    match status.encoded_len() <= 4096 {
        true => Status::with_details(Code::Unknown, message, status.encode_to_vec().into()),
        false => Status::new(Code::Unknown, message),
    }
}
