"""Models of your own: small heads on shipped vectors, fitted without a framework."""
