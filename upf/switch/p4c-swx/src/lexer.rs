//! Source text to tokens.
use crate::error::{CompileError, Position, error};

/// The kind of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword.
    Name(String),
    /// A number, with its width in bits if given: `16w0x800`.
    Number(Option<u32>, u64),
    /// A string in quotation marks.
    Text(String),
    /// An operator or bracket.
    Sign(&'static str),
    /// The end of the source.
    End,
}

/// A token and its position.
#[derive(Debug, Clone)]
pub struct Token {
    /// The kind.
    pub kind: Kind,
    /// The position of its first character.
    pub at: Position,
}

// Longer ones first. `>>` is missing because it also closes two type arguments; the subset has no
// shifts.
const SIGNS: [&str; 31] = [
    "&&&", "==", "!=", "<=", ">=", "&&", "||", "++", "<<", "..", "(", ")", "{", "}", "[", "]", "<",
    ">", ";", ":", ",", ".", "=", "+", "-", "*", "&", "|", "^", "!", "~",
];

/// The files that are built in: the core library and the architectures.
const ARCHITECTURES: [&str; 7] =
    ["<core.p4>", "<swx.p4>", "<pna.p4>", "<dpdk/pna.p4>", "<psa.p4>", "<v1model.p4>", "<tna.p4>"];

/// Maximum size of a source in bytes.
pub const LONGEST: usize = 1 << 20;

struct Lexer<'a> {
    rest: &'a str,
    at: Position,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.rest = &self.rest[character.len_utf8()..];
        if character == '\n' {
            self.at = Position { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(character)
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(character) = self.peek().filter(|c| accept(*c)) {
            taken.push(character);
            self.next();
        }
        taken
    }

    /// Skips whitespace, comments, and `#include` lines such as `<core.p4>`, whose content is built
    /// in.
    fn skip(&mut self) -> Result<(), CompileError> {
        loop {
            let at = self.at;
            if self.peek().is_some_and(char::is_whitespace) {
                self.next();
            } else if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest.find("*/") else {
                    return error(at, "this comment is not closed: write */");
                };
                let length = self.rest[..end + 2].chars().count();
                for _ in 0..length {
                    self.next();
                }
            } else if self.peek() == Some('#') {
                let line = self.take_while(|c| c != '\n');
                let words: Vec<&str> = line.split_whitespace().collect();
                let ["#include", file] = words[..] else {
                    return error(
                        at,
                        format!("{} is not within the subset: only #include is", line.trim()),
                    );
                };
                if !ARCHITECTURES.contains(&file) {
                    return error(
                        at,
                        format!(
                            "#include {file} is not within the subset: {} are, and files in \
                             quotation marks of a `Source`",
                            ARCHITECTURES.join(", ")
                        ),
                    );
                }
            } else {
                return Ok(());
            }
        }
    }

    fn number(&mut self, at: Position) -> Result<Kind, CompileError> {
        let text = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let wrong = || CompileError {
            at,
            message: format!("{text} is not a number: write one such as 42, 0x2a or 16w0x2a"),
        };
        let (width, digits) = match text.split_once('w') {
            Some((width, digits)) => (Some(width.parse::<u32>().map_err(|_| wrong())?), digits),
            None => (None, text.as_str()),
        };
        let digits = digits.replace('_', "");
        let value = match digits.get(..2) {
            Some("0x" | "0X") => u64::from_str_radix(&digits[2..], 16),
            Some("0b" | "0B") => u64::from_str_radix(&digits[2..], 2),
            _ => digits.parse(),
        };
        Ok(Kind::Number(width, value.map_err(|_| wrong())?))
    }

    fn token(&mut self) -> Result<Token, CompileError> {
        self.skip()?;
        let at = self.at;
        let Some(first) = self.peek() else { return Ok(Token { kind: Kind::End, at }) };
        if first.is_ascii_digit() {
            return Ok(Token { kind: self.number(at)?, at });
        }
        if first.is_ascii_alphabetic() || matches!(first, '_' | '@') {
            let mut name = String::from(first);
            self.next();
            name.push_str(&self.take_while(|c| c.is_ascii_alphanumeric() || c == '_'));
            return Ok(Token { kind: Kind::Name(name), at });
        }
        if first == '"' {
            self.next();
            let text = self.take_while(|c| c != '"' && c != '\n');
            if self.next() != Some('"') {
                return error(at, "this string is not closed: write \" at its end");
            }
            return Ok(Token { kind: Kind::Text(text), at });
        }
        for sign in SIGNS {
            if self.rest.starts_with(sign) {
                for _ in sign.chars() {
                    self.next();
                }
                return Ok(Token { kind: Kind::Sign(sign), at });
            }
        }
        error(at, format!("the character {first:?} is not within the subset"))
    }
}

/// Splits a source into tokens; the last one is the end.
pub fn tokens(source: &str) -> Result<Vec<Token>, CompileError> {
    if source.len() > LONGEST {
        return error(
            Position { line: 1, column: 1 },
            format!("the program exceeds {LONGEST} bytes"),
        );
    }
    let mut lexer = Lexer { rest: source, at: Position { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.token()?;
        let end = token.kind == Kind::End;
        tokens.push(token);
        if end {
            return Ok(tokens);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_columns() {
        let tokens = tokens("/* a\n b */ x\n  = 16w0x800;").unwrap();
        let positions: Vec<_> = tokens.iter().map(|t| (t.at.line, t.at.column)).collect();
        assert_eq!(positions, [(2, 7), (3, 3), (3, 5), (3, 13), (3, 14)]);
        assert_eq!(tokens[2].kind, Kind::Number(Some(16), 0x800));
    }
}
