"""Run the command line as ``python -m fmacost``."""

from fmacost.reports.cli import main

if __name__ == "__main__":
    main()
