#!/usr/bin/env python3
"""Write the Rust of LPP (TS 37.355) or NRPPa (TS 38.455) from pycrate's object tree of its ASN.1.

    python3 wire/oracles/per_generate.py lpp   > wire/lpp/src/generated.rs      (pycrate 0.8.1, rustfmt)
    python3 wire/oracles/per_generate.py nrppa > wire/nrppa/src/generated.rs

What it writes is committed: a build needs no Python. A SEQUENCE becomes a struct, a CHOICE and an ENUMERATED an enum, a
container of information elements a struct with a member for each; every member says what it is in ASN.1. The code stands
on `wire/per`, is not generic, and keeps all extension additions that the ASN.1 knows.
"""

import pathlib
import re
import subprocess
import sys

BASIC = {"INTEGER", "BOOLEAN", "NULL", "BIT STRING", "OCTET STRING", "VisibleString", "UTCTime"}
KEYWORDS = {
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
}
CRITICALITY = {"reject": 0, "ignore": 1, "notify": 2}
# An optional member, or an alternative, of more octets than this is boxed.
LARGE = 128


def camel(name: str) -> str:
    parts = [part for part in re.split(r"[^A-Za-z0-9]+", name) if part]
    out = []
    for part in parts:
        words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|[0-9]+", part)
        out += [word[0].upper() + word[1:].lower() for word in words]
    text = ""
    for word in out:
        # Two numbers side by side would become another one.
        text += ("_" if text and text[-1].isdigit() and word[0].isdigit() else "") + word
    return text if not text[0].isdigit() else "N" + text


def snake(name: str) -> str:
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    text = re.sub(r"[^A-Za-z0-9]+", "_", text).lower().strip("_")
    text = re.sub(r"_+", "_", text)
    if text[0].isdigit():
        text = "n" + text
    return text + "_" if text in KEYWORDS else text


def bounds(constraint):
    """The least and the greatest value of a constraint, and whether it has an extension marker."""
    if constraint is None:
        return None, None, False
    return constraint.lb, constraint.ub, constraint._ev is not None or constraint.ext is not None


def size(obj):
    """The Rust of the size of a string or a list."""
    constraint = getattr(obj, "_const_sz", None)
    if constraint is None:
        return "None"
    least, most, extensible = bounds(constraint)
    if most is None:
        return f"Some(Size {{ least: {least or 0}, most: None, extensible: {str(extensible).lower()} }})"
    return f"Some(Size::{'extensible' if extensible else 'range'}({least or 0}, {most}))"


def width(least, most, extensible):
    if least is None or most is None or extensible:
        return "i64"
    for bits in (8, 16, 32, 64):
        if least >= 0 and most < 1 << bits:
            return f"u{bits}"
        if least < 0 and least >= -(1 << bits - 1) and most < 1 << bits - 1:
            return f"i{bits}"
    raise ValueError((least, most))


def members(obj):
    return set(obj._cont) if obj.TYPE == "SEQUENCE" else set()


def is_field(obj):
    """A single information element of a container."""
    return members(obj) == {"id", "criticality", "value"}


def is_extension_field(obj):
    return members(obj) == {"id", "criticality", "extensionValue"}


def entries(field):
    value = field._cont["value" if "value" in field._cont else "extensionValue"]
    table = value._const_tab
    return list(table._val.root) if table is not None and table._val is not None else []


def reference(obj):
    """The type that an object refers to by name; none where it has its type inline."""
    ref = getattr(obj, "_typeref", None)
    if ref is None or type(ref).__name__ != "ASN1RefType":
        return None
    return ref.called


