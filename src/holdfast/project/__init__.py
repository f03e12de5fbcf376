"""One opened project: workspace, settings, and the state shared by verbs. No foreign system is known here."""
