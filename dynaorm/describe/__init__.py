"""What a table is, for everything that shows it: ``describe``, ``classify``, ``samples``."""
