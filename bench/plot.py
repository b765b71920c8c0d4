"""Small line plots as SVG, side by side, without any library."""
import math

COLOURS = ["#1b6ca8", "#c8553d", "#5b8c3a", "#7a5195", "#e09f3e"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 360, 270, 58, 12, 40, 46


class Figure:
    def __init__(self, panels, title):
        self.panels = [{"lines": [], "levels": [], "points": [], "logx": False, "x": "", "y": ""} for _ in range(panels)]
        self.title = title

    def line(self, panel, x, y, colour, label):
        pairs = [(a, b) for a, b in zip(x, y) if a > 0 and math.isfinite(b)]
        self.panels[panel]["lines"].append((pairs, colour, label))

    def level(self, panel, y, colour, label):
        self.panels[panel]["levels"].append((y, colour, label))

    def point(self, panel, x, y, colour, label):
        self.panels[panel]["points"].append((x, y, colour, label))

    def axes(self, panel, x, y, logx=False):
        self.panels[panel].update(x=x, y=y, logx=logx)

    def write(self, path):
        total = WIDTH * len(self.panels)
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{HEIGHT}" font-family="sans-serif" font-size="11">',
               f'<rect width="{total}" height="{HEIGHT}" fill="white"/>',
               f'<text x="{total / 2}" y="16" text-anchor="middle" font-size="13">{self.title}</text>']
        for k, panel in enumerate(self.panels):
            out += draw_panel(panel, k * WIDTH)
        with open(path, "w") as f:
            f.write("\n".join(out + ["</svg>\n"]))


def ticks(low, high, count=5):
    step = 10 ** math.floor(math.log10((high - low) / count)) if high > low else 1
    step = next((step * m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= count), step)
    first = math.ceil(low / step) * step
    return [round(first + i * step, 12) for i in range(int((high - first) / step + 1e-9) + 1)]


def log_ticks(low, high):
    marks = [1] if high - low > 2.5 else [1, 2, 5] if high - low < 1.5 else [1, 3]
    values = [m * 10 ** k for k in range(math.floor(low), math.ceil(high) + 1) for m in marks]
    return [v for v in values if low - 1e-9 <= math.log10(v) <= high + 1e-9]


def draw_panel(p, offset):
    xs = [x for pairs, _, _ in p["lines"] for x, _ in pairs] + [q[0] for q in p["points"]]
    ys = [y for pairs, _, _ in p["lines"] for _, y in pairs] + [q[1] for q in p["points"]] + [v[0] for v in p["levels"]]
    if not xs:
        return []
    change = math.log10 if p["logx"] else float
    x0, x1, y0, y1 = change(min(xs)), change(max(xs)), min(ys), max(ys)
    y1 = min(y1, y0 + 3 * (sorted(ys)[len(ys) // 2] - y0) + 1e-12) if len(ys) > 4 else y1
    pad = 0.05 * (y1 - y0 or 1)
    y0, y1, x1 = y0 - pad, y1 + pad, x1 if x1 > x0 else x0 + 1

    def at(x, y):
        return (offset + LEFT + (change(x) - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - (min(y, y1) - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM))

    left, bottom = offset + LEFT, HEIGHT - BOTTOM
    out = [f'<path d="M{left} {TOP}V{bottom}H{offset + WIDTH - RIGHT}" fill="none" stroke="black"/>']
    for value in log_ticks(x0, x1) if p["logx"] else ticks(x0, x1):
        x = at(value, y0)[0]
        out.append(f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{value:.3g}</text>'
                   f'<path d="M{x:.1f} {bottom}v4" stroke="black"/>')
    for t in ticks(y0, y1):
        y = at(10 ** x0 if p["logx"] else x0, t)[1]
        out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{t:.4g}</text>'
                   f'<path d="M{left} {y:.1f}h-4" stroke="black"/>')
    out.append(f'<text x="{(left + offset + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{p["x"]}</text>'
               f'<text transform="translate({offset + 13} {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">{p["y"]}</text>')
    for value, colour, _ in p["levels"]:
        y = at(10 ** x0 if p["logx"] else x0, value)[1]
        out.append(f'<path d="M{left} {y:.1f}H{offset + WIDTH - RIGHT}" stroke="{COLOURS[colour]}" stroke-dasharray="4 3"/>')
    for pairs, colour, label in p["lines"]:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*q) for q in pairs))
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[colour]}" stroke-width="1.6"/>')
    for x, y, colour, _ in p["points"]:
        a, b = at(x, y)
        out.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{COLOURS[colour]}"/>')
    seen = [(colour, label) for _, colour, label in p["lines"]]
    wide = max([84] + [34 + 6 * len(label) for _, label in seen])
    for k, (colour, label) in enumerate(seen):
        y = TOP + 4 + 14 * k
        out.append(f'<path d="M{offset + WIDTH - wide} {y}h18" stroke="{COLOURS[colour]}" stroke-width="2"/>'
                   f'<text x="{offset + WIDTH - wide + 22}" y="{y + 4}">{label}</text>')
    return out