class Generator:
    def __init__(self):
        self.done = {}  # What has a name of its own: (module, name) or id(object) to Rust name.
        self.names = set()
        self.keep = []  # Objects whose id() was taken stay alive.
        self.code = []
        self.sizes = {}

    # Names ---------------------------------------------------------------------------------------------------

    def named(self, obj, hint):
        """The Rust name of a constructed type, and whether it is new."""
        called = reference(obj)
        # An alias has the name of what it stands for.
        at = obj
        while called is not None and getattr(at, "_tr", None) is not None and reference(at._tr) is not None:
            at = at._tr
            called = reference(at)
        own = called is None or (obj.TYPE == "SEQUENCE OF") or is_field(obj)
        key = id(obj) if own else called
        if key in self.done:
            return self.done[key], False
        name = camel(hint if own else called[1])
        while name in self.names:
            name += "_2" if name[-1].isdigit() else "2"
        self.names.add(name)
        self.done[key] = name
        self.keep.append(obj)
        return name, True

    def flag(self, obj):
        """An enumeration of one value says nothing but that it is there."""
        return obj.TYPE == "ENUMERATED" and len(obj._root) == 1 and obj._ext is None

    # Types ---------------------------------------------------------------------------------------------------

    def rust(self, obj, hint):
        kind = obj.TYPE
        if kind == "INTEGER":
            return width(*bounds(obj._const_val))
        if kind == "BOOLEAN":
            return "bool"
        if kind == "NULL" or self.flag(obj):
            return "()"
        if kind == "BIT STRING":
            return "BitString"
        if kind == "OCTET STRING":
            return "Vec<u8>"
        if kind in ("VisibleString", "UTCTime"):
            return "String"
        if kind == "SEQUENCE OF":
            inner = obj._cont
            if is_field(inner) and obj._name in ("protocolIEs", "ProtocolIE-Container"):
                return self.container(obj, hint)
            if is_extension_field(inner):
                return self.container(obj, hint)
            return f"Vec<{self.rust(inner, self.item(hint))}>"
        if kind == "ENUMERATED":
            return self.enumeration(obj, hint)
        if kind == "CHOICE":
            return self.choice(obj, hint)
        if kind == "SEQUENCE":
            return self.element(obj, hint) if is_field(obj) else self.sequence(obj, hint)
        raise ValueError(f"{hint}: {kind}")

    @staticmethod
    def item(hint):
        return hint[:-4] + "Item" if hint.endswith("List") else hint + "Item"

    def octets(self, obj, hint):
        """About how many octets the Rust of it has."""
        rust = self.rust(obj, hint)
        fixed = {"bool": 1, "()": 0, "BitString": 32, "String": 24}
        if rust in fixed:
            return fixed[rust]
        if rust.startswith("Vec<"):
            return 24
        if rust[1:] in ("8", "16", "32", "64"):
            return int(rust[1:]) // 8
        return self.sizes.get(rust, 0)

    def boxed(self, obj, hint):
        rust = self.rust(obj, hint)
        return f"Box<{rust}>" if self.octets(obj, hint) > LARGE else rust

    # Expressions ---------------------------------------------------------------------------------------------

    def encode(self, obj, place, hint):
        """Statements that write what is at `place`."""
        kind = obj.TYPE
        if kind == "INTEGER":
            least, most, extensible = bounds(obj._const_val)
            if least is None:
                return f"e.unconstrained({place}.into())?;"
            if most is None:
                return f"e.semi_constrained({place}.into(), {least})?;"
            return f"e.{'extensible' if extensible else 'constrained'}({place}.into(), {least}, {most})?;"
        if kind == "BOOLEAN":
            return f"e.bit({place});"
        if kind == "NULL" or self.flag(obj):
            return ""
        if kind == "BIT STRING":
            return f"e.bit_string(&{place}, {size(obj)})?;"
        if kind == "OCTET STRING":
            return f"e.octet_string(&{place}, {size(obj)})?;"
        if kind in ("VisibleString", "UTCTime"):
            return f"e.visible_string(&{place}, {size(obj)})?;"
        if kind == "SEQUENCE OF" and self.rust(obj, hint).startswith("Vec<"):
            inner = self.encode(obj._cont, "(*v)", self.item(hint))
            loop = f" for v in &{place} {{ {inner} }}" if inner else ""
            return f"e.count({place}.len(), {size(obj)})?;{loop}"
        return f"{place}.encode(e)?;"

    def decode(self, obj, hint):
        """An expression that reads it."""
        kind = obj.TYPE
        if kind == "INTEGER":
            least, most, extensible = bounds(obj._const_val)
            rust = width(least, most, extensible)
            if least is None:
                return "i64::try_from(d.unconstrained()?).map_err(|_| DecodeError::Range)?"
            if most is None:
                return f"i64::try_from(d.semi_constrained({least})?).map_err(|_| DecodeError::Range)?"
            if extensible:
                return f"i64::try_from(d.extensible({least}, {most})?).map_err(|_| DecodeError::Range)?"
            return f"d.constrained({least}, {most})? as {rust}"
        if kind == "BOOLEAN":
            return "d.bit()?"
        if kind == "NULL" or self.flag(obj):
            return "()"
        if kind == "BIT STRING":
            return f"d.bit_string({size(obj)})?"
        if kind == "OCTET STRING":
            return f"d.octet_string({size(obj)})?"
        if kind in ("VisibleString", "UTCTime"):
            return f"d.visible_string({size(obj)})?"
        rust = self.rust(obj, hint)
        if rust.startswith("Vec<"):
            inner = self.decode(obj._cont, self.item(hint))
            return (
                f"{{ let count = d.count({size(obj)})?; let mut list = Vec::with_capacity(d.reserve(count));"
                f" for _ in 0..count {{ list.push({inner}); }} list }}"
            )
        return f"{rust}::decode(d)?"

    def decode_boxed(self, obj, hint):
        text = self.decode(obj, hint)
        return f"Box::new({text})" if self.boxed(obj, hint).startswith("Box<") else text

    # Documentation -------------------------------------------------------------------------------------------

    def doc(self, obj, name, more=""):
        text = f"`{name}`"
        called = reference(obj)
        kind = obj.TYPE
        if called is not None and kind in BASIC:
            text += f", `{called[1]}`"
        if kind == "INTEGER":
            least, most, extensible = bounds(obj._const_val)
            text += f": INTEGER ({least}..{most}{', …' if extensible else ''})"
        elif kind in ("BIT STRING", "OCTET STRING", "VisibleString", "SEQUENCE OF"):
            constraint = getattr(obj, "_const_sz", None)
            text += f": {kind}"
            if constraint is not None:
                least, most, extensible = bounds(constraint)
                text += f" (SIZE ({least}..{most}{', …' if extensible else ''}))"
            if kind == "BIT STRING" and getattr(obj, "_cont", None):
                bits = ", ".join(f"{bit} ({at})" for bit, at in obj._cont.items())
                text += f" {{{bits}}}"
        elif self.flag(obj):
            text += f": ENUMERATED {{{obj._root[0]}}}"
        elif kind in BASIC:
            text += f": {kind}"
        return "\n".join(f"/// {line}" for line in wrap(text + more))

    # Constructed types ---------------------------------------------------------------------------------------

    def enumeration(self, obj, hint):
        name, new = self.named(obj, hint)
        if not new:
            return name
        root, extension = list(obj._root), obj._ext
        values = root + list(extension or [])
        variants, seen = [], set()
        for value in values:
            variant = camel(value)
            while variant in seen or variant == "Other":
                variant += "_"
            seen.add(variant)
            variants.append(variant)
        body = [f"/// `{v}`\n{'#[default]' if i == 0 else ''}\n{variant}," for i, (v, variant) in enumerate(zip(values, variants))]
        write = [f"{name}::{variant} => {i}," for i, variant in enumerate(variants)]
        read = [f"{i} => {name}::{variant}," for i, variant in enumerate(variants)]
        if extension is not None:
            body.append("/// One that is not known here; its index in the whole enumeration.\nOther(u64),")
            write.append(f"{name}::Other(index) => index,")
            read.append(f"other => {name}::Other(other),")
        else:
            read.append("other => return Err(DecodeError::Index(other)),")
        flags = f"{len(root)}, {str(extension is not None).lower()}"
        self.sizes[name] = 1 if extension is None else 16
        self.code.append(
            f"/// {self.title(obj, hint)}\n#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]\n"
            f"pub enum {name} {{ {' '.join(body)} }}\n"
            f"impl {name} {{\n"
            f"pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {{"
            f" e.index(match *self {{ {' '.join(write)} }}, {flags}) }}\n"
            f"pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {{"
            f" Ok(match d.index({flags})? {{ {' '.join(read)} }}) }}\n}}\n"
        )
        return name

    @staticmethod
    def title(obj, hint):
        called = reference(obj)
        return f"`{called[1] if called else hint}`: {obj.TYPE}."

    def choice(self, obj, hint):
        name, new = self.named(obj, hint)
        if not new:
            return name
        self.sizes[name] = 64
        hint = reference(obj)[1] if reference(obj) else hint
        extensible = obj._ext is not None
        names = list(obj._root) + list(obj._ext or [])
        body, write, read, largest = [], [], [], 0
        default = None
        for index, member in enumerate(names):
            inner, variant, inner_hint = obj._cont[member], camel(member), f"{hint}-{member}"
            rust = self.boxed(inner, inner_hint)
            unit = rust == "()"
            largest = max(largest, 8 if rust.startswith("Box<") else self.octets(inner, inner_hint))
            body.append(f"{self.doc(inner, member)}\n{variant}{'' if unit else f'({rust})'},")
            encode = self.encode(inner, "(**v)" if rust.startswith("Box<") else "(*v)", inner_hint)
            decode = self.decode_boxed(inner, inner_hint)
            if index >= len(obj._root):
                encode = f"e.open(|e| {{ {encode} Ok(()) }})?;"
                decode = f"d.open(|d| Ok({decode}))?"
            pattern = f"{name}::{variant}" + ("" if unit else "(v)")
            write.append(f"{pattern} => {{ e.index({index}, {len(obj._root)}, {str(extensible).lower()})?; {encode} }}")
            if unit and index < len(obj._root):
                read.append(f"{index} => {name}::{variant},")
            elif unit:
                read.append(f"{index} => {{ {decode}; {name}::{variant} }}")
            else:
                read.append(f"{index} => {name}::{variant}({decode}),")
            if index == 0:
                default = f"{name}::{variant}" + ("" if unit else "(Default::default())")
        if extensible:
            body.append("/// One that is not known here: its index in the whole choice, and its octets.\nOther(u64, Vec<u8>),")
            write.append(
                f"{name}::Other(index, octets) => {{ e.index(*index, {len(obj._root)}, true)?; e.open_octets(octets); }}"
            )
            read.append(f"other => {name}::Other(other, d.open_octets()?),")
        else:
            read.append("other => return Err(DecodeError::Index(other)),")
        self.sizes[name] = (max(largest, 32) if extensible else largest) + 8
        flags = f"{len(obj._root)}, {str(extensible).lower()}"
        self.code.append(
            f"/// {self.title(obj, hint)}\n#[derive(Debug, Clone, PartialEq)]\npub enum {name} {{ {' '.join(body)} }}\n"
            f"impl Default for {name} {{ fn default() -> Self {{ {default} }} }}\n"
            f"impl {name} {{\n"
            f"pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {{"
            f" match self {{ {' '.join(write)} }} Ok(()) }}\n"
            f"pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {{"
            f" Ok(match d.index({flags})? {{ {' '.join(read)} }}) }}\n}}\n"
        )
        return name

    @staticmethod
    def is_empty_extension(obj):
        return obj.TYPE == "SEQUENCE OF" and is_extension_field(obj._cont) and not entries(obj._cont)

    def sequence(self, obj, hint):
        name, new = self.named(obj, hint)
        if not new:
            return name
        self.sizes[name] = 64
        if list(obj._cont) and list(obj._root) == ["protocolIEs"]:
            self.elements(name, obj._cont["protocolIEs"], obj, self.title(obj, hint))
            return name
        optional = set(obj._root_opt)
        extensible = obj._ext is not None
        own = reference(obj)
        hint = own[1] if own else hint
        body, total = [], 0
        head, tail = [], []  # Writing: what is there, and then the members.
        reads, fields = [], []
        field_names = {}
        used = set()
        for member in list(obj._root) + list(obj._ext or []):
            text = snake(member)
            while text in used:
                text += "_"
            used.add(text)
            field_names[member] = text
        if extensible:
            reads.append("let extended = d.bit()?;")
        for member in obj._root_opt:
            inner, field = obj._cont[member], field_names[member]
            if self.is_empty_extension(inner):
                head.append("e.bit(false);")
                reads.append(f"let has_{field} = d.bit()?;")
                continue
            if inner.TYPE == "SEQUENCE OF" and is_extension_field(inner._cont):
                head.append(f"e.bit(self.{field}.as_ref().is_some_and(|it| it.count() > 0));")
            else:
                head.append(f"e.bit(self.{field}.is_some());")
            reads.append(f"let has_{field} = d.bit()?;")
        for member in obj._root:
            inner, field, inner_hint = obj._cont[member], field_names[member], f"{hint}-{member}"
            if self.is_empty_extension(inner):
                fields.append((None, f"if has_{field} {{ skip_extensions(d)?; }}"))
                continue
            default = f"; absent: {inner._def}" if getattr(inner, "_def", None) is not None else ""
            if member in optional:
                rust = self.boxed(inner, inner_hint)
                place = "(**v)" if rust.startswith("Box<") else "(*v)"
                encode = self.encode(inner, place, inner_hint)
                if inner.TYPE == "SEQUENCE OF" and is_extension_field(inner._cont):
                    tail.append(f"if let Some(v) = self.{field}.as_ref().filter(|it| it.count() > 0) {{ {encode} }}")
                elif encode:
                    tail.append(f"if let Some(v) = &self.{field} {{ {encode} }}")
                # Extensions of which none is known are as good as none.
                extensions = inner.TYPE == "SEQUENCE OF" and is_extension_field(inner._cont)
                known = ".filter(|it| it.count() > 0)" if extensions else ""
                decode = self.decode_boxed(inner, inner_hint)
                fields.append((field, f"if has_{field} {{ Some({decode}){known} }} else {{ None }}"))
                body.append(f"{self.doc(inner, member, default)}\npub {field}: Option<{rust}>,")
                total += 8 + (8 if rust.startswith("Box<") else self.octets(inner, inner_hint))
            else:
                rust = self.rust(inner, inner_hint)
                tail.append(self.encode(inner, f"self.{field}", inner_hint))
                fields.append((field, self.decode(inner, inner_hint)))
                body.append(f"{self.doc(inner, member)}\npub {field}: {rust},")
                total += self.octets(inner, inner_hint)
        statements = list(reads)
        for field, text in fields:
            statements.append(text if field is None else f"let {field} = {text};")
        made = [field for field, _ in fields if field is not None]
        if extensible:
            present, writes, opens = [], [], []
            nest = list(obj._ext_nest)
            for at, group in enumerate(nest):
                listed = group if isinstance(group, list) else [group]
                here = " || ".join(f"self.{field_names[m]}.is_some()" for m in listed) or "false"
                present.append(here)
                if isinstance(group, list):
                    inner = obj._ext_group_obj[obj._ext_ident[group[0]]]
                    mandatory = set(inner._root_mand)
                    group_head = "".join(
                        f"e.bit(self.{field_names[m]}.is_some());" for m in inner._root if m not in mandatory
                    )
                    group_tail, group_reads, group_sets = "", "", ""
                    for m in inner._root:
                        if m not in mandatory:
                            group_reads += f"let has_{field_names[m]} = d.bit()?;"
                    for m in inner._root:
                        member, field, inner_hint = obj._cont[m], field_names[m], f"{hint}-{m}"
                        rust = self.boxed(member, inner_hint)
                        place = "(**v)" if rust.startswith("Box<") else "(*v)"
                        encode = self.encode(member, place, inner_hint)
                        decode = self.decode_boxed(member, inner_hint)
                        if m in mandatory:
                            group_tail += (
                                f"let v = self.{field}.as_ref().ok_or(EncodeError::Incomplete(\"{m}\"))?;"
                                + (encode or "let _ = v;")
                            )
                            group_sets += f"{field} = Some({decode});"
                        else:
                            group_tail += f"if let Some(v) = &self.{field} {{ {encode} }}" if encode else ""
                            group_sets += f"if has_{field} {{ {field} = Some({decode}); }}"
                    writes.append(f"if {here} {{ e.open(|e| {{ {group_head}{group_tail} Ok(()) }})?; }}")
                    opens.append(f"if additions.has({at}) {{ d.open(|d| {{ {group_reads}{group_sets} Ok(()) }})?; }}")
                else:
                    member, field, inner_hint = obj._cont[group], field_names[group], f"{hint}-{group}"
                    rust = self.boxed(member, inner_hint)
                    place = "(**v)" if rust.startswith("Box<") else "(*v)"
                    encode = self.encode(member, place, inner_hint)
                    writes.append(
                        f"if let Some(v) = &self.{field} {{ e.open(|e| {{ {encode or 'let _ = (v, e);'} Ok(()) }})?; }}"
                    )
                    decode = self.decode_boxed(member, inner_hint)
                    opens.append(
                        f"if additions.has({at}) {{ {field} = Some(d.open(|{'d' if 'd.' in decode or '(d)' in decode else '_'}| Ok({decode}))?); }}"
                    )
                for m in listed:
                    member, field, inner_hint = obj._cont[m], field_names[m], f"{hint}-{m}"
                    rust = self.boxed(member, inner_hint)
                    body.append(f"{self.doc(member, m, '; an addition')}\npub {field}: Option<{rust}>,")
                    total += 8 + (8 if rust.startswith("Box<") else self.octets(member, inner_hint))
                    made.append(field)
                    statements.append(f"let mut {field} = None;")
            if nest:
                head.insert(0, f"let present = [{', '.join(present)}]; let extended = present.contains(&true); e.bit(extended);")
                tail.append(f"if extended {{ e.additions(&present)?; {' '.join(writes)} }}")
            else:
                head.insert(0, "e.bit(false);")
            statements.append(
                f"if extended {{ let additions = d.additions()?; {' '.join(opens)} d.skip_additions(&additions, {len(nest)})?; }}"
            )
        self.sizes[name] = total
        e, d = ("e" if head or any(tail) else "_"), ("d" if statements else "_")
        self.code.append(
            f"/// {self.title(obj, hint)}\n#[derive(Debug, Clone, PartialEq, Default)]\npub struct {name} {{ {' '.join(body)} }}\n"
            f"impl {name} {{\n"
            f"pub(crate) fn encode(&self, {e}: &mut Encoder) -> Result<(), EncodeError> {{"
            f" {' '.join(head)} {' '.join(tail)} Ok(()) }}\n"
            f"pub(crate) fn decode({d}: &mut Decoder) -> Result<Self, DecodeError> {{"
            f" {' '.join(statements)} Ok({name} {{ {', '.join(made)} }}) }}\n}}\n"
        )
        return name

    # Containers of information elements ----------------------------------------------------------------------

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
            field = snake(self.element_name(row["id"]) or (called[1] if called else f"element-{row['id']}"))
            while field in used:
                field += "_"
            used.add(field)
            inner_hint = f"{hint}-{field}"
            mandatory = row.get("presence") == "mandatory" and not extension
            rust = self.rust(inner, inner_hint) if mandatory else self.boxed(inner, inner_hint)
            box = rust.startswith("Box<")
            encode = self.encode(inner, f"self.{field}" if mandatory else ("(**v)" if box else "(*v)"), inner_hint)
            write = (
                f"element(e, {row['id']}, {CRITICALITY[row['criticality']]})?;"
                f" e.open(|{'e' if encode else '_'}| {{ {encode} Ok(()) }})?;"
            )
            decode = self.decode_boxed(inner, inner_hint) if box else self.decode(inner, inner_hint)
            use = "d" if "d." in decode or "(d)" in decode else "_"
            reads.append(f"{row['id']} => {field} = Some(d.open(|{use}| Ok({decode}))?),")
            lets.append(f"let mut {field} = None;")
            doc = self.doc(inner, called[1] if called else field, f"; information element {row['id']}, {row['criticality']}")
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
        end = "if extended { let additions = d.additions()?; d.skip_additions(&additions, 0)?; }" if marker else ""
        self.code.append(
            f"/// {title}\n#[derive(Debug, Clone, PartialEq, Default)]\npub struct {name} {{ {' '.join(body)} }}\n"
            f"impl {name} {{\n"
            f"pub(crate) fn count(&self) -> usize {{ {' + '.join(count) or '0'} }}\n"
            f"pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {{"
            f" {before} e.count(self.count(), {size(obj)})?; {' '.join(writes)} Ok(()) }}\n"
            f"pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {{"
            f" {start} let count = d.count({size(obj)})?; {' '.join(lets)}"
            f" for _ in 0..count {{ let (id, criticality) = read_element(d)?; match id {{ {' '.join(reads)}"
            f" _ => not_known(d, id, criticality)?, }} }} {end}"
            f" Ok({name} {{ {', '.join(made)} }}) }}\n}}\n"
        )

    def element_name(self, identity):
        """The names of a few information elements of one type that a message has more than once of."""
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
                f"{name}::{variant}(v) => {{ element(e, {row['id']}, {CRITICALITY[row['criticality']]})?;"
                f" e.open(|e| {{ {encode or 'let _ = (v, e);'} Ok(()) }})?; }}"
            )
            decode = self.decode_boxed(inner, inner_hint)
            use = "d" if "d." in decode or "(d)" in decode else "_"
            read.append(f"{row['id']} => {name}::{variant}(d.open(|{use}| Ok({decode}))?),")
        self.sizes[name] = largest + 8
        body.append("/// One that is not known here: its identity, its criticality, and its octets.\nOther(u32, u8, Vec<u8>),")
        write.append(
            f"{name}::Other(id, criticality, octets) => {{ element(e, *id, *criticality)?; e.open_octets(octets); }}"
        )
        read.append(
            "_ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),"
            f" _ => {name}::Other(id, criticality, d.open_octets()?),"
        )
        self.code.append(
            f"/// One information element: `{hint}`.\n#[derive(Debug, Clone, PartialEq)]\npub enum {name} {{ {' '.join(body)} }}\n"
            f"impl Default for {name} {{ fn default() -> Self {{ {name}::Other(0, 0, Vec::new()) }} }}\n"
            f"impl {name} {{\n"
            f"pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {{ match self {{ {' '.join(write)} }} Ok(()) }}\n"
            f"pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {{"
            f" let (id, criticality) = read_element(d)?; Ok(match id {{ {' '.join(read)} }}) }}\n}}\n"
        )
        return name

    # Messages of an application protocol -----------------------------------------------------------------------

    def pdu(self, pdu):
        """The enum of all messages, with what stands before each."""
        table = pdu._cont["initiatingMessage"]._cont["value"]._const_tab
        body, numbers, write, read, names = [], [], [], [], []
        for direction, key in enumerate(("InitiatingMessage", "SuccessfulOutcome", "UnsuccessfulOutcome")):
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
                read.append(f"({direction}, {code}) => Message::{rust}(Box::new({rust}::decode(d)?)),")
        self.code.append(
            "/// A message, by its procedure.\n#[derive(Debug, Clone, PartialEq)]\n"
            f"pub enum Message {{ {' '.join(body)} }}\n"
            "impl Message {\n"
            "/// Direction (0: initiating, 1: successful, 2: unsuccessful), procedure code, criticality.\n"
            f"pub(crate) fn numbers(&self) -> (u64, u8, u64) {{ match self {{ {' '.join(numbers)} }} }}\n"
            f"pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {{ match self {{ {' '.join(write)} }} }}\n"
            "pub(crate) fn decode(d: &mut Decoder, direction: u64, procedure: u8) -> Result<Self, DecodeError> {"
            f" Ok(match (direction, procedure) {{ {' '.join(read)} _ => return Err(DecodeError::Index(procedure.into())), }}) }}\n}}\n"
        )
        for name in names:
            self.code.append(
                f"impl From<{name}> for Message {{ fn from(it: {name}) -> Self {{ Message::{name}(Box::new(it)) }} }}\n"
            )


