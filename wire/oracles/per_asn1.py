"""Properties of pycrate's ASN.1 objects: names in Rust, bounds, sizes, information elements."""

import re

BASIC = {"INTEGER", "BOOLEAN", "NULL", "BIT STRING", "OCTET STRING", "VisibleString", "UTCTime"}
KEYWORDS = {
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
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
        return (
            "Some(Size "
            f"{{ min: {least or 0}, max: None, extensible: {str(extensible).lower()} }})"
        )
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


def wrap(text, room=112):
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines
