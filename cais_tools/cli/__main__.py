from __future__ import annotations

from cais_tools.cli import main

if __name__ == "__main__":
    main()
