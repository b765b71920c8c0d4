"""anygp.models() is the library's table of models."""
import anygp


def test_models_are_those_of_the_library():
    table = {m["name"]: m for m in anygp.models()}
    assert {"exact", "fitc", "svgp", "combine"} <= set(table)
    assert table["exact"]["rows"] == "all" and table["exact"]["update"] and not table["sod"]["update"]
    assert table["svgp"]["likelihoods"] == "any" and table["svgp"]["learning"] == "steps"
    assert table["pic"]["rows"] == "parts" and table["pic"]["anytime"]
    assert table["svdgp"]["inducing"] == "pair" and table["vfe"]["targets"] == "several"
