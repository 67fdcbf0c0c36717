#!/usr/bin/env python3
"""Reports import circles between the modules of one crate.

An edge leads from a file to the file of a module that it names by `crate::`, `super::` or `self::`.
A name that a parent module re-exports counts as the module that defines it. Edges between a module
and its ancestors or descendants are not counted: a parent and its children are one idea. Test
modules are not read.

`circles.txt` lists the circles that are still to be broken. A new circle fails, and so does a line
of the list that is no longer true.

`layers.txt` lists the modules of some crates from the top to the bottom: a module uses only those
below it, and those of its own line. The root of a crate stands above and below all of them.

In the crates of `layers.txt`, a call of an inherent method counts as well: the module of `impl Ue`
may stand above the caller's, and no path names it. The receiver decides which method is meant:
`self`, a parameter, or a field, whose types are read from the source. A method of another receiver
counts if no other method of the crate has its name. The methods of a type in the folder that
declares it are one idea with the type. What a method of the root calls counts as called by the
caller of the method. A method of a trait does not count: it belongs to the module that declares the
trait, not to the one that implements it.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOWN = pathlib.Path(__file__).with_name("circles.txt")
LAYERS = pathlib.Path(__file__).with_name("layers.txt")
# Files of tests: they may use everything.
TEST = re.compile(r"(^|/)(tests?|testing|.*_tests?)(/|\.rs$)")


def modules(source):
    """Maps module paths, such as `ue::state`, to the text of their files without test modules."""
    found = {}
    for file in sorted(source.rglob("*.rs")):
        relative = file.relative_to(source)
        if TEST.search(relative.as_posix()) or relative.parts[0] == "bin":
            continue
        parts = list(relative.with_suffix("").parts)
        if parts[-1] in ("mod", "lib", "main"):
            parts.pop()
        text = re.sub(r"//[^\n]*", "", file.read_text())
        text = re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", text)[0]
        found["::".join(parts)] = text
    return found


def use_paths(text):
    """Yields each path of the text that begins with `crate`, `super` or `self`, groups expanded."""
    for match in re.finditer(r"\b(?:crate|super|self)(?:::(?:\w+|\{|\*))+", text):
        path, brace, _ = match.group().partition("{")
        if not brace:
            yield path.split("::")
            continue
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield from expand(path.removesuffix("::").split("::"), text[match.end() : end - 1])


def expand(prefix, group):
    """Yields the paths of a group `a::{b, c}` below a prefix."""
    depth, item = 0, ""
    for character in group + ",":
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            head, brace, inner = item.strip().partition("{")
            names = [name for name in head.split(" as ")[0].strip().split("::") if name]
            if brace:
                yield from expand(prefix + names, inner.rsplit("}", 1)[0])
            elif names:
                yield prefix + [name for name in names if name != "self"]
            item = ""
        else:
            item += character


def absolute(path, module):
    """Resolves the first words of a path as they stand in a module."""
    parts = module.split("::") if module else []
    if path[0] == "crate":
        return path[1:]
    position = 0
    while position < len(path) and path[position] in ("super", "self"):
        if path[position] == "super":
            parts = parts[:-1]
        position += 1
    return parts + path[position:]


def exports(found):
    """Maps `module::Name` to the path that the module re-exports under this name."""
    table = {}
    for module, text in found.items():
        for match in re.finditer(r"pub(?:\([^)]*\))? use ([^;]+);", text):
            for path in expand([], match.group(1)):
                if path and path[0] in ("crate", "super", "self"):
                    target = absolute(path, module)
                else:
                    target = (module.split("::") if module else []) + path
                table["::".join(filter(None, [module, target[-1]]))] = target
    return table


def resolve(target, found, table):
    """The module that defines the target, or None if it is outside the crate."""
    for _ in range(8):
        for length in range(len(target), 0, -1):
            name = "::".join(target[:length])
            if name in found and not (length == len(target) and name in table):
                if length < len(target) and "::".join(target[: length + 1]) in table:
                    break
                return name
        for length in range(1, len(target) + 1):
            name = "::".join(target[:length])
            if name in table and table[name] != target[:length]:
                target = table[name] + target[length:]
                break
        else:
            return ""
    return ""


# Names of methods of the standard library and of tokio. A call of one of them counts only if the
# receiver's type is known.
COMMON = set(
    """as_bytes as_deref as_mut as_ref as_str contains_key is_closed is_empty is_none is_some
    max_capacity notify_one notify_waiters send_to set_nonblocking split_at starts_with to_string
    to_vec try_recv try_send""".split()
)
IMPL = re.compile(r"^impl\b(?:<[^{;]*?>)?\s+([\w:]+)(?:<[^{;]*?>)?\s*(?:where[^{]*)?\{", re.M)
ANY_IMPL = re.compile(r"^(?:unsafe )?impl\b[^{;]*\{", re.M)
FUNCTION = re.compile(
    r"\bfn (\w+)\s*(?:<[^(]*>)?\(\s*(&?\s*(?:'\w+ )?(?:mut )?self\b)?"
)
TYPED = re.compile(r"\b(\w+): ((?:[^,;(){}=]|\([^()]*\))+)")
FIELDS = re.compile(r"^(?:pub(?:\([^)]*\))? )?struct \w+[^;{(]*\{(.*?)^\}", re.M | re.S)
DECLARED = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum) (\w+)", re.M)
PATH = re.compile(r"\b([A-Z]\w*)::([a-z_]\w*)\b")
CALL = re.compile(r"(?:(\.?)\b(\w+)|[)?\]])\s*\.\s*(\w+)\s*(?:::<[^(]*>)?\(")


def block(text, start):
    """The text from `start`, which follows a `{`, to the `}` that closes it."""
    depth, end = 1, start
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start:end]


def without_strings(text):
    """The text with empty string and character literals: their braces close no block."""
    text = re.sub(r'r(#*)".*?"\1', '""', text, flags=re.S)
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text, flags=re.S)
    return re.sub(r"b?'(?:[^'\\\n]|\\[^\n]{1,8}?)'", "' '", text)


def types(text):
    """The names of types in the text of a type, `Arc<Amf>` as `Arc` and `Amf`."""
    return set(re.findall(r"\b[A-Z]\w*", text))


class Methods:
    """The inherent methods of the types of a crate."""

    def __init__(self, found):
        self.text = {module: without_strings(text) for module, text in found.items()}
        # The module of each method, by type and name; types by the name of a method; types of
        # fields by the field's name; bodies of the methods of the root.
        self.modules, self.owners, self.fields, self.root = {}, {}, {}, {}
        declared, defined = {}, {}
        for module, text in self.text.items():
            declared.update((name, module) for name in DECLARED.findall(text))
            for name, receiver in FUNCTION.findall(text):
                defined[name] = defined.get(name, 0) + bool(receiver)
            for body in FIELDS.findall(text):
                for name, kind in TYPED.findall(body):
                    self.fields.setdefault(name, set()).update(types(kind))
        for module, text in self.text.items():
            for match in IMPL.finditer(text):
                owner = match.group(1).split("::")[-1]
                body = block(text, match.end())
                home = declared.get(owner, module)
                folder = home.rpartition("::")[0]
                is_at_home = bool(folder) and related(folder, module) and module != folder
                for function in FUNCTION.finditer(body):
                    name = function.group(1)
                    self.modules[(owner, name)] = home if is_at_home else module
                    self.owners.setdefault(name, set()).add(owner)
                    if not module:
                        start = body.find("{", function.end()) + 1
                        self.root[(owner, name)] = (match.group(), block(body, start))
        self.unique = {name for name, count in defined.items() if count == 1}

    def callees(self, module):
        """Yields the names of the inherent methods that a module calls, each with its module."""
        text = self.text[module]
        impls = [
            (match.start(), match.end() + len(block(text, match.end())), match.group())
            for match in ANY_IMPL.finditer(text)
        ]
        yield from self.calls(text, impls, set())

    def calls(self, text, impls, seen):
        local = {}
        for name, kind in TYPED.findall(FIELDS.sub("", text)):
            local.setdefault(name, set()).update(types(kind))
        called = set()
        for match in CALL.finditer(text):
            dot, receiver, name = match.groups()
            owners = self.owners.get(name, set())
            if receiver == "self" and not dot:
                heads = [head for start, end, head in impls if start <= match.start() < end]
                known = types(heads[-1].split(" for ")[-1]) if heads else set()
            elif dot:
                known = self.fields.get(receiver)
            else:
                known = local.get(receiver)
            if known is None and name in self.unique and "_" in name and name not in COMMON:
                known = owners
            candidates = owners & (known or set())
            if len(candidates) == 1:
                called.add((candidates.pop(), name))
        called.update(pair for pair in PATH.findall(text) if pair in self.modules)
        for pair in sorted(called - seen):
            if pair in self.root:
                head, body = self.root[pair]
                yield from self.calls(body, [(0, len(body), head)], seen | called)
            else:
                yield pair[1], self.modules[pair]


def circles(edges):
    """Strongly connected components of more than one node (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = []
            while True:
                component.append(stack.pop())
                if component[-1] == node:
                    break
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def related(first, second):
    return first == second or first.startswith(second + "::") or second.startswith(first + "::")


def method_edges(found):
    """Maps each module to the modules whose inherent methods it calls, with a name of each."""
    methods, edges = Methods(found), {}
    for module in filter(None, found):
        for name, other in methods.callees(module):
            if other and not related(module, other):
                edges.setdefault(module, {}).setdefault(other, name)
    return edges


def graph(found, has_floors):
    """The edges between the modules of a crate, and those of them that are calls of methods."""
    table = exports(found)
    edges = {module: set() for module in found}
    for module, text in found.items():
        for path in use_paths(text):
            target = resolve(absolute(path, module), found, table)
            # The root holds what all share; an edge to it is no circle of two modules.
            if module and target and not related(module, target):
                edges[module].add(target)
    calls = method_edges(found) if has_floors else {}
    for module, others in calls.items():
        edges[module].update(others)
    return edges, calls


def layers():
    """Maps the folder of a crate to the floor of each of its modules; the top is 0."""
    floors, crate = {}, None
    for line in LAYERS.read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith(" "):
            crate = floors.setdefault(line.strip().removesuffix(":"), {})
            height = 0
            continue
        height += 1
        crate.update({module: height for module in line.split()})
    return floors


def upward(crate, floors, edges, calls):
    """Yields what is wrong with the floors of a crate."""

    def floor(module):
        parts = module.split("::")
        names = ("::".join(parts[:length]) for length in range(len(parts), 0, -1))
        return next((floors[name] for name in names if name in floors), None)

    for module in filter(None, edges):
        if floor(module) is None:
            yield f"{LAYERS.name}: {crate} has no floor for the module {module}"
            continue
        for other in sorted(edges[module]):
            if floor(other) is not None and floor(other) < floor(module):
                name = calls.get(module, {}).get(other)
                by = f" by the method {name}" if name else ""
                yield f"arrow upwards in {crate}: {module} uses {other}{by}"


def main():
    sys.setrecursionlimit(10000)
    floors = layers()
    manifests = subprocess.run(
        ["git", "ls-files", "*Cargo.toml"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    known = set(KNOWN.read_text().splitlines())
    seen, failed = set(), False
    for manifest in manifests:
        source = ROOT / pathlib.Path(manifest).parent / "src"
        if not source.is_dir():
            continue
        crate = str(pathlib.Path(manifest).parent)
        edges, calls = graph(modules(source), crate in floors)
        for fault in upward(crate, floors.pop(crate), edges, calls) if crate in floors else []:
            failed = True
            print(fault)
        for component in circles(edges):
            line = f"{pathlib.Path(manifest).parent}: {', '.join(component)}"
            seen.add(line)
            if line in known:
                continue
            failed = True
            print(f"import circle in {line}; move what both need into a module of its own")
            for module in component:
                for other in sorted(edges[module] & set(component)):
                    print(f"    {module} uses {other}")
    for crate in floors:
        failed = True
        print(f"{LAYERS.name}: there is no crate {crate}")
    for line in sorted(known - seen):
        failed = True
        print(f"{KNOWN.name}: remove the line '{line}': there is no such circle")
    sys.exit(failed)


if __name__ == "__main__":
    main()
