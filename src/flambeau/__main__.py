"""`python -m flambeau`, and the `flambeau` command."""

from .cli.commands import main

if __name__ == "__main__":
    main()
