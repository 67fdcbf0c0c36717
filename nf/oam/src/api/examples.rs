//! Examples of bodies in the OpenAPI description. The types lack them for documents whose members
//! another function defines, and where only a whole body is a useful example.
use serde_json::Value;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{Content, OpenApi, RefOr};

/// By the identity of an operation: `request` and `response`.
const EXAMPLES: &str = include_str!("examples.json");

/// Adds the examples. The operations have their identities already.
pub fn add(document: &mut OpenApi) {
    let Ok(Value::Object(examples)) = serde_json::from_str(EXAMPLES) else { return };
    for item in document.paths.paths.values_mut() {
        let all = [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        for operation in all.into_iter().flatten() {
            if let Some(of) = operation.operation_id.as_ref().and_then(|id| examples.get(id)) {
                add_to(operation, of);
            }
        }
    }
}

fn add_to(operation: &mut Operation, of: &Value) {
    if let (Some(body), Some(example)) = (&mut operation.request_body, of.get("request")) {
        body.content.values_mut().for_each(|content| set(content, example));
    }
    let Some(example) = of.get("response") else { return };
    for (status, response) in &mut operation.responses.responses {
        if let (true, RefOr::T(response)) = (status.starts_with('2'), response) {
            response.content.values_mut().for_each(|content| set(content, example));
        }
    }
}

fn set(content: &mut Content, example: &Value) {
    content.example = Some(example.clone());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Whether a part of the description has an example, or refers to one that has.
    fn has_example(document: &Value, part: &Value, above: &mut Vec<String>) -> bool {
        match part {
            Value::Array(all) => all.iter().any(|one| has_example(document, one, above)),
            Value::Object(all) if all.contains_key("example") => true,
            Value::Object(all) => all.iter().any(|(key, value)| match value.as_str() {
                Some(path) if key == "$ref" && !above.iter().any(|it| it == path) => {
                    above.push(path.into());
                    let target = document.pointer(&path[1..]).expect("what is referred to");
                    let found = has_example(document, target, above);
                    above.pop();
                    found
                }
                _ => has_example(document, value, above),
            }),
            _ => false,
        }
    }

    #[test]
    fn each_body_of_the_description_has_an_example() {
        let document = serde_json::to_value(crate::api::description::document()).unwrap();
        let mut without = BTreeSet::new();
        let mut identities = BTreeSet::new();
        for operation in document["paths"].as_object().unwrap().values() {
            for operation in operation.as_object().unwrap().values() {
                let id = operation["operationId"].as_str().unwrap();
                identities.insert(id);
                let responses = operation["responses"].as_object().unwrap().iter();
                let successes = responses.filter(|(status, _)| status.starts_with('2'));
                let bodies =
                    successes.map(|(_, response)| response).chain([&operation["requestBody"]]);
                for (kind, content) in bodies.flat_map(|body| body["content"].as_object()).flatten()
                {
                    let is_text = kind.contains("json") || kind.starts_with("text/");
                    if is_text && !has_example(&document, content, &mut Vec::new()) {
                        without.insert(id);
                    }
                }
            }
        }
        assert!(without.is_empty(), "no example: {without:?}");
        let examples: Value = serde_json::from_str(EXAMPLES).unwrap();
        for id in examples.as_object().unwrap().keys() {
            assert!(identities.contains(id.as_str()), "no operation {id}");
        }
    }
}
