"""Go Team: registry, manifest, live state, recovery and checkpoint files."""

NAME = "go-team"
# The members of the layout, by the module that defines them; each module is loaded when one of its members is used.
MEMBERS = {
    "rules": "RULES",
    "follow": "follow",
}
