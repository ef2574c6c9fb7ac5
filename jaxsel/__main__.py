"""python -m jaxsel: the command line."""

from jaxsel.cli import main

if __name__ == "__main__":
    main()
