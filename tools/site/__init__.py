"""Makes the documentation site: ``make docs``.

The pages of ``docs/`` are read on GitHub as they are. This package lays them out for a site builder in ``build/site``,
together with the pages that are made: the reference, the examples, and the documents of the root. One configuration,
``tools/site/mkdocs.yml``, serves two builders: MkDocs with the theme Material, and Zensical, its successor.
"""
