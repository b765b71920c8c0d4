// Search over the pages' headings and text: every word must occur; headings count most.
"use strict";
(function () {
  const box = document.getElementById("search"), found = document.getElementById("found");
  const lower = pages.map((p) => ({ t: p.t.toLowerCase(), b: p.b.toLowerCase() }));

  function score(i, words) {
    let sum = 0;
    for (const w of words) {
      const inTitle = lower[i].t.includes(w), at = lower[i].b.indexOf(w);
      if (!inTitle && at < 0) return 0;
      sum += (lower[i].t === w ? 40 : inTitle ? 20 : 0) + (at >= 0 ? 1 + Math.min(5, lower[i].b.split(w).length) : 0);
    }
    return sum;
  }

  function around(i, word) {
    const at = Math.max(0, lower[i].b.indexOf(word) - 60);
    return (at ? "…" : "") + pages[i].b.slice(at, at + 180) + "…";
  }

  function show(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    found.replaceChildren();
    found.hidden = words.length === 0;
    if (found.hidden) return;
    const best = pages.map((_, i) => [score(i, words), i]).filter((s) => s[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
    for (const [, i] of best) {
      const link = document.createElement("a"), note = document.createElement("span");
      link.href = pages[i].u;
      link.textContent = pages[i].t === pages[i].p ? pages[i].t : pages[i].p + ": " + pages[i].t;
      note.textContent = around(i, words[0]);
      link.append(note);
      link.addEventListener("click", () => { box.value = ""; found.hidden = true; });
      found.append(link);
    }
    if (!best.length) found.textContent = "No page has all of these words.";
  }

  box.addEventListener("input", () => show(box.value));
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && document.activeElement !== box) { e.preventDefault(); box.focus(); }
    if (e.key === "Escape") { box.value = ""; show(""); }
  });
  if (matchMedia("(max-width: 50rem)").matches) document.querySelector("nav details").open = false;
})();
