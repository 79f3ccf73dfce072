"""Ask people: a local studio for human judgments.

A study puts tasks before judges by one template (:mod:`grice_annotate.templates`), keeps their
answers in a database (:mod:`grice_annotate.study`), and writes what the rest of grice reads
(:mod:`grice_annotate.export`).
"""
