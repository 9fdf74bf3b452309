"""Lists of pages and past checks from other programs."""
