"""Runs a program in a pseudo terminal, sends it keys, and prints what the screen shows.

    terminal.py COLUMNS ROWS STEPS PROGRAM ARGUMENTS…

STEPS is a JSON array of [TEXT, KEYS]: when the screen shows TEXT, it is kept and KEYS are sent. The
result is a JSON array of the kept screens: lines, and for each line the colours of its characters.
With MARTLET_SCREENSHOTS, each kept screen is also a picture in that folder:
`terminal-COLUMNS-N.svg`.
"""

import codecs
import fcntl
import itertools
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from xml.sax.saxutils import escape

columns, rows = int(sys.argv[1]), int(sys.argv[2])
steps = json.loads(sys.argv[3])
LONGEST = 20.0

# The sequences that ratatui writes with crossterm: cursor, colours, erasing; others change nothing.
SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>78]|(\x1b[^\[()]?)$")


class Screen:
    def __init__(self):
        self.clear()
        self.row = self.column = 0
        self.colour = None
        self.rest = ""

    def clear(self):
        self.cells = [[(" ", None)] * columns for _ in range(rows)]

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = SEQUENCE.match(text, at)
                if found is None:
                    # The rest of the sequence has not arrived.
                    self.rest = text[at:]
                    return
                self.control(found.group(1) or "", found.group(2))
                at = found.end()
                continue
            self.put(text[at])
            at += 1

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row = min(self.row + 1, rows - 1)
        elif char >= " " and self.column < columns:
            self.cells[self.row][self.column] = (char, self.colour)
            self.column += 1

    def control(self, arguments, kind):
        numbers = [int(n) for n in arguments.split(";") if n.isdigit()]
        if kind == "H":
            self.row, self.column = ((numbers + [1, 1])[:2] if numbers else [1, 1])
            self.row, self.column = min(self.row, rows) - 1, min(self.column, columns) - 1
        elif kind == "J" and numbers[:1] == [2]:
            self.clear()
        elif kind == "m":
            self.paint(numbers or [0])

    def paint(self, numbers):
        while numbers:
            n = numbers.pop(0)
            if n in (0, 39):
                self.colour = None
            elif n == 38 and numbers[:1] == [5]:
                self.colour, numbers = numbers[1], numbers[2:]
            elif n == 48 and numbers[:1] == [5]:
                numbers = numbers[2:]
            elif 30 <= n <= 37:
                self.colour = n - 30
            elif 90 <= n <= 97:
                self.colour = n - 82

    def lines(self):
        return ["".join(char for char, _ in row).rstrip() for row in self.cells]

    def colours(self):
        def seen(row):
            return sorted({c for char, c in row if c is not None and char != " "})

        return [seen(row) for row in self.cells]


# A terminal's colours on a dark background, and the size of a character.
PALETTE = ["#6e7681", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#e6edf3"]
WIDE, HIGH = 8.4, 18


def picture(cells):
    """A screen as SVG: a text for each run of characters of one colour, at its place."""
    parts = []
    for row, line in enumerate(cells):
        column = 0
        for colour, run in itertools.groupby(line, key=lambda cell: cell[1]):
            text = "".join(char for char, _ in run)
            if text.strip():
                fill = PALETTE[7 if colour is None else colour % 8]
                x, wide = 8 + column * WIDE, len(text) * WIDE
                parts.append(
                    f'<text x="{x:.1f}" y="{22 + row * HIGH}" fill="{fill}" xml:space="preserve" '
                    f'textLength="{wide:.1f}">{escape(text)}</text>'
                )
            column += len(text)
    width, height = columns * WIDE + 16, rows * HIGH + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">\n'
        f'<rect width="100%" height="100%" rx="6" fill="#0d1117"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm-256color"
    os.execv(sys.argv[4], sys.argv[4:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
screen, kept = Screen(), []
# A character may arrive in two parts.
decoder = codecs.getincrementaldecoder("utf-8")("replace")
deadline = time.monotonic() + LONGEST
while True:
    ready, _, _ = select.select([terminal], [], [], 0.1)
    if ready:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b""
        if not data:
            break
        screen.feed(decoder.decode(data))
    # A frame is complete when nothing follows it for a moment.
    if not ready and steps and any(steps[0][0] in line for line in screen.lines()):
        kept.append({"lines": screen.lines(), "colours": screen.colours()})
        folder = os.environ.get("MARTLET_SCREENSHOTS")
        if folder:
            os.makedirs(folder, exist_ok=True)
            name = f"terminal-{columns}-{len(kept)}.svg"
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(picture(screen.cells))
        os.write(terminal, steps.pop(0)[1].encode())
    if time.monotonic() > deadline:
        os.kill(pid, 9)
        sys.exit("waits for %r:\n%s" % (steps[:1], "\n".join(screen.lines())))
_, status = os.waitpid(pid, 0)
if status != 0 or steps:
    sys.exit("ended with %d, waits for %r:\n%s" % (status, steps, "\n".join(screen.lines())))
print(json.dumps(kept))
