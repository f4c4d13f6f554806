"""Bytes of a feed -> ParsedFeed; `document.parse` is the way in, the other modules help where feedparser errs."""
