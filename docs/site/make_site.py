#!/usr/bin/python3
"""The pages of docs/ as a static site: make_site.py OUTPUT_DIRECTORY.

Needs Python-Markdown alone.  The site works from a file as from a server: links are relative and the search index is a script.
A page that nav.txt does not name, and a link or an anchor that leads nowhere, end the run with a sentence.
"""
import html
import json
import pathlib
import re
import shutil
import sys

import markdown

SITE = pathlib.Path(__file__).resolve().parent
DOCS = SITE.parent
FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
<script src="search-index.js" defer></script><script src="search.js" defer></script>
</head>
<body>
<header><a class="home" href="index.html">anygp</a>
<input id="search" type="search" placeholder="Search" aria-label="Search the pages" autocomplete="off"></header>
<div id="found" hidden></div>
<div class="page">
<nav aria-label="Pages"><details open><summary>Pages</summary>
{nav}
</details></nav>
<main>
{body}
<p class="turn">{turn}</p>
</main>
</div>
</body>
</html>
"""


class Broken(Exception):
    """A sentence about a page."""


def read_nav():
    """[(section, [(path, title)])], as nav.txt has it."""
    sections = []
    for line in (SITE / "nav.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.rstrip().endswith(":"):
            sections.append((line.rstrip()[:-1], []))
            continue
        path, _, title = line.partition(" ")
        sections[-1][1].append((path, title.strip() or path))
    return sections


def slug(text, separator):
    """The anchor of a heading, as GitHub makes it, so that one link serves both."""
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", separator)


def target(path):
    return pathlib.PurePosixPath(path).name.lower().removesuffix(".md") + ".html"


def render(path):
    """A page's body."""
    reader = markdown.Markdown(extensions=["tables", "fenced_code", "toc", "sane_lists"], extension_configs={"toc": {"slugify": slug}})
    # GitHub begins a list without an empty line before it; Python-Markdown wants one.
    text = re.sub(r"(?m)^((?![-*] |\d+\. |\s|\|).+)\n(?=[-*] )", r"\1\n\n", (DOCS / path).read_text())
    return reader.convert(text).replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")


def relink(path, body, pages, files):
    """Links to pages of the site become links to their HTML; other files of docs/ are copied."""
    def one(match):
        attribute, link = match.group(1), html.unescape(match.group(2))
        if re.match(r"[a-z]+:", link):
            return match.group(0)
        file, _, anchor = link.partition("#")
        known = path if not file else (pathlib.PurePosixPath(path).parent / file).as_posix()
        known = re.sub(r"^bench/\.\./|^\.\./docs/|[^/.]+/\.\./", "", known)
        if known == "../README.md":
            known = "index.md"
        if known in pages:
            if anchor and f'id="{anchor}"' not in pages[known]:
                raise Broken(f"{path}: {link} names a heading that is not there")
            return f'{attribute}="{target(known)}{"#" + anchor if anchor else ""}"'
        if not (DOCS / known).is_file():
            raise Broken(f"{path}: {link} leads nowhere")
        name = pathlib.PurePosixPath(known).name
        files[name] = DOCS / known
        return f'{attribute}="{name}"'
    return re.sub(r'\b(href|src)="([^"]*)"', one, body)


def navigation(sections, current):
    lines = []
    for name, pages in sections:
        lines.append(f"<h2>{html.escape(name)}</h2><ul>")
        for path, title in pages:
            here = ' aria-current="page"' if path == current else ""
            lines.append(f'<li><a href="{target(path)}"{here}>{html.escape(title)}</a></li>')
        lines.append("</ul>")
    return "\n".join(lines)


def plain(body):
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", " ", body))).strip()


def index_entries(path, title, body):
    """What the search knows: a piece per heading."""
    pieces = re.split(r'(?=<h[1-3] id=")', body)
    for piece in pieces:
        found = re.match(r'<h[1-3] id="([^"]*)">(.*?)</h[1-3]>(.*)', piece, re.S)
        if found:
            yield {"u": f"{target(path)}#{found.group(1)}", "p": title, "t": plain(found.group(2)), "b": plain(found.group(3))}


def write_site(out):
    sections = read_nav()
    listed = [page for _, pages in sections for page in pages]
    missing = sorted({p.name for p in DOCS.glob("*.md")} - {path for path, _ in listed})
    if missing:
        raise Broken(f"docs/site/nav.txt does not name {', '.join(missing)}")
    pages = {}
    for path, _ in listed:
        if not (DOCS / path).is_file():
            raise Broken(f"docs/site/nav.txt names {path}, which is not there")
        pages[path] = render(path)
    unlinked = [path for path, _ in listed[1:] if f'href="{path}"' not in pages["index.md"]]
    if unlinked:
        raise Broken(f"docs/index.md has no link to {', '.join(unlinked)}")
    out.mkdir(parents=True, exist_ok=True)
    files, index = {}, []
    for i, (path, title) in enumerate(listed):
        body = relink(path, pages[path], pages, files)
        index += index_entries(path, title, body)
        turn = [f'<a href="{target(p)}">{mark.format(html.escape(t))}</a>'
                for mark, k in (("← {}", i - 1), ("{} →", i + 1)) if 0 <= k < len(listed) for p, t in [listed[k]]]
        name = title if title == "anygp" else f"{title} - anygp"
        (out / target(path)).write_text(FRAME.format(title=html.escape(name), nav=navigation(sections, path), body=body, turn=" ".join(turn)))
    for name, file in files.items():
        shutil.copyfile(file, out / name)
    for name in ("style.css", "search.js"):
        shutil.copyfile(SITE / name, out / name)
    (out / "search-index.js").write_text("const pages = " + json.dumps(index, ensure_ascii=False) + ";\n")
    return len(listed)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_site.py OUTPUT_DIRECTORY")
    try:
        print(f"{write_site(pathlib.Path(sys.argv[1]))} pages in {sys.argv[1]}")
    except Broken as sentence:
        sys.exit(f"make_site.py: {sentence}")
