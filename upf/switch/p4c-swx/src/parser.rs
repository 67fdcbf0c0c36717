//! A recursive-descent parser.
use crate::ast::*;
use crate::error::{CompileError, Position, error};
use crate::lexer::{Kind, Token, tokens};
use std::collections::BTreeMap;

pub(crate) type Result<T> = std::result::Result<T, CompileError>;

/// Reserved words of P4_16.
const KEYWORDS: [&str; 41] = [
    "action",
    "abstract",
    "apply",
    "bit",
    "bool",
    "const",
    "control",
    "default",
    "else",
    "enum",
    "error",
    "exit",
    "extern",
    "false",
    "for",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "list",
    "match_kind",
    "out",
    "package",
    "parser",
    "return",
    "select",
    "state",
    "string",
    "struct",
    "switch",
    "table",
    "this",
    "transition",
    "true",
    "tuple",
    "type",
    "typedef",
    "value_set",
    "varbit",
];

/// Maximum nesting of expressions and blocks, since the stack is finite.
pub(crate) const DEEPEST: u32 = 64;

pub(crate) struct Parser_ {
    tokens: Vec<Token>,
    next: usize,
    depth: u32,
}

/// Reads a source as declarations.
pub fn parse(source: &str) -> Result<Vec<Declaration>> {
    let mut parser = Parser_ { tokens: tokens(source)?, next: 0, depth: 0 };
    let mut declarations = Vec::new();
    while parser.peek().kind != Kind::End {
        declarations.push(parser.declaration()?);
    }
    Ok(declarations)
}

impl Parser_ {
    pub(crate) fn peek(&self) -> &Token {
        &self.tokens[self.next]
    }

    pub(crate) fn at(&self) -> Position {
        self.peek().at
    }

