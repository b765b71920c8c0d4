"""The page for newcomers runs as it stands."""
import pathlib
import re

import matplotlib

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"


def test_every_block_of_the_page_runs(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(blocks) >= 6
    names = {}
    for block in blocks:
        exec(block, names)
    assert (tmp_path / "model.agp").exists()
