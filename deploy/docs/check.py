#!/usr/bin/env python3
"""Reports links and images of a built site that lead nowhere, with their anchors.

    check.py FOLDER
"""
import os
import sys
import urllib.parse
from html.parser import HTMLParser


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := attrs.get(key)))
        if link := attrs.get("href" if tag == "a" else "src" if tag in ("img", "script") else ""):
            self.links.append(link)


def main():
    root = sys.argv[1]
    pages = {}
    for folder, _, names in os.walk(root):
        for name in names:
            # The page for all pages in one repeats the others, with other anchors.
            if name.endswith(".html") and name not in ("print.html", "toc.html", "404.html"):
                path = os.path.join(folder, name)
                pages[os.path.normpath(path)] = Page(path)
    dead, links = [], 0
    for path, page in sorted(pages.items()):
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            links += 1
            target = path
            if parts.path:
                base = os.path.dirname(path)
                target = os.path.normpath(os.path.join(base, urllib.parse.unquote(parts.path)))
            if not os.path.exists(target):
                dead.append(f"{path}: {link}: no such file")
            elif target in pages and parts.fragment:
                if urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                    dead.append(f"{path}: {link}: no such heading")
    print("\n".join(dead))
    if dead or len(pages) < 20 or links < 200:
        sys.exit(f"{len(dead)} dead links in {len(pages)} pages with {links} links.")
    print(f"{links} links in {len(pages)} pages, none is dead.")


main()
