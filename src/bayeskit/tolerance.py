"""Define the numerical tolerances of the package, each with its reason.

Parameters that users set (a variance floor, ``tol``), search ranges and resolutions are defined where they are used.
"""

# -- scores and probabilities ------------------------------------------------------------------------

TIE = 1e-12
"""Scores are tied if they differ from the best by less than this, relative to its size if that exceeds one. Exact ties
are often lost when sums of floats are taken in another order."""

NO_WORSE = 1e-9
"""Relative to the accuracy or log loss of the majority class: a model within this distance is not worse."""

LEAST_PROBABILITY = 1e-15
"""Smaller probabilities count as this in every log loss, so that one row does not outweigh all others (34.5 nats)."""

SUMS_TO_ONE = 1e-12
"""Probabilities sum to one if they do so within this; the difference is rounding."""

OFF_ONE = 1e-9
"""Probabilities whose sum differs from one by more are normalized with a warning, such as a table of ten digits."""

SLACK = 1e-3
"""Probabilities whose sum differs from one by more raise an error; it allows tables of three digits."""

NO_INFORMATION = 1e-12
"""In nats: smaller information is rounding, since exact independence does not always cancel to 0."""

CHANCE = 1e-9
"""In nats, summed over the rows: columns are dependent if they exceed the expectation under independence by more."""

# -- weights of rows, which are floats ---------------------------------------------------------------

GONE = 1e-9
"""Relative to a total: the remainder allowed after subtracting a weight. Sums of a million weights keep ten digits."""

ROUNDING = 1e-6
"""Relative to a total: allowed difference of sums of weights added in another order or read from a file."""

SAME_WEIGHT = 1e-12
"""Relative to a total: weights that differ by less are equal."""

WHOLE = 1e-9
"""Relative to a count: a count this close to an integer is printed as an integer."""

RANK = 1e-9
"""Relative to the number of rows: a rank this close to a bin edge is on it."""

# -- sums in double-double, about 32 digits ------------------------------------------------------------

RESIDUE = 1e-30
"""Relative to Σx² before a subtraction: the remainder allowed of a sum of squares that should be zero."""

SPREAD_NOISE = 1e-24
"""Relative to Σx², or to the sizes of two columns: smaller sums of squares or products are rounding."""

LOW_PART = 2.0**-50
"""Relative to the high part of a double-double: upper bound of its low part in a valid sum."""

LOW_TINY = 1e-290
"""Below this size the parts of a double-double are too small to check `LOW_PART`."""

# -- variances and matrices of floats --------------------------------------------------------------

NOISE = 1e-9
"""Relative to a column's variance: a smaller within-class variance is rounding."""

CONSTANT = 1e-12
"""Relative to a column's mean: a column with a smaller standard deviation is constant."""

UNDERFLOW = 1e-280
"""Products and squares below this underflow: a variance counts as zero, and probabilities are computed in log space."""

DEPENDENT = 1e-9
"""Relative to a column's variance, or to the largest eigenvalue: the remainder of a linearly dependent column."""

SINGULAR = 1e-6
"""Smallest eigenvalue of a correlation matrix; below it, the matrix is singular."""

LEAST_REST = 1e-3
"""Relative to a sum of squares or a matrix: the closed form of leave-one-out is accurate only above this remainder."""

LIFT = 1e-7
"""Added to the diagonal of a covariance without a Cholesky factor, as hmmlearn does."""

PARALLEL = 1e-14
"""Relative to the larger precision: two densities whose precisions differ by less cross once."""

CONVERGED = 1e-6
"""Relative to a log likelihood: EM stops if it gains less."""

ARRIVED = 1e-10
"""Relative to the parameters of a calibration curve: Newton's method stops at a smaller step."""

RIDGE = 1e-9
"""Weight, in rows, of a prior centered on no change; it only matters if the data does not determine a slope."""

# -- divisors that may be 0 ----------------------------------------------------------------------------

LEAST_ROWS = 1e-5
"""Minimum number of rows of a state when dividing by it, as in hmmlearn."""

LEAST_SHARE = 1e-9
"""Minimum share of a class, to avoid division by zero."""

LEAST_SQUARE = 1e-200
"""Minimum sum of squares, so that its inverse and the square root of that are finite."""

LEAST_NUMBER = 1e-150
"""Smaller numbers of a table are 0 in SQL: PostgreSQL raises an error for products that underflow."""

POSITIVE = 1e-300
"""Replaces 0 in a denominator whose numerator is 0 too."""

STEP_GAIN = 1e-5
"""The fit of the weights of text evidence ends when a step lowers the loss by less than this share."""
