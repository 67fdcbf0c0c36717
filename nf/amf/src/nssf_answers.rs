//! Answers of the NSSF that hold for other UEs, too: the same subscribed and requested slices in
//! the same tracking area have the same allowed slices (TS 29.531, 5.2.2.2.2).
use crate::served::Tai;
use martlet_nas::identifiers::Slice;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Maximum number of answers.
const MAX_ANSWERS: usize = 1024;

/// What the answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub tai: Tai,
    /// Default subscribed slices.
    pub default: Vec<Slice>,
    /// All subscribed slices.
    pub all: Vec<Slice>,
    pub requested: Option<Vec<Slice>>,
}

/// The answers, each for a limited time.
#[derive(Default)]
pub(crate) struct NssfAnswers(Mutex<HashMap<Question, (Instant, Vec<Slice>)>>);

impl NssfAnswers {
    fn answers(&self) -> MutexGuard<'_, HashMap<Question, (Instant, Vec<Slice>)>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The allowed slices of an answer that still holds.
    pub fn get(&self, question: &Question, now: Instant) -> Option<Vec<Slice>> {
        let answers = self.answers();
        let (end, allowed) = answers.get(question)?;
        (now < *end).then(|| allowed.clone())
    }

    /// Stores an answer. Without room for it, the next UE asks again.
    pub fn put(&self, question: Question, allowed: Vec<Slice>, now: Instant, lifetime: Duration) {
        let mut answers = self.answers();
        if answers.len() >= MAX_ANSWERS {
            answers.retain(|_, (end, _)| now < *end);
        }
        if !lifetime.is_zero() && (answers.len() < MAX_ANSWERS || answers.contains_key(&question)) {
            answers.insert(question, (now + lifetime, allowed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_nas::Plmn;

    fn question(tac: u32) -> Question {
        let slices = vec![Slice::of_type(1)];
        let tai = Tai { plmn: Plmn::new("001", "01").unwrap(), tac };
        Question { tai, default: slices.clone(), all: slices, requested: None }
    }

    #[test]
    fn an_answer_holds_for_the_same_question_and_a_limited_time() {
        let answers = NssfAnswers::default();
        let (start, lifetime) = (Instant::now(), Duration::from_secs(60));
        answers.put(question(1), vec![Slice::of_type(1)], start, lifetime);
        assert_eq!(answers.get(&question(1), start), Some(vec![Slice::of_type(1)]));
        assert_eq!(answers.get(&question(2), start), None);
        let requested = Question { requested: Some(vec![Slice::of_type(2)]), ..question(1) };
        assert_eq!(answers.get(&requested, start), None);
        assert_eq!(answers.get(&question(1), start + lifetime), None);
        answers.put(question(2), vec![], start, Duration::ZERO);
        assert_eq!(answers.get(&question(2), start), None);
    }

    #[test]
    fn the_number_of_answers_is_limited() {
        let answers = NssfAnswers::default();
        let (start, lifetime) = (Instant::now(), Duration::from_secs(60));
        for tac in 0..=MAX_ANSWERS as u32 {
            answers.put(question(tac), vec![], start, lifetime);
        }
        assert_eq!(answers.get(&question(MAX_ANSWERS as u32), start), None);
        // Those that have ended make room.
        answers.put(question(MAX_ANSWERS as u32), vec![], start + lifetime, lifetime);
        assert_eq!(answers.get(&question(MAX_ANSWERS as u32), start + lifetime), Some(vec![]));
    }
}
