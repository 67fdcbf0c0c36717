//! Maps the path of each key of a YAML file to its line.
use crate::yaml::from_yaml;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::collections::HashMap;

/// The line of each key of a file, by path: `amf.plmns[0].plmn`.
#[derive(Debug, Default)]
pub struct Lines(HashMap<String, (u64, u64)>);

impl Lines {
    /// Reads the text of a file. Text that is not YAML gives an empty map.
    pub fn read(text: &str) -> Self {
        let mut lines = HashMap::new();
        if let Ok(tree) = from_yaml::<Tree>(text) {
            tree.collect("", &mut lines);
        }
        Lines(lines)
    }

    /// All paths and their lines, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(path, (line, _))| (path.as_str(), *line))
    }

    /// Whether the file has a value at a path.
    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Line and column of a path.
    pub fn place(&self, path: &str) -> Option<(u64, u64)> {
        self.0.get(path).copied()
    }

    /// The path of an entry that `other` has at `path`. `other` is of the same text without some
    /// entries, so that the items of its lists have other indices.
    pub fn path_of(&self, other: &Lines, path: &str) -> String {
        let mut known = path;
        loop {
            if let Some(place) = other.place(known) {
                let is_same = |(own, at): &(&String, &(u64, u64))| {
                    **at == place && names(own).eq(names(known))
                };
                if let Some((own, _)) = self.0.iter().find(is_same) {
                    return format!("{own}{}", &path[known.len()..]);
                }
            }
            match known.rfind(['.', '[']) {
                Some(end) => known = &known[..end],
                None => return path.to_string(),
            }
        }
    }

    /// Whether there is no key: the text is empty, or is not YAML.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of the last key that begins at a position of the file or before it.
    pub fn at(&self, line: u64, column: u64) -> Option<&str> {
        let before = self.0.iter().filter(|(_, at)| **at <= (line, column));
        before.max_by_key(|(path, at)| (**at, path.len())).map(|(path, _)| path.as_str())
    }

    /// The line of a path, counted from 1. For a path that the file does not hold, the line of the
    /// nearest section around it.
    pub fn of(&self, path: &str) -> Option<u64> {
        let mut path = path;
        loop {
            if let Some((line, _)) = self.0.get(path) {
                return Some(*line);
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }
}

/// The parts of a path without its indices.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split(['[', ']']).step_by(2)
}

/// A value of any kind, with the lines of its keys and items.
enum Tree {
    Map(Vec<(Spanned<String>, Tree)>),
    List(Vec<Spanned<Tree>>),
    Scalar,
}

impl Tree {
    fn collect(&self, path: &str, lines: &mut HashMap<String, (u64, u64)>) {
        match self {
            Tree::Map(entries) => {
                for (key, value) in entries {
                    let path = match path.is_empty() {
                        true => key.value.clone(),
                        false => format!("{path}.{}", key.value),
                    };
                    let at = (key.referenced.line(), key.referenced.column());
                    lines.insert(path.clone(), at);
                    value.collect(&path, lines);
                }
            }
            Tree::List(items) => {
                for (n, item) in items.iter().enumerate() {
                    let path = format!("{path}[{n}]");
                    let at = (item.referenced.line(), item.referenced.column());
                    lines.insert(path.clone(), at);
                    item.value.collect(&path, lines);
                }
            }
            Tree::Scalar => {}
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

macro_rules! scalars {
    ($($method:ident: $type:ty),*) => {$(
        fn $method<E>(self, _: $type) -> Result<Tree, E> { Ok(Tree::Scalar) }
    )*};
}

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any YAML value")
    }

    scalars!(
        visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128,
        visit_f64: f64, visit_str: &str
    );

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Tree, D::Error> {
        IgnoredAny::deserialize(from).map(|_| Tree::Scalar)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_line_of_its_key() {
        let lines = Lines::read(
            "amf:\n  plmn:\n    mcc: \"001\"\n  slices:\n    - sst: 1\n    - sst: 300\nsmf: {}\n",
        );
        assert_eq!(lines.of("amf.plmn.mcc"), Some(3));
        assert_eq!(lines.of("amf.slices"), Some(4));
        assert_eq!(lines.of("amf.slices[1].sst"), Some(6));
        assert_eq!(lines.of("amf.plmn.missing"), lines.of("amf.plmn"));
        assert_eq!(lines.of("nothing"), None);
        assert!(lines.has("amf.slices") && !lines.has("amf.missing"));
    }
}
