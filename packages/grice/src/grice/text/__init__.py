"""Words of English: verb forms, and events as knowledge bases write them."""
