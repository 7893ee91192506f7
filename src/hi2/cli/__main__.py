"""``python -m hi2.cli`` is ``hi2``."""

from hi2.cli import main

if __name__ == "__main__":
    main()
