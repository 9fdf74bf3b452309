"""Charts as SVG, with titles, descriptions and classes for the style sheet."""
