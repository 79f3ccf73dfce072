"""The report: one HTML file with every score and the evidence behind it."""
