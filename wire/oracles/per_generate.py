#!/usr/bin/env python3
"""Write the Rust of LPP (TS 37.355) or NRPPa (TS 38.455) from pycrate's object tree of its ASN.1.

    python3 wire/oracles/per_generate.py lpp   > wire/lpp/src/generated.rs
    python3 wire/oracles/per_generate.py nrppa > wire/nrppa/src/generated.rs

It needs pycrate 0.8.1 and rustfmt. The output is committed, so a build needs no Python.

A SEQUENCE becomes a struct, a CHOICE and an ENUMERATED become an enum, and a container of
information elements becomes a struct with a member for each. Every member has its ASN.1 type in a
comment. The code uses `wire/per`, is not generic, and keeps all extension additions of the ASN.1.
"""

import pathlib
import subprocess
import sys

from per_asn1 import (
    BASIC,
    LARGE,
    camel,
    snake,
    bounds,
    size,
    width,
    is_field,
    is_extension_field,
    entries,
    reference,
    wrap,
)
from per_elements import ELEMENTS, Elements


class Generator(Elements):
    def __init__(self):
        self.done = {}  # What has a name of its own: (module, name) or id(object) to Rust name.
        self.names = set()
        self.keep = []  # Objects whose id() was taken stay alive.
        self.code = []
        self.sizes = {}

    # Names ----------------------------------------------------------------------------------------

    def named(self, obj, hint):
        """The Rust name of a constructed type, and whether it is new."""
        called = reference(obj)
        # An alias has the name of what it stands for.
        at = obj
        while (
            called is not None
            and getattr(at, "_tr", None) is not None
            and reference(at._tr) is not None
        ):
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
        """An enumeration with one value is encoded as its presence only."""
        return obj.TYPE == "ENUMERATED" and len(obj._root) == 1 and obj._ext is None

    # Types ----------------------------------------------------------------------------------------

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

    # Expressions ----------------------------------------------------------------------------------

    def encode(self, obj, place, hint):
        """Statements that write what is at `place`."""
        kind = obj.TYPE
        if kind == "INTEGER":
            least, most, extensible = bounds(obj._const_val)
            if least is None:
                return f"e.unconstrained({place}.into())?;"
            if most is None:
                return f"e.semi_constrained({place}.into(), {least})?;"
            return (
                f"e.{'extensible' if extensible else 'constrained'}({place}.into(), {least}, "
                f"{most})?;"
            )
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
                return (
                    f"i64::try_from(d.semi_constrained({least})?).map_err(|_| DecodeError::Range)?"
                )
            if extensible:
                return (
                    f"i64::try_from(d.extensible({least}, {most})?).map_err(|_| "
                    "DecodeError::Range)?"
                )
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
                f"{{ let count = d.count({size(obj)})?; "
                "let mut list = Vec::with_capacity(d.reserve(count));"
                f" for _ in 0..count {{ list.push({inner}); }} list }}"
            )
        return f"{rust}::decode(d)?"

    def decode_boxed(self, obj, hint):
        text = self.decode(obj, hint)
        return f"Box::new({text})" if self.boxed(obj, hint).startswith("Box<") else text

    # Documentation --------------------------------------------------------------------------------

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

    # Constructed types ----------------------------------------------------------------------------

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
        body = [
            f"/// `{v}`\n{'#[default]' if i == 0 else ''}\n{variant},"
            for i, (v, variant) in enumerate(zip(values, variants))
        ]
        write = [f"{name}::{variant} => {i}," for i, variant in enumerate(variants)]
        read = [f"{i} => {name}::{variant}," for i, variant in enumerate(variants)]
        if extension is not None:
            body.append(
                "/// One that is not known here; its index in the whole enumeration.\nOther(u64),"
            )
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
            write.append(
                f"{pattern} => "
                f"{{ e.index({index}, {len(obj._root)}, {str(extensible).lower()})?; {encode} }}"
            )
            if unit and index < len(obj._root):
                read.append(f"{index} => {name}::{variant},")
            elif unit:
                read.append(f"{index} => {{ {decode}; {name}::{variant} }}")
            else:
                read.append(f"{index} => {name}::{variant}({decode}),")
            if index == 0:
                default = f"{name}::{variant}" + ("" if unit else "(Default::default())")
        if extensible:
            body.append(
                "/// One that is not known here: its index in the whole choice, and its "
                "octets.\nOther(u64, Vec<u8>),"
            )
            write.append(
                f"{name}::Other(index, octets) => "
                f"{{ e.index(*index, {len(obj._root)}, true)?; e.open_octets(octets); }}"
            )
            read.append(f"other => {name}::Other(other, d.open_octets()?),")
        else:
            read.append("other => return Err(DecodeError::Index(other)),")
        self.sizes[name] = (max(largest, 32) if extensible else largest) + 8
        flags = f"{len(obj._root)}, {str(extensible).lower()}"
        self.code.append(
            f"/// {self.title(obj, hint)}\n#[derive(Debug, Clone, PartialEq)]\npub enum {name} "
            f"{{ {' '.join(body)} }}\n"
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
        return (
            obj.TYPE == "SEQUENCE OF" and is_extension_field(obj._cont) and not entries(obj._cont)
        )

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
                    tail.append(
                        f"if let Some(v) = self.{field}.as_ref().filter(|it| it.count() > 0) "
                        f"{{ {encode} }}"
                    )
                elif encode:
                    tail.append(f"if let Some(v) = &self.{field} {{ {encode} }}")
                # Extensions of which none is known are as good as none.
                extensions = inner.TYPE == "SEQUENCE OF" and is_extension_field(inner._cont)
                known = ".filter(|it| it.count() > 0)" if extensions else ""
                decode = self.decode_boxed(inner, inner_hint)
                fields.append(
                    (field, f"if has_{field} {{ Some({decode}){known} }} else {{ None }}")
                )
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
                        f"e.bit(self.{field_names[m]}.is_some());"
                        for m in inner._root
                        if m not in mandatory
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
                                'let v = '
                                f'self.{field}.as_ref().ok_or(EncodeError::Incomplete("{m}"))?;'
                                + (encode or "let _ = v;")
                            )
                            group_sets += f"{field} = Some({decode});"
                        else:
                            group_tail += (
                                f"if let Some(v) = &self.{field} {{ {encode} }}" if encode else ""
                            )
                            group_sets += f"if has_{field} {{ {field} = Some({decode}); }}"
                    writes.append(
                        f"if {here} {{ e.open(|e| {{ {group_head}{group_tail} Ok(()) }})?; }}"
                    )
                    opens.append(
                        f"if additions.has({at}) "
                        f"{{ d.open(|d| {{ {group_reads}{group_sets} Ok(()) }})?; }}"
                    )
                else:
                    member, field, inner_hint = (
                        obj._cont[group],
                        field_names[group],
                        f"{hint}-{group}",
                    )
                    rust = self.boxed(member, inner_hint)
                    place = "(**v)" if rust.startswith("Box<") else "(*v)"
                    encode = self.encode(member, place, inner_hint)
                    writes.append(
                        f"if let Some(v) = &self.{field} "
                        f"{{ e.open(|e| {{ {encode or 'let _ = (v, e);'} Ok(()) }})?; }}"
                    )
                    decode = self.decode_boxed(member, inner_hint)
                    decoder = "d" if "d." in decode or "(d)" in decode else "_"
                    opens.append(
                        f"if additions.has({at}) "
                        f"{{ {field} = Some(d.open(|{decoder}| Ok({decode}))?); }}"
                    )
                for m in listed:
                    member, field, inner_hint = obj._cont[m], field_names[m], f"{hint}-{m}"
                    rust = self.boxed(member, inner_hint)
                    body.append(
                        f"{self.doc(member, m, '; an addition')}\npub {field}: Option<{rust}>,"
                    )
                    total += 8 + (8 if rust.startswith("Box<") else self.octets(member, inner_hint))
                    made.append(field)
                    statements.append(f"let mut {field} = None;")
            if nest:
                head.insert(
                    0,
                    f"let present = [{', '.join(present)}]; let extended = "
                    "present.contains(&true); e.bit(extended);",
                )
                tail.append(f"if extended {{ e.additions(&present)?; {' '.join(writes)} }}")
            else:
                head.insert(0, "e.bit(false);")
            statements.append(
                "if extended "
                f"{{ let additions = d.additions()?; {' '.join(opens)} "
                f"d.skip_additions(&additions, {len(nest)})?; }}"
            )
        self.sizes[name] = total
        e, d = ("e" if head or any(tail) else "_"), ("d" if statements else "_")
        self.code.append(
            f"/// {self.title(obj, hint)}\n#[derive(Debug, Clone, PartialEq, Default)]\npub "
            f"struct {name} {{ {' '.join(body)} }}\n"
            f"impl {name} {{\n"
            f"pub(crate) fn encode(&self, {e}: &mut Encoder) -> Result<(), EncodeError> {{"
            f" {' '.join(head)} {' '.join(tail)} Ok(()) }}\n"
            f"pub(crate) fn decode({d}: &mut Decoder) -> Result<Self, DecodeError> {{"
            f" {' '.join(statements)} Ok({name} {{ {', '.join(made)} }}) }}\n}}\n"
        )
        return name


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
        f"//! {head}. Written by `wire/oracles/per_generate.py {which}` with pycrate 0.8.1: not "
        "to be\n"
        "//! changed by hand.\n"
        "#![allow(clippy::all, unused_variables, unused_parens)]\n\n"
        "use martlet_per::{BitString, DecodeError, Decoder, EncodeError, Encoder, Size};\n\n"
        + "\n".join(generator.code)
    )
    done = subprocess.run(
        [
            "rustfmt",
            "--edition",
            "2024",
            "--config-path",
            str(pathlib.Path(__file__).parent.parent.parent),
        ],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        with open("/tmp/per_generate.rs", "w", encoding="utf-8") as file:
            file.write(text)
        sys.exit(f"rustfmt: {done.stderr[:2000]}")
    sys.stdout.write(done.stdout)


if __name__ == "__main__":
    main()
