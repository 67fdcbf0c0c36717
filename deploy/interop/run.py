#!/usr/bin/env python3
"""Runs other vendors' programs against a Martlet core, and writes the matrix of docs/interop.md.

    deploy/interop/run.py --martlet target/release/martlet --programs DIR

DIR has the programs of UERANSIM (nr-gnb, nr-ue, nr-cli), PacketRusher (packetrusher), free-ran-ue
(free-ran-ue), OCUDU (gnb), OAI (nr-softmodem, nr-uesoftmodem), Open5GS (open5gs-amfd and others),
free5GC (amf or free5gc-amf, and others), eUPF (eupf) and pfcpsim (pfcpsim, pfcpctl), anywhere below
it, and mongod for functions that need MongoDB. What is not there is "not run". It runs as root: it
creates network namespaces and interfaces, and deletes them. `--steps` prints what each vendor's
programs would do, and runs nothing.
"""
import argparse
import datetime
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from testbed import Testbed, dump  # noqa: E402
from cases import CASES  # noqa: E402
from vendors import VENDORS  # noqa: E402

BEGIN, END = "<!-- matrix -->\n", "<!-- end of the matrix -->\n"


# Where MongoDB listens in the namespace of the core.
MONGODB = "127.0.0.24"


def find(folder, name, mode=os.X_OK):
    """A file of this name below a folder: a program, unless another mode is asked for."""
    if folder is None:
        return None
    found = (path for path in sorted(Path(folder).rglob(name)) if path.is_file())
    return next((str(path.resolve()) for path in found if os.access(path, mode)), None)


def first_of(folder, names, mode=os.X_OK):
    """The first file of several names that exists."""
    names = (names,) if isinstance(names, str) else names
    return next(filter(None, (find(folder, name, mode) for name in names)), None)


def programs_of(vendor, folder, instead=None):
    """The paths of a vendor's programs, or the name of one that is missing.

    `instead` has programs in place of those of the same names.
    """
    found = {}
    programs = vendor.programs | (instead or {})
    for wanted, mode in ((programs, os.X_OK), (vendor.files, os.R_OK)):
        for name, file in wanted.items():
            path = first_of(folder, file, mode) if file else name
            if path is None:
                return file if isinstance(file, str) else file[0]
            found[name] = path
    for name, file in vendor.optional.items():
        if path := first_of(folder, file, os.R_OK):
            found[name] = path
    return found


def names_of(vendor):
    """Names of a vendor's programs and files, where none of them is needed."""
    named = (vendor.programs | vendor.files).items()
    return {name: (file if isinstance(file, str) else name) for name, file in named}


def steps(vendors, selected, testbed):
    """What the vendors' programs would do."""
    for vendor_type in vendors:
        vendor = vendor_type(testbed, names_of(vendor_type))
        for step in vendor.before_core():
            print(f"{vendor.name}: before the core: {step}")
        for case in selected:
            planned = vendor.steps(case.name)
            for step in planned if isinstance(planned, list) else [planned]:
                print(f"{vendor.name}: {case.name}: {step}")


def play(vendor_type, testbed, folder, selected, quiet):
    """Plays all cases with a vendor's programs."""
    found = programs_of(vendor_type, folder)
    lacks_sctp = vendor_type.kernel_sctp and not testbed.has_kernel_sctp()
    if lacks_sctp and vendor_type.user_space_sctp:
        user_space = programs_of(vendor_type, folder, vendor_type.user_space_sctp)
        if not isinstance(user_space, str):
            found, lacks_sctp = user_space, False
    why = None
    if isinstance(found, str):
        why = f"{found} is not installed"
    elif lacks_sctp:
        why = "needs the kernel's SCTP"
    elif missing := [it for it in vendor_type.modules if not Path("/sys/module", it).exists()]:
        why = f"needs the kernel module {missing[0]}"
    elif getattr(vendor_type, "mongodb", False) and not testbed.mongodb_uri:
        why = f"needs MongoDB: {testbed.no_mongodb}"
    if why:
        return None, {case.name: not_run(why) for case in selected}
    vendor = vendor_type(testbed, found)
    results = {}
    for case in selected:
        results[case.name] = testbed.play(vendor, case)
        if not quiet:
            result = results[case.name]
            print(f"{vendor.name:14} {case.name:28} {result['verdict']}", flush=True)
            if result["verdict"] == "failed":
                print(f"    {result['why']}", flush=True)
                if "who" in result:
                    print(f"    {result['who']}, {result['clause']}", flush=True)
    return vendor.version(), results


def not_run(why):
    """The result of a case that was not run."""
    return {"verdict": "not run", "why": why}


def cell(result):
    """A cell of the matrix."""
    if result["verdict"] == "failed" and "who" in result:
        return f"failed: {result['who']}"
    return result["verdict"]


def table(head, rows):
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return ["", *(f"| {' | '.join(line)} |" for line in lines)]


def matrix(results, versions, names):
    """The programs that play gNB and UE: a row for each case."""
    titles = [f"{name} {versions[name]}" if versions[name] else name for name in names]
    rows = [
        [case.title, case.clause]
        + [cell(results[name].get(case.name, not_run(""))) for name in names]
        for case in CASES
    ]
    return table(["case", "clause", *titles], rows) if names else []


