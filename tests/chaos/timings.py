"""Waits of the proofs: as in life, but short."""

TIMINGS = {
    "grace": "1s",
    "look_again": "300ms",
    "retry_base": "50ms",
    "retry_cap": "300ms",
    "breaker_base": "200ms",
    "breaker_failures": 50,
    "channel_gap": "0s",
    "slack_per_minute": 0,
    "max_new_single": 1000,
    "probe_every": "1s",
}
