//! The syntax tree of a program.
use crate::error::Position;
use std::collections::BTreeMap;

/// A name and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub at: Position,
}

/// A type as written.
#[derive(Debug, Clone)]
pub enum Type {
    Bit(u32, Position),
    Named(Name),
}

/// `@name("value")`.
#[derive(Debug, Clone)]
pub struct Annotation {
    pub name: Name,
    pub value: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Field {
    pub name: Name,
    pub of: Type,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Add,
    Subtract,
    And,
    Or,
    Xor,
    Equal,
    Unequal,
    Less,
    Greater,
    AtMost,
    AtLeast,
    Both,
    Either,
}

#[derive(Debug, Clone)]
pub enum Expression {
    Number(Option<u32>, u64, Position),
    Boolean(bool, Position),
    /// `hdr.ipv4.ttl`
    Path(Vec<Name>),
    /// `hdr.ipv4.isValid()`, `table.apply()`; what follows the call is in the path after it.
    Call(Vec<Name>, Vec<Expression>, Vec<Name>),
    /// `packet.lookahead<bit<8>>()`: the packet and the width in bits.
    Lookahead(Name, u32, Position),
    /// `(bit<32>) meta.bytes`
    Cast(Box<Expression>, Position),
    /// `{ hdr.ipv4.ttl, hdr.ipv4.protocol }`
    Tuple(Vec<Expression>, Position),
    Not(Box<Expression>, Position),
    Binary(Binary, Box<Expression>, Box<Expression>, Position),
}

impl Expression {
    pub fn at(&self) -> Position {
        match self {
            Expression::Number(_, _, at)
            | Expression::Boolean(_, at)
            | Expression::Lookahead(_, _, at)
            | Expression::Cast(_, at)
            | Expression::Tuple(_, at)
            | Expression::Not(_, at)
            | Expression::Binary(_, _, _, at) => *at,
            Expression::Path(path) | Expression::Call(path, _, _) => path[0].at,
        }
    }
}

#[derive(Debug, Clone)]
pub enum Statement {
    Assign(Vec<Name>, Expression),
    Call(Expression),
    If(Expression, Vec<Statement>, Vec<Statement>),
    Return(Position),
}

#[derive(Debug, Clone)]
pub struct Parameter {
    /// `@name("counter")`: what controllers call it.
    pub annotations: Vec<Annotation>,
    pub direction: Option<Name>,
    pub of: Type,
    pub name: Name,
}

#[derive(Debug, Clone)]
pub enum Match {
    Default,
    Value(Expression),
    Masked(Expression, Expression),
}

#[derive(Debug, Clone)]
pub enum Transition {
    To(Name),
    Select(Vec<Expression>, Vec<(Vec<Match>, Name, Position)>),
}

#[derive(Debug, Clone)]
pub struct State {
    pub name: Name,
    pub body: Vec<Statement>,
    pub transition: Transition,
}

#[derive(Debug, Clone)]
pub struct Parser {
    pub name: Name,
    pub parameters: Vec<Parameter>,
    pub instances: Vec<Instance>,
    pub states: Vec<State>,
}

#[derive(Debug, Clone)]
pub struct Action {
    pub name: Name,
    pub parameters: Vec<Parameter>,
    pub body: Vec<Statement>,
}

#[derive(Debug, Clone)]
pub struct Key {
    pub field: Vec<Name>,
    pub kind: Name,
    pub annotations: Vec<Annotation>,
}

#[derive(Debug, Clone)]
pub struct ActionReference {
    pub name: Name,
    pub annotations: Vec<Annotation>,
}

#[derive(Debug, Clone)]
pub struct Table {
    pub name: Name,
    pub keys: Vec<Key>,
    pub actions: Vec<ActionReference>,
    pub default: Option<(Name, bool)>,
    pub size: Option<(Expression, Position)>,
}

/// `Counter<bit<64>, bit<32>>(1024, CounterType.PACKETS) name;`
#[derive(Debug, Clone)]
pub struct Instance {
    pub of: Name,
    pub arguments: Vec<Expression>,
    pub name: Name,
}

/// `PNA_MeterColor_t colour;`
#[derive(Debug, Clone)]
pub struct Variable {
    pub of: Type,
    pub name: Name,
}

#[derive(Debug, Clone)]
pub struct Control {
    pub name: Name,
    pub parameters: Vec<Parameter>,
    pub instances: Vec<Instance>,
    pub variables: Vec<Variable>,
    /// Where the block of a table, counter or meter is, such as `Main.upf`, if it is not this one.
    pub blocks: BTreeMap<String, String>,
    pub actions: Vec<Action>,
    pub tables: Vec<Table>,
    pub apply: Vec<Statement>,
}

impl Control {
    /// The name for controllers of something that is declared here.
    pub fn full_name(&self, of: &str) -> String {
        format!("{}.{of}", self.blocks.get(of).unwrap_or(&self.name.text))
    }
}

/// An argument of a package: a new block with its arguments, or the name of another package.
#[derive(Debug, Clone)]
pub struct PackageArgument {
    pub name: Name,
    pub arguments: Option<Vec<PackageArgument>>,
}

#[derive(Debug, Clone)]
pub enum Declaration {
    Typedef(Type, Name),
    Constant(Type, Name, Expression),
    Header(Name, Vec<Field>, Vec<Annotation>),
    Struct(Name, Vec<Field>),
    Parser(Parser),
    Control(Control),
    /// `Switch(P(), C(), D()) main;`: the package, its arguments, its name.
    Package(Name, Vec<PackageArgument>, Name),
}
