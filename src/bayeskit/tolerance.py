"""How near is equal, how little is nothing: every tolerance, with its reason.

What a person may set (a variance floor, ``tol``), the range of a search and how fine a model is made stand where they
are used: they are choices, no tolerances.
"""

# -- scores and probabilities ------------------------------------------------------------------------

TIE = 1e-12
"""Scores within this of the best, or of its size where that is more than one, are a tie: sums in floats, in another
order, lose over a third of the exact ties."""

NO_WORSE = 1e-9
"""Of the majority's accuracy or log loss: a model that is as near to it is no worse."""

LEAST_PROBABILITY = 1e-15
"""What a probability of 0 counts as where likelihoods of models that give floats alone are compared: one row does not
outweigh all others. Log losses of the package are not cut off (``log_loss`` of ``evaluate/metrics.py``)."""

SUMS_TO_ONE = 1e-12
"""Probabilities that sum to one within this do so: the rest is rounding."""

OFF_ONE = 1e-9
"""Probabilities farther from summing to one were meant to, and are normalised with a word: a table of ten digits."""

SLACK = 1e-3
"""Probabilities farther from summing to one are refused: a table of three digits is the roughest that is written."""

NO_INFORMATION = 1e-12
"""Nats that are rounding: exact independence does not always cancel to 0."""

CHANCE = 1e-9
"""Nats, summed over the rows, above what chance gives, for columns to count as dependent: rounding of large sums."""

# -- weights of rows, which are floats ---------------------------------------------------------------

GONE = 1e-9
"""Of a total: what may be left of a weight that was taken away. Sums of a million weights keep ten digits."""

ROUNDING = 1e-6
"""Of a total: by how much sums of weights, added in another order or read from a file, may differ."""

SAME_WEIGHT = 1e-12
"""Of a total: weights that agree within this are the same."""

WHOLE = 1e-9
"""Of a count: one that is as near to a whole number is shown as it."""

RANK = 1e-9
"""Of all rows: a rank that falls on a border is there, whatever the last digit says."""

# -- sums in double-double, about 32 digits ------------------------------------------------------------

RESIDUE = 1e-30
"""Of Σx² before a subtraction: what may be left of a spread that was none."""

SPREAD_NOISE = 1e-24
"""Of Σx², or of the sizes of two columns: a spread or a product below is rounding; the last digits are in doubt."""

LOW_PART = 2.0**-50
"""Of the high part of a double-double: its low part is no larger, or the sum was not kept by our arithmetic."""

LOW_TINY = 1e-290
"""Below it the parts of a double-double are too small for `LOW_PART` to hold."""

# -- variances and matrices of floats --------------------------------------------------------------

NOISE = 1e-9
"""Of a column's variance: a spread within classes that is a smaller share is rounding, no spread."""

CONSTANT = 1e-12
"""Of a column's mean: a column with a smaller standard deviation is constant."""

UNDERFLOW = 1e-280
"""Below it products and squares leave the range of floats: a variance is none, and probabilities go by logarithms."""

DEPENDENT = 1e-9
"""Of a column's variance, or of the largest eigenvalue: what is left of a column that is a sum of others."""

SINGULAR = 1e-6
"""The smallest eigenvalue of a correlation matrix: below it, the matrix is singular."""

LEAST_REST = 1e-3
"""Of a spread or a matrix: what must be left without a row, for the short way of leaving it out to keep its digits."""

LIFT = 1e-7
"""What is added to the diagonal of a covariance without a root, in the place of hmmlearn's models, as there."""

PARALLEL = 1e-14
"""Of the larger precision: two densities whose precisions differ by less cross once."""

CONVERGED = 1e-6
"""Of a log likelihood: EM that gains less has arrived."""

ARRIVED = 1e-10
"""Of the numbers of a curve: a step of Newton's method that is smaller ends it."""

RIDGE = 1e-9
"""Rows' worth of a prior around no change at all: it holds a slope only where nothing else does."""

# -- divisors that may be 0 ----------------------------------------------------------------------------

LEAST_ROWS = 1e-5
"""The rows of a state, by which its variance is divided, in the place of hmmlearn's models, as there."""

LEAST_SHARE = 1e-9
"""The share of a class without any mass: what is divided by it stays a number."""

LEAST_SQUARE = 1e-200
"""A sum of squares that is 0: its inverse and the root of that are numbers."""

LEAST_NUMBER = 1e-150
"""A number of a table that is smaller is 0 to a query: PostgreSQL refuses products that vanish."""

POSITIVE = 1e-300
"""In the place of 0 under a fraction whose numerator is 0 too."""
