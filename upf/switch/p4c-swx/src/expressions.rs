//! Statements and expressions, from tokens.
use crate::ast::*;
use crate::error::error;
use crate::lexer::Kind;
use crate::parser::{DEEPEST, Parser_, Result};

impl Parser_ {
    pub(crate) fn block(&mut self) -> Result<Vec<Statement>> {
        self.expect("{")?;
        let mut statements = Vec::new();
        while !self.take("}") {
            if self.is_sign("{") {
                statements.extend(self.deeper(Self::block)?);
            } else {
                statements.push(self.statement()?);
            }
        }
        Ok(statements)
    }

    pub(crate) fn branch(&mut self) -> Result<Vec<Statement>> {
        if self.is_sign("{") { self.block() } else { Ok(vec![self.statement()?]) }
    }

    pub(crate) fn statement(&mut self) -> Result<Statement> {
        self.deeper(|parser| {
            let at = parser.at();
            if parser.take("if") {
                parser.expect("(")?;
                let condition = parser.expression()?;
                parser.expect(")")?;
                let then = parser.branch()?;
                let otherwise = if parser.take("else") { parser.branch()? } else { vec![] };
                return Ok(Statement::If(condition, then, otherwise));
            }
            if parser.take("return") {
                parser.expect(";")?;
                return Ok(Statement::Return(at));
            }
            for word in ["switch", "exit", "for", "bit", "const"] {
                if parser.is_word(word) {
                    return error(at, format!("{word} is not within the subset here"));
                }
            }
            let path = parser.path()?;
            if parser.take("=") {
                let value = parser.expression()?;
                parser.expect(";")?;
                return Ok(Statement::Assign(path, value));
            }
            if !parser.is_sign("(") {
                return parser.expected("\"=\" or a call");
            }
            let arguments = parser.arguments()?;
            parser.expect(";")?;
            Ok(Statement::Call(Expression::Call(path, arguments, vec![])))
        })
    }

    pub(crate) fn arguments(&mut self) -> Result<Vec<Expression>> {
        self.expect("(")?;
        let mut arguments = Vec::new();
        while !self.is_sign(")") {
            arguments.push(self.expression()?);
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(arguments)
    }

    pub(crate) fn path(&mut self) -> Result<Vec<Name>> {
        let mut path = vec![self.name()?];
        while self.take(".") {
            path.push(self.word()?);
        }
        if self.is_sign("[") {
            return error(self.at(), "slices and header stacks are not within the subset");
        }
        Ok(path)
    }

    pub(crate) fn expression(&mut self) -> Result<Expression> {
        self.binary(0)
    }

    pub(crate) fn sum(&mut self) -> Result<Expression> {
        self.binary(4)
    }

    /// Operators by precedence, the lowest first. P4's precedence: `||`, `&&`, equality, order,
    /// `|`, `^`, `&`, sums.
    pub(crate) fn binary(&mut self, level: usize) -> Result<Expression> {
        const LEVELS: [&[(&str, Binary)]; 8] = [
            &[("||", Binary::Either)],
            &[("&&", Binary::Both)],
            &[("==", Binary::Equal), ("!=", Binary::Unequal)],
            &[
                ("<=", Binary::AtMost),
                (">=", Binary::AtLeast),
                ("<", Binary::Less),
                (">", Binary::Greater),
            ],
            &[("|", Binary::Or)],
            &[("^", Binary::Xor)],
            &[("&", Binary::And)],
            &[("+", Binary::Add), ("-", Binary::Subtract)],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.deeper(Self::unary) };
        let mut left = self.binary(level + 1)?;
        let mut terms = 0;
        'more: loop {
            for (sign, operator) in *operators {
                let at = self.at();
                if self.take(sign) {
                    terms += 1;
                    if terms > DEEPEST {
                        return error(at, format!("this expression has more than {DEEPEST} terms"));
                    }
                    let right = self.binary(level + 1)?;
                    left = Expression::Binary(*operator, left.into(), right.into(), at);
                    continue 'more;
                }
            }
            return Ok(left);
        }
    }

    pub(crate) fn unary(&mut self) -> Result<Expression> {
        let at = self.at();
        if self.take("!") {
            return Ok(Expression::Not(self.deeper(Self::unary)?.into(), at));
        }
        if self.take("(") {
            if self.is_word("bit") {
                self.a_type()?;
                self.expect(")")?;
                return Ok(Expression::Cast(self.deeper(Self::unary)?.into(), at));
            }
            let inner = self.deeper(Self::expression)?;
            self.expect(")")?;
            // A name in brackets before an operand is a type.
            if matches!(&inner, Expression::Path(path) if path.len() == 1)
                && (matches!(self.peek().kind, Kind::Name(_) | Kind::Number(..))
                    || self.is_sign("("))
            {
                return Ok(Expression::Cast(self.deeper(Self::unary)?.into(), at));
            }
            return Ok(inner);
        }
        if self.take("{") {
            let mut items = Vec::new();
            while !self.is_sign("}") {
                items.push(self.deeper(Self::expression)?);
                if !self.take(",") {
                    break;
                }
            }
            self.expect("}")?;
            return Ok(Expression::Tuple(items, at));
        }
        for (word, value) in [("true", true), ("false", false)] {
            if self.take(word) {
                return Ok(Expression::Boolean(value, at));
            }
        }
        if let Kind::Number(width, value) = self.peek().kind {
            self.advance();
            return Ok(Expression::Number(width, value, at));
        }
        for sign in ["~", "-", "<<", "*", "++"] {
            if self.is_sign(sign) {
                return error(at, format!("the operator {sign} is not within the subset"));
            }
        }
        let path = self.path()?;
        if let [packet, method] = &path[..]
            && method.text == "lookahead"
        {
            return self.lookahead(packet.clone());
        }
        if !self.is_sign("(") {
            return Ok(Expression::Path(path));
        }
        let arguments = self.arguments()?;
        let mut behind = Vec::new();
        while self.take(".") {
            behind.push(self.word()?);
        }
        Ok(Expression::Call(path, arguments, behind))
    }

    /// The type argument and call of `packet.lookahead<bit<8>>()`.
    fn lookahead(&mut self, packet: Name) -> Result<Expression> {
        self.expect("<")?;
        let at = self.at();
        let Type::Bit(bits, _) = self.a_type()? else {
            return error(
                at,
                "lookahead of a header is not within the subset: lookahead<bit<8>>() gives a \
                 number",
            );
        };
        self.expect(">")?;
        self.expect("(")?;
        self.expect(")")?;
        Ok(Expression::Lookahead(packet, bits, at))
    }
}