def functions(results, versions, names):
    """Functions in place of Martlet's: a row for each, with the cases that they can have."""
    wanted = {case for vendor in VENDORS if vendor.name in names for case in vendor.cases}
    cases = [case for case in CASES if case.name in wanted]
    played = {vendor.name: vendor.cases for vendor in VENDORS if vendor.name in names}

    def cells(name):
        for case in cases:
            result = results[name].get(case.name, not_run(""))
            yield cell(result) if case.name in played[name] else ""

    rows = [[name, versions[name] or "", *cells(name)] for name in names]
    return table(["function", "version", *(case.title for case in cases)], rows) if names else []


def markdown(results, versions, martlet):
    """The matrix, and the causes of failures."""
    names = list(results)
    replacing = {vendor.name for vendor in VENDORS if vendor.cases}
    lines = [f"Martlet {martlet}, {datetime.date.today().isoformat()}, Linux {os.uname().release}."]
    lines += matrix(results, versions, [name for name in names if name not in replacing])
    lines += functions(results, versions, [name for name in names if name in replacing])
    reasons = {name: {result.get("why") for result in results[name].values()} for name in names}
    reasons = {
        name: next(iter(why))
        for name, why in reasons.items()
        if len(why) == 1 and all(it["verdict"] == "not run" for it in results[name].values())
    }
    if reasons:
        lines += table(["not run", "why"], [list(row) for row in reasons.items()])
    played = {vendor.name: vendor.cases for vendor in VENDORS}
    lacking, causes = [], []
    for name in names:
        for case in CASES:
            result = results[name].get(case.name, {})
            if result.get("verdict") == "not supported":
                if not played[name] or case.name in played[name]:
                    lacking.append([name, case.title, result["why"]])
            elif result.get("verdict") == "failed":
                known = [result.get(key, "not known") for key in ("who", "clause", "martlet")]
                why = result["why"].splitlines()[0][:120].replace("|", "/")
                causes.append([name, case.title, why, *known])
    if lacking:
        lines += table(["with", "not supported", "why"], lacking)
    if causes:
        head = ["with", "case", "what happened", "who is wrong", "clause", "Martlet"]
        lines += table(head, causes)
    return "\n".join(lines) + "\n"


def write(page, text):
    """Puts the matrix into the page."""
    before, rest = page.read_text().split(BEGIN, 1)
    _, after = rest.split(END, 1)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def exit_code(results):
    """1 if a case failed without a known cause."""
    verdicts = [result for of in results.values() for result in of.values()]
    return int(any(it["verdict"] == "failed" and "who" not in it for it in verdicts))


def main():
    """Plays the selected cases. The exit code is 1 if one failed without a known cause."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--martlet", help="the program martlet")
    parser.add_argument("--programs", help="folder with the programs of others")
    parser.add_argument("--vendor", action="append", help="only this vendor")
    parser.add_argument("--case", action="append", help="only this case")
    parser.add_argument("--write", type=Path, help="page whose matrix is replaced")
    parser.add_argument("--text", type=Path, help="file for the matrix alone")
    parser.add_argument("--matrix", type=Path, help="such a file for --write; nothing is run")
    parser.add_argument("--json", type=Path, help="file for all results")
    parser.add_argument(
        "--mongodb",
        metavar="URI",
        help="a MongoDB that functions of others reach in the core's namespace; default: mongod of "
        "--programs is started there",
    )
    parser.add_argument("--folder", help="folder for files and logs, which stay there")
    parser.add_argument("--steps", action="store_true", help="print the steps, and run nothing")
    parser.add_argument("--quiet", action="store_true", help="print the matrix only")
    args = parser.parse_args()
    if args.matrix:
        if not args.write:
            parser.error("--matrix needs --write")
        write(args.write, args.matrix.read_text())
        return 0
    if not args.martlet:
        parser.error("--martlet is missing")
    known = {case.name for case in CASES}
    if unknown := set(args.case or []) - known:
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {sorted(known)}")
    selected = [case for case in CASES if not args.case or case.name in args.case]
    vendors = [vendor for vendor in VENDORS if not args.vendor or vendor.name in args.vendor]
    if args.steps:
        uri = args.mongodb or f"mongodb://{MONGODB}:27017"
        steps(vendors, selected, Testbed(args.martlet, args.folder or ".", uri))
        return 0
    folder = args.folder or tempfile.mkdtemp(prefix="martlet-interop-")
    results, versions = {}, {}
    try:
        with Testbed(args.martlet, folder, args.mongodb or "") as testbed:
            mongod = find(args.programs, "mongod") or shutil.which("mongod")
            if mongod and not args.mongodb:
                testbed.start_mongodb(mongod, MONGODB)
            if testbed.no_mongodb and mongod and not args.mongodb:
                print(f"{mongod}: {testbed.no_mongodb}", file=sys.stderr)
            for vendor in vendors:
                played = play(vendor, testbed, args.programs, selected, args.quiet)
                versions[vendor.name], results[vendor.name] = played
    finally:
        if not args.folder:
            shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([args.martlet, "--version"], check=True, capture_output=True, text=True)
    text = markdown(results, versions, done.stdout.strip().split(" ")[-1])
    print(text)
    if args.write:
        write(args.write, text)
    if args.text:
        args.text.write_text(text)
    if args.json:
        dump(args.json, results)
    return exit_code(results)


if __name__ == "__main__":
    sys.exit(main())
