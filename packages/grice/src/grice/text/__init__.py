"""English text processing: sentences, verb forms, events, language and markup."""
