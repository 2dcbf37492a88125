"""Records that explain a model: evidence, column importance, densities, regions and nomograms. No drawing."""
