#!/usr/bin/env python3
"""Runs other vendors' programs against a Martlet core, and writes the matrix of docs/interop.md.

    deploy/interop/run.py --martlet target/release/martlet --programs DIR

DIR has the programs of UERANSIM (nr-gnb, nr-ue, nr-cli), PacketRusher (packetrusher), free-ran-ue
(free-ran-ue), OCUDU (gnb), OAI (nr-softmodem, nr-uesoftmodem), Open5GS (open5gs-amfd and others),
eUPF (eupf) and pfcpsim (pfcpsim, pfcpctl), anywhere below it. What is not there is "not run". It
runs as root: it creates network namespaces and interfaces, and deletes them. `--steps` prints what
each vendor's programs would do, and runs nothing.
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


def find(folder, name, mode=os.X_OK):
    """A file of this name below a folder: a program, unless another mode is asked for."""
    if folder is None:
        return None
    found = (path for path in sorted(Path(folder).rglob(name)) if path.is_file())
    return next((str(path.resolve()) for path in found if os.access(path, mode)), None)


def programs_of(vendor, folder):
    """The paths of a vendor's programs, or the name of one that is missing."""
    found = {}
    for name, file in vendor.programs.items():
        path = find(folder, file) if file else name
        if path is None:
            return file
        found[name] = path
    for name, file in vendor.files.items():
        path = find(folder, file, os.R_OK)
        if path is None:
            return file
        found[name] = path
    return found


def steps(vendors, selected, testbed):
    """What the vendors' programs would do."""
    for vendor_type in vendors:
        names = vendor_type.programs | vendor_type.files
        vendor = vendor_type(testbed, {name: file or name for name, file in names.items()})
        for case in selected:
            planned = vendor.steps(case.name)
            for step in planned if isinstance(planned, list) else [planned]:
                print(f"{vendor.name}: {case.name}: {step}")


def play(vendor_type, testbed, folder, selected, quiet):
    """Plays all cases with a vendor's programs."""
    found = programs_of(vendor_type, folder)
    if isinstance(found, str):
        return None, {case.name: not_run(f"{found} is not installed") for case in selected}
    if vendor_type.kernel_sctp and not testbed.has_kernel_sctp():
        why = "needs the kernel's SCTP"
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
    return vendor.version(), results


def not_run(why):
    """The result of a case that was not run."""
    return {"verdict": "not run", "why": why}


def cell(result):
    """A cell of the matrix."""
    if result["verdict"] == "failed" and "who" in result:
        return f"failed: {result['who']}"
    return result["verdict"]


def markdown(results, versions, martlet):
    """The matrix, and the causes of failures."""
    names = list(results)
    titles = [f"{name} {versions[name]}" if versions[name] else name for name in names]
    lines = [
        f"Martlet {martlet}, {datetime.date.today().isoformat()}, Linux {os.uname().release}.",
        "",
        "| case | clause | " + " | ".join(titles) + " |",
        "| --- | --- |" + " --- |" * len(names),
    ]
    for case in CASES:
        cells = [cell(results[name].get(case.name, not_run(""))) for name in names]
        lines.append(f"| {case.title} | {case.clause} | " + " | ".join(cells) + " |")
    reasons = {name: {result.get("why") for result in results[name].values()} for name in names}
    reasons = {
        name: next(iter(why))
        for name, why in reasons.items()
        if len(why) == 1 and all(it["verdict"] == "not run" for it in results[name].values())
    }
    if reasons:
        lines += ["", "| not run | why |", "| --- | --- |"]
        lines += [f"| {name} | {why} |" for name, why in reasons.items()]
    causes = []
    for name in names:
        for case in CASES:
            result = results[name].get(case.name, {})
            if result.get("verdict") == "failed":
                who, clause = result.get("who", "not known"), result.get("clause", "not known")
                copes = result.get("martlet", "not known")
                why = result["why"].splitlines()[0][:120].replace("|", "/")
                causes.append(f"| {name} | {case.title} | {why} | {who} | {clause} | {copes} |")
    if causes:
        header = "| with | case | what happened | who is wrong | clause | Martlet |"
        lines += ["", header, "| --- | --- | --- | --- | --- | --- |", *causes]
    return "\n".join(lines) + "\n"


def write(page, text):
    """Puts the matrix into the page."""
    before, rest = page.read_text().split(BEGIN, 1)
    _, after = rest.split(END, 1)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main():
    """Plays the selected cases. The exit code is 1 if one failed without a known cause."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--martlet", required=True, help="the program martlet")
    parser.add_argument("--programs", help="folder with the programs of others")
    parser.add_argument("--vendor", action="append", help="only this vendor")
    parser.add_argument("--case", action="append", help="only this case")
    parser.add_argument("--write", type=Path, help="page whose matrix is replaced")
    parser.add_argument("--json", type=Path, help="file for all results")
    parser.add_argument("--folder", help="folder for files and logs, which stay there")
    parser.add_argument("--steps", action="store_true", help="print the steps, and run nothing")
    parser.add_argument("--quiet", action="store_true", help="print the matrix only")
    args = parser.parse_args()
    known = {case.name for case in CASES}
    if unknown := set(args.case or []) - known:
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {sorted(known)}")
    selected = [case for case in CASES if not args.case or case.name in args.case]
    vendors = [vendor for vendor in VENDORS if not args.vendor or vendor.name in args.vendor]
    if args.steps:
        steps(vendors, selected, Testbed(args.martlet, args.folder or "."))
        return 0
    folder = args.folder or tempfile.mkdtemp(prefix="martlet-interop-")
    results, versions = {}, {}
    try:
        with Testbed(args.martlet, folder) as testbed:
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
    if args.json:
        dump(args.json, results)
    verdicts = [result for of in results.values() for result in of.values()]
    failed = [it for it in verdicts if it["verdict"] == "failed" and "who" not in it]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
