"""Containers of information elements (NRPPa, as in NGAP), as structs with a member for each."""

from per_asn1 import CRITICALITY, camel, snake, size, is_extension_field, entries, reference

ELEMENTS = """
/// The identity and the criticality of an information element.
fn element(e: &mut Encoder, id: u32, criticality: u8) -> Result<(), EncodeError> {
    e.constrained(id.into(), 0, 65535)?;
    e.index(criticality.into(), 3, false)
}

fn read_element(d: &mut Decoder) -> Result<(u32, u8), DecodeError> {
    Ok((d.constrained(0, 65535)? as u32, d.index(3, false)? as u8))
}

/// An information element that is not known: passed over unless its criticality is "reject".
fn not_known(d: &mut Decoder, id: u32, criticality: u8) -> Result<(), DecodeError> {
    if criticality == 0 { Err(DecodeError::NotUnderstood(id)) } else { d.skip_open() }
}

/// Extensions of a type that has none here.
fn skip_extensions(d: &mut Decoder) -> Result<(), DecodeError> {
    for _ in 0..d.count(Some(Size::range(1, 65535)))? {
        let (id, criticality) = read_element(d)?;
        not_known(d, id, criticality)?;
    }
    Ok(())
}
"""


class Elements:
    """The part of the generator for containers; the types of their contents are in the other."""

    def container(self, obj, hint):
        name, new = self.named(obj, hint)
        if new:
            self.elements(name, obj, None, f"The information elements of `{hint}`.")
        return name

    def elements(self, name, obj, message, title):
        """A struct with a member for each information element of a container."""
        extension = is_extension_field(obj._cont)
        rows = [(row, row["Extension" if extension else "Value"]) for row in entries(obj._cont)]
        hint = name
        body, total, count, writes, reads, made, lets = [], 0, [], [], [], [], []
        used = set()
        for row, inner in rows:
            called = reference(inner)
            field = snake(
                self.element_name(row["id"]) or (called[1] if called else f"element-{row['id']}")
            )
            while field in used:
                field += "_"
            used.add(field)
            inner_hint = f"{hint}-{field}"
            mandatory = row.get("presence") == "mandatory" and not extension
            rust = self.rust(inner, inner_hint) if mandatory else self.boxed(inner, inner_hint)
            box = rust.startswith("Box<")
            encode = self.encode(
                inner, f"self.{field}" if mandatory else ("(**v)" if box else "(*v)"), inner_hint
            )
            write = (
                f"element(e, {row['id']}, {CRITICALITY[row['criticality']]})?;"
                f" e.open(|{'e' if encode else '_'}| {{ {encode} Ok(()) }})?;"
            )
            decode = self.decode_boxed(inner, inner_hint) if box else self.decode(inner, inner_hint)
            use = "d" if "d." in decode or "(d)" in decode else "_"
            reads.append(f"{row['id']} => {field} = Some(d.open(|{use}| Ok({decode}))?),")
            lets.append(f"let mut {field} = None;")
            doc = self.doc(
                inner,
                called[1] if called else field,
                f"; information element {row['id']}, {row['criticality']}",
            )
            if mandatory:
                count.append("1")
                writes.append(write)
                made.append(f"{field}: {field}.ok_or(DecodeError::Missing({row['id']}))?")
                body.append(f"{doc}\npub {field}: {rust},")
                total += self.octets(inner, inner_hint)
            else:
                count.append(f"usize::from(self.{field}.is_some())")
                bind = "v" if "v)" in encode else "_"
                writes.append(f"if let Some({bind}) = &self.{field} {{ {write} }}")
                made.append(field)
                body.append(f"{doc}\npub {field}: Option<{rust}>,")
                total += 8 + (8 if box else self.octets(inner, inner_hint))
        self.sizes[name] = total
        marker = message is not None and message._ext is not None
        before = "e.bit(false);" if marker else ""
        start = "let extended = d.bit()?;" if marker else ""
        end = (
            "if extended { let additions = d.additions()?; d.skip_additions(&additions, 0)?; }"
            if marker
            else ""
        )
        self.code.append(
            f"/// {title}\n#[derive(Debug, Clone, PartialEq, Default)]\npub struct {name} "
            f"{{ {' '.join(body)} }}\n"
            f"impl {name} {{\n"
            f"pub(crate) fn count(&self) -> usize {{ {' + '.join(count) or '0'} }}\n"
            f"pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {{"
            f" {before} e.count(self.count(), {size(obj)})?; {' '.join(writes)} Ok(()) }}\n"
            f"pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {{"
            f" {start} let count = d.count({size(obj)})?; {' '.join(lets)}"
            " for _ in 0..count "
            f"{{ let (id, criticality) = read_element(d)?; match id {{ {' '.join(reads)}"
            f" _ => not_known(d, id, criticality)?, }} }} {end}"
            f" Ok({name} {{ {', '.join(made)} }}) }}\n}}\n"
        )

    def element_name(self, identity):
        """The names of information elements of one type that a message has several of."""
        return None

    def element(self, obj, hint):
        """One information element of several: an enum."""
        name, new = self.named(obj, hint)
        if not new:
            return name
        self.sizes[name] = 64
        body, write, read = [], [], []
        largest = 32
        for row in entries(obj):
            inner = row["Value"]
            called = reference(inner)
            variant = camel(called[1] if called else f"element-{row['id']}")
            inner_hint = f"{hint}-{variant}"
            rust = self.boxed(inner, inner_hint)
            box = rust.startswith("Box<")
            largest = max(largest, 8 if box else self.octets(inner, inner_hint))
            encode = self.encode(inner, "(**v)" if box else "(*v)", inner_hint)
            body.append(f"{self.doc(inner, called[1] if called else variant)}\n{variant}({rust}),")
            write.append(
                f"{name}::{variant}(v) => "
                f"{{ element(e, {row['id']}, {CRITICALITY[row['criticality']]})?;"
                f" e.open(|e| {{ {encode or 'let _ = (v, e);'} Ok(()) }})?; }}"
            )
            decode = self.decode_boxed(inner, inner_hint)
            use = "d" if "d." in decode or "(d)" in decode else "_"
            read.append(f"{row['id']} => {name}::{variant}(d.open(|{use}| Ok({decode}))?),")
        self.sizes[name] = largest + 8
        body.append(
            "/// One that is not known here: its identity, its criticality, and its "
            "octets.\nOther(u32, u8, Vec<u8>),"
        )
        write.append(
            f"{name}::Other(id, criticality, octets) => "
            f"{{ element(e, *id, *criticality)?; e.open_octets(octets); }}"
        )
        read.append(
            "_ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),"
            f" _ => {name}::Other(id, criticality, d.open_octets()?),"
        )
        self.code.append(
            f"/// One information element: `{hint}`.\n#[derive(Debug, Clone, PartialEq)]\npub "
            f"enum {name} {{ {' '.join(body)} }}\n"
            f"impl Default for {name} "
            f"{{ fn default() -> Self {{ {name}::Other(0, 0, Vec::new()) }} }}\n"
            f"impl {name} {{\n"
            "pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> "
            f"{{ match self {{ {' '.join(write)} }} Ok(()) }}\n"
            f"pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {{"
            f" let (id, criticality) = read_element(d)?; Ok(match id {{ {' '.join(read)} }}) "
            f"}}\n}}\n"
        )
        return name

    # Messages of an application protocol ----------------------------------------------------------

    def pdu(self, pdu):
        """The enum of all messages, with what stands before each."""
        table = pdu._cont["initiatingMessage"]._cont["value"]._const_tab
        body, numbers, write, read, names = [], [], [], [], []
        for direction, key in enumerate(
            ("InitiatingMessage", "SuccessfulOutcome", "UnsuccessfulOutcome")
        ):
            for row in table._val.root:
                if key not in row or reference(row[key])[1] == "PrivateMessage":
                    continue
                inner = row[key]
                rust = self.rust(inner, key)
                names.append(rust)
                code, criticality = row["procedureCode"], CRITICALITY[row["criticality"]]
                body.append(f"/// `{reference(inner)[1]}`: procedure {code}.\n{rust}(Box<{rust}>),")
                numbers.append(f"Message::{rust}(_) => ({direction}, {code}, {criticality}),")
                write.append(f"Message::{rust}(v) => v.encode(e),")
                read.append(
                    f"({direction}, {code}) => Message::{rust}(Box::new({rust}::decode(d)?)),"
                )
        self.code.append(
            "/// A message, by its procedure.\n#[derive(Debug, Clone, PartialEq)]\n"
            f"pub enum Message {{ {' '.join(body)} }}\n"
            "impl Message {\n"
            "/// Direction (0: initiating, 1: successful, 2: unsuccessful), procedure code, "
            "criticality.\n"
            "pub(crate) fn numbers(&self) -> (u64, u8, u64) "
            f"{{ match self {{ {' '.join(numbers)} }} }}\n"
            "pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> "
            f"{{ match self {{ {' '.join(write)} }} }}\n"
            "pub(crate) fn decode(d: &mut Decoder, direction: u64, procedure: u8) -> "
            "Result<Self, DecodeError> {"
            " Ok(match (direction, procedure) "
            f"{{ {' '.join(read)} _ => return Err(DecodeError::Index(procedure.into())), }}) "
            f"}}\n}}\n"
        )
        for name in names:
            self.code.append(
                f"impl From<{name}> for Message "
                f"{{ fn from(it: {name}) -> Self {{ Message::{name}(Box::new(it)) }} }}\n"
            )
