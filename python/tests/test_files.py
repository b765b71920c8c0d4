"""The model file: what Python writes the command line reads, and the other way round, with the same bits."""
import json
import subprocess

import numpy as np
import pandas as pd
import pytest

from anygp import GPRegressor
from anygp._model import Model


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.normal(size=70), "kind": rng.choice(["u", "v", "w"], 70), "b": rng.uniform(size=70)})
    frame["y"] = np.cos(frame.a) + (frame.kind == "v") + 0.1 * rng.normal(size=70)
    frame.to_csv(tmp_path / "train.csv", index=False)
    return frame, tmp_path


def assert_same_bits(model, frame, predictions):
    mean, sd = model.predict(frame[["a", "kind", "b"]], return_std=True)
    assert np.array_equal(predictions["mean"], mean)
    np.testing.assert_allclose(predictions["variance"], sd ** 2, rtol=1e-15)


def test_saved_in_python_predicted_by_the_program(table, program):
    frame, folder = table
    model = GPRegressor(n_jobs=1, random_state=7).fit(frame[["a", "kind", "b"]], frame["y"])
    model.save(folder / "model.agp")
    run(program, "predict", folder / "model.agp", folder / "train.csv", "-o", folder / "out.csv", "--threads", "1")
    assert_same_bits(model, frame, pd.read_csv(folder / "out.csv", float_precision="round_trip"))
    info = json.loads(run(program, "info", folder / "model.agp", "--json"))
    assert info["seed"] == 7 and info["data"]["target"]["name"] == "y"
    again = GPRegressor.load(folder / "model.agp")
    assert again.random_state == 7 and again.n_jobs == 1 and again.kernel_ == model.kernel_


def test_fitted_by_the_program_loaded_in_python(table, program):
    frame, folder = table
    run(program, "fit", folder / "train.csv", "-o", folder / "model.agp", "--threads", "1", "--mean", "linear", "--seed", "3")
    run(program, "predict", folder / "model.agp", folder / "train.csv", "-o", folder / "out.csv", "--threads", "1")
    model = GPRegressor.load(folder / "model.agp")
    assert (model.mean, model.random_state, model.kernel) == ("linear", 3, None)
    assert list(model.feature_names_in_) == ["a", "kind", "b"] and model.n_features_in_ == 3
    assert_same_bits(model, frame, pd.read_csv(folder / "out.csv", float_precision="round_trip"))


def test_program_and_python_fit_the_same_model(table, program):
    frame, folder = table
    run(program, "fit", folder / "train.csv", "-o", folder / "model.agp", "--threads", "1")
    mine = GPRegressor(n_jobs=1).fit(frame[["a", "kind", "b"]], frame["y"])
    theirs = GPRegressor.load(folder / "model.agp")
    assert mine.kernel_ == theirs.kernel_ and mine.noise_ == theirs.noise_
    assert np.array_equal(mine.predict(frame[["a", "kind", "b"]]), theirs.predict(frame[["a", "kind", "b"]]))


def test_bytes_are_those_of_the_file(waves, tmp_path):
    model = GPRegressor().fit(*waves)
    model.save(tmp_path / "model.agp")
    assert model._model.to_bytes() == (tmp_path / "model.agp").read_bytes()


def test_damaged_bytes_get_a_sentence(waves):
    whole = GPRegressor(iters=2).fit(*waves)._model.to_bytes()
    for damaged in (b"", b"x", whole[:100], whole[:-1], whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]):
        with pytest.raises(RuntimeError, match="model file"):
            Model.from_bytes(damaged)


def test_several_targets_are_predicted_as_by_the_command_line(table, program):
    frame, folder = table
    run(program, "fit", folder / "train.csv", "-o", folder / "two.agp", "--target", "y", "--target", "a", "--iters", "2")
    run(program, "predict", folder / "two.agp", folder / "train.csv", "-o", folder / "out.csv")
    found = pd.read_csv(folder / "out.csv")
    mean, sd = GPRegressor.load(folder / "two.agp").predict(frame[["kind", "b"]], return_std=True)
    np.testing.assert_allclose(mean, found[["y_mean", "a_mean"]], rtol=1e-9)
    np.testing.assert_allclose(sd**2, found[["y_variance", "a_variance"]], rtol=1e-9)
