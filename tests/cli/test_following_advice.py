"""Advice that the package prints is followed, in Python or at a terminal, and ends in success.

Settings, models and commands are here; rows and columns in ``test_advice_on_data.py``; sequences, engines, databases,
memory, pictures and folds in ``test_advice_elsewhere.py``.
"""

import warnings
from pathlib import Path

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.data.schema import Categorical
from bayeskit.errors import BayesError
from bayeskit.models.ensemble import parameters
from tests.cli.following import TEXTS, advised, fitting, follow, limited, rows, said, typed

# -- settings that do not fit ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bk.NBTree, bk.SubclassBayes])
def test_models_that_take_no_texts(kind):
    data, y = rows(a=TEXTS["free text"], b=TEXTS["free text"])

    def attempt(kind=kind, roles=None):
        return kind(roles={"a": "text", "b": "text", **(roles or {})}).fit(data, y)

    follow(attempt, "roles", "NaiveBayes")


@pytest.mark.slow
def test_a_tree_takes_no_texts():
    data, y = rows(a=[*"uvw"] * 20)

    def attempt(kind=bk.TAN, roles=None):
        return kind(roles={"a": "text", **(roles or {})}).fit(data, y)

    follow(attempt, "roles", "NaiveBayes")


def test_multivariate_normals_are_of_numbers():
    data, y = rows(z=np.arange(60) ** 2 % 17 * 0.5, sky=[*"ab"] * 30, wind=[*"uv"] * 30)
    follow(fitting(data, y, bk.GaussianBayes), "roles", "NaiveBayes")
    numbers, y = rows(z=np.arange(60) ** 2 % 17 * 0.5)

    def attempt(kind=bk.GaussianBayes, memory_limit=10):
        return kind(**limited(kind, memory_limit)).fit(numbers, y)

    follow(attempt, "memory_limit", "NaiveBayes", chosen={"memory_limit": 1e6})


@pytest.mark.parametrize("given", ["full", "tied"])
def test_covariances_that_are_singular_are_shared_or_shrunk(given):
    one = np.random.default_rng(1).normal(size=60)
    data, y = {"a": one, "b": 2 * one, "c": one**2}, np.resize(["p", "q", "q"], 60)
    message = said(fitting(data, y, bk.GaussianBayes), covariance=given)
    named = [word.strip('",.') for word in str(message).partition("covariance=")[2].split() if word.startswith('"')]
    assert "diagonal" in named
    for covariance in set(named) - {"tied"}:  # tied is wiser where each class has few rows, and not here
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bk.GaussianBayes(covariance).fit(data, y)
    few, labels = np.random.default_rng(2).normal(size=(8, 3)), [*"ppqqqqqq"]
    assert '"tied"' in str(said(lambda: bk.GaussianBayes().fit(few, labels)))
    bk.GaussianBayes("tied").fit(few, labels)


def test_settings_that_are_one_of_a_few():
    data, y = rows(sky=[*"ab"] * 30)
    follow(fitting(data, y, bk.NBTree), "smoothing", chosen={"smoothing": "back-off"}, smoothing=0)
    for smoothing in (bk.BackOff(2), 1.0):
        bk.NBTree(smoothing=smoothing).fit(data, y)
    for prior in ("empirical", "uniform", bk.Laplace(), {"p": 0.5, "q": 0.5}, [0.5, 0.5]):
        follow(fitting(data, y), "prior", chosen={"prior": prior}, prior="odd")
    message = said(bk.BayesClassifier(unseen="smooth")._check_settings)
    for unseen in ("ignore", "error"):
        assert f'"{unseen}"' in str(message)
        bk.BayesClassifier(unseen=unseen)._check_settings()


def test_a_prior_that_rules_out_all_other_classes():
    data, y = {"x": ["a", "b", "a"]}, ["only", "q", "q"]

    def attempt(prior=(1.0, 0.0)):
        return bk.NaiveBayes(prior=prior).fit(data, y).leave_one_out(data, y)

    follow(attempt, "prior")


