/* What all pages share: the style sheet, light or dark as the reader prefers, light on paper; the head and the foot. */
#include "draw/draw.h"
#include "report/picture.h"
#include "report/report.h"

static const char rules[] =
    ":root{color-scheme:light "
    "dark;--ground:#fff;--ink:#222;--soft:#5a6069;--line:#d8dce1;--card:#f6f7f9;--alarm:#fff4e5;--edge:#d55e00}\n"
    "@media "
    "(prefers-color-scheme:dark){:root{--ground:#16191d;--ink:#ddd;--soft:#a2a9b2;--line:#3a3f45;--card:#1e2227;--"
    "alarm:#33261a;"
    "--edge:#f08a3c}}\n"
    "@media print{:root{--ground:#fff;--ink:#222;--soft:#555;--line:#ccc;--card:#fff;--alarm:#fff;--edge:#d55e00}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,Arial,Helvetica,sans-serif}\n"
    "main{max-width:1400px;margin:0 auto;padding:16px}\n"
    "h1{font-size:1.6em;line-height:1.2;margin:.4em 0}h2{font-size:1.2em;margin:1.6em 0 "
    ".2em}h1,p,li,.text,code{overflow-wrap:anywhere}td{white-space:nowrap}td:first-child,.text{white-space:normal}\n"
    "p{margin:.4em 0;max-width:75ch}.reading,footer{color:var(--soft)}footer{margin-top:2em;font-size:.9em}\n"
    ".warnings{background:var(--alarm);border-left:4px solid var(--edge);padding:.6em 1em;margin:1em "
    "0;max-width:80ch}\n"
    ".warnings ul{margin:.3em 0;padding-left:1.2em}\n"
    ".pictures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:0 "
    "12px}.several{grid-column:1/-1}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:12px;margin:.6em "
    "0;align-items:start}\n"
    "figure{margin:0;background:var(--card);border:1px solid "
    "var(--line);border-radius:6px;padding:6px;max-width:560px}\n"
    "svg.plot{display:block;width:100%;height:auto}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;margin:.6em 0;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25em .8em .25em 0;text-align:right;border-bottom:1px solid var(--line);vertical-align:bottom}"
    "th:first-child,td:first-child,.text{text-align:left}\n"
    "thead th{color:var(--soft);font-weight:600}td small{color:var(--soft)}\n"
    "@media "
    "print{main{max-width:none;padding:0}figure,tr{break-inside:avoid}h2{break-after:avoid}.figures{grid-template-"
    "columns:1fr 1fr}}\n";

void page_style(FILE *f)
{
    fputs(rules, f);
    draw_style(f, true);
}

void page_begin(FILE *f, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          f);
    text_escaped(f, title);
    fputs("</title>\n<style>\n", f);
    page_style(f);
    fputs("</style>\n</head>\n<body>\n<main>\n", f);
}

void page_figures(FILE *f, const figures *list)
{
    fputs("<div class=\"figures\">\n", f);
    for (int64_t i = 0; i < figures_count(list); i++) {
        fputs("<figure>", f);
        figure_inline(f, figures_at(list, i));
        fputs("</figure>\n", f);
    }
    fputs("</div>\n", f);
}

void page_end(FILE *f)
{
    fprintf(f, "<footer>Written by anygp %s.</footer>\n</main>\n</body>\n</html>\n", anygp_version());
}
