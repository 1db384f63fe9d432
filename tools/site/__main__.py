"""``python -m tools.site``: write the pages of the site and its configuration to ``build``."""

from tools.site.pages import ROOT, write_site

if __name__ == "__main__":
    write_site(ROOT / "build")
