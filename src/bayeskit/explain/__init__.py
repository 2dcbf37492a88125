"""Why a model says what it says: records of evidence, of what tells most, and nomograms. No drawing."""