def test_rows_that_are_impossible_under_every_class(bayes):
    def attempt(undecidable="error", smoothing=0):
        model = bk.NaiveBayes(smoothing=smoothing, undecidable=undecidable).fit({"x": [*"ab"], "z": [*"uv"]}, [0, 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bk.UndecidableWarning)  # which says what was done
            return model.predict({"x": ["a"], "z": ["v"]})

    follow(attempt, "undecidable")
    attempt(smoothing=1)
    bk.NaiveBayes(smoothing=0, undecidable="error").fit({"x": [*"ab"], "z": [*"uv"]}, [0, 1]).save("m.bayes")
    Path("new.csv").write_text("x,z\na,v\n")
    told = bayes("predict", "m.bayes", "new.csv", code=1).err
    Path("old.csv").write_text("x,z,y\na,u,0\nb,v,1\n")
    bayes("fit", "old.csv", "-t", "y", *typed(told), "-o", "m.bayes")
    bayes("predict", "m.bayes", "new.csv")


# -- two models ------------------------------------------------------------------------------------


def test_models_of_other_columns_share_a_schema(bayes):
    one = bk.NaiveBayes(numeric="histogram", cuts=3).fit({"x": np.arange(60) * 0.37}, [*"pq"] * 30)

    def attempt(schema=None):
        other = bk.NaiveBayes(numeric="histogram", cuts=3, schema=schema).fit({"x": np.arange(60) * 0.11}, [*"pq"] * 30)
        return one.merge(other)

    follow(attempt, "schema", chosen={"schema": one.schema_})
    bayes("fit", "half.csv", "-t", "species", "--role", "year=ignore", "-o", "a.bayes")
    bayes("fit", "rest.csv", "-t", "species", "-o", "b.bayes")
    told = bayes("merge", "a.bayes", "b.bayes", "-o", "c.bayes", code=1).err
    assert "Fit both with the same --role" in told
    bayes("fit", "rest.csv", "-t", "species", "--role", "year=ignore", "-o", "b.bayes")
    bayes("merge", "a.bayes", "b.bayes", "-o", "c.bayes")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
def test_models_of_other_structures_share_one():
    rng = np.random.default_rng(0)
    columns = {"a": rng.choice([*"uvw"], 90), "b": rng.normal(size=90), "c": rng.choice([*"xy"], 90)}
    labels = rng.choice([*"pq"], 90)
    first = bk.BayesClassifier(n_members=2, n_chains=2).fit(columns, labels)

    def ensemble(structure=None):
        other = bk.BayesClassifier(n_members=2, n_chains=3, random_state=5, structure=structure)
        return first.merge(other.fit(columns, labels))

    follow(ensemble, "structure", chosen={"structure": first.structure_})
    rows_ = {"a": [*"uv"] * 40, "b": [*"xxyy"] * 20}
    either = [x + z in ("ux", "vy") for x, z in zip(rows_["a"], rows_["b"], strict=True)]
    grown = bk.NBTree(min_rows=2).fit(rows_, either)
    assert grown.n_leaves_ > 1

    def tree(tree=None):
        settings = {} if tree is None else {"schema": grown.schema_}
        other = bk.NBTree(tree=0 if tree is None else tree, **settings).fit(rows_, either)
        return grown.merge(other)

    follow(tree, "tree", chosen={"tree": grown.tree_})


def test_a_file_that_someone_else_changes(here):
    import threading

    bk.NaiveBayes().fit({"x": [*"ab"]}, [0, 1]).save("m.bayes")
    free, held = threading.Event(), threading.Event()

    def hold():
        with bk.updating("m.bayes"):
            held.set()
            free.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)

    def attempt(timeout=0.05):
        if timeout > 1:
            free.set()
        with bk.updating("m.bayes", timeout=timeout):
            pass

    try:
        follow(attempt, "timeout", chosen={"timeout": 30})
    finally:
        free.set()
        holder.join()


# -- too large ---------------------------------------------------------------------------------------


