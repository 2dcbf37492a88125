"""Modules that moved: for one version they are found where they were, with a warning that says where they are."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import TYPE_CHECKING, Any

MOVED = {
    "bayeskit.cli.ask": "bayeskit.cli.commands.ask",
    "bayeskit.data.csv_files": "bayeskit.data.files.csv",
    "bayeskit.data.documents": "bayeskit.data.text.documents",
    "bayeskit.data.encode": "bayeskit.data.encoder",
    "bayeskit.data.encodings": "bayeskit.data.files.encodings",
    "bayeskit.data.json_lines": "bayeskit.data.files.json_lines",
    "bayeskit.data.parquet_files": "bayeskit.data.files.parquet",
    "bayeskit.data.rows": "bayeskit.data.reader",
    "bayeskit.data.streams": "bayeskit.data.files.streams",
    "bayeskit.data.text_files": "bayeskit.data.text.folders",
    "bayeskit.data.tokenizer": "bayeskit.data.text.tokenizer",
    "bayeskit.data.tokens": "bayeskit.data.text.tokens",
    "bayeskit.data.unicode_tables": "bayeskit.data.text.unicode",
    "bayeskit.data.words": "bayeskit.data.text.word_list",
    "bayeskit.estimate.coded_columns": "bayeskit.estimate.columns.coded",
    "bayeskit.estimate.column": "bayeskit.estimate.columns.column",
    "bayeskit.estimate.drawing": "bayeskit.estimate.sampling",
    "bayeskit.estimate.gaussian_columns": "bayeskit.estimate.columns.gaussian",
    "bayeskit.estimate.histogram": "bayeskit.estimate.columns.histogram",
    "bayeskit.estimate.kernel_columns": "bayeskit.estimate.columns.kernel",
    "bayeskit.estimate.kinds": "bayeskit.estimate.columns.kinds",
    "bayeskit.estimate.moment_columns": "bayeskit.estimate.columns.of_moments",
    "bayeskit.estimate.one_cell": "bayeskit.estimate.columns.one_cell",
    "bayeskit.estimate.poisson": "bayeskit.estimate.columns.poisson",
    "bayeskit.estimate.structure": "bayeskit.estimate.information",
    "bayeskit.estimate.student": "bayeskit.estimate.columns.student",
    "bayeskit.estimate.text_em": "bayeskit.estimate.words.unlabelled_em",
    "bayeskit.estimate.text_left_out": "bayeskit.estimate.words.left_out",
    "bayeskit.estimate.text_weights": "bayeskit.estimate.words.weights",
    "bayeskit.estimate.word_evidence": "bayeskit.estimate.words.weighted_evidence",
    "bayeskit.explain.telling": "bayeskit.explain.informative",
    "bayeskit.explain.words": "bayeskit.explain.phrases",
    "bayeskit.io": "bayeskit.model_file",
    "bayeskit.models.aode": "bayeskit.models.semi_naive.aode",
    "bayeskit.models.available": "bayeskit.models.base.available",
    "bayeskit.models.bayes": "bayeskit.models.ensemble.classifier",
    "bayeskit.models.bayes_counting": "bayeskit.models.ensemble.parameters",
    "bayeskit.models.bayes_learning": "bayeskit.models.ensemble.fitting",
    "bayeskit.models.bayes_progress": "bayeskit.models.ensemble.progress",
    "bayeskit.models.bayes_rows": "bayeskit.models.ensemble.learnt_rows",
    "bayeskit.models.bayes_structure": "bayeskit.models.ensemble.members",
    "bayeskit.models.coded": "bayeskit.models.base.coded_classifier",
    "bayeskit.models.exponents": "bayeskit.estimate.exponents",
    "bayeskit.models.gaussian": "bayeskit.models.gaussian_bayes",
    "bayeskit.models.gaussian_left_out": "bayeskit.estimate.left_out_normals",
    "bayeskit.models.joint": "bayeskit.models.semi_naive.full_joint",
    "bayeskit.models.kdb": "bayeskit.models.semi_naive.kdb",
    "bayeskit.models.label_codes": "bayeskit.data.label_codes",
    "bayeskit.models.logistic_form": "bayeskit.models.logistic.form",
    "bayeskit.models.logistic_loss": "bayeskit.estimate.conditional_likelihood",
    "bayeskit.models.naive_left_out": "bayeskit.models.naive_bayes.left_out",
    "bayeskit.models.naive_text": "bayeskit.estimate.columns.text",
    "bayeskit.models.nbtree_growth": "bayeskit.models.nbtree.growth",
    "bayeskit.models.nbtree_left_out": "bayeskit.models.nbtree.left_out",
    "bayeskit.models.one_row": "bayeskit.models.base.single_row",
    "bayeskit.models.parts_of_classes": "bayeskit.models.base.parts_of_classes",
    "bayeskit.models.settings": "bayeskit.models.base.settings",
    "bayeskit.models.structured": "bayeskit.models.semi_naive.structured",
    "bayeskit.models.subclass_em": "bayeskit.estimate.mixtures.em",
    "bayeskit.models.tan": "bayeskit.models.semi_naive.tan",
    "bayeskit.models.text_sources": "bayeskit.models.text.sources",
    "bayeskit.models.ties": "bayeskit.models.base.ties",
    "bayeskit.models.token_counter": "bayeskit.models.text.token_counter",
    "bayeskit.models.tuning": "bayeskit.models.base.tuning",
    "bayeskit.models.undecidable": "bayeskit.undecidable",
    "bayeskit.models.updating": "bayeskit.models.base.storage",
    "bayeskit.models.weights": "bayeskit.models.discriminative_weights",
    "bayeskit.network.asking": "bayeskit.network.answers",
    "bayeskit.network.elimination": "bayeskit.network.variable_elimination",
    "bayeskit.network.evidence": "bayeskit.network.evidence",
    "bayeskit.network.factor": "bayeskit.network.variable_elimination",
    "bayeskit.network.joint": "bayeskit.network.joint_distribution",
    "bayeskit.network.junction_tree": "bayeskit.network.junction_tree",
    "bayeskit.network.nearest": "bayeskit.nearest",
    "bayeskit.network.tables": "bayeskit.network.conditional_tables",
    "bayeskit.network.truth": "bayeskit.network.query",
    "bayeskit.network.variable_elimination": "bayeskit.network.variable_elimination",
    "bayeskit.network.views": "bayeskit.network.network",
    "bayeskit.tally.container": "bayeskit.container.packing",
    "bayeskit.tally.value_lists": "bayeskit.container.value_lists",
    "bayeskit.tally.values": "bayeskit.tally.distinct",
}
"""Modules by their old names."""

SPLIT = {
    "bayeskit.data.files": "bayeskit.data.files.file_source",
    "bayeskit.models.logistic": "bayeskit.models.logistic.classifier",
    "bayeskit.models.naive_bayes": "bayeskit.models.naive_bayes.classifier",
    "bayeskit.models.nbtree": "bayeskit.models.nbtree.classifier",
    "bayeskit.network.query": "bayeskit.network.query",
}
"""Modules that became packages, and where what they held is now."""


def forwarded(package: str) -> Callable[[str], Any]:
    """``__getattr__`` of a package that was a module: its names stand in the module of :data:`SPLIT` now."""

    def look_up(name: str) -> Any:
        home = SPLIT[package]
        if name.startswith("__") or not hasattr(module := import_module(home), name):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        _tell(f"{package}.{name}", f"{home}.{name}")
        return getattr(module, name)

    return look_up


if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # importing importlib.abc takes as long as all else here


class _Moved(Loader):
    """Comes last: it is asked only for modules that nobody else has."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        _tell(spec.name, MOVED[spec.name])
        module = import_module(MOVED[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run already; only what the import system wrote into it is put right."""
        if module.__spec__ is not None and module.__spec__.loader is self:
            module.__spec__ = module.__spec__.loader_state


def _tell(old: str, new: str) -> None:
    warnings.warn(f"{old} has moved to {new}; the old name goes in 0.3", DeprecationWarning, stacklevel=3)


def find_moved() -> None:
    """Let old names be found."""
    sys.meta_path.append(_Moved())
