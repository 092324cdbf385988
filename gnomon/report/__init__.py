"""Stored runs -> one HTML file that works offline, or the main figure as SVG or PNG."""

from gnomon.report.page import write
from gnomon.report.still import figure

__all__ = ["figure", "write"]
