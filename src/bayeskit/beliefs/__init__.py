"""Conjugate priors: Beta-Bernoulli, Dirichlet-categorical and normal-inverse-gamma.

A conjugate prior has a posterior of the same kind, so learning is adding to a few numbers:

    BetaBernoulli           Beta(b1, b0)              + a1 heads, a0 tails  → Beta(a1 + b1, a0 + b0)
    DirichletCategorical    Dirichlet(β)              + counts n_v          → Dirichlet(n + β)
    NormalInverseGamma      NIG(μ0, κ0, α0, β0)       + n, Σx, Σx²          → NIG(μn, κn, αn, βn)

A belief is a value: `update` and `forget` return another one. It keeps what was believed before and what
was seen since apart, which is why forgetting undoes learning, and why two beliefs from the same prior can
be merged. The pseudo-counts of `bayeskit.estimate.smoothing` are the same thing from the data's side: the
posterior mean under β is smoothing by β, and the mode is smoothing by β − 1.

>>> from bayeskit import BetaBernoulli
>>> coin = BetaBernoulli(heads=2, tails=2)
>>> for belief in coin.sequence([True, False, True]):
...     print(belief.posterior, belief.map)                 # (a1 + b1 − 1) / (a1 + b1 − 1 + a0 + b0 − 1)
(3, 2) 0.6666666666666666
(3, 3) 0.5
(4, 3) 0.6

Gelman et al., "Bayesian Data Analysis", chapters 2 and 3; Murphy, "Conjugate Bayesian analysis of the
Gaussian distribution", 2007.

Formula: Beta, Dirichlet and normal-inverse-gamma beliefs
"""
