"""`python -m pollwise` is the command `pollwise`."""

from pollwise.cli import main

if __name__ == "__main__":
    main()
