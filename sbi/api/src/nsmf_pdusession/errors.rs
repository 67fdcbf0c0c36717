//! Rejections that carry a 5GSM message or N2 information in addition to their problem details (TS
//! 29.502, 6.1.7).
use super::{SmContextCreateError, SmContextUpdateError};
use martlet_sbi::{Body, Multipart, Problem};

macro_rules! refusals {
    ($($name:ident),+) => {$(
        impl $name {
            /// The problem with this error and its binary parts as the body. The status of the
            /// response is that of the details.
            pub fn into_problem(error: Multipart<Self>) -> Problem {
                let details = error.json.error.clone();
                let status = details.status.unwrap_or(500);
                let mut problem = Problem::new(status, details.cause.as_deref().unwrap_or(""));
                problem.details = Box::new(details);
                problem.with_body(Body::of(error))
            }

            /// The error in the body of a problem; `None` if the body has plain details.
            pub fn from_problem(problem: &mut Problem) -> Option<Multipart<Self>> {
                problem.body.take()?.take().ok()
            }
        }
    )+};
}

refusals!(SmContextCreateError, SmContextUpdateError);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::RefToBinaryData;
    use martlet_sbi::{ProblemDetails, Response, content_type};

    #[test]
    fn a_rejection_round_trips_with_its_message() {
        let error = SmContextCreateError {
            error: ProblemDetails {
                status: Some(403),
                cause: Some("DNN_DENIED".into()),
                detail: Some("no such data network".into()),
                ..Default::default()
            },
            n1_sm_msg: Some(RefToBinaryData { content_id: "n1".into() }),
            ..Default::default()
        };
        let sent = Multipart::new(error).part("n1", content_type::NAS, vec![0x2e, 1, 1, 0xc3, 27]);
        let mut problem =
            Response::problem(SmContextCreateError::into_problem(sent.clone())).into_problem();
        assert_eq!((problem.status(), problem.cause()), (403, "DNN_DENIED"));
        let decoded = SmContextCreateError::from_problem(&mut problem).unwrap();
        assert_eq!(decoded, sent);
    }
}
