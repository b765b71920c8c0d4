#!/usr/bin/env python3
"""check_page.py PAGE NAME...: the page is well formed, needs nothing but itself, has the pictures NAME... (not: -NAME) and no number that is not one."""
import html.parser
import re
import sys

VOID = {"meta", "rect", "line", "circle", "path"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.figures, self.text, self.wrong = [], [], {}, [], []

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag in ("script", "link", "img", "iframe", "object"):
            self.wrong.append(f"<{tag}>")
        for name, value in attributes:
            if name in ("src", "href") or name.startswith("on") or re.search(r"https?:", value or ""):
                self.wrong.append(f"{tag} {name}={value}")
            if re.search(r"(?<![a-z])(nan|inf)(?![a-z])", value or "") and name not in ("aria-label",):
                self.wrong.append(f"{tag} {name}={value[:60]}")
        if tag == "section" and "id" in a:
            self.ids.append(a["id"])
        if tag == "svg" and self.ids:
            self.figures[self.ids[-1]] = self.figures.get(self.ids[-1], 0) + 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.text.append(data)


page = Page()
source = open(sys.argv[1], encoding="utf-8").read()
page.feed(source)
page.close()
text = " ".join(page.text)
wrong = page.wrong + [f"not closed: {t}" for t in page.open]
if re.search(r"(?<![A-Za-z])[-+]?(nan|inf|NaN|infinity)(?![A-Za-z])", text):
    wrong.append("a number that is not one: " + re.search(r".{0,40}(?<![A-Za-z])(nan|inf|NaN|infinity)(?![A-Za-z]).{0,40}", text).group())
for name in sys.argv[2:]:
    if name.startswith("-") == (page.figures.get(name.lstrip("-"), 0) > 0):
        wrong.append(f"picture {name}: {page.figures}")
if "prefers-color-scheme:dark" not in source or "@media print" not in source:
    wrong.append("no dark or printed form")
print("\n".join(wrong) or text)
sys.exit(bool(wrong))
