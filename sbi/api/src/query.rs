//! Lists as query parameters (TS 29.501, 4.4.2): the encoding depends on the element type.
use martlet_sbi::QueryValue;
use serde::{Serialize, de::DeserializeOwned};

/// A list of texts or enumeration values: separated by commas.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextList<T>(pub Vec<T>);

impl<T: QueryValue> QueryValue for TextList<T> {
    fn to_text(&self) -> String {
        self.0.iter().map(T::to_text).collect::<Vec<_>>().join(",")
    }
    fn from_text(text: &str) -> Option<Self> {
        text.split(',')
            .filter(|part| !part.is_empty())
            .map(T::from_text)
            .collect::<Option<_>>()
            .map(TextList)
    }
}

/// An object or a list of objects: JSON text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Json<T>(pub T);

impl<T: Serialize + DeserializeOwned> QueryValue for Json<T> {
    fn to_text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
    fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::Snssai;

    #[test]
    fn lists_round_trip() {
        let names = TextList(vec!["nudm-sdm".to_string(), "nudm-uecm".to_string()]);
        assert_eq!(names.to_text(), "nudm-sdm,nudm-uecm");
        assert_eq!(TextList::from_text("nudm-sdm,nudm-uecm"), Some(names));
        let slices = Json(vec![Snssai::new(1, None), Snssai::new(1, Some(2))]);
        assert_eq!(slices.to_text(), r#"[{"sst":1},{"sst":1,"sd":"000002"}]"#);
        assert_eq!(Json::from_text(&slices.to_text()), Some(slices));
        assert_eq!(Json::<Vec<Snssai>>::from_text("1"), None);
    }
}
