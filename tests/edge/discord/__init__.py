"""The Discord notifiers at the edge."""
