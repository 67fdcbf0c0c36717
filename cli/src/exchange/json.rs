//! Reads JSON documents one after the other, without the whole file in memory.
use anyhow::{Result, anyhow};
use serde::Deserializer as _;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::io::BufRead;

/// The documents of an array, of an object with arrays (a collection each), or of lines, as
/// mongoexport writes them.
pub fn documents(input: impl BufRead, each: &mut dyn FnMut(Value) -> Result<()>) -> Result<()> {
    let mut input = serde_json::Deserializer::from_reader(input);
    loop {
        // An error of `each` ends the parser, whose own error then has no meaning.
        let mut failed = None;
        match input.end() {
            Ok(()) => return Ok(()),
            Err(error) if error.is_io() => return Err(error.into()),
            Err(_) => {}
        }
        let outcome = input.deserialize_any(TopLevel { each: &mut *each, failed: &mut failed });
        match (failed, outcome) {
            (Some(error), _) => return Err(error),
            (None, Err(error)) => {
                return Err(anyhow!("the text is not JSON: {}", position(&error)));
            }
            (None, Ok(())) => {}
        }
    }
}

/// Where a syntax error is. Its text may contain a value, and values may be keys.
fn position(error: &serde_json::Error) -> String {
    format!("line {}, column {}", error.line(), error.column())
}

/// Passes each document on. An array is a list of documents, and an object
/// of arrays alone has a collection in each.
struct TopLevel<'a> {
    each: &'a mut dyn FnMut(Value) -> Result<()>,
    failed: &'a mut Option<anyhow::Error>,
}

impl TopLevel<'_> {
    fn pass<E: serde::de::Error>(&mut self, document: Value) -> Result<(), E> {
        (self.each)(document).map_err(|error| {
            *self.failed = Some(error);
            E::custom("a document is wrong")
        })
    }
}

impl<'de> Visitor<'de> for TopLevel<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document, or an array of them")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(document) = list.next_element()? {
            self.pass(document)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut document = Map::new();
        while let Some((name, value)) = members.next_entry::<String, Value>()? {
            document.insert(name, value);
        }
        if document.is_empty() || !document.values().all(Value::is_array) {
            return self.pass(Value::Object(document));
        }
        for (_, collection) in document {
            let Value::Array(documents) = collection else { continue };
            documents.into_iter().try_for_each(|document| self.pass(document))?;
        }
        Ok(())
    }
}