def wrap(text, room=112):
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


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


def main() -> None:
    which = sys.argv[1]
    generator = Generator()
    if which == "lpp":
        from pycrate_asn1dir import LPP

        generator.rust(LPP.LPP_PDU_Definitions.LPP_Message, "LPP-Message")
        head = "The types of LPP (TS 37.355, 6)"
    else:
        from pycrate_asn1dir import NRPPa

        generator.pdu(NRPPa.NRPPA_PDU_Descriptions.NRPPA_PDU)
        generator.code.append(ELEMENTS)
        head = "The types of NRPPa (TS 38.455, 9.3)"
    text = (
        f"//! {head}. Written by `wire/oracles/per_generate.py {which}` with pycrate 0.8.1: not to be\n"
        "//! changed by hand.\n"
        "#![allow(clippy::all, unused_variables, unused_parens)]\n\n"
        "use martlet_per::{BitString, DecodeError, Decoder, EncodeError, Encoder, Size};\n\n" + "\n".join(generator.code)
    )
    done = subprocess.run(
        ["rustfmt", "--edition", "2024", "--config-path", str(pathlib.Path(__file__).parent.parent.parent)],
        input=text, capture_output=True, text=True, check=False,
    )
    if done.returncode != 0:
        with open("/tmp/per_generate.rs", "w", encoding="utf-8") as file:
            file.write(text)
        sys.exit(f"rustfmt: {done.stderr[:2000]}")
    sys.stdout.write(done.stdout)


if __name__ == "__main__":
    main()
