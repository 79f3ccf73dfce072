"""One module per command.

A module declares ``HELP`` (one line), ``configure(parser, words)``, which adds the command's
arguments and may look at the words of the command line, and ``run(arguments)``, which returns
the exit status.
"""
