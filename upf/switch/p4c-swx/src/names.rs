//! Types and constants of a program.
use crate::ast::*;
use crate::error::{CompileError, Position, error};
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, CompileError>;

/// Fields and their widths.
pub type Fields = Vec<(String, u32)>;

/// The types and constants of a program.
#[derive(Debug, Default)]
pub struct Names {
    typedefs: BTreeMap<String, u32>,
    pub constants: BTreeMap<String, (u32, u64)>,
    pub headers: BTreeMap<String, Fields>,
    pub structs: BTreeMap<String, Vec<Field>>,
    taken: BTreeMap<String, Position>,
}

impl Names {
    /// Refuses a name that is declared twice.
    pub fn take(&mut self, name: &Name) -> Result<()> {
        match self.taken.insert(name.text.clone(), name.at) {
            Some(first) => {
                error(name.at, format!("{:?} is already declared at {first}", name.text))
            }
            None => Ok(()),
        }
    }

    /// The width of a type.
    pub fn bits(&self, of: &Type) -> Result<u32> {
        match of {
            Type::Bit(bits, at) if *bits == 0 || *bits > 64 || bits % 8 != 0 => error(
                *at,
                format!("bit<{bits}> is not within the subset: SWX has whole bytes, 8 to 64 bits"),
            ),
            Type::Bit(bits, _) => Ok(*bits),
            Type::Named(name) => match self.typedefs.get(&name.text) {
                Some(bits) => Ok(*bits),
                None => error(name.at, format!("{:?} is not a numeric type", name.text)),
            },
        }
    }

    pub fn declare(&mut self, declaration: &Declaration) -> Result<()> {
        match declaration {
            Declaration::Typedef(of, name) => {
                self.take(name)?;
                let bits = self.bits(of)?;
                self.typedefs.insert(name.text.clone(), bits);
            }
            Declaration::Constant(of, name, value) => {
                self.take(name)?;
                let bits = self.bits(of)?;
                let value = self.number(value, Some(bits))?;
                self.constants.insert(name.text.clone(), (bits, value));
            }
            Declaration::Header(name, fields, _) => {
                self.take(name)?;
                let fields = self.fields(fields)?;
                if fields.is_empty() {
                    return error(name.at, format!("the header {:?} has no fields", name.text));
                }
                self.headers.insert(name.text.clone(), fields);
            }
            Declaration::Struct(name, fields) => {
                self.take(name)?;
                distinct(fields)?;
                self.structs.insert(name.text.clone(), fields.clone());
            }
            _ => {}
        }
        Ok(())
    }

    /// Fields that are numbers.
    pub fn fields(&self, fields: &[Field]) -> Result<Fields> {
        distinct(fields)?;
        fields.iter().map(|field| Ok((field.name.text.clone(), self.bits(&field.of)?))).collect()
    }

    /// A constant value that fits its width.
    pub fn number(&self, value: &Expression, bits: Option<u32>) -> Result<u64> {
        let (own, number) = match value {
            Expression::Number(own, number, _) => (*own, *number),
            Expression::Path(path)
                if path.len() == 1 && self.constants.contains_key(&path[0].text) =>
            {
                let (own, number) = self.constants[&path[0].text];
                (Some(own), number)
            }
            Expression::Cast(_, at) => {
                return error(
                    *at,
                    "casts are not within the subset: assign to a field of the other width",
                );
            }
            other => return error(other.at(), "a number or a constant is expected here"),
        };
        let at = value.at();
        if let (Some(own), Some(bits)) = (own, bits)
            && own != bits
        {
            return error(at, format!("this has {own} bits where {bits} are expected"));
        }
        match bits.or(own) {
            Some(bits) if bits < 64 && number >> bits != 0 => {
                error(at, format!("{number} does not fit into {bits} bits"))
            }
            _ => Ok(number),
        }
    }
}

fn distinct(fields: &[Field]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for field in fields {
        if let Some(first) = seen.insert(&field.name.text, field.name.at) {
            return error(
                field.name.at,
                format!("the field {:?} is already declared at {first}", field.name.text),
            );
        }
    }
    Ok(())
}
