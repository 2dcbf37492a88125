"""TakesLabels: what every classifier of rows or documents does with those that have no label."""

from __future__ import annotations

from bayeskit.data.missing_labels import LabelledRows
from bayeskit.data.source import Source
from bayeskit.models.base.estimator_kinds import PredictsClasses
from bayeskit.models.base.settings import one_of


class TakesLabels(PredictsClasses):
    """A classifier that learns from labelled rows, with the setting that all of them share.

    unlabelled: rows without a label are refused ("error"), or left out and counted ("drop"), alike in learning,
        forgetting and scoring.
    """

    unlabelled: str = "error"

    @property
    def _drops_unlabelled(self) -> bool:
        """Whether rows without a label are left out."""
        return self.unlabelled == "drop"

    def _check_unlabelled(self) -> None:
        """Refuse a setting that means nothing."""
        one_of("unlabelled", self.unlabelled, ("error", "drop"))

    def _with_labels(self, source: Source) -> Source:
        """The rows of a source that are learnt from, or scored."""
        return LabelledRows(source) if self._drops_unlabelled and not isinstance(source, LabelledRows) else source
