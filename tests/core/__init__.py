"""Values and rules: tables, and properties over hostile values."""
