"""Runs as Markdown and SVG."""