def test_pairs_that_take_too_much(bayes):
    data, y = rows(many=[f"k{i % 25}" for i in range(60)], few=[*"ab"] * 30)

    def attempt(kind=bk.TAN, memory_limit=6_000, roles=None, cuts=20):
        used = data if cuts == 20 else {name: data[name] for name in ("x", "few")}
        more = {} if kind is bk.NaiveBayes else {"cuts": cuts}
        return kind(roles=roles, **limited(kind, memory_limit), **more).fit(used, y)

    chosen = {"roles": {"many": "ignore", "x": "ignore"}, "cuts": 2, "memory_limit": 1e8}
    follow(attempt, "roles", "cuts", "NaiveBayes", "memory_limit", chosen=chosen)
    assert (
        "--memory-limit"
        in bayes("fit", "birds.csv", "-t", "species", "-m", "tan", "--memory-limit", "1e-6", code=1).err
    )
    bayes("fit", "birds.csv", "-t", "species", "-m", "tan", "--role", "year=ignore", "--memory-limit", "1")


def test_tables_of_every_column_as_a_parent_that_take_too_much():
    data, y = {"many": [f"k{i % 12}" for i in range(60)], "few": [*"ab"] * 30}, np.resize(["p", "q", "q"], 60)
    tally = bk.AODE().fit(data, y).tally_
    small = bk.AODE().fit({"few": data["few"]}, y).tally_

    def attempt(kind=bk.AODE, memory_limit=16_000, roles=None):
        return kind(**limited(kind, memory_limit)).fit_tally(tally if roles is None else small)

    message = follow(attempt, "roles", "TAN", "NaiveBayes", "memory_limit",
                     chosen={"roles": {"many": "ignore"}, "memory_limit": 1e8})  # fmt: skip
    assert "as parents of each other" in str(message)


def test_contexts_of_parents_that_take_too_much():
    rng = np.random.default_rng(0)
    data = {name: rng.choice([*"abcdefgh"], 400) for name in "uvw"}
    y = rng.choice([*"pq"], 400)
    tally = bk.KDB(k=2).fit(data, y).tally_

    def attempt(k=2):
        model = bk.KDB(k=k, memory_limit=20_000)
        return model.fit_tally(tally) if k == 2 else bk.KDB(k=k, memory_limit=200_000).fit(data, y)

    follow(attempt, "k", chosen={"k": 0})


def test_an_ensemble_that_takes_too_much():
    data, y = rows(sky=[*"ab"] * 30)

    def attempt(kind=bk.BayesClassifier, n_members=16):
        more = {"n_members": n_members, "n_chains": 2, "n_trees": 2, **limited(kind, 75_000)}
        return kind(**(more if kind is bk.BayesClassifier else {}), n_threads=1).fit(data, y)

    follow(attempt, "n_members", "NaiveBayes", chosen={"n_members": 1})
    few = bk.BayesClassifier(fast=True, memory_limit=10_000)  # without members, which cannot be fewer then
    message = str(said(lambda: few.fit(data, y)))
    assert "NaiveBayes" in message
    assert "n_members" not in message


def test_boundaries_that_are_no_way_to_cut():
    data, y = rows(x=[i * 7 % 20 / 2 for i in range(60)])

    def attempt(cuts="best"):
        return bk.NaiveBayes(numeric="histogram", cuts=cuts).fit(data, y)

    for way in ("mdl", "frequency", "width", "random", ("frequency", 5), 4, [2, 5.5]):
        follow(attempt, "cuts", chosen={"cuts": way})


def test_networks_that_take_too_much():
    data = {"a": [*"uvw"] * 20, "b": [*"xy"] * 30}
    for attempt in (
        lambda memory_limit=100: bk.BayesianNetwork.from_data([("a", "b")], data, memory_limit=memory_limit),
        lambda memory_limit=10: bk.BayesianNetwork([], {"a": 0.5}, memory_limit=memory_limit),
        lambda memory_limit=100: bk.JointDistribution.from_data(data, 1.0, memory_limit=memory_limit),
    ):
        follow(attempt, "memory_limit", chosen={"memory_limit": 1 << 20})


