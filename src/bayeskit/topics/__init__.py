"""Latent Dirichlet allocation: documents as mixtures of topics, topics as distributions over words."""
