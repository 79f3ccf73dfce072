"""Published encoder-decoders and encoders, and the systems that are made of them."""
