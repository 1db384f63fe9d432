"""dynaorm in other libraries. Each module needs an extra, and is imported only by its users."""
