"""Reports of a run: Markdown and SVG."""