def test_words_that_are_too_many_or_too_few(monkeypatch):
    texts, labels = ["a cat sat", "the dog ran", "a dog sat"], ["x", "y", "y"]

    def letters(recipe="weighted", **settings):
        return bk.TextClassifier(recipe, **settings).fit(["i", "a cat", "u"], labels)

    follow(letters, "pattern", "stop_words", chosen={"pattern": "words1", "stop_words": None}, stop_words=["cat"])

    def machine(texts=("i", "a", "u"), **settings):
        return bk.TextClassifier("nbsvm", **settings).fit(texts, labels)

    message = said(machine)
    assert "pattern=" in str(message)
    assert "stop_words=" in str(message)
    machine(pattern="words1")
    with pytest.raises(BayesError, match="no document has one: see pattern=, stop_words="):
        machine(texts=texts, stop_words=["cat", "sat", "the", "dog", "ran"])
    machine(texts=texts, stop_words=["the"])
    monkeypatch.setattr("bayeskit.models.text.classifier.LARGEST_TABLE", 6)

    def counted(**settings):
        return bk.TextClassifier("multinomial", **settings).fit(texts, labels)

    follow(counted, "hash_bits", "min_df", chosen={"hash_bits": 1, "min_df": 2})
    counted(max_features=2)


def test_runs_of_characters_that_are_too_many_or_have_no_words(monkeypatch):
    monkeypatch.setattr("bayeskit.models.text.documents.MOST_CHARACTER_NGRAMS", 5)

    def attempt(recipe="best", characters=(3, 5)):
        return bk.TextClassifier(recipe, characters=characters).fit(["a cat sat", "the dog ran"], ["x", "y"])

    follow(attempt, "characters", "recipe", chosen={"characters": None})

    def cut(pattern="char"):
        return bk.Tokenizer(pattern, characters=(3, 5))

    follow(cut, "pattern")


# -- at the terminal alone ---------------------------------------------------------------------------


@pytest.mark.slow
def test_calibration_and_pairs_beyond_the_table(bayes, monkeypatch):
    fit = ["fit", "half.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes"]
    assert "bayes evaluate --folds 10 has those after it" in " ".join(bayes(*fit, "--calibrate", "beta").out.split())
    bayes("evaluate", "m.bayes", "half.csv", "--folds", "10")
    bayes(*fit, "--model", "tan")
    assert "bayes fit --model naive" in bayes("diagnose", "m.bayes", "half.csv", code=1).err
    bayes(*fit, "--model", "naive")
    monkeypatch.setattr("bayeskit.cli.commands.diagnose.SHOWN", 1)
    assert "--json has them all" in bayes("diagnose", "m.bayes", "half.csv").out
    assert len(bayes("diagnose", "m.bayes", "half.csv", "--json").json["pairs"]) > 1
    words = ["compare", "half.csv", "rest.csv", "-t", "species", "--models", "naive,tan"]
    assert len(bayes(*words, "--json").json["accuracy"]) == 2


@pytest.mark.slow
def test_scores_without_leave_one_out(bayes):
    bk.LogisticRegression(roles={"year": "ignore"}).fit("half.csv", "species").save("m.bayes")
    assert "use --folds 10, or --held-out" in bayes("evaluate", "m.bayes", "half.csv", code=1).err
    bayes("evaluate", "m.bayes", "half.csv", "--folds", "2")
    bayes("evaluate", "m.bayes", "rest.csv", "--held-out")
    bayes("fit", "half.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes")
    Path("other.csv").write_text(Path("rest.csv").read_text().replace("Biscoe", "Atlantis"))
    assert "scored as they are" in " ".join(bayes("evaluate", "m.bayes", "other.csv").out.split())
    bayes("evaluate", "m.bayes", "other.csv", "--held-out")
    texts, labels = (
        ["cold rain", "warm sun", "rain and wind", "sun and sea", "rain"] * 3,
        ["bad", "good", "bad", "good", None] * 3,
    )
    bk.SemiSupervised(bk.TextClassifier(), folds=0).fit(texts, labels).save("t.bayes")
    known = [f"{text},{label}" for text, label in zip(texts, labels, strict=True) if label]
    Path("texts.csv").write_text("\n".join(["text,class", *known]) + "\n")
    assert "use --folds 10" in bayes("evaluate", "t.bayes", "texts.csv", "--text", "text", "--held-out", code=1).err
    bayes("evaluate", "t.bayes", "texts.csv", "--text", "text", "--folds", "2")


