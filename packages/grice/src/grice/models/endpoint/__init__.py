"""Models of servers with the OpenAI-compatible protocol: ``openai:MODEL@URL``.

Requests go to the address of the reference and to no other. ``chat`` has the models, ``client``
sends requests, ``usage`` counts them, ``record`` parses answers.
"""
