"""How a `Diagram` is made: words measured, parts placed, arrows routed, everything drawn as SVG."""
