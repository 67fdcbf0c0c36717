//! Lists as query parameters (TS 29.501, 4.4.2): the encoding depends on the element type.
use martlet_sbi::{Problem, Query, QueryValue, invalid_query_parameter};
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

/// A list of texts or enumeration values: one parameter for each, `a=1&a=2`, which is OpenAPI's
/// default for lists. Those that one parameter separates by commas are read, too.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Repeated<T>(pub Vec<T>);

impl<T: QueryValue> QueryValue for Repeated<T> {
    fn to_text(&self) -> String {
        self.0.iter().map(T::to_text).collect::<Vec<_>>().join(",")
    }
    fn from_text(text: &str) -> Option<Self> {
        TextList::from_text(text).map(|list| Repeated(list.0))
    }
    fn add_to(&self, query: &mut Query, name: &str) {
        self.0.iter().for_each(|value| value.add_to(query, name));
    }
    fn read(query: &Query, name: &str) -> Result<Option<Self>, Problem> {
        let mut all = None;
        for (_, text) in query.0.iter().filter(|(key, _)| key == name) {
            let part: Self =
                Self::from_text(text).ok_or_else(|| invalid_query_parameter(name, text))?;
            all.get_or_insert_with(Vec::new).extend(part.0);
        }
        Ok(all.map(Repeated))
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
    fn repeated_parameters_are_one_list() {
        let names = Repeated(vec!["internet".to_string(), "ims".to_string()]);
        let mut query = Query::default();
        names.add_to(&mut query, "dnns");
        let mut text = String::new();
        query.append_to(&mut text);
        assert_eq!(text, "?dnns=internet&dnns=ims");
        for text in ["dnns=internet&x=1&dnns=ims", "dnns=internet,ims"] {
            assert_eq!(Repeated::read(&Query::parse(text), "dnns").unwrap(), Some(names.clone()));
        }
        assert_eq!(Repeated::<String>::read(&Query::parse("x=1"), "dnns").unwrap(), None);
        assert!(Repeated::<u8>::read(&Query::parse("n=1&n=x"), "n").is_err());
    }

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
