#!/usr/bin/env python3
"""Writes the page of a report of `make reproduce` for the documentation.

    page.py REPORT PAGE [--date DATE] [--commit COMMIT]

REPORT is the folder of the report, PAGE the Markdown file. The plots go to the folder `images`
beside PAGE. DATE is that of the report's summary, if none is given.
"""
import argparse
import datetime
import json
import pathlib
import re
import shutil
import sys
import textwrap

# A suffix of a kernel that is no Debian revision names a local build.
LOCAL_KERNEL = re.compile(r"(Linux \d+(?:\.\d+)*)-[^\d\s,]\S*?(?=[,.]?(?:\s|$))")

MARKS = ["true", "modelled part", "other testbed", "incomplete", "absent"]


def paragraph(text):
    """Text in lines of at most 100 columns. A line does not begin like a list."""
    lines = textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)
    return "\n".join("\\" + line if line[:2] in ("- ", "+ ", "* ") else line for line in lines)


def command(text):
    """A command in lines of at most 100 columns, as a shell reads them."""
    return " \\\n    ".join(textwrap.wrap(text, 94, break_long_words=False, break_on_hyphens=False))


def number(value):
    digits = 0 if abs(value) >= 100 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}"


def cell(text):
    return str(text).replace("|", "\\|")


def values(figure):
    """The table of the paper's values and ours."""
    rows = ["| quantity | the paper | here | here / paper |", "| --- | --- | --- | --- |"]
    for value in figure["values"]:
        unit = f" {value['unit']}" if value["unit"] else ""
        paper = value["paperSays"] if value["paper"] is None else number(value["paper"]) + unit
        here = "not measured" if value["here"] is None else number(value["here"]) + unit
        ratio = "–" if value["ratio"] is None else number(value["ratio"])
        cells = (value["what"], paper, here, ratio)
        rows.append("| " + " | ".join(cell(it) for it in cells) + " |")
    return rows


def table(of):
    head = "| " + " | ".join(cell(it) for it in of["columns"]) + " |"
    rows = ["| " + " | ".join(cell(it) for it in row) + " |" for row in of["rows"]]
    return [of["title"] + ":", "", head, "|" + " --- |" * len(of["columns"]), *rows]


def page(report, images, date, commit):
    summary = json.loads((report / "summary.json").read_text())
    machine = summary["machine"]
    is_short = summary["quick"] or machine["build"] != "release"
    lines = ["# A report of the papers' figures", ""]
    lines += [paragraph(
        f"`make reproduce` made this report on {date} at commit {commit}: {machine['cpus']} CPUs "
        f"of {machine['cpu']}, {machine['memory']} of memory, Linux {machine['kernel']}. "
        "[The papers' figures](../reproduction.md) has the marks, the commands, and what is real "
        "in each figure. `deploy/reproduce/page.py` writes this page.")]
    if is_short:
        lines += ["", "This is a short run or a debug build. Its values are not results."]
    marks = [figure["mark"] for figure in summary["figures"]]
    counts = ", ".join(f"{marks.count(mark)} {mark}" for mark in MARKS if mark in marks)
    lines += ["", f"Of {len(marks)} figures: {counts}.", ""]
    lines += ["| figure | mark |", "| --- | --- |"]
    lines += [f"| [{cell(it['title'])}](#{it['id']}) | {it['mark']} |" for it in summary["figures"]]
    for figure in summary["figures"]:
        # A heading of the identifier, which is the target of the links.
        lines += ["", f"## {figure['id']}", "", paragraph(figure["title"] + "."), ""]
        plot = report / f"{figure['id']}.png"
        if figure["mark"] != "absent" and plot.is_file():
            images.mkdir(parents=True, exist_ok=True)
            shutil.copy(plot, images / f"reproduce-{plot.name}")
            image = f"({images.name}/reproduce-{plot.name})"
            title = figure["title"]
            # A line cannot break in it.
            title = title if len(title) + len(image) < 98 else title.split(":")[0]
            lines += [f"![{title}]{image}", ""]
        if figure["mark"] == "absent":
            lines += ["Mark: absent. It was not measured in this run."]
            continue
        lines += [paragraph(f"Mark: {figure['mark']}. {figure['reason']}"), ""]
        if figure["values"]:
            lines += values(figure) + [""]
        if figure["table"]:
            lines += table(figure["table"]) + [""]
        lines += [paragraph(figure["like"]), ""]
        if figure["command"]:
            block = ["```text", command(figure["command"]), "```"]
            lines += ["Measured by this command:", "", *block, ""]
        lines += [paragraph(figure["machine"])] if figure["machine"] else []
        while lines[-1] == "":
            lines.pop()
    return LOCAL_KERNEL.sub(r"\1", "\n".join(lines)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--date")
    parser.add_argument("--commit", default="not noted")
    args = parser.parse_args()
    summary = args.report / "summary.json"
    if not summary.is_file():
        sys.exit(f"{summary} is missing: `make reproduce` makes it")
    date = args.date or str(datetime.date.fromtimestamp(summary.stat().st_mtime))
    text = page(args.report, args.page.parent / "images", date, args.commit)
    args.page.write_text(text)


if __name__ == "__main__":
    main()
