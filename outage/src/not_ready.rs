//! Why a function is not ready.
use std::time::Duration;

/// What a function lacks before it can serve. Its text is the answer of `/readyz`, which is read
/// without authentication: it contains no error of a peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// A dependency is not available.
    #[error("{kind} {peer}: not available for {:.1} s", .duration.as_secs_f64())]
    Unavailable {
        /// `database`, `set`, `nrf` or `n4`.
        kind: &'static str,
        /// Its address, without secrets.
        peer: String,
        /// Time since the outage began.
        duration: Duration,
    },
    /// The function waits for something. The text says for what, and what to do.
    #[error("{0}")]
    Waiting(&'static str),
    /// The subscriber database cannot be written. The text says what to do.
    #[error("the subscriber database cannot be written: {0}")]
    Unwritable(&'static str),
    /// A function with this name.
    #[error("{name}: {}", texts(.missing, "; "))]
    Function {
        /// Lower-case NF type, such as `amf`.
        name: &'static str,
        /// What it lacks.
        missing: Vec<NotReady>,
    },
    /// The process of a function with this name does not answer.
    #[error("{0}: its process does not answer")]
    NoAnswer(String),
    /// The answer of a process that is not ready.
    #[error("{0}")]
    Process(String),
    /// Several things that one function lacks.
    #[error("{}", texts(.0, "; "))]
    Each(Vec<NotReady>),
    /// Several functions.
    #[error("{}", texts(.0, "\n"))]
    Several(Vec<NotReady>),
}

impl NotReady {
    /// Ready if nothing is missing.
    ///
    /// # Errors
    /// [`NotReady::Several`] of what is missing.
    pub fn unless_empty(missing: Vec<NotReady>) -> Result<(), NotReady> {
        if missing.is_empty() { Ok(()) } else { Err(NotReady::Several(missing)) }
    }
}

fn texts(missing: &[NotReady], separator: &str) -> String {
    let texts: Vec<String> = missing.iter().map(ToString::to_string).collect();
    texts.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_each_function_on_a_line() {
        let nrf = NotReady::Unavailable {
            kind: "nrf",
            peer: "http://127.0.0.10:7777".into(),
            duration: Duration::from_millis(1500),
        };
        let amf = NotReady::Function { name: "amf", missing: vec![nrf, NotReady::Waiting("wait")] };
        let all = NotReady::unless_empty(vec![amf, NotReady::NoAnswer("smf".into())]);
        assert_eq!(
            all.unwrap_err().to_string(),
            "amf: nrf http://127.0.0.10:7777: not available for 1.5 s; wait\n\
             smf: its process does not answer"
        );
        assert_eq!(NotReady::unless_empty(vec![]), Ok(()));
    }
}