@pytest.mark.slow
def test_numbers_that_are_measured_are_cut_to_be_asked(bayes):
    question = "P(species = Gentoo | body_mass_g > 4500)"
    bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes")
    assert "fit it with --numeric histogram" in bayes("ask", "m.bayes", question, code=1).err
    bk.NaiveBayes().fit({"x": [1.0, 2.0, 3.5]}, [0, 1, 1]).save("n.bayes")
    assert "Fit it with --numeric histogram" in bayes("ask", "n.bayes", "P(x > 1)", code=1).err
    told = bayes(
        "fit", "birds.csv", "-t", "species", "--role", "year=ignore", "--numeric", "histogram", "-o", "m.bayes"
    )
    assert told.code == 0
    bayes("ask", "m.bayes", "P(species = Gentoo | island = Biscoe)")
    bayes("ask", "birds.csv", question)


def test_a_model_of_texts_alone_is_explained_by_its_words(bayes):
    lines = [f"{'cheap pills' if i % 2 else 'dear mum and dad'} {i},{'spam' if i % 2 else 'ham'}" for i in range(30)]
    Path("mail.csv").write_text("\n".join(["text,kind", *lines]) + "\n")
    bayes("fit", "mail.csv", "-t", "kind", "--role", "text=text", "-o", "m.bayes")
    assert "fit a text model with --text" in bayes("explain", "m.bayes", code=1).err
    bayes("explain", "m.bayes", "mail.csv")
    bayes("fit", "mail.csv", "-t", "kind", "--text", "text", "-o", "t.bayes")
    assert "most informative words" in bayes("explain", "t.bayes").out


# -- a stronger model --------------------------------------------------------------------------------


def command_after(told, word):
    return next(line for i, line in enumerate(told.splitlines()) if told.splitlines()[i - 1].strip() == word).split()[
        1:
    ]


@pytest.mark.slow
def test_a_stronger_model_is_offered_where_it_will_be_learned(bayes):
    told = bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes").out
    bayes(*command_after(told, "stronger:"), "--no-scores")


def test_no_stronger_model_is_offered_where_it_would_be_refused(bayes, monkeypatch):
    monkeypatch.setattr(bk.BayesClassifier, "memory_limit", 1e6)
    told = bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes").out
    assert "stronger:" in told
    real = parameters.memory_needed
    monkeypatch.setattr("bayeskit.models.ensemble.classifier.memory_needed", lambda *size: 1e6 * real(*size))
    assert "stronger:" not in bayes("fit", "birds.csv", "-t", "species", "--role", "year=ignore", "-o", "m.bayes").out
    with pytest.raises(BayesError, match="more than memory_limit"):
        bk.BayesClassifier(roles={"year": "ignore"}).fit("birds.csv", "species")


def test_the_size_by_counts_is_that_by_rows():
    from bayeskit.models.ensemble.training_rows import training_rows

    data, y = rows(sky=[*"abc"] * 20, wind=[None if i == 3 else "uv"[i % 2] for i in range(60)])
    naive = bk.NaiveBayes().fit(data, y)
    ensemble = bk.BayesClassifier(n_members=1, fast=True).fit(data, y)
    of_rows, of_counts = (
        parameters.TableSize.of_rows(training_rows(ensemble.tally_, {})),
        parameters.TableSize.of_counts(naive.tally_),
    )
    assert of_rows[:3] == of_counts[:3]
    assert of_rows.most_values <= of_counts.most_values


def test_columns_that_are_advised_keep_what_was_declared():
    data, y = rows(code=[i % 3 for i in range(60)], id=TEXTS["an identifier"])
    with pytest.warns(bk.AdviceWarning, match="column 'id'") as told:
        model = bk.NaiveBayes(roles={"code": "categorical"}).fit(data, y)
    assert len(told) == 1
    assert isinstance(model.schema_.columns["code"], Categorical)
    assert advised(told[0].message, "roles") == [{"id": "ignore"}]
