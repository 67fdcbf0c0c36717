//! The parameters of a block, and the meaning of first names of paths in it.
use crate::ast::*;
use crate::error::{Result, error};
use crate::lower::{INPUT, Lowering, OUTPUT, Role};

impl Lowering {
    /// Checks the parameters of a block, and binds the first names of paths. A parameter is checked
    /// by its type if the architecture defines it, else by its direction.
    pub(crate) fn signature(
        &mut self,
        block: &Name,
        parameters: &[Parameter],
        wanted: &[(&str, Role)],
    ) -> Result<()> {
        if parameters.len() != wanted.len() {
            return error(
                block.at,
                format!("{} needs {} parameters: {wanted:?}", block.text, wanted.len()),
            );
        }
        self.roles.clear();
        for (parameter, (asked, role)) in parameters.iter().zip(wanted) {
            let name = &parameter.name;
            let Type::Named(of) = &parameter.of else {
                return error(name.at, "this parameter needs a named type");
            };
            match role {
                Role::Headers => self.take_headers(of)?,
                Role::Metadata => self.take_metadata(of)?,
                _ if of.text != *asked => {
                    return error(of.at, format!("this parameter has to be of the type {asked}"));
                }
                _ => {}
            }
            let direction = match role {
                Role::Headers | Role::Metadata => Some(*asked),
                Role::Input => Some("in"),
                Role::Output => Some("inout"),
                Role::Packet => None,
            };
            if parameter.direction.as_ref().map(|d| d.text.as_str()) != direction {
                return error(
                    name.at,
                    format!("this parameter needs the direction {:?}", direction.unwrap_or("none")),
                );
            }
            if self.roles.insert(name.text.clone(), *role).is_some() {
                return error(name.at, "two parameters have this name");
            }
        }
        Ok(())
    }

    pub(crate) fn take_headers(&mut self, of: &Name) -> Result<()> {
        let Some(fields) = self.names.structs.get(&of.text) else {
            return error(of.at, format!("{:?} is not a struct", of.text));
        };
        let mut headers = Vec::new();
        for field in fields {
            match &field.of {
                Type::Named(header) if self.names.headers.contains_key(&header.text) => {
                    headers.push((field.name.text.clone(), header.text.clone()));
                }
                _ => return error(field.name.at, "a struct of headers may contain headers only"),
            }
        }
        if !self.headers.is_empty() && self.headers != headers {
            return error(of.at, "parser, control and deparser need the same headers");
        }
        self.headers = headers;
        Ok(())
    }

    pub(crate) fn take_metadata(&mut self, of: &Name) -> Result<()> {
        let Some(fields) = self.names.structs.get(&of.text) else {
            return error(of.at, format!("{:?} is not a struct", of.text));
        };
        let metadata = self.names.fields(fields)?;
        for (taken, _) in INPUT.iter().chain(OUTPUT).chain(&[("drop", 8)]) {
            if let Some(field) = fields.iter().find(|field| field.name.text == *taken) {
                return error(
                    field.name.at,
                    format!("{taken:?} is reserved by the architecture: choose another name"),
                );
            }
        }
        if !self.metadata.is_empty() && !self.metadata.starts_with(&metadata) {
            return error(of.at, "parser and control need the same metadata");
        }
        if self.metadata.is_empty() {
            self.metadata = metadata;
        }
        Ok(())
    }
}
