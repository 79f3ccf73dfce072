"""A language model in each place, measured beside what ships there: a module for each place."""
