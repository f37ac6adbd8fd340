"""The Textual app: widgets that draw what changed, screens that put them together."""
