"""CIDER: commonsense links anchored in a conversation (Ghosal et al., SIGDIAL 2021)."""
