"""Servers that speak the OpenAI-compatible protocol: ``openai:MODEL@URL``.

Nothing is sent anywhere but to the address that a reference names. ``client`` sends one request,
``chat`` many at once with retries and a cache, ``requests`` counts requests and tokens, and
``likelihood`` asks how probable a text is.
"""