    pub(crate) fn advance(&mut self) -> Token {
        let token = self.tokens[self.next].clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    pub(crate) fn is_sign(&self, sign: &str) -> bool {
        matches!(&self.peek().kind, Kind::Sign(found) if *found == sign)
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(&self.peek().kind, Kind::Name(found) if found == word)
    }

    pub(crate) fn take(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign) || self.is_word(sign);
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn found(&self) -> String {
        match &self.peek().kind {
            Kind::Name(name) => format!("{name:?}"),
            Kind::Number(_, value) => format!("the number {value}"),
            Kind::Text(text) => format!("the text {text:?}"),
            Kind::Sign(sign) => format!("{sign:?}"),
            Kind::End => "the end of the program".into(),
        }
    }

    pub(crate) fn expected<T>(&self, what: &str) -> Result<T> {
        error(self.at(), format!("{what} is expected here, not {}", self.found()))
    }

    pub(crate) fn expect(&mut self, sign: &str) -> Result<Position> {
        let at = self.at();
        if self.take(sign) { Ok(at) } else { self.expected(&format!("{sign:?}")) }
    }

    pub(crate) fn word(&mut self) -> Result<Name> {
        let Token { kind, at } = self.peek().clone();
        match kind {
            Kind::Name(text) if !text.starts_with('@') => {
                self.advance();
                Ok(Name { text, at })
            }
            _ => self.expected("a name"),
        }
    }

    pub(crate) fn name(&mut self) -> Result<Name> {
        let at = self.at();
        let name = self.word()?;
        if KEYWORDS.contains(&name.text.as_str()) {
            return error(at, format!("{:?} is a keyword of P4", name.text));
        }
        Ok(name)
    }

    pub(crate) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return error(self.at(), format!("this is nested deeper than {DEEPEST} levels"));
        }
        self.depth += 1;
        let outcome = inner(self);
        self.depth -= 1;
        outcome
    }

    fn annotations(&mut self) -> Result<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while let Kind::Name(text) = self.peek().kind.clone()
            && let Some(name) = text.strip_prefix('@')
        {
            let at = self.advance().at;
            let mut value = None;
            if self.take("(") {
                match self.advance().kind {
                    Kind::Text(text) => value = Some(text),
                    _ => return error(at, format!("@{name} needs a string in quotation marks")),
                }
                self.expect(")")?;
            }
            annotations.push(Annotation { name: Name { text: name.into(), at }, value });
        }
        Ok(annotations)
    }

    pub(crate) fn a_type(&mut self) -> Result<Type> {
        let at = self.at();
        if self.take("bit") {
            self.expect("<")?;
            let Kind::Number(None, width) = self.advance().kind else {
                return error(at, "write a width: bit<16>");
            };
            self.expect(">")?;
            return Ok(Type::Bit(u32::try_from(width).unwrap_or(u32::MAX), at));
        }
        for word in ["bool", "int", "varbit", "tuple", "error", "string", "list"] {
            if self.is_word(word) {
                return error(
                    at,
                    format!(
                        "the type {word} is not within the subset: use bit<8>, bit<16> and so on"
                    ),
                );
            }
        }
        Ok(Type::Named(self.name()?))
    }

    fn declaration(&mut self) -> Result<Declaration> {
        let annotations = self.annotations()?;
        let at = self.at();
        if self.take("typedef") || self.take("type") {
            let of = self.a_type()?;
            let name = self.name()?;
            self.expect(";")?;
            return Ok(Declaration::Typedef(of, name));
        }
        if self.take("const") {
            let of = self.a_type()?;
            let name = self.name()?;
            self.expect("=")?;
            let value = self.expression()?;
            self.expect(";")?;
            return Ok(Declaration::Constant(of, name, value));
        }
        if self.take("header") {
            return Ok(Declaration::Header(self.name()?, self.fields()?, annotations));
        }
        if self.take("struct") {
            return Ok(Declaration::Struct(self.name()?, self.fields()?));
        }
        if self.take("parser") {
            return self.parser().map(Declaration::Parser);
        }
        if self.take("control") {
            return self.control().map(Declaration::Control);
        }
        for word in [
            "extern",
            "enum",
            "header_union",
            "package",
            "action",
            "table",
            "match_kind",
            "error",
            "value_set",
        ] {
            if self.is_word(word) {
                return error(at, format!("{word} is not within the subset here"));
            }
        }
        let package = self.name()?;
        self.expect("(")?;
        let arguments = self.package_arguments()?;
        let name = self.name()?;
        self.expect(";")?;
        Ok(Declaration::Package(package, arguments, name))
    }

    /// Arguments behind an opened bracket, and the closing one.
    fn package_arguments(&mut self) -> Result<Vec<PackageArgument>> {
        let mut arguments = Vec::new();
        while !self.is_sign(")") {
            let name = self.name()?;
            let inner =
                if self.take("(") { Some(self.deeper(Self::package_arguments)?) } else { None };
            arguments.push(PackageArgument { name, arguments: inner });
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(arguments)
    }

    fn fields(&mut self) -> Result<Vec<Field>> {
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.take("}") {
            self.annotations()?;
            let of = self.a_type()?;
            let name = self.word()?;
            self.expect(";")?;
            fields.push(Field { name, of });
        }
        Ok(fields)
    }

    fn parameters(&mut self) -> Result<Vec<Parameter>> {
        self.expect("(")?;
        let mut parameters = Vec::new();
        while !self.is_sign(")") {
            let annotations = self.annotations()?;
            let directed = ["in", "out", "inout"].iter().any(|word| self.is_word(word));
            let direction = if directed { Some(self.word()?) } else { None };
            let of = self.a_type()?;
            parameters.push(Parameter { annotations, direction, of, name: self.name()? });
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(parameters)
    }

    fn parser(&mut self) -> Result<Parser> {
        let name = self.name()?;
        let parameters = self.parameters()?;
        self.expect("{")?;
        let (mut instances, mut states) = (Vec::new(), Vec::new());
        while !self.take("}") {
            self.annotations()?;
            if states.is_empty()
                && matches!(self.peek().kind, Kind::Name(_))
                && !self.is_word("state")
            {
                instances.push(self.instance()?);
                continue;
            }
            if !self.take("state") {
                return self.expected("a state");
            }
            let name = self.name()?;
            self.expect("{")?;
            let mut body = Vec::new();
            while !self.is_word("transition") {
                if self.is_sign("}") {
                    return error(
                        name.at,
                        format!(
                            "the state {} has no transition: write transition accept;",
                            name.text
                        ),
                    );
                }
                body.push(self.statement()?);
            }
            self.advance();
            let transition = self.transition()?;
            self.expect("}")?;
            states.push(State { name, body, transition });
        }
        Ok(Parser { name, parameters, instances, states })
    }

    fn transition(&mut self) -> Result<Transition> {
        if !self.take("select") {
            let to = self.name()?;
            self.expect(";")?;
            return Ok(Transition::To(to));
        }
        self.expect("(")?;
        let mut of = vec![self.expression()?];
        while self.take(",") {
            of.push(self.expression()?);
        }
        self.expect(")")?;
        self.expect("{")?;
        let mut cases = Vec::new();
        while !self.is_sign("}") {
            let at = self.at();
            let mut matches = Vec::new();
            if self.take("(") {
                matches.push(self.a_match()?);
                while self.take(",") {
                    matches.push(self.a_match()?);
                }
                self.expect(")")?;
            } else {
                matches.push(self.a_match()?);
            }
            self.expect(":")?;
            let to = self.name()?;
            self.expect(";")?;
            cases.push((matches, to, at));
        }
        self.expect("}")?;
        Ok(Transition::Select(of, cases))
    }

    fn a_match(&mut self) -> Result<Match> {
        if self.take("default") || self.take("_") {
            return Ok(Match::Default);
        }
        let value = self.sum()?;
        if self.is_sign("..") {
            return error(
                self.at(),
                "ranges in select are not within the subset: write values, or a mask with &&&",
            );
        }
        if self.take("&&&") {
            return Ok(Match::Masked(value, self.sum()?));
        }
        Ok(Match::Value(value))
    }

    fn control(&mut self) -> Result<Control> {
        let name = self.name()?;
        let parameters = self.parameters()?;
        self.expect("{")?;
        let mut control = Control {
            name,
            parameters,
            instances: vec![],
            variables: vec![],
            blocks: BTreeMap::new(),
            actions: vec![],
            tables: vec![],
            apply: vec![],
        };
        loop {
            self.annotations()?;
            if self.take("apply") {
                control.apply = self.block()?;
                self.expect("}")?;
                return Ok(control);
            } else if self.take("action") {
                let name = self.name()?;
                let parameters = self.parameters()?;
                control.actions.push(Action { name, parameters, body: self.block()? });
            } else if self.take("table") {
                control.tables.push(self.table()?);
            } else if self.is_word("bit") || self.is_variable() {
                control.variables.push(self.variable()?);
            } else {
                control.instances.push(self.instance()?);
            }
        }
    }

    /// Whether a type and a name follow each other here.
    fn is_variable(&self) -> bool {
        let next = &self.tokens[(self.next + 1).min(self.tokens.len() - 1)];
        matches!((&self.peek().kind, &next.kind), (Kind::Name(_), Kind::Name(_)))
    }

    /// A variable. Its first value is that of P4's type: a program sets what it reads.
    fn variable(&mut self) -> Result<Variable> {
        let of = self.a_type()?;
        let name = self.name()?;
        if self.take("=") {
            self.expression()?;
        }
        self.expect(";")?;
        Ok(Variable { of, name })
    }

    fn instance(&mut self) -> Result<Instance> {
        let of = self.name()?;
        if self.take("<") {
            loop {
                self.a_type()?;
                if !self.take(",") {
                    break;
                }
            }
            self.expect(">")?;
        }
        let arguments = self.arguments()?;
        let name = self.name()?;
        self.expect(";")?;
        Ok(Instance { of, arguments, name })
    }

    fn table(&mut self) -> Result<Table> {
        let name = self.name()?;
        let mut table = Table { name, keys: vec![], actions: vec![], default: None, size: None };
        self.expect("{")?;
        while !self.take("}") {
            let constant = self.take("const");
            let at = self.at();
            let property = self.word()?;
            self.expect("=")?;
            match property.text.as_str() {
                "key" => {
                    self.expect("{")?;
                    while !self.take("}") {
                        let field = self.path()?;
                        self.expect(":")?;
                        let kind = self.word()?;
                        let annotations = self.annotations()?;
                        self.expect(";")?;
                        table.keys.push(Key { field, kind, annotations });
                    }
                }
                "actions" => {
                    self.expect("{")?;
                    while !self.take("}") {
                        let annotations = self.annotations()?;
                        let name = self.name()?;
                        self.expect(";")?;
                        table.actions.push(ActionReference { name, annotations });
                    }
                }
                "default_action" => {
                    let action = self.name()?;
                    if self.take("(") && !self.take(")") {
                        return error(
                            self.at(),
                            "a default action with arguments is not within the subset",
                        );
                    }
                    self.expect(";")?;
                    table.default = Some((action, constant));
                }
                "size" => {
                    table.size = Some((self.expression()?, at));
                    self.expect(";")?;
                }
                other => {
                    return error(
                        at,
                        format!(
                            "the table property {other:?} is not within the subset: key, actions, \
                             default_action and size are"
                        ),
                    );
                }
            }
        }
        Ok(table)
    }
}
