"""``python -m hi2.cli`` does the same as ``hi2``."""

from hi2.cli import main

if __name__ == "__main__":
    main()
