//! Resolution of paths to fields and headers.
use crate::ast::*;
use crate::error::{Result, error};
use crate::lower::{INPUT, Lowering, OUTPUT, Role};

impl Lowering {
    /// A scratch field for numbers.
    pub fn temporary(&mut self, bits: u32) -> String {
        self.temporaries += 1;
        let name = format!("temporary{}", self.temporaries);
        self.metadata.push((name.clone(), bits));
        format!("m.{name}")
    }

    /// The SWX field of a path, and its width.
    pub fn field(&self, path: &[Name]) -> Result<(String, u32)> {
        let first = &path[0];
        let unknown = |name: &Name| error(name.at, format!("unknown name {:?}", name.text));
        if let [only] = path
            && let Some((name, bits)) = self.arguments.iter().find(|(name, _)| *name == only.text)
        {
            return Ok((format!("t.{name}"), *bits));
        }
        let Some(role) = self.roles.get(&first.text) else { return unknown(first) };
        let found = |fields: &[(&str, u32)], name: &Name| match fields
            .iter()
            .find(|(field, _)| *field == name.text)
        {
            Some((field, bits)) => Ok((format!("m.{field}"), *bits)),
            None => unknown(name),
        };
        match (role, &path[1..]) {
            (Role::Headers, [header, field]) => {
                let of = self.header_type(header)?;
                match self.names.headers[of].iter().find(|(name, _)| *name == field.text) {
                    Some((name, bits)) => Ok((format!("h.{}.{name}", header.text), *bits)),
                    None => error(
                        field.at,
                        format!("the header {:?} has no field {:?}", header.text, field.text),
                    ),
                }
            }
            (Role::Metadata, [field]) => {
                match self.metadata.iter().find(|(name, _)| *name == field.text) {
                    Some((name, bits)) => Ok((format!("m.{name}"), *bits)),
                    None => unknown(field),
                }
            }
            (Role::Input, [field]) => found(INPUT, field),
            (Role::Output, [field]) => found(OUTPUT, field),
            _ => error(first.at, "a field is expected here"),
        }
    }

    pub fn header_type(&self, header: &Name) -> Result<&str> {
        match self.headers.iter().find(|(name, _)| *name == header.text) {
            Some((_, of)) => Ok(of),
            None => error(header.at, format!("header {:?} is not declared", header.text)),
        }
    }

    /// The header of a path such as `hdr.ipv4`, with the method after it.
    pub fn header_of<'a>(&self, path: &'a [Name]) -> Option<(&'a Name, &'a Name)> {
        match path {
            [first, header, method] if self.roles.get(&first.text) == Some(&Role::Headers) => {
                Some((header, method))
            }
            _ => None,
        }
    }
}
