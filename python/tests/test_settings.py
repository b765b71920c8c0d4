"""Arguments come from the library's table, and so do the answers to wrong ones."""
import inspect
import subprocess
import sys

import numpy as np
import pytest

from anygp import GPRegressor, _settings


def test_arguments_are_the_settings_of_fit(program):
    options = subprocess.run([program, "fit", "--help-all"], capture_output=True, text=True).stdout
    signature = inspect.signature(GPRegressor)
    for name, setting in _settings.FIT.items():
        assert f"--{setting.name}" in options
        assert name in signature.parameters and f"\n{name} : " in GPRegressor.__doc__
    assert list(signature.parameters) == [*_settings.FIT, "verbose", "warm_start"]
    assert signature.parameters["model"].default == "auto" and signature.parameters["iters"].default == 200


def test_defaults_are_the_library_s_own():
    """Every default as a value is the library's as text, and is not passed on."""
    values = GPRegressor(n_jobs=1).get_params()
    own = {name: s.default for name, s in _settings.FIT.items() if s.default and name not in _settings.RENAMED.values()}
    assert {name: _settings.to_text(values[name]) for name in own} == own
    assert _settings.texts_of(values, 0) == {"threads": "1", "seed": "0"}


def test_an_unknown_argument_names_the_nearest():
    with pytest.raises(TypeError, match="no argument 'kernl'; did you mean 'kernel'"):
        GPRegressor(kernl="rbf")


def test_a_dash_is_an_underscore(waves, tmp_path):
    """In the signature, on the way to the library, and back from a model file."""
    X, y = waves
    places = tmp_path / "places.csv"
    np.savetxt(places, X[:7], delimiter=",")
    model = GPRegressor(model="fitc", inducing_from=str(places), iters=3).fit(X, y)
    assert model.info_["inducing"] == 7
    model.save(tmp_path / "m.agp")
    assert GPRegressor.load(tmp_path / "m.agp").inducing_from == str(places)
    with pytest.raises(TypeError, match="did you mean 'inducing_from'"):
        GPRegressor(inducing_form="x")


def test_settings_of_the_command_line_are_no_arguments():
    for name in ("output", "checkpoint", "resume", "trace", "target", "inputs", "drop", "categories", "dates", "decimal", "skip", "comment", "na"):
        with pytest.raises(TypeError, match=f"no argument '{name}'$"):
            GPRegressor(**{name: "x"})


@pytest.mark.parametrize("wrong, sentence", [
    (dict(kernel="rbff"), "rbf"), (dict(model="exakt"), "did you mean 'exact'"), (dict(noise=-1.0), "noise: -1.0 is not"),
    (dict(mean="cubic"), "zero constant linear"), (dict(n_jobs=0), "n_jobs"), (dict(time_budget="soon"), "time: 'soon'"),
    (dict(iters=2.5), "whole number"), (dict(random_state=-3), "seed"),
])
def test_a_wrong_value_is_a_value_error_with_the_library_s_sentence(waves, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        GPRegressor(**wrong).fit(*waves)


def test_what_is_not_the_caller_s_fault_is_a_runtime_error(waves, tmp_path):
    with pytest.raises(RuntimeError, match="memory allows|needs"):
        GPRegressor(model="exact", memory="1k").fit(*waves)
    with pytest.raises(RuntimeError, match="nowhere"):
        GPRegressor().fit(*waves).save(tmp_path / "nowhere" / "model.agp")
    with pytest.raises(RuntimeError, match="cannot be opened"):
        GPRegressor.load(tmp_path / "nothing.agp")


def test_seeds(waves):
    def kept(state):
        return GPRegressor(model="sod", inducing=20, random_state=state, iters=5).fit(*waves).predict(waves[0])

    assert np.array_equal(kept(None), kept(0)) and np.array_equal(kept(4), kept(4))
    assert not np.array_equal(kept(4), kept(5))
    assert np.array_equal(kept(np.random.RandomState(1)), kept(np.random.RandomState(1)))


def test_time_budget_ends_training_with_a_model():
    X = np.random.default_rng(0).normal(size=(700, 3))
    model = GPRegressor(time_budget=0.05, iters=100000, restarts=1000).fit(X, X[:, 0] * X[:, 1])
    assert "time" in model.info_["status"] and np.isfinite(model.predict(X)).all()


def test_progress_is_told_on_request_only(waves, capsys):
    GPRegressor(iters=3, verbose=2).fit(*waves)
    assert "learning: 3/3  objective" in capsys.readouterr().err
    GPRegressor(iters=3).fit(*waves)
    assert capsys.readouterr() == ("", "")


def test_warnings_are_warnings(waves):
    with pytest.warns(UserWarning, match="all targets are equal") as seen:
        GPRegressor().fit(waves[0], np.ones(60))
    assert len(seen) == 1 and seen[0].filename == __file__


def test_a_library_that_is_not_there_is_an_import_error():
    found = subprocess.run([sys.executable, "-c", "import anygp"], capture_output=True, text=True,
                           env={"ANYGP_LIBRARY": "/nowhere/libanygp.so", "PYTHONPATH": ":".join(sys.path)})
    assert found.returncode == 1 and "ImportError: the library libanygp.so cannot be loaded" in found.stderr


def test_only_given_options_reach_the_library(waves, capfd):
    assert _settings.texts_of(GPRegressor(iters=3).get_params(), 0).keys() == {"iters", "threads", "seed"}
    GPRegressor(model="exact", iters=3, verbose=1).fit(*waves)
    assert "has no effect on model" not in capfd.readouterr().err
    GPRegressor(model="exact", iters=3, batch=17, verbose=1).fit(*waves)
    assert "\nbatch has no effect on model exact" in capfd.readouterr().err


def test_every_fit_has_scores(waves):
    X, y = waves
    for model, kind in {"exact": "leave_one_out", "vfe": "valid"}.items():
        found = GPRegressor(model=model, iters=3, inducing=10 if model == "vfe" else None).fit(X, y).scores_
        assert found["of"] == kind and found["rmse"] > 0
    assert GPRegressor(model="vfe", iters=3, inducing=5).fit(X[:20], y[:20]).scores_["of"] == "training"
    assert GPRegressor(model="vfe", iters=3, inducing=5, valid=0).fit(X, y).scores_ == {}
