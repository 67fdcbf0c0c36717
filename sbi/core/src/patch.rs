//! Applies JSON patches (RFC 6902) of peers, with limits: `copy` would else double a document with
//! each operation.
use crate::{JsonPatch, PatchItem, Problem};
use json_patch::{PatchErrorKind, PatchOperation};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum number of operations of a patch.
pub const MAX_OPERATIONS: usize = 256;
/// Maximum size in bytes that a patch may add to a document, and that it may copy or compare.
pub const MAX_GROWTH: usize = 256 << 10;
/// Maximum size in bytes to which patches may let a document grow: many small ones add up.
pub const MAX_DOCUMENT: usize = 1 << 20;

/// Why a patch was not applied.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// It has too many operations.
    #[error("the patch has {0} operations, and at most {MAX_OPERATIONS} are applied: send several")]
    TooManyOperations(usize),
    /// Its result would be too large.
    #[error("the patch adds or copies more than {MAX_GROWTH} bytes: send a smaller one")]
    TooLarge,
    /// Earlier patches have let the document grow as far as it may.
    #[error("the patched resource exceeds {MAX_DOCUMENT} bytes: remove something first")]
    DocumentTooLarge,
    /// An operation is not one of RFC 6902.
    #[error("operation {index} ({op} {path}) is not a valid operation of RFC 6902: {reason}")]
    NotAnOperation {
        /// Position in the patch, from 0.
        index: usize,
        /// Its `op`.
        op: String,
        /// Its `path`.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The condition of a `test` operation does not hold.
    #[error("the value at {path} is not the expected one")]
    TestFailed {
        /// JSON pointer of the value.
        path: String,
    },
    /// An operation cannot be applied to this document.
    #[error("{op} {path}: {reason}")]
    NotApplicable {
        /// Its `op`.
        op: String,
        /// Its `path`.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The result is not a value of the resource's type.
    #[error("the patched resource is not valid: {0}")]
    NotValid(#[from] serde_json::Error),
}

impl PatchError {
    /// The answer: 409 if a `test` failed, so that the consumer reads again after a race; else 400,
    /// or 413 for a patch beyond the limits.
    pub fn into_problem(self) -> Problem {
        let detail = self.to_string();
        match self {
            PatchError::TestFailed { .. } => {
                Problem::new(409, "MODIFICATION_CONFLICT").detail(detail)
            }
            PatchError::TooManyOperations(_)
            | PatchError::TooLarge
            | PatchError::DocumentTooLarge => Problem::new(413, "").detail(detail),
            _ => Problem::invalid_message(detail),
        }
    }
}

impl JsonPatch {
    /// The resource after the patch. Either all operations are applied, or none.
    ///
    /// # Errors
    /// An operation cannot be applied, or the patch exceeds a limit.
    pub fn apply_to<T: Serialize + DeserializeOwned>(&self, resource: &T) -> Result<T, PatchError> {
        let patched = self.apply_to_json(serde_json::to_value(resource)?)?;
        Ok(serde_json::from_value(patched)?)
    }

    /// The same for a JSON document.
    ///
    /// # Errors
    /// As [`JsonPatch::apply_to`].
    pub fn apply_to_json(&self, mut document: Value) -> Result<Value, PatchError> {
        if self.0.len() > MAX_OPERATIONS {
            return Err(PatchError::TooManyOperations(self.0.len()));
        }
        // A document that is larger may still be changed.
        let limit = size(&document, Some(usize::MAX)).map(|own| own.max(MAX_DOCUMENT));
        let mut budget = Some(MAX_GROWTH);
        for (index, item) in self.0.iter().enumerate() {
            let operation = item.parse(index)?;
            // Each operation is charged for what it adds, moves or compares; removals return
            // nothing. So the work and the result are bounded.
            let cost = match &operation {
                PatchOperation::Add(add) => size(&add.value, budget),
                PatchOperation::Replace(replace) => size(&replace.value, budget),
                PatchOperation::Test(test) => size(&test.value, budget),
                PatchOperation::Copy(copy) => match document.pointer(copy.from.as_str()) {
                    Some(source) => size(source, budget),
                    None => Some(0),
                },
                PatchOperation::Move(_) | PatchOperation::Remove(_) => Some(0),
            };
            budget = cost.and_then(|cost| budget?.checked_sub(cost));
            if budget.is_none() {
                return Err(PatchError::TooLarge);
            }
            json_patch::patch_unsafe(&mut document, &[operation]).map_err(|error| {
                let (op, path) = (item.op.clone(), item.path.clone());
                match error.kind {
                    PatchErrorKind::TestFailed => PatchError::TestFailed { path },
                    kind => PatchError::NotApplicable { op, path, reason: kind.to_string() },
                }
            })?;
        }
        match size(&document, limit) {
            Some(_) => Ok(document),
            None => Err(PatchError::DocumentTooLarge),
        }
    }
}

impl PatchItem {
    fn parse(&self, index: usize) -> Result<PatchOperation, PatchError> {
        let json = serde_json::to_value(self)?;
        serde_json::from_value(json).map_err(|error| PatchError::NotAnOperation {
            index,
            op: self.op.clone(),
            path: self.path.clone(),
            reason: error.to_string(),
        })
    }
}

/// The approximate size of a value in bytes, `None` above the limit.
fn size(value: &Value, limit: Option<usize>) -> Option<usize> {
    /// What a value costs besides its text.
    const NODE: usize = 32;
    let mut left = limit?;
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        let own = match value {
            Value::String(text) => text.len(),
            Value::Object(members) => members.keys().map(|name| name.len() + NODE).sum(),
            _ => 0,
        };
        left = left.checked_sub(own + NODE)?;
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => waiting.extend(members.values()),
            _ => {}
        }
    }
    Some(limit? - left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patch(operations: Value) -> JsonPatch {
        JsonPatch(serde_json::from_value(operations).unwrap())
    }

    #[test]
    fn copies_cannot_grow_a_document_without_bound() {
        let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let bomb = patch(Value::Array(vec![double; 26]));
        let refused = bomb.apply_to_json(json!({"a": ["x".repeat(64)]})).unwrap_err();
        assert!(matches!(refused, PatchError::TooLarge), "{refused}");
        let nested = json!({"op": "copy", "from": "", "path": "/a"});
        let refused =
            patch(Value::Array(vec![nested; 200])).apply_to_json(json!({"b": 1})).unwrap_err();
        assert!(matches!(refused, PatchError::TooLarge), "{refused}");
        let test = json!({"op": "test", "path": "/a", "value": 1});
        let many = patch(Value::Array(vec![test; MAX_OPERATIONS + 1]));
        let refused = many.apply_to_json(json!({"a": 1})).unwrap_err();
        assert!(matches!(refused, PatchError::TooManyOperations(_)), "{refused}");
    }

    #[test]
    fn patches_cannot_grow_a_document_without_bound() {
        let large = "x".repeat(MAX_GROWTH / 2);
        let mut document = json!({"load": 1});
        let mut count = 0;
        let refused = loop {
            let path = format!("/{count}");
            let add = patch(json!([{"op": "add", "path": path, "value": large}]));
            match add.apply_to_json(document.clone()) {
                Ok(patched) => document = patched,
                Err(refused) => break refused,
            }
            count += 1;
        };
        assert!(matches!(refused, PatchError::DocumentTooLarge), "{refused}");
        assert_eq!((count, refused.into_problem().status()), (7, 413));
        // One that was stored as a whole, such as a registered profile, can be changed.
        document["large"] = "x".repeat(MAX_DOCUMENT).into();
        let load = patch(json!([{"op": "replace", "path": "/load", "value": 2}]));
        assert_eq!(load.apply_to_json(document).unwrap()["load"], 2);
    }

    #[test]
    fn every_operation_of_rfc_6902_works_also_with_null() {
        let all = patch(json!([
            {"op": "test", "path": "/a", "value": [1, 2]},
            {"op": "add", "path": "/a/1", "value": null},
            {"op": "test", "path": "/a/1", "value": null},
            {"op": "move", "from": "/a/2", "path": "/b"},
            {"op": "copy", "from": "/b", "path": "/c~1d"},
            {"op": "replace", "path": "/e", "value": {"f": null}},
            {"op": "remove", "path": "/a/0"}
        ]));
        let patched = all.apply_to_json(json!({"a": [1, 2], "e": 5})).unwrap();
        assert_eq!(patched, json!({"a": [null], "b": 2, "c/d": 2, "e": {"f": null}}));
    }

    #[test]
    fn failed_operations_are_named() {
        let missing = patch(json!([{"op": "add", "path": "/a"}])).apply_to_json(json!({}));
        assert!(matches!(missing, Err(PatchError::NotAnOperation { index: 0, .. })), "{missing:?}");
        let test = patch(json!([{"op": "test", "path": "/a", "value": 2}]));
        let problem = test.apply_to_json(json!({"a": 1})).unwrap_err().into_problem();
        assert_eq!((problem.status(), problem.cause()), (409, "MODIFICATION_CONFLICT"));
        let absent = patch(json!([{"op": "remove", "path": "/x"}])).apply_to_json(json!({}));
        assert!(matches!(absent, Err(PatchError::NotApplicable { .. })), "{absent:?}");
    }
}
