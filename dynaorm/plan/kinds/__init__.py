"""The kinds of items that a plan writes, one module each: an entity's own item, and what follows from entities."""
