"""Networks and joint distributions are kept in a file: written ones by their tables, counted ones by their counts."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.errors import BayesError
from bayeskit.models import from_bytes, to_bytes

BIRDS = load_penguins().select(["species", "island", "bill_length_mm", "year"])
ROLES = {"year": "categorical", "bill_length_mm": bk.Numeric((40, 45))}
EDGES = [("species", "island"), ("species", "bill_length_mm"), ("island", "bill_length_mm")]
QUESTION = "P(species = Gentoo | island = Biscoe and bill_length_mm > 45)"


def test_a_written_network_is_kept_with_every_state_and_number(tmp_path):
    tables = {"a": {1: 0.25, "one": 0.5, False: 0.25}, "b": {1: {"x": 1.0}, "one": {"x": 1.0}, False: {"x": 1.0}}}
    network = bk.BayesianNetwork([("a", "b")], tables)
    network.save(tmp_path / "n.bayes")
    again = bk.load(tmp_path / "n.bayes")
    assert again == network
    assert [type(state) for state in again.states["a"]] == [int, str, bool]
    with pytest.raises(BayesError, match="was written, not counted"):
        again.learn({"a": ["one"], "b": ["x"]})


@pytest.mark.parametrize("smoothing", [0.5, bk.Laplace(), bk.MEstimate(2)], ids=repr)
def test_a_counted_network_goes_on_learning_and_forgetting(smoothing):
    network = bk.BayesianNetwork.from_data(EDGES, BIRDS, smoothing=smoothing, roles=ROLES)
    again = from_bytes(to_bytes(network))
    assert again == network
    assert again.tally_ == network.tally_
    assert again.query(QUESTION) == network.query(QUESTION)
    assert again.learn(BIRDS.slice(0, 9)) == network.learn(BIRDS.slice(0, 9))
    assert again.forget(BIRDS.slice(0, 9)).merge(network) == network.forget(BIRDS.slice(0, 9)).merge(network)


@pytest.mark.filterwarnings("ignore:.*rows have a missing cell")
def test_a_joint_distribution_is_kept_with_its_cells_rows_and_cuts():
    roles = {"bill_length_mm": bk.Numeric((40, 45))}
    many = {"x": [f"v{i:04}" for i in range(600)], "y": [i % 7 for i in range(600)]}
    for joint in (
        bk.JointDistribution.from_data(BIRDS, roles=roles),
        bk.JointDistribution.from_data(BIRDS, 1.0, roles=roles),
        bk.JointDistribution.from_data(many),
        bk.JointDistribution.from_data(BIRDS, roles=roles).given("island = Dream"),
    ):
        again = from_bytes(to_bytes(joint))
        assert (again.values, again.cuts, again.n_rows) == (joint.values, joint.cuts, joint.n_rows)
        assert np.array_equal(again.p, joint.p)
        assert all(np.array_equal(again.codes[name], codes) for name, codes in joint.codes.items())


def test_a_class_of_ones_own_is_refused():
    class Own(bk.BayesianNetwork):
        pass

    with pytest.raises(BayesError, match="Own cannot be saved"):
        to_bytes(Own([], {"a": 0.5}))


def test_values_beyond_64_bits_are_shown_as_text():
    joint = bk.JointDistribution.from_table({"x": np.array([10**30, 1], dtype=object), "count": [1, 1]})
    assert str(10**30) in str(from_bytes(to_bytes(joint)).table())
