"""One opened project: settings, inbox, drift, known projects."""
