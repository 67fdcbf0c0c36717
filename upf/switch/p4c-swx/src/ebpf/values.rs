//! Fields, numbers and conditions.
use super::Emitter;
use crate::ast::*;
use crate::error::{Result, error};

/// The C type for a number of a bit width.
pub(super) fn of(bits: u32) -> &'static str {
    match bits {
        0..=8 => "u8",
        9..=16 => "u16",
        17..=32 => "u32",
        _ => "u64",
    }
}

/// Its bytes.
pub(super) fn bytes(bits: u32) -> u32 {
    bits.div_ceil(8).next_power_of_two()
}

pub(super) fn number(value: u64) -> String {
    if value >> 32 == 0 { format!("{value:#x}U") } else { format!("{value:#x}ULL") }
}

/// A value truncated to a width.
fn cut(value: String, bits: u32) -> String {
    match bits {
        8 | 16 | 32 | 64 => format!("({}){value}", of(bits)),
        _ => format!("({}){value} & {}", of(bits), number((1 << bits) - 1)),
    }
}

impl Emitter {
    /// Reads a field by its SWX name.
    pub(super) fn read(&self, field: &str) -> String {
        let parts: Vec<&str> = field.split('.').collect();
        match parts[..] {
            ["t", parameter] => format!("a->{parameter}"),
            ["h", header, field] if self.taken.contains_key(header) => {
                let (offset, bits) = self.offset(header, field);
                let load = format!("get{bits}(h_{header} + {offset})");
                match self.present.contains(header) {
                    true => load,
                    false => format!("(h_{header} ? {load} : 0)"),
                }
            }
            ["h", header, field] => {
                let (offset, bits) = self.offset(header, field);
                format!("get{bits}(n_{header} + {offset})")
            }
            _ => format!("m_{}", parts[1]),
        }
    }

    /// The statement that writes a field.
    pub(super) fn write(&self, field: &str, value: &str) -> String {
        let parts: Vec<&str> = field.split('.').collect();
        match parts[..] {
            ["h", header, field] if self.taken.contains_key(header) => {
                let (offset, bits) = self.offset(header, field);
                let guard = if self.present.contains(header) {
                    String::new()
                } else {
                    format!("if (h_{header}) ")
                };
                format!("{guard}put{bits}(h_{header} + {offset}, {value});")
            }
            ["h", header, field] => {
                let (offset, bits) = self.offset(header, field);
                format!("put{bits}(n_{header} + {offset}, {value});")
            }
            _ => format!("m_{} = {value};", parts[1]),
        }
    }

    /// Offset of a field in its header in bytes, and its width in bits.
    pub(super) fn offset(&self, header: &str, field: &str) -> (u32, u32) {
        let mut offset = 0;
        for (name, bits) in self.fields_of(header) {
            if name == field {
                return (offset, bits);
            }
            offset += bits / 8;
        }
        unreachable!("a field of the header")
    }

    /// An expression of a width; the widths have been checked.
    pub(super) fn value(&self, expression: &Expression, bits: u32) -> Result<String> {
        match expression {
            Expression::Path(path) if self.lowering.field(path).is_ok() => {
                let (field, own) = self.lowering.field(path)?;
                let read = self.read(&field);
                Ok(if own > bits { format!("({})", cut(read, bits)) } else { read })
            }
            Expression::Binary(operator, left, right, at) => {
                let sign = match operator {
                    Binary::Add => "+",
                    Binary::Subtract => "-",
                    Binary::And => "&",
                    Binary::Or => "|",
                    Binary::Xor => "^",
                    _ => return error(*at, "a condition is not a number"),
                };
                let (left, right) = (self.value(left, bits)?, self.value(right, bits)?);
                Ok(format!("({})", cut(format!("({left} {sign} {right})"), bits)))
            }
            other => Ok(number(self.lowering.names.number(other, Some(bits))?)),
        }
    }

    /// The width of a field; `None` for a number.
    fn bits(&self, expression: &Expression) -> Option<u32> {
        match expression {
            Expression::Path(path) => self.lowering.field(path).ok().map(|(_, bits)| bits),
            _ => None,
        }
    }

    /// A condition. Tables in it are applied when it is evaluated.
    pub(super) fn condition(&mut self, condition: &Expression) -> Result<String> {
        match condition {
            Expression::Boolean(value, _) => Ok(if *value { "1" } else { "0" }.into()),
            Expression::Not(inner, _) => Ok(format!("!{}", self.condition(inner)?)),
            Expression::Binary(operator @ (Binary::Both | Binary::Either), left, right, _) => {
                let sign = if *operator == Binary::Both { "&&" } else { "||" };
                let left_text = self.condition(left)?;
                let before = self.present.clone();
                if *operator == Binary::Both {
                    self.assume(left);
                }
                let right = self.condition(right)?;
                self.present = before;
                Ok(format!("({left_text} {sign} {right})"))
            }
            Expression::Binary(operator, left, right, at) => {
                let sign = match operator {
                    Binary::Equal => "==",
                    Binary::Unequal => "!=",
                    Binary::Less => "<",
                    Binary::Greater => ">",
                    Binary::AtMost => "<=",
                    Binary::AtLeast => ">=",
                    _ => return error(*at, "a condition is expected here"),
                };
                let Some(bits) = self.bits(left).or(self.bits(right)) else {
                    return error(*at, "one side of a comparison has to be a field");
                };
                let (left, right) = (self.value(left, bits)?, self.value(right, bits)?);
                Ok(format!("({left} {sign} {right})"))
            }
            Expression::Call(path, _, behind) => match (&path[..], &behind[..]) {
                ([_, header, method], []) if method.text == "isValid" => {
                    Ok(self.is_valid(&header.text))
                }
                ([table, _], [outcome]) => {
                    let text = std::mem::take(&mut self.text);
                    self.depth += 1;
                    self.apply(&table.text)?;
                    let hit = if outcome.text == "hit" { "hit" } else { "!hit" };
                    self.line(&format!("{hit};"));
                    self.depth -= 1;
                    let applied = std::mem::replace(&mut self.text, text);
                    // The last line is the value.
                    Ok(format!("({{ int hit;\n{applied}{}}})", "\t".repeat(self.depth)))
                }
                _ => error(condition.at(), "a condition is expected here"),
            },
            other => error(other.at(), "a condition is expected here"),
        }
    }

    /// Whether a header is valid.
    pub(super) fn is_valid(&self, header: &str) -> String {
        match self.taken.contains_key(header) {
            true => format!("(h_{header} && !removed_{header})"),
            false => format!("v_{header}"),
        }
    }

    /// The header validity that a true condition implies.
    pub(super) fn assume(&mut self, condition: &Expression) {
        match condition {
            Expression::Binary(Binary::Both, left, right, _) => {
                self.assume(left);
                self.assume(right);
            }
            Expression::Call(path, ..) => {
                if let [_, header, method] = &path[..]
                    && method.text == "isValid"
                    && let Some(there) = self.taken.get(&header.text)
                {
                    self.present.extend(there.iter().cloned());
                }
            }
            _ => {}
        }
    }
}
