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


def upward(crate, floors, edges):
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
                yield f"arrow upwards in {crate}: {module} uses {other}"


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
        found = modules(source)
        table = exports(found)
        edges = {module: set() for module in found}
        for module, text in found.items():
            for path in use_paths(text):
                target = resolve(absolute(path, module), found, table)
                # The root holds what all share; an edge to it is no circle of two modules.
                if module and target and not related(module, target):
                    edges[module].add(target)
        crate = str(pathlib.Path(manifest).parent)
        for fault in upward(crate, floors.pop(crate, None) or {}, edges) if crate in floors else []:
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
