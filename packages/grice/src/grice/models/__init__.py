"""Numbers from text: model protocols, the shipped engine, and other places models come from."""
