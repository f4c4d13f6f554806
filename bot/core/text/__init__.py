"""Feed text made safe and short: characters, graphemes, plain text, blocks of spans, links."""
