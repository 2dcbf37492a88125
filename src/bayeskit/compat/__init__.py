"""Drop-in replacements for models of other libraries: change the import and nothing else."""
