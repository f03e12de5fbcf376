"""House rules: the direction of imports, the modules with access to the system, completeness of registries and docs."""
